"""Directories that a client looked up again though it knew them to be there.

Takes a connection with the table `learned` (`change_ids`); gives for each client and server the
LOOKUPs of directories that found what a call of the client's own had told shortly before, in
directories that nobody else is seen to have changed since. A client that keeps names needs none of
these to go through a directory, but sends one where something is to be made there: it asks the
server whether the name is free, even if it knows that it is not. So does a program that makes each
directory of a path before it makes a file (mkdir -p).

A client that keeps no names sends the same LOOKUPs. It is told apart by what else it does: it looks
up files again as well, and a directory before each name in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import change_ids as _change_ids
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import changed_directories
from pcapnfs.analyses.namespace.listings import LISTING
from pcapnfs.analyses.namespace.names_again import KEPT_S, LOOKED_UP
from pcapnfs.analyses.namespace.voided_lookups import followed, taught
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS, NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    _change_ids.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback program op status call_frame call_time reply_time file "
        "directory",
        files="file path role",
    ),
)
"""The columns that the queries here read."""

NEEDS = LOOKED_UP
"""What must be there."""

LEAST = 20
"""LOOKUPs of directories beyond one for each, below which nothing is looked for."""

PLACES_SHOWN = 3
"""Directories that are told."""

MOVING = ("RENAME", "REMOVE", "LINK")
"""Operations on a name that a program used before: each goes by the path anew."""


class DirectoriesAgain(Record):
    """What one client looked up again on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    again: Spared
    """LOOKUPs of directories that it knew to be there."""
    directories: int
    """How many directories these found."""
    places: tuple[str, ...]
    """Those that were looked up most; paths, not escaped."""
    most: int
    """How often the first of them was."""
    files: int
    """LOOKUPs of what is no directory that it knew to be there likewise, whoever changed what."""
    entered: int
    """Calls by a name in such a directory right after one by another name there, without a LOOKUP
    of the directory in between: the client keeps its name."""


def directories_again(trace: Trace) -> tuple[DirectoriesAgain, ...]:
    """Add up, for each client and server with any, in the order of addresses."""
    with change_ids(trace) as cursor:
        return of_learned(trace, cursor)


def of_learned(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> tuple[DirectoriesAgain, ...]:
    """The same, on a connection with the tables of `change_ids`, of whole mounts."""
    if not NEEDS.met(trace):
        return ()
    cursor.execute(_LOOKING)
    if not any_again(cursor):
        return ()
    shares.register(trace)
    for statement in (_KNOWN, _AGAIN, _ENTERED):
        cursor.execute(statement)
    places = paths.most_in(cursor, "directories_found_again", PLACES_SHOWN, file="file")
    found = cursor.execute(_BY_MOUNT).fetchall()
    answered, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    pairs = [
        DirectoriesAgain(
            *mounts[mount],
            answered[mount],
            spared.of_row(values),
            integer(directories),
            tuple(places.get(mount, ())),
            integer(times),
            integer(files),
            integer(entered),
        )
        for mount, directories, times, files, entered, *values in found
    ]
    return tuple(sorted(pairs, key=lambda pair: (pair.client, pair.server)))


def any_again(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether directories were looked up again, on a connection with `directories_looked_up`."""
    return cursor.execute("select 1 from directories_looked_up limit 1").fetchone() is not None


_LOOKING = f"""
    create temp table directories_looked_up as
    select mount from calls semi join (select file from files where role = 'directory') using (file)
    where op = 'LOOKUP' and status = 0 and not callback and program = {NFS}
          and directory is not null
    group by mount having count(*) - count(distinct file) >= {LEAST}
"""

_KNOWN = f"""
    create temp table known_looked_up as
    with taught as ({taught("mount in (from directories_looked_up)")})
    select taught.* exclude (looked_up), role = 'directory' as is_directory
    from taught join (select file, role from files) using (file)
    where looked_up and call_time between taught and taught + {int(KEPT_S * NANOSECONDS)}
"""

# A LOOKUP that a listing follows opens the directory: nothing spares that.
_AGAIN = f"""
    create temp table directories_found_again as
    with known as (from known_looked_up where is_directory),
    others as ({changed_directories.by_others("select directory from known")}),
    followed as ({followed("select file from known", LISTING)})
    select known.mount, file, call, call_frame
    from known join followed using (call)
         asof left join others
         on known.mount = others.mount and known.directory = others.directory
            and known.call_time >= others.moment
    where coalesce(moment < taught, true) and not coalesce(leads_on, false)
"""

# What makes something asks before whether its name is free: two calls in a row about one object are
# one access of a program, unless it moves what it had made.
_ENTERED = f"""
    create temp table directories_entered as
    with events as (
        select mount, file as place, null as file, op, call, call_time, false as inside
        from calls
        where op = 'LOOKUP' and not callback and program = {NFS}
              and (mount, file) in (select mount, file from directories_found_again)
        union all
        select mount, directory, file, op, call, call_time, true
        from calls
        where not callback and program = {NFS}
              and (mount, directory) in (select mount, file from directories_found_again)
    ),
    steps as (
        select mount, inside and lag(inside) over its_place
                      and (file <> lag(file) over its_place
                           or {among("op", MOVING)} and lag(op) over its_place <> 'LOOKUP')
                      as entered
        from events
        window its_place as (partition by mount, place order by call_time, call)
    )
    select mount, count(*) as entered from steps where entered group by mount
"""

_BY_MOUNT = f"""
    with times as (
        select mount, file, count(*) as times from directories_found_again group by all
    ),
    most as (select mount, max(times) as most from times group by mount),
    beside as (
        select mount, count(*) as beside from known_looked_up where not is_directory group by mount
    )
    select mount, count(distinct file), any_value(most), coalesce(any_value(beside), 0),
           coalesce(any_value(entered), 0),
           {spared.columns("true", "again")}
    from directories_found_again join shares using (call) join most using (mount)
         left join directories_entered using (mount) left join beside using (mount)
    group by mount
"""
