"""What COMMITs take, against what had been written since the last one.

Takes a trace; gives for each client and server its COMMITs with the bytes that WRITEs answered
UNSTABLE had brought to the same file before each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import population, shares
from pcapnfs.analyses.service_time import integer, number, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server callback call_frame call_time reply_time srt",
        operations="call op file count committed status executed",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("COMMIT",), statuses=(0,))
"""Files without a COMMIT that succeeded are none of these."""

EXAMPLES = 5
"""Frames that are told."""


class Commits(Record):
    """The COMMITs of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    commits: int
    """Calls with a COMMIT that succeeded."""
    files: int
    """Files that they were for."""
    written_bytes: int
    """What had been written UNSTABLE before them, bytes."""
    empty: int
    """Those before which nothing had been written in the capture."""
    time_s: float
    """What they took of the clock (`shares`), seconds."""
    mean_s: float
    """Mean service time, seconds."""
    longest_s: float
    """The longest, seconds."""
    fixed_s: float | None
    """What a COMMIT takes however little was written: the intercept of the line through service
    times over bytes, seconds; None when all had as much before them."""
    rate_bytes: float | None
    """The bytes a second by which it grows, from the slope of that line; None when it does not
    grow."""
    frames: tuple[int, ...]
    """Example frames: those that took longest."""


def commits(trace: Trace) -> tuple[Commits, ...]:
    """Follow each file's WRITEs and COMMITs, costliest client and server first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    rows = trace.sql(_COMMITS, {"examples": EXAMPLES}).fetchall()
    return tuple(
        Commits(
            client=str(client),
            server=str(server),
            commits=integer(calls),
            files=integer(files),
            written_bytes=integer(written),
            empty=integer(empty),
            time_s=seconds(time) or 0.0,
            mean_s=seconds(mean) or 0.0,
            longest_s=seconds(longest) or 0.0,
            fixed_s=None if intercept is None else max(0.0, seconds(intercept) or 0.0),
            rate_bytes=None if not slope or slope <= 0 else 1e9 / number(slope),
            frames=tuple(frames),
        )
        for (
            client, server, calls, files, written, empty, time, mean, longest, intercept, slope,
            frames,
        ) in rows
    )  # fmt: skip


_COMMITS = """
    with written as (
        select client, server, operations.file, call, call_time, reply_time, call_frame, srt,
               operations.op = 'COMMIT' as commit, "count"
        from operations join calls using (call)
        where (operations.op = 'COMMIT' or operations.op = 'WRITE' and committed = 'UNSTABLE')
              and operations.executed and operations.status = 0
              and not callback and reply_time is not null
    ),
    committed as (
        select client, server, file from written where commit group by all
    ),
    grouped as (
        select *, count(*) filter (commit) over (
                   partition by client, server, file order by call_time, call
                   rows between current row and unbounded following) as before
        from written semi join committed using (client, server, file)
    ),
    told as (
        select client, server, file, before, any_value(call) filter (commit) as call,
               any_value(call_frame) filter (commit) as frame,
               any_value(srt) filter (commit) as srt,
               coalesce(sum("count") filter (not commit), 0)::double as bytes
        from grouped where before > 0 group by client, server, file, before
    )
    select client, server, count(*), count(distinct file), sum(bytes)::bigint,
           count(*) filter (bytes = 0), sum(share), avg(srt), max(srt),
           case when count(distinct bytes) > 1 then regr_intercept(srt, bytes) end,
           case when count(distinct bytes) > 1 then regr_slope(srt, bytes) end,
           arg_max(frame, (srt, -frame::bigint), $examples)
    from told join shares using (call)
    group by client, server order by sum(share) desc, client, server
"""
