"""What clients asked the server though they knew it: how many calls, and what they took.

Takes a trace; gives for each client and server the GETATTRs whose answer was what the client knew,
and those of them that the attribute cache of a default mount would have spared: the client had
known for less than the smallest timeout (Linux: 3 s for files, 30 s for directories). An open asks
whatever the client knows (close-to-open consistency): for NFSv3, of the questions about a file
that are less than a second apart the first is taken for that, so that what is told is rather too
little; but not of files that it never opened (`unopened`). An OPEN of NFSv4 brings its own. Who got
a lock asks as well (`asked_after_locks`): that is no question of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.by_file.visits import TOGETHER_NS
from pcapnfs.analyses.caching import change_ids as _change_ids
from pcapnfs.analyses.caching import spared, unopened
from pcapnfs.analyses.caching.change_ids import change_ids
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.locks import asked_after_locks
from pcapnfs.analyses.mounts import mount_evidence
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.trace import Trace

READS = columns.together(
    _change_ids.READS,
    shares.READS,
    traffic.READS,
    asked_after_locks.READS,
    columns.of(calls="call_frame op version callback", files="file role"),
)
"""The columns that the queries here read."""

FILE_FRESH_S = 3.0
"""Knowledge of a file, or of anything but a directory, that is younger is not asked for by default:
acregmin of Linux. Other clients have the same or more."""

DIRECTORY_FRESH_S = 29.5
"""The same of a directory: acdirmin of Linux is 30 s, less the rounding of a kernel's clock."""

TIMEOUT_S = 1.0
"""The smallest timeout that is not 0. Knowledge that is younger does not expire."""


class Questions(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    asked: int
    """Those that did nothing but ask for attributes: GETATTR; of NFSv4 those that ask for the
    change attribute or the times."""
    compared: int
    """Those of them whose answer could be compared with what the client knew."""
    unchanged: Spared
    """Those whose answer was what the client knew."""
    fresh_files: Spared
    """Those about files that default timeouts would have spared."""
    fresh_directories: Spared
    """The same about directories."""
    early: Spared
    """Those of both whose answer the client had known for a second or longer: a timeout that is
    shorter than the default, but not 0, explains them."""
    young: int = 0
    """Those of `unchanged` that came before any default timeout was over: opens ask, of directories
    as well, whatever the client knows."""
    part: str | None = None
    """The file systems that this is about, as in `Mount`; None: all that they exchanged."""
    young_directories: int = 0
    """Those of them that were about directories."""
    directories: int = 0
    """Directories that these were about."""
    young_unopened: int = 0
    """Those of `young` that were about files of NFSv4: an OPEN asks within its own compound, so
    that no open was why."""
    files: int = 0
    """Files that those of `young` and `opened_late` which were not about directories were about."""
    opened_late: int = 0
    """Those of `unchanged` about files of NFSv3 that came after a default timeout was over, and
    right behind which the client asked for its rights: it opened the file, and would have asked
    however long attributes are kept."""
    either: int = 0
    """The others that came so late, about files of NFSv3 that it read at some time: an open of what
    it has cached sends nothing else, nor does a program that looks at expired attributes."""
    listed: int = 0
    """Those of `young_directories`, of NFSv4, right behind which came another one about the same
    directory, and before which the client had listed it: for the access time that this changed."""
    read_before: int = 0
    """Files of NFSv3 among `files` that the client had read before any of those was asked: it had
    opened them without a question."""


def questions(trace: Trace) -> tuple[Questions, ...]:
    """Count, for each client and server, most questions first."""
    with change_ids(trace) as cursor:
        return of_learned(trace, cursor)


def of_learned(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, division: Division | None = None
) -> tuple[Questions, ...]:
    """The same, on a connection with the tables of `change_ids`.

    Args:
        trace: The trace.
        cursor: The connection.
        division: The parts of pairs that it has in place of mounts; None where it has none.
    """
    shares.register(trace)
    asked_after_locks.register(trace)
    if division is None:
        calls: Mapping[int, int] = traffic.answered(trace, NFS_PROGRAMS)
        mounts = traffic.mounts(trace)
    else:
        calls = division.answered(cursor)
        mounts = division.addresses(trace)
    parts = {} if division is None else division.parts
    unopened.register(cursor)
    opening = mount_evidence.opening(trace, cursor, parts=division is not None)
    rows = cursor.execute(_QUESTIONS, {"opening": given.text(opening)}).fetchall()
    found = [
        Questions(
            client=mounts[mount][0],
            server=mounts[mount][1],
            calls=calls[mount],
            asked=integer(asked),
            compared=integer(compared),
            unchanged=spared.of_row(values[0:4]),
            fresh_files=spared.of_row(values[4:8]),
            fresh_directories=spared.of_row(values[8:12]),
            early=spared.of_row(values[12:16]),
            young=integer(values[16] or 0),
            part=parts.get(mount),
            young_directories=integer(values[17] or 0),
            directories=integer(values[18] or 0),
            young_unopened=integer(values[19] or 0),
            files=integer(values[20] or 0),
            opened_late=integer(values[21] or 0),
            either=integer(values[22] or 0),
            listed=integer(values[23] or 0),
            read_before=integer(values[24] or 0),
        )
        for mount, asked, compared, *values in rows
    ]
    return tuple(sorted(found, key=lambda each: (-each.asked, each.client, each.server)))


VAIN = 10
"""Where one in so many of the questions right before another has no listing before it, the client
trusts no attributes (noac, acdirmin=0), whatever it lists."""

_SOON = f"""
    call_time - lag(call_time) over (
        partition by mount::ubigint << 32 | file order by call_time, call
    ) < {TOGETHER_NS}
"""
"""SQL: the same was asked shortly before. Sorting by one number takes a fifth less time than by
mount and file."""

_QUESTIONS = f"""
    with asked as (
        select mount, file, call, call_time, finding, call_time - known_time as age
        from learned anti join (select call from asked_after_locks) using (call)
        where question = 'getattr'::question and alone
    ),
    opening as (select {given.rows("opening", "uinteger")} as mount),
    -- The order matters where an answer was known: that is so for few files as a rule.
    known as (select distinct mount, file from asked where finding = 'unchanged'::finding),
    -- An OPEN of NFSv4 brings its own question, so that the order does not matter there.
    ordered as (
        select *, {_SOON} as soon
        from asked semi join known using (mount, file) semi join opening using (mount)
        union all
        select *, false from asked anti join opening using (mount)
    ),
    objects as (select file, role in ('directory', 'pseudo') as directory from files),
    timed as materialized (
        select mount, file, call, call_time, call_frame, share, pause, directory, version,
               age >= {int(TIMEOUT_S * NANOSECONDS)} as aged,
               directory and age between 0 and {int(DIRECTORY_FRESH_S * NANOSECONDS)}
                   as fresh_directory,
               age between 0 and case when directory then {int(DIRECTORY_FRESH_S * NANOSECONDS)}
                                      else {int(FILE_FRESH_S * NANOSECONDS)} end as young,
               not directory and age between 0 and {int(FILE_FRESH_S * NANOSECONDS)}
                   and (version = 4 or coalesce(soon, false)
                        or (mount, file) in (select (mount, file) from unopened)) as fresh_file
        from (select * from ordered where finding = 'unchanged'::finding)
             join objects using (file)
             join (select call, call_frame, version from calls) using (call)
             join shares using (call)
    ),
    -- Few mounts have any: the calls about the files of the others are not looked at.
    late as materialized (
        select mount, file, call from timed where not directory and not young and version = 3
        qualify count(*) over (partition by mount) >= {ENOUGH}
    ),
    about as (
        select call, lead(op) over following = 'ACCESS'
                   and lead(call_time) over following - call_time < {TOGETHER_NS} as opened,
               bool_or(op = 'READ') over (partition by mount, file) as read
        from (
            select mount, file, call, call_time, op from calls
                 semi join late using (mount, file)
            where not callback
        )
        window following as (partition by mount, file order by call_time, call)
    ),
    opens as (
        select call, coalesce(opened, false) as opened_late,
               read and not coalesce(opened, false) as either
        from about semi join late using (call)
    ),
    opened as materialized (
        select mount, file, min(call_time) as opened_time
        from timed left join opens using (call)
        where (young or opened_late) and not directory and version = 3
        group by mount, file
        qualify count(*) over (partition by mount) >= {ENOUGH}
    ),
    read_before as (
        select mount, count(*) as read_before
        from opened semi join (
                 select mount, file, call_time from calls where op = 'READ' and not callback
             ) as reading
             on opened.mount = reading.mount and opened.file = reading.file
                and call_time < opened_time
        group by mount
    ),
    -- READDIR of NFSv4 brings no attributes of the directory, whose access time it changes: a
    -- stat() asks for that, and the open behind it once more, without a call in between.
    visited as materialized (
        select mount, file, call, share from timed where directory and young and version = 4
        qualify count(*) over (partition by mount) >= {ENOUGH}
    ),
    steps as (
        select call, lag(op) over following = 'READDIR' as listed,
               lead(call) over following as next,
               lead(call_time) over following - call_time as after
        from (
            select mount, file, call, call_time, op from calls
                 semi join visited using (mount, file)
            where not callback
        )
        window following as (partition by mount, file order by call_time, call)
    ),
    pairs as (
        select mount, call, coalesce(listed, false) as listed
        from visited join steps using (call)
        where after < 2 * share and next in (select call from visited)
    ),
    dated as (
        select call, listed from pairs where mount in (
            select mount from pairs group by mount
            having count(*) filter (not listed) * {VAIN} <= count(*)
        )
    ),
    spared as (
        select mount, {spared.columns("true", "unchanged")},
               {spared.columns("fresh_file", "fresh_file")},
               {spared.columns("fresh_directory", "fresh_directory")},
               {spared.columns("(fresh_file or fresh_directory) and aged", "early")},
               count(*) filter (young) as young,
               count(*) filter (young and directory) as young_directories,
               count(distinct file) filter (young and directory) as directories,
               count(*) filter (young and not directory and version = 4) as young_unopened,
               count(distinct file) filter ((young or opened_late) and not directory) as files,
               count(*) filter (opened_late) as opened_late, count(*) filter (either) as either,
               count(*) filter (listed) as listed
        from timed left join opens using (call) left join dated using (call) group by mount
    ),
    counted as (
        select mount, count(*) as asked, count(*) filter (finding <> 'first'::finding) as compared
        from asked group by mount
    )
    select mount, asked, compared, {spared.names("unchanged")},
           {spared.names("fresh_file")}, {spared.names("fresh_directory")}, {spared.names("early")},
           young, young_directories, directories, young_unopened, files,
           opened_late, either, listed, read_before
    from counted left join spared using (mount) left join read_before using (mount)
"""
