"""Rollback journals of databases: files that are made and removed for each change.

Takes a trace; gives for each client and server the files that the client made and that were removed
again, with names as SQLite gives them to its journals: that of the database, and -journal behind it
(*Temporary Files Used By SQLite*). By default it makes one for each transaction, stores in it what
it is about to change, and removes it, which is what makes the change last.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import new_files
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    new_files.READS,
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback file stability call_frame reply_time",
        files="file parent name path removed",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("REMOVE",), statuses=(0,))
"""Without one that succeeded no journal was removed."""


class Journals(Record):
    """The journals that one client made at one server, and that were removed."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    made: int
    """How many."""
    databases: int
    """Of how many databases: names, each in its directory."""
    most: str
    """Path of the name that most of them had; the first in the order of the alphabet where several
    are."""
    calls: int
    """Stable calls about them: creates, attributes, stable WRITEs, COMMITs, removes."""
    time_s: float
    """What these took of the clock (`shares`), seconds."""
    pause_s: float
    """The client's own time beside them (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: the first of these calls."""


def journals(trace: Trace) -> tuple[Journals, ...]:
    """Count them, by client and server."""
    if not (NEEDS.met(trace) and new_files.register(trace)):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_JOURNALS)
        rows = cursor.execute(_COUNTED).fetchall()
    mounts = traffic.mounts(trace)
    found = (
        Journals(
            *mounts[integer(mount)],
            made=integer(made),
            databases=integer(databases),
            most=str(most),
            calls=integer(calls),
            time_s=seconds(time) or 0.0,
            pause_s=seconds(pause) or 0.0,
            frames=tuple(integer(frame) for frame in frames),
        )
        for mount, made, databases, most, calls, time, pause, frames in rows
    )
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


_JOURNALS = f"""
    create temp table journals as
    with made as (
        -- A server may give a new file the handle of one that was removed.
        select mount, file, count(*) as times
        from {new_files.TABLE} where coalesce(created, true) group by mount, file
    ),
    removed as (
        select file, parent, name, path from files
        where removed and ends_with(name, '-journal') and length(name) > length('-journal')
    )
    select mount, file, times, parent, name, path from made join removed using (file)
"""

_COUNTED = f"""
    with named as (
        select mount, parent, name, min(path) as path, sum(times) as made
        from journals group by mount, parent, name
    ),
    ranked as (
        select *, row_number() over (partition by mount order by made desc, path) as place
        from named
    ),
    counted as (
        select mount, sum(made) as made, count(*) as databases,
               min(path) filter (place = 1) as most
        from ranked group by mount
    ),
    asked as (
        select call, mount, file, call_frame from calls
        where stability = 'stable' and not callback and reply_time is not null
              and file in (select file from journals)
    ),
    spent as (
        select mount, count(*) as calls, sum(share) as share, sum(pause) as pause,
               min(call_frame::bigint, {EXAMPLES}) as frames
        from asked semi join journals using (mount, file) join shares using (call)
        group by mount
    )
    select mount, made, databases, most, calls, share, pause, frames
    from counted join spent using (mount)
"""
