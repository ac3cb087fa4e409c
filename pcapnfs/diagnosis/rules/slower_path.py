"""The path between client and server was longer for a while, or became so for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule, Severity
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.slower_path import SlowerPath
    from pcapnfs.diagnosis.material import Material

MORE = Threshold(
    "slower_path.more", 0.002, "s", "how much longer the round trip was; below, nothing is "
        "reported",
    "default of this tool",
)  # fmt: skip


LONGER = "was longer for a while"
"""What the title ends with of a path that was longer, as far as can be known."""

STAYED = "became longer, and stayed so"
"""The same of one that was so to the end."""

FULL = "was full for a while"
"""What the title ends with of a link that data filled."""

NARROW = "is narrow"
"""The same of one that what single calls bring fills."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and half of the path."""
    for path in material.slower_paths:
        if path.more_s < values[MORE.name]:
            continue
        claims = by_row(path.time_s)
        yield Observed(
            severity=_severity(path, material),
            at_most="problem" if path.known else None,
            title=_title(path),
            seen=f"{_seen(path)}{_proof(path)}{_rate(path)}{_cost(path)}",
            why=(_NARROW if path.side == "server" else _NARROW_BACK)
            if path.alone
            else _FULL
            if path.full_bytes_per_s
            else "Every call waits for the path there and back, whatever servers and disks do. "
            "Calls that wait longer for it look like slow storage, and time-outs that were long "
            "enough before (timeo) are not any more."
            if path.known
            else "No answer is quicker than the path; but an end that is busy may be late with "
            "all of them.",
            advice=ADVICE_NARROW
            if path.alone
            else ADVICE_FULL
            if path.full_bytes_per_s
            else ADVICE,
            confidence=path.confidence,
            data=f"{_data(path)} on {units.counted(path.connections, 'connection')}",
            frames=path.frames,
            claims=claims,
            about=(path.client, path.server),
            calls=path.calls or None,
        )


def _seen(path: SlowerPath) -> str:
    when = f"From {units.clock(path.from_ns)} to {units.clock(path.until_ns)} UTC"
    usual = f"a round trip otherwise {units.duration(path.usual_s)}"
    if path.late_calls:
        return (
            f"{when} {units.counted(path.late_calls, 'call')} had not reached the {path.side} "
            f"after {units.duration(path.rtt_s)} (median), as acknowledgements show that came then "
            f"and left them out; {usual}."
        )
    if path.alone:
        return (
            f"{when} {units.counted(path.alone, 'reply', 'replies')} had not reached the "
            f"{path.side} after {units.duration(path.rtt_s)} (median), as acknowledgements show "
            f"that came then and left them out; {usual}."
        )
    if path.late_replies:
        took, otherwise = units.duration(path.rtt_s), units.duration(path.usual_s)
        return (
            f"{when}{', and to the end of the capture,' if path.stays else ''} "
            f"{units.counted(path.late_replies, 'small reply', 'small replies')} came "
            f"{units.duration(path.back_s or 0.0)} later (median) after the {path.side} had sent "
            "them than others did, by its clock in their TCP timestamps: its work is not in that. "
            f"A round trip took {took}, otherwise {otherwise}."
        )
    return (
        f"{when} even the quickest of {units.counted(path.acks + path.turns, 'answer')} of the "
        f"{path.side} took {units.duration(path.rtt_s)}, {usual}."
    )


def _data(path: SlowerPath) -> str:
    if path.late_calls:
        return units.counted(path.late_calls, "late call")
    if late := path.alone or path.late_replies:
        return units.counted(late, "late reply", "late replies")
    told = []
    if path.acks or not path.turns:
        told.append(f"{units.counted(path.acks, 'ACK')} without data")
    if path.turns:
        told.append(f"{units.counted(path.turns, 'ACK')} with data")
    return ", ".join(told)


def _title(path: SlowerPath) -> str:
    if path.filled:
        return f"The link to the {path.filled} {NARROW if path.alone else FULL}"
    longer = STAYED if path.stays else LONGER
    how = longer if path.known else "may have been longer for a while"
    return f"The path to the {path.side} {how}"


def _rate(path: SlowerPath) -> str:
    """That data filled it."""
    if not path.full_bytes_per_s:
        return ""
    if path.alone:
        return (
            " No other data was under way when these were sent, so that they waited for nothing "
            "but their own bytes: what the acknowledgements did take in had come at "
            f"{units.rate(path.full_bytes_per_s)}."
        )
    if path.follows:
        return (
            " They were the later the more of the client's data was under way, each by what that "
            f"takes at about {units.rate(path.full_bytes_per_s)}; with little under way a round "
            "trip took no longer."
        )
    whose, what = ("client", "call") if path.filled == "server" else ("server", "reply")
    return (
        f" Meanwhile the {whose}'s data moved at {units.rate(path.full_bytes_per_s)}, "
        f"evenly, one large {what} after the other."
    )


def _severity(path: SlowerPath, material: Material) -> Severity:
    if not path.known:
        return "note"
    # That these calls arrived late is certain, and what it cost, whatever made them late.
    sure = path.confidence == "certain" or path.late_calls > 0 or path.late_replies > 0
    severity = by_cost(material, by_row(path.time_s), sure=sure)
    # What it cost beside calls of others, on the client's half, nobody knows.
    return "warning" if path.side == "client" and severity == "note" else severity


def _proof(path: SlowerPath) -> str:
    """Why that was the path, and no delayed ACK."""
    if path.at_once:
        return (
            f" {units.counted(path.at_once, 'call')} of that time no program decides on: the "
            "client sends them as soon as it has the reply before (the SETATTR of an exclusive "
            "create, COMMIT and CLOSE behind WRITEs), and these came as late, nearly all by the "
            "same time."
        )
    if path.soon:
        were = "was an ACK that came" if path.soon == 1 else "were ACKs that came"
        return (
            f" {units.count(path.soon)} of them {were} soon after another: an end that delays its "
            "ACKs sends one for all."
        )
    if path.undelayed:
        were = "was an ACK" if path.full == 1 else "were ACKs"
        return (
            f" {units.count(path.full)} of them {were} of two full-sized segments or more, which "
            "no end delays for as long."
        )
    return ""


def _cost(path: SlowerPath) -> str:
    waited = units.duration(sum(path.time_s.values()))
    if path.gaps and path.alone:
        return (
            f" {units.counted(path.gaps, 'call')} came later for it: that was {waited} of the time "
            "in which none was under way."
        )
    if path.gaps:
        return (
            " Each reply came to the client later by that, and its next call as much later: before "
            f"{units.counted(path.gaps, 'call')} that was {waited} of the time in which none was "
            "under way."
        )
    if not path.calls:
        return ""
    calls, longer = units.counted(path.calls, "call"), units.duration(path.longer_s)
    if path.alone:
        return f" {calls} took {longer} longer for it."
    if path.full_bytes_per_s:
        return (
            f" {calls}, those while its queue grew or went included, took {longer} longer for it."
        )
    return f" {calls} sent and answered meanwhile took {longer} longer for it."


_FULL = (
    "Data that is taken at one speed, and later the more of it is under way, stands in the queue "
    "before the slowest link, and what is sent behind it stands there as well. Fewer calls or "
    "faster disks do not help."
)

_NARROW = (
    "What a call brings takes its time on the slowest link, also where nothing else is under way, "
    "and the more the longer. At the client that looks like slow storage: the call is sent at once "
    "and answered late. Faster disks do not help."
)

_NARROW_BACK = (
    "What a reply brings takes its time on the slowest link, also where nothing else is under way, "
    "and the more the longer. At the server that looks like a client that is slow to call again: "
    "the reply is sent at once, and the next call comes late. A faster server or client does not "
    "help."
)

ADVICE_NARROW = (
    Advice(
        "Compare the rate with what each link on the way is to carry (line rate, shaper, VPN, what "
        "a provider gives): if it is near, a faster link is the way, or less data (compress, send "
        "it at another time)."
    ),
    Advice(
        "If it is far below, look for what holds packets back: drops and queues of switches and "
        "shapers, other traffic on the same link, duplex mismatch, a machine that is too busy to "
        "forward."
    ),
)
"""Where what single calls bring takes its time on the link."""

ADVICE_FULL = (
    *ADVICE_NARROW,
    Advice(
        "That small calls need not wait behind the data, keep queues short: fair queueing at the "
        "bottleneck (fq_codel, CAKE), or a shaper just below its rate."
    ),
)
"""Where the data itself filled the link."""

ADVICE = (
    Advice(
        "Find out what changed on the path at that time: a failover or a route over another site, "
        "a VPN or tunnel, a link that was full (queues of switches and shapers), a firewall or "
        "WAN optimizer; ping or mtr at that time of day, counters and logs of the routers."
    ),
    Advice(
        "Capture at both ends at once: the half whose round trip grows leads to the place. Of "
        "virtual machines compare the hosts, too: one that did not get to run answers as late."
    ),
    Advice(
        "If paths as long are to be expected, leave timeo at its default (60 s over TCP), so that "
        "calls are not sent again for it."
    ),
)


RULE = Rule(
    id="slower_path",
    title="The path became longer during the capture",
    origin="RFC 1122 section 4.2.3.2 and RFC 5681 section 4.2 (when ACKs may be delayed), RFC 9293 "
    "section 3.4 (an ACK is for all that has arrived), RFC 7323 section 3 (a segment carries its "
    "sender's clock); practice",
    judge=judge,
    thresholds=(MORE,),
)
