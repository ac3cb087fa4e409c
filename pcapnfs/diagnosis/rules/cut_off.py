"""Pauses that are none: the client could not reach the server, as it shows when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.confidence import Confidence
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.cut_off import CutOff
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "cut_off.least", 1.0, "s", "from the last reply to the first packet after it; below, nothing "
    "is reported", "RFC 6298 section 2: TCP's first retransmission takes as long at most",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.cut_off:
        if pair.longest_s < values[LEAST.name]:
            continue
        claims = (Claim("client", pair.idle_s),) if pair.idle_s else ()
        severity = by_cost(material, claims)
        yield Observed(
            severity="warning" if severity == "note" and pair.idle_s else severity,
            at_most="problem",
            title="The client could not reach the server for a while",
            seen=_seen(pair),
            why="A client that merely pauses comes back on its connection, with calls that it "
            "sends once. This one had tried before, and nothing of that came here: a link, a "
            "switch, a route or a firewall on the way was down or dropped all, or the client "
            "itself stood still. Programs on its mount waited, though no call is to be seen here.",
            advice=(
                Advice(
                    "Read what happened at that moment (clocks may differ): links that went down "
                    "(dmesg of both hosts, logs of the switches), spanning tree, the failover of a "
                    "bond, router, firewall or server address, a virtual machine that was paused "
                    "or moved. The client's log may say from when to when (nfs: server not "
                    "responding, server OK)."
                ),
                Advice(
                    capture_again(
                        "To see when its calls began to wait, capture at the client, too", material
                    )
                ),
            ),
            confidence=_confidence(pair),
            data=units.counted(pair.times, "pause"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _confidence(pair: CutOff) -> Confidence:
    """That the client was cut off is sure; how much of the time that was need not be."""
    if pair.unacknowledged == pair.times:
        return "certain"
    return "likely" if pair.idle_s else "possible"


def _seen(pair: CutOff) -> str:
    since = units.clock(pair.from_ns)
    text = (
        f"From {since} UTC on nothing of the client came for {units.duration(pair.longest_s)}."
        if pair.times == 1
        else f"{units.count(pair.times)} times nothing of the client came for a second or more; "
        f"the longest was {units.duration(pair.longest_s)}, from {since} UTC on."
    )
    return f"{text} {' '.join(_signs(pair))}{_own(pair)}"


def _signs(pair: CutOff) -> Iterator[str]:
    """By what it shows to be no pause."""
    one = pair.times == 1
    if pair.moved:
        text = "Then" if one else f"{units.counted(pair.moved, 'time')} it ended as"
        text += (
            " its next call came on a new connection, though neither side had ended the former one"
        )
        if pair.unacknowledged:
            text += ", on which the server had sent again what the client never acknowledged"
        yield f"{text}."
    if pair.together:
        text = "Then" if one else f"{units.counted(pair.together, 'time')} it ended as"
        yield (
            f"{text} a call came several times at once, which the client sends again only after "
            "its timer ran out (timeo): they had waited in its TCP."
        )


def _own(pair: CutOff) -> str:
    """What of it may be the client's own."""
    if pair.unacknowledged == pair.times or not pair.own_s:
        return ""
    text = (
        " How long the client paused by itself before is not to be seen: other pauses between its "
        f"calls took up to {units.duration(pair.own_s)}"
    )
    if not pair.idle_s:
        return f"{text}, so that nothing is taken for certain to be the path's."
    return f"{text}, which are left out of what it costs."


RULE = Rule(
    id="cut_off",
    title="Clients that could not reach the server for a while",
    origin="practice: captures at the server while the path was down; RFC 9293 section 3.8.3",
    judge=judge,
    thresholds=(LEAST,),
)
