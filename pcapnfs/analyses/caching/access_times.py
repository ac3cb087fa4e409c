"""Questions for the access times of files that a client has just read.

Takes a trace; gives for each client and server the GETATTRs of NFSv4 that ask for the access time
of files about which its last call of those that bring or change attributes was a READ. Each READ
gives a file another access time, for which a stat() of Linux asks the server, unless the mount has
`noatime`: under a delegation for times, and neither for the change attribute nor for size, mode or
owner; else for all attributes, also where they came a moment ago and nothing has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.bitmaps import holds
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.repeated_access import SOON_S
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.moves import READ_OPERATIONS
from pcapnfs.analyses.times import shares
from pcapnfs.operations import modifying_operations
from pcapnfs.programs import NFS, NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount op program version callback call_frame call_time reply_time file",
        operations="call op file attributes change",
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

DOUBTING = ("LOCK", "LOCK_MSG")
"""Operations after which a client looks whether the file is still what it knows."""

MANY = 50
"""GETATTRs of one client from which on those for all attributes are looked at, where nobody asks
for times alone; the least of them that the rule tells, by default."""

VAIN = 10
"""Where one in so many of the GETATTRs for all attributes has no READ before it, but comes as soon
after others brought them, the client trusts no attributes (noac, actimeo=0), whatever is read."""


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
    whole: int
    """Those of them that ask for change, size, mode or owner as well, of a file whose attributes
    another GETATTR had brought less than three seconds before, and which had not changed since."""


def access_times(trace: Trace) -> tuple[AccessTimes, ...]:
    """Count, for each client and server with any, most of them first."""
    if not NEEDS.met(trace) or not (any_asked(trace) or any_many(trace)):
        return ()
    shares.register(trace)
    calls, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    return tuple(
        AccessTimes(*mounts[mount], calls[mount], spared.of_row(row), integer(files), whole)
        for mount, files, whole, *row in trace.rows(_asked())
    )


def any_asked(trace: Trace) -> bool:
    """Whether anybody asked for access times alone: in most captures nobody does."""
    return bool(
        trace.rows(f"""
            select call from operations
            where op = 'GETATTR' and {holds(ACCESS_TIME)} and not {holds(*KNOWN)} limit 1
        """)
    )


def any_many(trace: Trace) -> bool:
    """Whether anybody asked often enough."""
    return bool(
        trace.rows(f"""
            select mount from calls where op = 'GETATTR' and version = 4
            group by mount having count(*) >= {MANY} limit 1
        """)
    )


def _asked() -> str:
    """SQL: the questions of each client and server."""
    acting = (*READ_OPERATIONS, *TELLING, *DOUBTING, *modifying_operations())
    before = "partition by mount, file order by call_time, call"
    return f"""
        with questions as (
            select mount, file, call, alone
            from calls join (
                select call, bool_or(not {holds(*KNOWN)}) as alone from operations
                where op = 'GETATTR' and {holds(ACCESS_TIME)}
                group by call
            ) using (call)
            where op = 'GETATTR' and version = 4 and not callback and program = {NFS}
                  and reply_time is not null and file is not null
                  and file in (select file from calls where {among("op", READ_OPERATIONS)})
        ),
        told as (
            select call, file, any_value(change) as change from operations
            where op = 'GETATTR' and change is not null
                  and file in (select file from questions)
            group by call, file
        ),
        acts as (
            select mount, file, call, call_frame, call_time, change,
                   lag(op) over ({before}) as before,
                   lag(change) over ({before}) as brought,
                   last_value(case when change is not null
                                   then {{'change': change, 'at': call_time}} end ignore nulls)
                       over ({before} rows between unbounded preceding and 1 preceding) as known
            from calls left join told using (call, file)
            where not callback and program = {NFS} and {among("op", acting)}
                  and file in (select file from questions)
        ),
        judged as (
            select mount, acts.file, call, call_frame, alone,
                   {among("before", READ_OPERATIONS)} as read,
                   not alone and acts.change = known.change
                       and call_time - known.at < {SOON_S * NANOSECONDS} as fresh, brought
            from acts join questions using (mount, call)
        ),
        trusting as (
            select mount from judged where fresh group by mount
            having count(*) filter (not read) * {VAIN} <= count(*)
        ),
        found as (
            select * from judged
            where read and (alone or fresh and brought is null
                            and mount in (select mount from trusting))
        )
        select mount, count(distinct file), count(*) filter (not alone),
               {spared.columns("true", "asked")}
        from found join shares using (call)
        group by mount order by count(*) desc, mount
    """
