"""Messages that wait for a delayed ACK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.wire import held_segments
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.held_segments import HeldSegments
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "delayed_ack.least", 10, "messages", "as late as the timer, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
SHARE = Threshold("delayed_ack.share", 0.01, "share", "messages as late", "default of this tool")
SPIKE = Threshold(
    "delayed_ack.spike", held_segments.SPIKE, "times",
    "as many as came a little sooner or later: a mode, not a tail",
    "default of this tool",
)  # fmt: skip
NEAR = Threshold(
    "delayed_ack.near", held_segments.NEAR_S, "s",
    "usual service time beyond which the round trip itself may have that length",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and timer."""
    for pair in material.held_segments:
        if (
            pair.held < values[LEAST.name]
            or pair.held < values[SHARE.name] * pair.messages
            or pair.held < values[SPIKE.name] * max(pair.beside, 1)
            or pair.usual_s > values[NEAR.name]
        ):
            continue
        claims = (
            Claim("transfer", pair.transfer_s),
            Claim("unstable", pair.unstable_s),
            Claim("read", pair.read_s),
            Claim("unstable_write", pair.unstable_write_s),
        )
        timer = units.duration(pair.timer_s)
        yield Observed(
            severity=by_cost(material, claims, sure=bool(pair.ack_waits)),
            at_most="problem" if pair.ack_waits else "warning",
            title=f"Messages wait {timer} for a delayed ACK",
            seen=f"{units.count(pair.held)} of {units.counted(pair.messages, 'message')} took "
            f"about {timer} longer than usual; "
            f"{f'only {units.count(pair.beside)}' if pair.beside else 'none'} took a little "
            "less or more."
            + (
                f" The usual service time is {units.duration(pair.usual_s)}."
                if pair.usual_s
                else ""
            )
            + _seen_waiting(pair),
            why="One side sends nothing more, or holds its last, small segment back (Nagle's "
            "algorithm), until what it sent is acknowledged; the other holds the ACK back in case "
            f"it has data to send. Both wait until the timer of {timer} runs out, whatever the "
            "network and the disks do.",
            advice=_advice(pair),
            confidence="certain" if pair.ack_waits else "likely",
            data=units.counted(pair.messages, "message"),
            frames=pair.frames,
            claims=tuple(claim for claim in claims if claim.seconds > 0),
            about=(pair.client, pair.server),
        )


def _advice(pair: HeldSegments) -> tuple[Advice, ...]:
    """What to set, and where: at the server, where it is seen to send late."""
    late, other = "the side that sends the late segment", "the receiving side"
    if pair.ack_waits:
        late = f"the server {pair.server}, which sends the late segment"
        other = f"the client {pair.client}"
    return (
        Advice(
            f"Set TCP_NODELAY on {late}: Linux's client and server do; a user-space client or "
            "server, or a proxy on the way, may not."
        ),
        Advice(
            "Have it write record mark and message in one piece (writev, MSG_MORE), not in two."
        ),
        Advice(
            f"On {other} let ACKs go at once for this route (ip route change … quickack 1).",
            "more packets.",
        ),
    )


def _seen_waiting(pair: HeldSegments) -> str:
    """What segments show of it."""
    if not pair.ack_waits:
        return ""
    return (
        f" The server sent nothing more until a late ACK of the client came, and went on at once, "
        f"{units.counted(pair.ack_waits, 'time')}."
    )


RULE = Rule(
    id="delayed_ack",
    title="Delayed ACK against Nagle's algorithm",
    origin="RFC 1122 sections 4.2.3.2 and 4.2.3.4; practice: modes at 40 and 200 ms",
    judge=judge,
    thresholds=(LEAST, SHARE, SPIKE, NEAR),
)
