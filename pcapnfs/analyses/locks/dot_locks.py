"""Locks that programs take by making a name, and give back by removing it.

Takes a trace; gives for each client and server the names that it made again and again, each time
after it had been removed. Who makes a name that must not be there yet has the lock (dot locks of
mail programs, lock directories of scripts): a link, a directory, or a file by an exclusive create.
A file that replaces another by a RENAME holds its new content, and is none of these.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import former_names
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback version file stability call_frame call_time reply_time",
        operations="call op status file directory name create_mode created",
        files="file removed",
    ),
)
"""The columns that the queries here read."""

LINKS = ("LINK", "SYMLINK", "MKDIR")
"""Operations that fail where the name is there."""

CREATES = ("OPEN", "CREATE")
"""Operations that do so with one of `EXCLUSIVE`; the CREATE of NFSv4, which makes a directory, has
no mode, and always does."""

EXCLUSIVE = (1, 2, 3)
"""GUARDED, EXCLUSIVE and EXCLUSIVE4_1."""

REMOVES = ("REMOVE", "RMDIR")
"""Operations that remove a name."""

NEEDS = population.Operations(REMOVES, statuses=(0,))
"""Without one that succeeded no lock was given back."""

OFTEN = 10
"""So many times a name is made and removed again that stands for a lock: other programs, too,
remove a temporary file and make it anew."""


class DotLocks(Record):
    """The locks of this kind that one client took at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    taken: int
    """How often it made one of the names, which was then removed."""
    names: int
    """How many names that is."""
    most: str
    """The one that it made most often; not escaped."""
    calls: int
    """Answered calls about the files that had one of these names, and were removed in the capture:
    by any of their names."""
    time_s: tuple[tuple[str, float], ...]
    """What these took of the clock (`shares`), by row of the time budget, seconds."""
    pause_s: float
    """The client's own time beside them (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: the first of these calls."""


def dot_locks(trace: Trace) -> tuple[DotLocks, ...]:
    """Count them, by client and server."""
    if not NEEDS.met(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        cursor.execute(_OFTEN)
        if not any_often(cursor):
            return ()
        shares.register(trace)
        cursor.execute(_TAKEN)
        names = {
            mount: (integer(taken), integer(many), str(most))
            for mount, taken, many, most in cursor.execute(_NAMES).fetchall()
        }
        spent = cursor.execute(_SPENT).fetchall()
    mounts = traffic.mounts(trace)
    found = []
    for mount, (taken, many, most) in names.items():
        rows = [row for of, *row in spent if of == mount]
        found.append(
            DotLocks(
                *mounts[mount],
                taken=taken,
                names=many,
                most=most,
                calls=sum(integer(calls) for _, calls, *_ in rows),
                time_s=tuple((str(row), seconds(share) or 0.0) for row, _, share, *_ in rows),
                pause_s=sum(seconds(pause) or 0.0 for *_, pause, _ in rows),
                frames=tuple(sorted(integer(each) for *_, few in rows for each in few)[:EXAMPLES]),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


def any_often(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether any name was removed as often, on a connection with `removed_often`."""
    return cursor.execute("select 1 from removed_often limit 1").fetchone() is not None


# Whoever removes a tree removes each name once.
_OFTEN = f"""
    create temp table removed_often as
    select directory, {former_names.title()} as title from operations
    where {among("op", REMOVES)} and status = 0 and directory is not null and name is not null
    group by all having count(*) >= {OFTEN}
"""

# A CREATE of NFSv4 has no mode, and makes what is not there yet; of another it was cut off, or is
# of NFSv2, which has none.
_TAKEN = f"""
    create temp table taken as
    with steps as (
        select operations.file, operations.directory, name, mount, call, call_time,
               operations.op in {REMOVES} as removes
        from operations join (
            select call, mount, call_time, version from calls where not callback
        ) using (call)
        where status = 0 and (operations.directory, {former_names.title()}) in (from removed_often)
              and (operations.op in {LINKS + REMOVES}
                   or operations.op in {CREATES} and coalesce(created, true)
                      and (create_mode in {EXCLUSIVE}
                           or create_mode is null and version = 4 and operations.op = 'CREATE'))
    ),
    followed as (
        select *, lead(removes, 1, false) over (
                   partition by mount, directory, name order by call_time, call
               ) as removed
        from steps
    )
    select mount, directory, name, count(*) as times, list(file) as files
    from followed where removed and not removes
    group by mount, directory, name having count(*) >= {OFTEN}
"""

_NAMES = """
    select mount, sum(times), count(*), arg_max(name, (times, name)) from taken
    group by mount order by mount
"""

_SPENT = f"""
    with locks as (
        select distinct mount, unnest(files) as file from taken
    ),
    asked as (
        select call, mount, stability, call_frame from calls semi join (
            from locks semi join (select file from files where removed) using (file)
        ) using (mount, file)
        where not callback and reply_time is not null
    )
    select mount, stability, count(*), sum(share), sum(pause),
           min(call_frame::bigint, {EXAMPLES})
    from asked join shares using (call)
    group by mount, stability order by mount, stability
"""
