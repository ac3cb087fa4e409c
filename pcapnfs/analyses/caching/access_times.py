"""Questions for the access times of files that a client has just read.

Takes a trace; gives for each client and server the GETATTRs of NFSv4 that ask for times, and
neither for the change attribute nor for size, mode or owner, of files about which its last call of
those that bring or change attributes was a READ. Under a delegation Linux knows all but the access
time, which goes with each READ: a stat() asks the server for it, unless the mount has `noatime`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.bitmaps import holds
from pcapnfs.analyses.asking.service_time import integer
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.moves import READ_OPERATIONS
from pcapnfs.analyses.times import shares
from pcapnfs.operations import modifying_operations
from pcapnfs.programs import NFS, NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount op program version callback call_frame call_time reply_time file",
        operations="call op attributes",
    ),
)
"""The columns that the query here reads."""

NEEDS = population.Operations(READ_OPERATIONS)
"""Only what is read has a new access time."""

ACCESS_TIME = 47
"""The attribute time_access (RFC 8881 section 5.8.2.37)."""

KNOWN = (3, 4, 33, 36)
"""The attributes change, size, mode and owner: who asks for one of them does not trust what it
knows."""

TELLING = ("LOOKUP", "OPEN", "GETATTR")
"""Operations that bring attributes of a file and change nothing by themselves."""


class AccessTimes(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    asked: Spared
    """GETATTRs for the access time of a file that it has just read."""
    files: int
    """Files that these are about."""


def access_times(trace: Trace) -> tuple[AccessTimes, ...]:
    """Count, for each client and server with any, most of them first."""
    if not (NEEDS.met(trace) and any_asked(trace)):
        return ()
    shares.register(trace)
    calls, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    return tuple(
        AccessTimes(*mounts[mount], calls[mount], spared.of_row(row), integer(files))
        for mount, files, *row in trace.rows(_asked())
    )


def any_asked(trace: Trace) -> bool:
    """Whether anybody asked for access times alone: in most captures nobody does."""
    return bool(trace.rows(f"{_TIMES} limit 1"))


_TIMES = f"""
    select call from operations
    where op = 'GETATTR' and {holds(ACCESS_TIME)} and not {holds(*KNOWN)}
"""


def _asked() -> str:
    """SQL: the questions of each client and server."""
    acting = (*READ_OPERATIONS, *TELLING, *modifying_operations())
    return f"""
        with times as ({_TIMES}),
        questions as (
            select mount, file, call from calls
            where op = 'GETATTR' and version = 4 and not callback and program = {NFS}
                  and reply_time is not null and file is not null
                  and call in (select call from times)
        ),
        acts as (
            select mount, file, call, call_frame,
                   lag(op) over (partition by mount, file order by call_time, call) as before
            from calls
            where not callback and program = {NFS} and {among("op", acting)}
                  and file in (select file from questions)
        )
        select mount, count(distinct acts.file), {spared.columns("true", "asked")}
        from acts semi join questions using (call) join shares using (call)
        where {among("before", READ_OPERATIONS)}
        group by mount order by count(*) desc, mount
    """
