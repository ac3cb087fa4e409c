"""ACCESS calls that asked what the client had been told already.

Takes a trace; gives for each client and server the calls whose purpose is ACCESS, and those that
asked for the same rights on the same object for the same user and group as the one before, and got
the same answer. Users of RPCSEC_GSS cannot be told apart: their calls count as asked for the first
time.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.service_time import NANOSECONDS, integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback program op call_frame call_time reply_time uid gid",
        operations="call op status file access_requested access_granted",
        files="file path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("ACCESS",), statuses=(0,))
"""Only these are looked at."""

SOON_S = 3
"""A mount with default options keeps what it was told for as long at least (acregmin)."""

PLACES_SHOWN = 3
"""Objects that are told."""


class RepeatedAccess(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    accesses: int
    """Those whose purpose is ACCESS."""
    repeated: Spared
    """Those of them that gave what the client had been told by the one before."""
    soon: int
    """Those of these that came less than `SOON_S` after that one: no timeout was over."""
    objects: int
    """Objects that these were about."""
    places: tuple[str, ...]
    """The objects asked for most; paths, not escaped."""


def repeated_access(trace: Trace) -> tuple[RepeatedAccess, ...]:
    """Count, for each client and server with an ACCESS, most repeated ones first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_ASKED)
        rows = cursor.execute(_BY_MOUNT).fetchall()
        asked = {"places": PLACES_SHOWN, **traffic.named(trace)}
        most = cursor.execute(_PLACES, asked).fetchnumpy()
        told_places = paths.most(cursor, most, PLACES_SHOWN)
    mounts = traffic.mounts(trace)
    found = {mounts[mount]: places for mount, places in told_places.items()}
    calls = traffic.answered(trace, NFS_PROGRAMS)
    told = [
        RepeatedAccess(
            client=mounts[mount][0],
            server=mounts[mount][1],
            calls=calls[mount],
            accesses=integer(accesses),
            repeated=spared.of_row(values),
            soon=integer(soon),
            objects=integer(objects),
            places=tuple(found.get(mounts[mount], ())),
        )
        for mount, accesses, objects, soon, *values in rows
    ]
    return tuple(sorted(told, key=lambda each: (-each.repeated.calls, each.client, each.server)))


_ASKED = f"""
    create temp table asked as
    select mount, operations.file, call, call_frame,
           coalesce(access_requested = lag(access_requested) over before
                    and access_granted = lag(access_granted) over before, false) as again,
           call_time - lag(call_time) over before < {SOON_S * NANOSECONDS} as soon
    from operations join (
             select call, mount, call_frame, call_time, uid, gid from calls
             where op = 'ACCESS' and not callback and uid is not null
         ) using (call)
    where op = 'ACCESS' and status = 0 and operations.file is not null
    window before as (
        partition by mount::ubigint << 32 | operations.file::ubigint,
                     uid::ubigint << 32 | coalesce(gid, 0)::ubigint, gid is null
        order by call
    )
"""

_BY_MOUNT = f"""
    with accesses_of as (
        select mount, count(*) as accesses from calls
        where op = 'ACCESS' and not callback and reply_time is not null
              and program in {NFS_PROGRAMS}
        group by mount
    ),
    timed as (
        select mount, file, call_frame, soon, share, pause
        from (from asked where again) join shares using (call)
    ),
    repeated as (
        select mount, count(distinct file) as objects, count(*) filter (soon) as soon,
               {spared.columns("true", "again")}
        from timed group by mount
    ),
    asking as (select distinct mount from asked)
    select mount, accesses, coalesce(objects, 0), coalesce(soon, 0), {spared.names("again")}
    from asking join accesses_of using (mount) left join repeated using (mount)
"""

_PLACES = f"""
    select first_value(mount) over pair as key, file, times
    from (
        select client, server, file, min(mount) as mount, count(*) as times
        from asked join {traffic.NAMED} using (mount) where again group by all
    )
    window pair as (partition by client, server order by mount)
    qualify rank() over (partition by client, server order by times desc) <= $places
"""
