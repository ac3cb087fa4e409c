"""Whether programs on one client that make or remove files in one directory wait for one another.

The kernel of a client lets one process at a time change a directory, and holds the others until the
server has answered (Linux: the lock of the directory's inode, Documentation/filesystems/
directory-locking). Takes a trace; gives, for each client and server, the directories in which that
was seen: no two changes overlap, and many are sent as soon as that of another file was answered,
while the client calls for a third one, or for the one before.

A program that removes files one after the other, makes directories or links, sends each as soon as
the one before was answered, and others may work elsewhere meanwhile. So what is under way beside a
change must be about a file that is itself made or removed in that directory: one that was just made
is written beside the next only by somebody else, and one about to be removed is asked for beside
others only by somebody who waits. Where a file came with a delegation for writing, the program that
made it may write it beside the next one; such OPENs show nothing.

An exclusive create is done when the SETATTR is answered that completes it (`exclusive_creates`):
the client holds the directory until then. Where a change of the directory was sent beside such a
SETATTR, it does not, and each create is done when it is answered itself.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.namespace import exclusive_creates
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import at_once
from pcapnfs.analyses.wire.at_once import AT_ONCE_NS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

CHANGES = ("CREATE", "LINK", "MKDIR", "MKNOD", "OPEN", "REMOVE", "RENAME", "RMDIR", "SYMLINK")
"""Operations that change a directory: of OPEN those that made the file."""

NEEDS = population.Operations(CHANGES, statuses=(0,))
"""Without one that succeeded no directory was changed."""

CHANGING_READS = columns.of(operations="op executed status directory created")
"""The columns that `CHANGING` reads."""

CHANGING = f"""
    {among("op", CHANGES)} and executed and status = 0 and operations.directory is not null
    and (op <> 'OPEN' or created)
"""
"""SQL: an operation changed a directory."""

READS = columns.together(
    population.OPERATIONS_READS,
    at_once.READS,
    shares.READS,
    traffic.READS,
    exclusive_creates.READS,
    CHANGING_READS,
    columns.of(
        calls="call mount callback file stability call_frame call_first_time reply_time srt",
        operations="call delegation",
        files="file path",
    ),
)
"""The columns that the queries here read."""

LEAST = 30
"""Changes of a directory below which nothing is told of it."""

MANY = 0.25
"""Share of them that were sent as soon as another one was answered, beside calls about others, from
which on they waited; and with them all that were sent so soon: where nothing is asked about a file
before it is removed, nobody shows who waits."""

NEIGHBOURS = 16
"""So many changes of the directory away from that of its own file, at most, a call shows that
somebody waits there: programs that wait take turns. Farther away, somebody may look through the
directory while one program works in it."""

ALONE = 0.98
"""Part of its service time that a call has of its client's clock where hardly any other was under
way."""


WOKEN = 5
"""So often, at least, calls for names of a directory are sent together as soon as a change of it is
answered, before that tells how many programs wait there."""

TWO = 2
"""Programs that wait at least where any does; and calls that are sent together."""


class DirectoryOrder(Record):
    """What one client changed in directories of one server, one change after the other."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    directories: int
    """Directories in which that was seen."""
    changes: int
    """Files made, removed or renamed there."""
    handed_over: int
    """Those of them that were sent as soon as the change of another file was answered, while calls
    about a file next to it in that order were under way: there more than one program shows."""
    followed: int
    """Those that were sent as soon as the change of another file was answered, whatever was under
    way."""
    waited_s: tuple[tuple[str, float], ...]
    """By row of the time budget, what those that followed took of the clock (`shares`), seconds."""
    places: tuple[str, ...]
    """The directories, most such changes first; not escaped."""
    frames: tuple[int, ...]
    """Example frames: of the first of those beside which others were under way."""
    programs: int = TWO
    """So many programs waited at least: LOOKUPs of names there that were sent at once, as soon as a
    change was answered, in the median of the times when several were; 2 where they seldom were."""


def directory_order(trace: Trace) -> tuple[DirectoryOrder, ...]:
    """Look at each directory that was changed often."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    # One program alone, as most captures hold, takes a tenth of the time to recognise.
    with closing(trace.cursor()) as cursor:
        if len(cursor.execute(_BESIDE).fetchall()) < LEAST:
            return ()
    return in_order(trace)


def in_order(trace: Trace) -> tuple[DirectoryOrder, ...]:
    """The same, whether or not calls were under way side by side."""
    shares.register(trace)
    mounts = traffic.mounts(trace)
    ways = at_once.ways_ns(trace)
    exclusive_creates.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            _WAITED,
            {
                "mounts": given.text(mounts),
                "ways": given.text(ways.get(pair, 0) for pair in mounts.values()),
            },
        )
        rows = cursor.execute(_TOLD, {"files": FILES_SHOWN, "examples": EXAMPLES}).fetchall()
        if not rows:
            return ()
        costs = cursor.execute(_COSTS).fetchall()
        woken = dict(cursor.execute(_WOKEN).fetchall())
        told = paths.told(cursor, (files for _, _, _, _, _, files, _ in rows), FILES_SHOWN)
    found = (
        DirectoryOrder(
            *mounts[integer(mount)],
            directories=integer(directories),
            changes=integer(changes),
            handed_over=integer(handed),
            followed=integer(followed),
            waited_s=tuple(
                (str(row), integer(took) / NANOSECONDS)
                for whose, row, took in costs
                if whose == mount
            ),
            places=places,
            frames=tuple(integer(frame) for frame in frames),
            programs=integer(woken.get(mount, TWO)),
        )
        for (mount, directories, changes, handed, followed, _, frames), places in zip(
            rows, told, strict=True
        )
    )
    return tuple(sorted(found, key=lambda each: (-each.handed_over, each.client, each.server)))


_BESIDE = f"""
    select 1 from calls join shares using (call) where share < {ALONE} * srt limit {LEAST}
"""
"""Calls beside which others were under way, as far as there must be."""


def _serial(waiting: str) -> str:
    """SQL: whether so many changes of a directory were sent while others waited, and none overlap.

    Args:
        waiting: The condition on one of them.
    """
    return (
        f"not bool_or(together) and count(*) filter ({waiting}) "
        f">= greatest({LEAST}, {MANY} * count(*))"
    )


# Directories that are changed seldom are left out before anything is sorted, and those beside whose
# changes nothing at all was under way before any other call is looked at.
_WAITED = f"""
    create temp table changes_in_order as
    with ways as (
        select {given.rows("mounts", "uinteger")} as mount, {given.rows("ways", "bigint")} as way
    ),
    changed as (
        select call, min(operations.directory) as changed_directory,
               bool_or(delegation = 'WRITE') as delegated
        from operations where {CHANGING} group by call
    ),
    often as (
        select mount, changed_directory
        from calls join changed using (call)
        where not callback and reply_time is not null
        group by mount, changed_directory having count(*) >= {LEAST}
    ),
    answered as (
        select call, mount, changed_directory as directory, stability, file, call_frame,
               call_first_time, reply_time, coalesce(delegated, false) as delegated, share, srt
        from calls join changed using (call) join shares using (call)
             semi join often using (mount, changed_directory)
        where not callback and reply_time is not null
    ),
    completed as (
        select made as call, completing.reply_time as done, share as more_share, srt as more_srt
        from {exclusive_creates.TABLE} as completing join shares using (call)
             join (select call, srt from calls) using (call)
    ),
    held as (
        select *, not bool_or(coalesce(sent_beside, false)) over (partition by mount, directory)
                  and done is not null as longer
        from (
            select *, lead(call_first_time) over later < done as sent_beside
            from answered left join completed using (call)
            window later as (partition by mount, directory order by call_first_time, call)
        )
    ),
    steps as (
        select call, mount, directory, stability, file, call_frame, call_first_time, delegated,
               if(longer, done, reply_time) as reply_time,
               if(longer, share + more_share, share) as share,
               if(longer, share + more_share < {ALONE} * (srt + more_srt), share < {ALONE} * srt)
                   as beside
        from held
    ),
    ordered as (
        select *, row_number() over earlier as step,
               call_first_time - lag(reply_time) over earlier as since,
               file is distinct from lag(file) over earlier as other
        from steps
        window earlier as (partition by mount, directory order by call_first_time, call)
    ),
    spaced as (
        select *, coalesce(since < 0, false) as together,
               coalesce(other and since - way between -way and {AT_ONCE_NS}, false) as followed
        from ordered join ways using (mount)
    ),
    likely as (
        select mount, directory from spaced group by mount, directory
        having {_serial("followed and beside and not delegated")}
    ),
    of_these as (from spaced semi join likely using (mount, directory)),
    about as (
        select of_these.mount, of_these.directory, step as own, calls.file,
               calls.call_first_time as began, calls.reply_time as ended
        from of_these join calls using (mount, file) anti join changed on calls.call = changed.call
        where not callback and calls.reply_time is not null
    ),
    since_step as (
        select about.*, step as first
        from about asof join of_these
             on about.mount = of_these.mount and about.directory = of_these.directory
                and began >= call_first_time
    ),
    until_step as (
        select since_step.*, step as last
        from since_step asof join of_these
             on since_step.mount = of_these.mount and since_step.directory = of_these.directory
                and ended > call_first_time
    ),
    passed as (
        select mount, directory, file, began,
               unnest(range(greatest(first, own - {NEIGHBOURS}),
                            least(last, own + {NEIGHBOURS}) + 1)) as step
        from until_step
    ),
    in_company as (
        select distinct mount, directory, step
        from passed join of_these using (mount, directory, step)
        where passed.file <> of_these.file and began < reply_time
    )
    select mount, directory, stability, call_frame, share, together, followed, reply_time, way,
           followed and beside and not delegated and in_company.step is not null as handed
    from of_these left join in_company using (mount, directory, step)
"""

_SERIAL = f"""
    select mount, directory, count(*) as changes, count(*) filter (handed) as handed,
           count(*) filter (followed) as followed
    from changes_in_order group by mount, directory
    having {_serial("handed")}
"""

_TOLD = f"""
    with serial as ({_SERIAL}),
    firsts as (
        select mount, (list(call_frame order by call_frame))[:$examples] as frames
        from changes_in_order semi join serial using (mount, directory) where handed group by mount
    )
    select mount, count(*), sum(changes), sum(handed), sum(followed),
           (list(directory order by handed desc, directory))[:10 * $files],
           any_value(frames)
    from serial join firsts using (mount) group by mount
"""

_COSTS = f"""
    select mount, stability, sum(share)
    from changes_in_order semi join ({_SERIAL}) as serial using (mount, directory)
    where followed group by mount, stability order by mount, stability
"""

# A client looks names up only while nobody changes their directory.
_WOKEN = f"""
    with serial as ({_SERIAL}),
    changes as (from changes_in_order semi join serial using (mount, directory)),
    looking as (
        select call, min(operations.directory) as looked_in
        from operations
        where op = 'LOOKUP' and operations.directory in (select serial.directory from serial)
        group by call
    ),
    asked as (
        select calls.mount, looked_in as directory, call_first_time as began
        from calls join looking using (call)
             semi join serial on calls.mount = serial.mount and looked_in = serial.directory
        where not callback
    ),
    woken as (
        select asked.mount, count(*) as lookups
        from asked asof join changes
             on asked.mount = changes.mount and asked.directory = changes.directory
                and began >= reply_time
        where began - reply_time - way <= {AT_ONCE_NS}
        group by asked.mount, asked.directory, reply_time
    )
    select mount, floor(median(lookups))::bigint from woken where lookups >= {TWO}
    group by mount having count(*) >= {WOKEN}
"""
