"""Whether programs on one client that move files between directories wait for one another.

The kernel of a client moves one name at a time from a directory into another one of a file system,
whichever directories these are, and holds the others until the server has answered (Linux:
`s_vfs_rename_mutex`, Documentation/filesystems/directory-locking). A RENAME within a directory
waits for changes of that directory alone (`directory_order`). Takes a trace; gives, for each client
and server, the directories between which files were moved so: in that file system no two moves
overlap, and many are sent as soon as that of another file was answered, while the client calls for
a third one that is itself moved, or for the one before.

A program that moves files one after the other sends each as soon as the one before was answered,
too. So what is under way beside a move must be about another file that is moved a little before or
after: somebody else's, who made it and moves it next. Where a file came with a delegation for
writing, the program that made it may write it while it moves others; such files show nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import given, paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace.directory_order import (
    ALONE,
    CHANGING,
    CHANGING_READS,
    LEAST,
    MANY,
    NEIGHBOURS,
)
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import at_once
from pcapnfs.analyses.wire.at_once import AT_ONCE_NS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

MOVED_READS = columns.together(
    CHANGING_READS, columns.of(operations="call op directory target_directory")
)
"""The columns that `MOVED` reads."""

MOVED = f"""
    select call, min(operations.directory) as source, min(target_directory) as target
    from operations
    where op = 'RENAME' and {CHANGING} and target_directory <> operations.directory
    group by call
"""
"""SQL: the calls that moved a file from one directory into another."""

READS = columns.together(
    population.OPERATIONS_READS,
    at_once.READS,
    shares.READS,
    traffic.READS,
    MOVED_READS,
    columns.of(
        calls="call mount callback file stability call_frame call_first_time reply_time srt",
        operations="call delegation file",
        files="file path fsid_major fsid_minor",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("RENAME",), statuses=(0,))
"""Without one that succeeded nothing was moved."""


class Route(Record):
    """From which directory into which files were moved."""

    source: str
    """The directory in which they were; not escaped."""
    target: str
    """The one into which they were moved; not escaped."""
    moves: int
    """Moves that were sent as soon as that of another file was answered."""
    time_s: float
    """What these took of the clock (`shares`), seconds."""


class MoveOrder(Record):
    """What one client moved between directories of one server, one file after the other."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    moves: int
    """Files moved from one directory into another, in file systems in which that was seen."""
    handed_over: int
    """Those of them that were sent as soon as the move of another file was answered, while calls
    about a file next to it in that order were under way: there more than one program shows."""
    followed: int
    """Those that were sent as soon as the move of another file was answered, whatever was under
    way."""
    waited_s: tuple[tuple[str, float], ...]
    """By row of the time budget, what those that followed took of the clock (`shares`), seconds."""
    pairs: int
    """Pairs of directories between which those that followed went."""
    routes: tuple[Route, ...]
    """The costliest of these."""
    frames: tuple[int, ...]
    """Example frames: of the first of those beside which others were under way."""


def move_order(trace: Trace) -> tuple[MoveOrder, ...]:
    """Look at each file system in which files were often moved."""
    if not NEEDS.met(trace) or not any_often(trace):
        return ()
    shares.register(trace)
    mounts = traffic.mounts(trace)
    ways = at_once.ways_ns(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            _WAITED,
            {
                "mounts": given.text(mounts),
                "ways": given.text(ways.get(pair, 0) for pair in mounts.values()),
            },
        )
        rows = cursor.execute(_TOLD, {"examples": EXAMPLES}).fetchall()
        if not rows:
            return ()
        costs = _by_mount(cursor.execute(_COSTS).fetchall())
        routes = _by_mount(cursor.execute(_ROUTES, {"shown": FILES_SHOWN}).fetchall())
        ends = (file for each in routes.values() for *both, _, _ in each for file in both)
        known = paths.of(cursor, ends)
    found = (
        MoveOrder(
            *mounts[integer(mount)],
            moves=integer(moves),
            handed_over=integer(handed),
            followed=integer(followed),
            waited_s=tuple(
                (str(row), integer(took) / NANOSECONDS) for row, took in costs.get(mount, ())
            ),
            pairs=integer(pairs),
            routes=tuple(
                Route(
                    source=known[source],
                    target=known[target],
                    moves=integer(times),
                    time_s=integer(took) / NANOSECONDS,
                )
                for source, target, times, took in routes.get(mount, ())
            ),
            frames=tuple(integer(frame) for frame in frames),
        )
        for mount, moves, handed, followed, pairs, frames in rows
    )
    return tuple(sorted(found, key=lambda each: (-each.handed_over, each.client, each.server)))


def _by_mount(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    """Rows that begin with the number of a client and server, by that."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for mount, *told in rows:
        found.setdefault(mount, []).append(tuple(told))
    return found


def any_often(trace: Trace) -> bool:
    """Whether so many files were moved that anything is told of them."""
    return len(trace.rows(_MOVES)) >= LEAST


_MOVES = f"{MOVED} limit {LEAST}"

_SERIAL = f"""
    not bool_or(together)
    and count(*) filter (followed and beside) >= greatest({LEAST}, {MANY} * count(*))
"""
"""SQL: so many moves were sent while others waited, and none overlap."""

_WAITED = f"""
    create temp table moves_in_order as
    with ways as (
        select {given.rows("mounts", "uinteger")} as mount, {given.rows("ways", "bigint")} as way
    ),
    moved as ({MOVED}),
    answered as (
        select calls.call, mount, fsid_major, fsid_minor, source, target, stability,
               calls.file as file, call_frame, call_first_time, reply_time, share,
               share < {ALONE} * srt as beside
        from calls join moved using (call) join shares using (call)
             left join files on files.file = moved.source
        where not callback and reply_time is not null
    ),
    systems as (
        select mount, fsid_major, fsid_minor, row_number() over () as system from answered
        group by all having count(*) >= {LEAST}
    ),
    keyed as (
        select answered.*, system from answered join systems
             on answered.mount = systems.mount
                and answered.fsid_major is not distinct from systems.fsid_major
                and answered.fsid_minor is not distinct from systems.fsid_minor
    ),
    ordered as (
        select *, row_number() over earlier as step,
               call_first_time - lag(reply_time) over earlier as since,
               file is distinct from lag(file) over earlier as other
        from keyed
        window earlier as (partition by system order by call_first_time, call)
    ),
    spaced as (
        select *, coalesce(since < 0, false) as together,
               coalesce(other and since - way between -way and {AT_ONCE_NS}, false) as followed
        from ordered join ways using (mount)
    ),
    likely as (select system from spaced group by system having {_SERIAL}),
    of_these as (from spaced semi join likely using (system)),
    delegated as (select file from operations where delegation = 'WRITE' and file is not null),
    about as (
        select of_these.system, step as own, calls.file,
               calls.call_first_time as began, calls.reply_time as ended
        from of_these join calls using (mount, file) anti join moved on calls.call = moved.call
             anti join delegated on calls.file = delegated.file
        where not callback and calls.reply_time is not null
    ),
    since_step as (
        select about.*, step as first
        from about asof join of_these
             on about.system = of_these.system and began >= call_first_time
    ),
    until_step as (
        select since_step.*, step as last
        from since_step asof join of_these
             on since_step.system = of_these.system and ended > call_first_time
    ),
    passed as (
        select system, file, began,
               unnest(range(greatest(first, own - {NEIGHBOURS}),
                            least(last, own + {NEIGHBOURS}) + 1)) as step
        from until_step
    ),
    in_company as (
        select distinct system, step
        from passed join of_these using (system, step)
        where passed.file <> of_these.file and began < reply_time
    )
    select mount, of_these.system, source, target, stability, call_frame, share, followed,
           followed and beside and in_company.step is not null as handed
    from of_these left join in_company using (system, step)
"""

_SERIAL_SYSTEMS = f"""
    select system from moves_in_order group by system
    having count(*) filter (handed) >= greatest({LEAST}, {MANY} * count(*))
"""

_TOLD = f"""
    select mount, count(*), count(*) filter (handed), count(*) filter (followed),
           count(distinct (source, target)) filter (followed),
           (list(call_frame order by call_frame) filter (handed))[:$examples]
    from moves_in_order semi join ({_SERIAL_SYSTEMS}) as serial using (system)
    group by mount
"""

_COSTS = f"""
    select mount, stability, sum(share)
    from moves_in_order semi join ({_SERIAL_SYSTEMS}) as serial using (system)
    where followed group by mount, stability order by mount, stability
"""

_ROUTES = f"""
    select mount, source, target, count(*) as moves, sum(share) as took
    from moves_in_order semi join ({_SERIAL_SYSTEMS}) as serial using (system)
    where followed group by mount, source, target
    qualify row_number() over (partition by mount order by took desc, source, target) <= $shown
    order by mount, took desc, source, target
"""
