"""WRITEs that do not cover whole pages: unaligned, in the midst of a file, appended, after a READ.

Takes a trace; gives for each client and server the WRITEs by how they lie on pages of 4 KiB. A
file's last page is covered when the WRITE reaches the end of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import population, shares, spared
from pcapnfs.analyses.files import READ_OPERATIONS
from pcapnfs.analyses.service_time import NANOSECONDS, integer
from pcapnfs.analyses.spared import Spared
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server callback call_frame call_time reply_time",
        operations="call position op file offset count executed status size",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("WRITE",), statuses=(0,))
"""Files without a WRITE that succeeded are none of these."""

PAGE_BYTES = 4096
"""Pages and blocks of most clients and servers."""

SOON_S = 1.0
"""A READ that came longer before the WRITE was for something else."""


class WriteShapes(Record):
    """The WRITEs of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    writes: int
    """WRITEs that succeeded."""
    files: int
    """Files that the unaligned ones were to."""
    mean_bytes: float
    """What an unaligned one brought, mean, bytes; 0 without any."""
    unaligned: Spared
    """Those that begin within a page, or end within one before the file's end."""
    appended: int
    """Those of them that begin where the file ended."""
    read_first: Spared
    """READs, right before such a WRITE, of the page that it begins or ends in."""


def write_shapes(trace: Trace) -> tuple[WriteShapes, ...]:
    """Sort the WRITEs, by client and server."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    rows = trace.sql(_SHAPES, {"reads": READ_OPERATIONS}).fetchall()
    return tuple(
        WriteShapes(
            client=str(client),
            server=str(server),
            writes=integer(writes),
            files=integer(files),
            mean_bytes=float(mean or 0.0),
            unaligned=spared.of_row(values[:4]),
            appended=integer(appended),
            read_first=spared.of_row(values[4:]),
        )
        for client, server, writes, files, mean, appended, *values in rows
    )


_SHAPES = f"""
    with moved as (
        select call, position, client, server, call_frame, call_time, reply_time, operations.file,
               operations.op in $reads as reading, "offset"::hugeint as start,
               "offset"::hugeint + "count" as stop, "count" as length, size
        from operations join calls using (call)
        where (operations.op = 'WRITE' or operations.op in $reads) and operations.executed
              and operations.status = 0 and "offset" is not null and "count" > 0
              and operations.file is not null and not callback and reply_time is not null
    ),
    written as (
        select client, server, file from moved where not reading group by all
    ),
    told as (
        select moved.*,
               max(stop) filter (not reading) over (
                   partition by client, server, file order by call_time, call, position
                   rows between unbounded preceding and 1 preceding) as reached,
               coalesce(size, max(stop) over (partition by client, server, file)) as ending,
               lead(reading) over around as next_reading, lead(start) over around as next_start,
               lead(stop) over around as next_stop, lead(call_time) over around as next_time
        from moved semi join written using (client, server, file)
        window around as (
            partition by client, server, file order by call_time, call, position)
    ),
    shaped as (
        select *, not reading and (start % {PAGE_BYTES} <> 0
                                   or stop % {PAGE_BYTES} <> 0 and stop < ending) as unaligned,
               not reading and start % {PAGE_BYTES} <> 0 and start = reached as appended,
               reading and not next_reading and next_time - reply_time < {SOON_S * NANOSECONDS}
                   and (next_start % {PAGE_BYTES} <> 0 and start <= next_start and stop > next_start
                            - next_start % {PAGE_BYTES}
                        or next_stop % {PAGE_BYTES} <> 0 and start < next_stop
                           and stop >= next_stop) as first
        from told
    )
    select client, server, count(*) filter (not reading),
           count(distinct file) filter (unaligned), avg(length) filter (unaligned),
           count(*) filter (appended), {spared.columns("unaligned", "unaligned")},
           {spared.columns("first", "first")}
    from shaped join shares using (call)
    group by client, server having count(*) filter (not reading) > 0
    order by client, server
"""
