"""ACCESS calls that asked what the client had been told already.

Takes a trace; gives for each client and server the calls whose purpose is ACCESS, and those that
asked for the same rights on the same object for the same user and group as the one before, and got
the same answer; and how many of these asked about a directory that the client itself had changed in
between, where the server did not tell of that change what the client could trust. Users of
RPCSEC_GSS cannot be told apart: their calls count as asked for the first time.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback program op call_frame call_time reply_time uid gid",
        operations="call op status file access_requested access_granted executed directory "
        "target_directory change change_before change_after change_atomic target_change_before "
        "target_change_after",
        files="file path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("ACCESS",), statuses=(0,))
"""Only these are looked at."""

SOON_S = 3
"""A mount with default options keeps what it was told for as long at least (acregmin)."""

OFTEN = 3
"""From so many answers on with a directory's attributes, one with a value of `change_info4` would
be among them."""

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
    untrusted: int = 0
    """Calls that were repeated and asked about a directory which the client had changed since the
    call before, by NFSv4, where the server's `change_info4` was no help: not atomic, or, in this
    directory, never with a value that came with the attributes as well (RFC 8881 section 3.3.8).
    The client has to drop what it knew of the directory, though nobody else changed it."""


def repeated_access(trace: Trace) -> tuple[RepeatedAccess, ...]:
    """Count, for each client and server with an ACCESS, most repeated ones first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_ASKED)
        cursor.execute(_CHANGED)
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
            untrusted=integer(untrusted),
        )
        for mount, accesses, objects, soon, untrusted, *values in rows
    ]
    return tuple(sorted(told, key=lambda each: (-each.repeated.calls, each.client, each.server)))


_ASKED = f"""
    create temp table asked as
    select mount, operations.file, call, call_frame,
           coalesce(access_requested = lag(access_requested) over before
                    and access_granted = lag(access_granted) over before, false) as again,
           call_time - lag(call_time) over before < {SOON_S * NANOSECONDS} as soon,
           call_time, lag(call_time) over before as since
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

# Each change that a client made of a directory that it asks about. Servers that count changes in
# one way for change_info4 and in another for the attribute are as good as silent.
_CHANGED = f"""
    create temp table changed as
    with told as (
        select call, directory, change_before as before, change_after as after, change_atomic
        from operations where change_before <> change_after and executed and directory is not null
        union all
        select call, target_directory, target_change_before, target_change_after, change_atomic
        from operations
        where target_change_before <> target_change_after and executed
              and target_directory <> directory
    ),
    changes as (
        select mount, told.directory, before, after, coalesce(change_atomic, false) as atomic,
               reply_time
        from told join (
                 select call, mount, reply_time from calls
                 where not callback and reply_time is not null
             ) using (call)
        where told.directory in (select file from asked where again)
    ),
    attributes as (
        select file as directory, change from operations
        where change is not null and file in (select directory from changes)
    ),
    states as (
        select directory, before as change from changes
        union
        select directory, after from changes
    ),
    apart as (
        select attributes.directory, count(*) as times, count(states.change) > 0 as common
        from attributes left join states using (directory, change)
        group by attributes.directory
    )
    select mount, directory as file, reply_time as changed,
           atomic and coalesce(common or times < {OFTEN}, true) as trusted
    from changes left join apart using (directory)
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
    latest as (
        select asked.mount, changed.changed > since and not trusted as untrusted
        from (from asked where again) as asked asof join changed
             on asked.mount = changed.mount and asked.file = changed.file
                and asked.call_time >= changed.changed
    ),
    doubted as (
        select mount, count(*) filter (untrusted) as untrusted from latest group by mount
    ),
    asking as (select distinct mount from asked)
    select mount, accesses, coalesce(objects, 0), coalesce(soon, 0), coalesce(untrusted, 0),
           {spared.names("again")}
    from asking join accesses_of using (mount) left join repeated using (mount)
         left join doubted using (mount)
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
