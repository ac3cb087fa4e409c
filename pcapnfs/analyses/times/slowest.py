"""The calls that took longest, each held against the others of its operation.

A long call says little by itself: 400 ms are nothing for a lock that waits, and much for a READ.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import order, paths
from pcapnfs.analyses.asking.values import integer, number
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call callback protocol op client server file call_frame reply_frame srt transmissions",
    files="file path",
)
"""The columns that the query here reads."""


class SlowCall(Record):
    """A call, and how long others of its operation took."""

    version: str
    """Protocol: `3`, `4.0`, `4.1`, `4.2`, `nfsacl3`, `mount3` …"""
    op: str
    """Procedure; for NFSv4 the compound's main operation."""
    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    path: str | None
    """Path of the file that it is about; None when it is about none."""
    call_frame: int
    """Frame that completes the call's first transmission."""
    reply_frame: int
    """Frame that completes the reply."""
    srt_s: float
    """Its service time, seconds."""
    transmissions: int
    """How often it was sent."""
    answered: int
    """Calls of this operation with a reply, itself among them."""
    p50_s: float
    """Median service time of these, seconds, exact and interpolated."""
    p99_s: float
    """99th percentile, seconds, exact and interpolated."""


def slowest(trace: Trace, *, top: int = 20) -> tuple[SlowCall, ...]:
    """The calls with the longest service times, longest first; callbacks are not among them.

    Args:
        trace: The trace.
        top: How many; 0 for all.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("calls", top=top)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(_SLOWEST, {"top": top or None}).fetchall()
        known = paths.of(cursor, (row[4] for row in rows))
    return tuple(
        SlowCall(
            version=str(row[0]),
            op=str(row[1]),
            client=str(row[2]),
            server=str(row[3]),
            path=known.get(row[4]),
            call_frame=integer(row[5]),
            reply_frame=integer(row[6]),
            srt_s=number(row[7]) / NANOSECONDS,
            transmissions=integer(row[8]),
            answered=integer(row[9]),
            p50_s=number(row[10]) / NANOSECONDS,
            p99_s=number(row[11]) / NANOSECONDS,
        )
        for row in rows
    )


_SLOWEST = """
    with usual as (
        select protocol, op, count(srt) as answered,
               quantile_cont(srt, 0.5) as p50, quantile_cont(srt, 0.99) as p99
        from calls where not callback and srt is not null group by protocol, op
    )
    select protocol, op, client, server, file, call_frame, reply_frame, srt,
           transmissions, answered, p50, p99
    from calls join usual using (protocol, op)
    where not callback and srt is not null
    order by srt desc, call limit $top
"""
