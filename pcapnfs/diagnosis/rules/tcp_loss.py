"""Segments lost on the way: TCP sent them again, and calls stood still meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.rules.captured_twice import by_another_clock
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "tcp_loss.share", 0.001, "share", "segments with data that were lost and sent again",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "tcp_loss.least", 5, "segments", "lost and sent again, below which nothing is said",
    "default of this tool",
)  # fmt: skip
GRAVE = Threshold(
    "tcp_loss.grave", 0.01, "share", "segments lost: a warning whatever the cost seen",
    "practice: TCP's throughput falls with the square root of the loss (RFC 5348 section 3.1)",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.tcp_stalls:
        resent = pair.client_resent + pair.server_resent
        # What is sent again to a server that cannot be reached is `unanswered_calls`'.
        vain = sum(
            each.resent
            for each in material.unanswered
            if (each.client, each.server) == (pair.client, pair.server)
        )
        vain = min(vain, pair.client_resent)
        lost = max(pair.lost - vain, 0)
        if lost < values[LEAST.name] or lost <= values[SHARE.name] * pair.segments:
            continue
        if by_another_clock(material, pair):
            continue  # The rule captured_twice says so.
        claims = by_row(pair.time_s)
        severity = by_cost(material, claims)
        if severity == "note" and lost >= values[GRAVE.name] * pair.segments:
            severity = "warning"
        stalled = sum(pair.time_s.values())
        stalls = (
            f" {units.counted(pair.stalls, 'call')} stood still for as long as TCP's "
            f"retransmission timer takes (200 ms and more), {units.duration(stalled)} in all."
            if pair.stalls
            else " No call that was answered stood still for as long as TCP's retransmission "
            "timer takes."
        )
        yield Observed(
            severity=severity,
            at_most="problem",
            title="TCP had to send segments again",
            seen=f"{units.count(resent)} of {units.counted(pair.segments, 'segment')} with data "
            f"({units.share(resent / pair.segments)}) "
            f"{'was' if resent == 1 else 'were'} sent again: "
            f"{units.count(pair.client_resent)} by the client, "
            f"{units.count(pair.server_resent)} by the server."
            + (
                f" {units.count(vain)} of these went to a server that did not answer any more."
                if vain
                else ""
            )
            + (
                f" {units.count(pair.spurious)} of them had arrived before, as the other end says "
                "(D-SACK)."
                if pair.spurious
                else ""
            )
            + (f" {units.count(pair.out_of_order)} came out of order." if pair.out_of_order else "")
            + stalls,
            why="They were lost, or overtaken by so many that they were taken for lost. NFS sends "
            "small messages with nothing behind them, so that a loss is noticed only when the "
            "timer runs out: one lost segment costs a call 200 ms. In bulk transfers TCP "
            "slows down instead.",
            advice=(
                Advice(
                    "Look for the place: error and drop counters of both network cards (ethtool "
                    "-S), of each switch port, duplex and MTU mismatch, cables and optics; compare "
                    "captures at both ends."
                ),
                Advice(
                    "Where a fast port feeds a slow one (10 to 1 Gbit/s, incast of many servers), "
                    "give the switch port more buffer or use flow control or ECN; fewer "
                    "connections (nconnect) and smaller rsize/wsize shorten the bursts.",
                    "smaller rsize/wsize cost throughput on a clean network.",
                ),
            ),
            confidence="certain" if lost >= 10 * values[LEAST.name] else "likely",
            data=f"{units.counted(pair.segments, 'segment')} on "
            f"{units.counted(pair.connections, 'connection')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
            display_filter="tcp.analysis.retransmission",
        )


RULE = Rule(
    id="tcp_loss",
    title="TCP segments lost and sent again",
    origin="practice; RFC 6298 (retransmission timer)",
    judge=judge,
    thresholds=(SHARE, LEAST, GRAVE),
)
