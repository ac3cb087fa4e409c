"""Calls sent again: the client did not get its answer in time, and no restart explains it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.resent_calls import ResentCalls
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "rpc_retransmission.share", 0.05, "share",
    "calls sent again: requests, or their replies, do not arrive", "nfsstat practice, IBM AIX",
)  # fmt: skip
LEAST = Threshold(
    "rpc_retransmission.least", 1, "calls", "sent again, below which nothing is reported",
    "RFC 8881 section 2.9.2: over TCP no call should be",
)  # fmt: skip

IDLE = Threshold(
    "rpc_retransmission.idle", 10.0, "s", "for which nothing was sent before each connection that "
    "broke, from where on something on the way may have forgotten it", "default of this tool",
)  # fmt: skip

_FORGOTTEN = Advice(
    "Something on the way may forget connections that are idle: compare the idle timeouts of "
    "firewalls, NAT gateways and load balancers with these pauses, and make them longer. A Linux "
    "client sends a keepalive when nothing came for timeo (60 s by default): they must be longer "
    "than that."
)

_HARD = Advice(
    "Mount hard, the default: nfsstat -m shows soft or softerr, if that is why. Such a mount gives "
    "a call up when it was sent retrans times again in vain, each after timeo; programs then get "
    "an error (EIO, ETIMEDOUT), and what was to be written may be lost. Hard ones go on when the "
    "server answers again.",
    "programs wait for as long as the server cannot be reached.",
)

TOPIC = "calls sent again"
"""What this rule and `duplicate_replies` both speak of."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.resent_calls:
        # `unanswered_calls` speaks of those that no transmission got an answer to, and of those
        # whose answers the client never got.
        vain = sum(
            min(each.repeated, each.calls) + min(pair.lost, each.undelivered)
            for each in material.unanswered
            if (each.client, each.server) == (pair.client, pair.server)
        )
        if pair.resent - vain < values[LEAST.name]:
            continue
        claims = by_row(pair.time_s)
        severity = by_cost(material, claims)
        if severity == "note" and pair.resent > values[SHARE.name] * pair.calls:
            severity = "warning"
        if pair.given_up:
            severity = "problem"
        yield Observed(
            severity=severity,
            at_most="problem",
            title=_title(pair),
            seen=_seen(pair) + (_was_idle(pair) if _idle(pair, values) else ""),
            why=(
                "What had no answer when a connection ends is sent again on the next one; a path "
                "that lets nothing through ends it only after many tries. Until then the program "
                "waits. "
                if _broken(pair)
                else "A client sends a call again when its timer runs out (timeo), or when the "
                "connection broke. Until then the program waits. "
            )
            + "What is not idempotent (REMOVE, RENAME, CREATE, LOCK) may fail or be done twice if "
            "the server has forgotten its first answer.",
            advice=_advice(pair, idle=_idle(pair, values)),
            calls=pair.resent,
            confidence="likely" if pair.alone or pair.given_up else "certain",
            data=units.counted(pair.calls, "call"),
            frames=pair.given_up_frames or pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _title(pair: ResentCalls) -> str:
    if pair.given_up:
        return "The client gave calls up, and went on without their answers"
    if _broken(pair):
        return "A connection broke, and calls waited for a new one"
    return "Calls were sent again"


def _broken(pair: ResentCalls) -> bool:
    """All went again since their connection had broken."""
    return pair.moved == pair.resent


def _idle(pair: ResentCalls, values: Values) -> bool:
    """Whether all connections broke that had been idle."""
    return _broken(pair) and pair.idle_s is not None and pair.idle_s >= values[IDLE.name]


def _was_idle(pair: ResentCalls) -> str:
    before = "it" if pair.moved == 1 else "each time that happened"
    return (
        f" Before {before} the client had sent nothing for {units.duration(pair.idle_s)} or longer."
    )


def _seen(pair: ResentCalls) -> str:
    one = pair.resent == 1
    text = (
        f"{units.count(pair.resent)} of {units.counted(pair.calls, 'call')} "
        f"({units.share(pair.resent / pair.calls)}) "
    )
    if _broken(pair):
        text += (
            f"{'was' if one else 'were'} sent again on a new connection, since the old one broke."
        )
    else:
        text += f"went more than once, over {' and '.join(pair.transports)}."
    if pair.given_up:
        text += (
            f" While {units.count(pair.given_up)} of them had no answer yet, it sent other calls, "
            "though else it never had two under way."
        )
    if pair.answered_twice:
        text += f" Answered more than once: {units.count(pair.answered_twice)}."
    if pair.lost:
        text += (
            f" {units.count(pair.lost)} came again up to {units.duration(pair.lost_s or 0.0)} "
            "after the answer, which was lost behind the capture point, on its way to the client."
        )
    if pair.moved and not _broken(pair):
        text += (
            f" Sent again on a new connection, since the old one broke: {units.count(pair.moved)}."
        )
    if pair.alone:
        text += (
            " What the server sent is not in the capture: it may have answered before "
            f"{'it' if one else 'they'} came again."
        )
    if pair.resent_s is not None:
        others = ""
        if pair.usual_s is not None:
            median = " in the median" if one else ""
            others = f", that of the others {units.duration(pair.usual_s)}{median}"
        whose = "Its service time" if one else "The median service time of those sent again"
        text += f" {whose} is {units.duration(pair.resent_s)}{others}."
    return text


def _advice(pair: ResentCalls, *, idle: bool) -> tuple[Advice, ...]:
    if _broken(pair):
        return (
            *((_FORGOTTEN,) if idle else ()),
            Advice(
                "Find out why the connection broke: server or its NFS service restarted, address "
                "moved to another node, a firewall or load balancer that drops idle connections, "
                "or a link or path that was down for long."
            ),
        )
    advice = [
        Advice(
            "Compare with a capture at the other end: calls that are missing there are lost on "
            "the way; those that arrive and are answered late are the server's."
        ),
        Advice(
            "Leave timeo at its default (600 = 60 s over TCP). A shorter one sends again what the "
            "server is still working on, and a mount with soft or softerr gives it up the sooner."
        ),
    ]
    if pair.given_up:
        advice.insert(0, _HARD)
    if pair.lost:
        advice.insert(
            0,
            Advice(
                "Look at the way from the capture point to the client: a link or path that is down "
                "in one direction, a firewall that does not know the connection, an MTU too small "
                "for answers."
            ),
        )
    if "UDP" in pair.transports:
        advice.insert(
            0,
            Advice(
                "Mount with proto=tcp: over UDP one lost fragment costs the whole call, and a "
                "time-out."
            ),
        )
    return tuple(advice)


RULE = Rule(
    id="rpc_retransmission",
    title="RPC calls sent more than once",
    origin="practice: retrans of nfsstat and mountstats; RFC 7530 section 3.1.1",
    judge=judge,
    thresholds=(SHARE, LEAST, IDLE),
    topic=TOPIC,
)
