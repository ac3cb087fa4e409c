"""Servers that are slow to answer what they have in memory, and what that comes to in all calls.

Takes a trace and what servers take for small calls; gives, for each server that takes long for
these, what *warm* calls took there: GETATTRs, ACCESSes and CLOSEs about a file that a call had been
about within a minute before, and that came while no other call of the client was under way. No disk
is asked for them and no other call is waited for: it is the server's processor that lets them wait,
or what it runs in. Every other call waits for that as well, so it has a part in the share of each.

Where no small operation is slow at a server, nothing is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers import server_times
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.outstanding import KINDS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.servers.server_times import ServerTime
    from pcapnfs.trace import Trace

READS = columns.together(server_times.READS, columns.of(calls="call file mount reply_time"))
"""The columns that the query here reads."""

LONG_S = 0.001
"""A small operation that takes longer than this in the median, beyond the network, is looked at:
a server that has the time answers within it."""

FRESH_S = 60
"""So lately, in seconds, was the file asked about before: the server has not forgotten it since."""

ALONE = 0.99
"""Part of its service time that a call has of its client's clock where no other was under way."""

ANSWERED_FROM_MEMORY = ("ACCESS", "CLOSE", "GETATTR")
"""Operations about a file that need nothing but what the server knows of it."""


class WarmCalls(Record):
    """What one server takes for calls that it answers from memory."""

    server: str
    """Address of the server."""
    calls: int
    """The warm calls."""
    median_s: float
    """Their median time at the server, without the network's round trip between it and the capture,
    seconds; of a network that varies, what is surely not its own (`ServerTime.sure_s`)."""
    cost_s: tuple[tuple[str, float], ...]
    """By row of the time budget, what so much of each call to the server comes to in their shares
    of the clock, seconds."""
    frames: tuple[int, ...]
    """Example frames: of those that took longest."""


def warm_calls(trace: Trace, times: Sequence[ServerTime]) -> tuple[WarmCalls, ...]:
    """Measure each server that is slow for small calls.

    Args:
        trace: The trace.
        times: What servers take, by operation.
    """
    servers = sorted({each.server for each in times if each.kind == "small" and _slow(each)})
    if not servers:
        return ()
    timed, values = server_times.timed(
        trace,
        f"srt is not null and first_arrived and status = 0 and {among('server', servers)}",
    )
    rows = trace.rows(
        f"""
        with {timed},
        known as (
            select call, {among("op", ANSWERED_FROM_MEMORY)} and call_time - lag(reply_time) over (
                       partition by mount, file order by call_time, call
                   ) between 0 and {FRESH_S * NANOSECONDS} as known
            from calls
            where file is not null and not callback and {among("server", servers)}
        ),
        warm as (
            select server, count(*) as calls, median(sure)::bigint as took,
                   arg_max(call_frame, (took, -call_frame::bigint), {EXAMPLES}) as frames
            from timed join known using (call)
            where network_told and known and share >= {ALONE} * srt
            group by server
        )
        select server, any_value(warm.calls), any_value(warm.took), any_value(warm.frames),
               stability, sum(share * least(warm.took / greatest(srt, 1), 1))::bigint
        from calls join shares using (call) join warm using (server)
        where {shares.where("srt is not null")}
        group by server, stability order by server, stability
        """,
        values,
    )
    found = {
        str(server): (integer(calls), seconds(took) or 0.0, tuple(frames))
        for server, calls, took, frames, *_ in rows
    }
    costs = {(str(server), str(row)): seconds(cost) or 0.0 for server, *_, row, cost in rows}
    return tuple(
        WarmCalls(
            server=server,
            calls=calls,
            median_s=took_s,
            cost_s=tuple((row, costs[server, row]) for row in KINDS if (server, row) in costs),
            frames=frames,
        )
        for server, (calls, took_s, frames) in found.items()
    )


def _slow(each: ServerTime) -> bool:
    return each.sure_s > LONG_S
