"""What a client's questions and transfers show of its mount options: counts, no judgement.

Takes a connection with the tables `mounts` and `learned` (`change_ids`); gives a `MountEvidence`
for each pair of client and server. `mount_options` draws the conclusions. Counts only what has one
cause on Linux: a GETATTR may always be an open (close-to-open consistency), so a single one shows
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pcapnfs import walks
from pcapnfs.analyses.asking import given, parts
from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.examples import OPTION_EXAMPLES
from pcapnfs.analyses.asking.texts import number
from pcapnfs.analyses.asking.values import integer, whole
from pcapnfs.analyses.by_file.visits import TOGETHER_NS, TOGETHER_S
from pcapnfs.analyses.caching import held_files
from pcapnfs.analyses.caching.aged_files import aged_files
from pcapnfs.analyses.caching.asked_again import asked_again
from pcapnfs.analyses.caching.change_ids import age_s
from pcapnfs.analyses.caching.told import tell
from pcapnfs.analyses.caching.unopened import FILE_TIMEOUT_S
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.asked_sizes import asked_sizes
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.analyses.namespace import names_again
from pcapnfs.analyses.namespace.missing_again import missing_again
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

NEIGHBOURS_S = 3.0
"""Steps in one directory that are closer together would not expire by default (acdirmin 30 s,
acregmin 3 s)."""

AT_ONCE_S = 0.05
"""Knowledge of a directory that is younger is asked for in the same step of a program: a kernel
without attributes asks once to follow the name and once for the permission."""

PAUSE_S = 3.0
"""Knowledge of a directory that is younger expires only where that of files does too (acregmin 3 s
by default), and files show it better."""

DIRECTORY_DEFAULT_S = 29.5
"""Knowledge of a directory that is older may have expired by default (acdirmin 30 s, less the
rounding of a kernel's clock)."""


class MountEvidence(Record):
    """One client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    moves: int
    """Times that the client went from one child of a directory to another within 3 s; READs, WRITEs
    and the like, which need no way through the directory, do not count, nor does what it did while
    it had a delegation of the directory: then it need not ask, whatever its options."""
    moves_asked: int
    """Times that it asked for the unchanged directory in between."""
    visits: int
    """Visits of a regular file: calls about it that are less than a second apart. Under a
    delegation a client need not ask, whatever its options, so that those are not counted; nor are
    those that did nothing but ask for what had been known for a second or longer, which says
    nothing of what is fresh."""
    files_delegated: int
    """Files of which visits were left out for that."""
    visits_asked: int
    """Visits in which it asked though it had known for less than a second, and nothing had
    changed."""
    visits_asked_twice: int
    """Visits in which it did so at least twice: more than one open explains."""
    opens_ask: bool
    """It is NFSv3, some of it at least, where each open asks by a GETATTR: those of a program that
    opens a file again and again, or of many that start, look like a client that keeps nothing."""
    lookups_again: int
    """LOOKUPs that found a file which an earlier one had found: a client that keeps no names."""
    returns: int
    """Times that it went from one name in a directory to another within 3 s, where it had looked
    up the directory itself at some time; names that it made do not count, nor do directories in one
    of which it had a delegation."""
    returns_looked_up: int
    """Times that it looked that up again in between, though nothing shows that the name could have
    changed."""
    pauses_asked: int
    """Times that it asked for a directory it had known for 3 to 29.5 s, and within a second opened
    or changed a child."""
    pauses_asked_twice: int
    """Those of them in which it asked twice within a second, as an open of the directory after its
    timeout makes it, and had known all attributes."""
    pause_shortest_s: float | None
    """The youngest knowledge among them, seconds; None without any."""
    unasked_longest_s: float | None
    """The oldest knowledge of a directory with which it opened, examined or changed a child without
    asking, seconds; None when it never did, or never asked for one known for 3 to 29.5 s."""
    files_aged: int
    """Times that it asked for a regular file that it had known for 0.9 to 2.5 s, with no call about
    it since, and no delegation: with NFSv4, where an open brings its own question, and with NFSv3
    where it listed or looked up the file, and then never opened it."""
    files_young: int
    """The same of files that it had known for less; without `files_just_found`."""
    aged_objects: int
    """Files in `files_aged`."""
    aged_shortest_s: float | None
    """The youngest knowledge among them, seconds; None without any."""
    listings_plain: int
    """Directories whose first listing did not ask for attributes."""
    listings_plus: int
    """Listings that asked for attributes."""
    listings_unknown: int
    """Listings of which it was cut off whether they did."""
    listing_bytes: int | None
    """The most that a listing asked for, bytes; None without listings."""
    listings_continued: int
    """Calls that continued a listing."""
    read_bytes: int | None
    """The most that a READ asked for, bytes; None without READ."""
    reads: int
    """READs."""
    reads_continued: int
    """READs of that size that the next READ of the file continued."""
    reads_waited_for: int
    """Those of them whose reply came before the next was sent."""
    write_bytes: int | None
    """The most that a WRITE brought, bytes; None without WRITE."""
    writes: int
    """WRITEs."""
    writes_continued: int
    """WRITEs of that size, sent UNSTABLE, that the next WRITE of the file continued."""
    writes_sync: int
    """WRITEs sent DATA_SYNC or FILE_SYNC that the next WRITE of the file continued."""
    files_sync: int
    """Files with such WRITEs."""
    writes_unstable: int
    """WRITEs sent UNSTABLE that the next WRITE of the file continued."""
    max_read_bytes: int | None
    """What the server allows a READ, bytes; None when the capture does not tell."""
    max_write_bytes: int | None
    """What the server allows a WRITE, bytes; None when the capture does not tell."""
    limits_withheld: bool
    """NFSv4: the server does not say what it allows, and the client keeps to the little that it
    takes then."""
    reads_unasked: int
    """NFSv3: first READs of files that the client knew from a listing with attributes, without
    GETATTR or LOOKUP in between."""
    reads_asked: int
    """NFSv3: first READs of files after a GETATTR."""
    frames: dict[str, tuple[int, ...]]
    """Example frames: of `moves`, `ways`, `visits`, `returns`, `settled`, `pauses`, `aged`,
    `young`, `missing`, `early`, `listing`, `read`, `write` and `sync`."""
    reads_smaller: int = 0
    """READs smaller than the largest, which the next READ of the file continued in the same size:
    another limit may be why."""
    writes_smaller: int = 0
    """The same of WRITEs sent UNSTABLE."""
    writes_alone: int = 0
    """WRITEs sent DATA_SYNC or FILE_SYNC that no other one of the file continued."""
    settled_returns: int = 0
    """As `returns`, also where it had changed what the directory lies in, but not since it last
    found it there."""
    settled_looked_up: int = 0
    """Times of these that it looked the directory up again in between."""
    files_early: int = 0
    """Times that it asked for a regular file, which it did not open, read or write, before its
    knowledge would have expired by default, which doubles the time from 3 s on each time that it
    did and nothing had changed."""
    early_objects: int = 0
    """Files of which it did."""
    early_shortest_s: float | None = None
    """The youngest knowledge among them, seconds; None without any."""
    files_again: int = 0
    """Regular files that it looked up again at least twice, each time less than 29.5 s after it had
    found them, though nothing shows that the name could have changed."""
    young_objects: int = 0
    """Files in `files_young`."""
    files_just_found: int = 0
    """The same right behind the LOOKUP that brought what it knew: some clients ask so for whatever
    they look up, and believe the answer, so that it shows nothing of their options."""
    directories_asked: int = 0
    """Times that it asked for a directory that it had known for less than 29.5 s, and under no
    delegation; counted only where 20 `moves` or more were asked for, but not all."""
    directories_young: int = 0
    """Those of them whose attributes it had known for less than 0.9 s."""
    missing: int = 0
    """Times that it looked for a name that is not there, in directories that it never changed;
    counted only where it looked for some more than once."""
    missing_again: int = 0
    """Those of them less than 29.5 s after it had not found the name there, though nothing shows
    that the directory had changed."""
    found_again: int = 0
    """LOOKUPs of what it had found there less than 29.5 s before, in directories that it never
    changed, likewise."""
    ways_asked: int = 0
    """Times that it went from a child of a directory to the same or another within 3 s, and asked
    for the unchanged directory in between."""
    ways_asked_twice: int = 0
    """Those of them on which it asked exactly twice, the second time less than 0.05 s after it had
    its answer. An open of the directory asks once, and processes that open it by turns ask as often
    as it comes."""
    files_fresh: int = 0
    """Times that it asked for a regular file that it had known for less than a second, and nothing
    had changed."""
    mount: int = 0
    """Number of the client and server (table calls), or of the part of them."""


def evidence(
    trace: Trace,
    cursor: duckdb.DuckDBPyConnection,
    *,
    pairs: Mapping[int, int] | None = None,
) -> Iterator[MountEvidence]:
    """Count, for each pair of client and server in the order of their addresses.

    Args:
        trace: The trace.
        cursor: A connection with the tables of `change_ids`.
        pairs: Where the connection has parts of pairs in place of mounts: the mount of each part.
    """
    delegated = held_files.register(trace, cursor)
    moved = ByMount.of_named(_steps(trace, cursor, held=held_files.any_held(cursor)))
    found = [moved, delegated, *asked_sizes(trace, cursor, pairs=pairs), aged_files(cursor)]
    found.append(asked_again(cursor))
    found.append(missing_again(trace, cursor))
    if names_again.register(trace, cursor):
        near = {"near": int(NEIGHBOURS_S * NANOSECONDS), "examples": OPTION_EXAMPLES}
        found.append(ByMount.of_query(cursor, names_again.RETURNS, near))
        found.append(ByMount.of_query(cursor, names_again.FILES))
        found.append(ByMount.of_query(cursor, names_again.NEEDLESS))
    if any(_asked_in_part(moved.told(mount)) for mount in moved):
        found.append(ByMount.of_query(cursor, _DIRECTORIES_ASKED))
    # Nothing could follow from pauses of the other mounts.
    paused = [mount for mount in moved if moved.told(mount)["paused"]]
    if paused:
        parts.whole(cursor)
        cursor.execute(f"create temp table if not exists steps as {_STEPS}")
        cursor.execute(_PAUSED, {"paused": given.text(paused)})
        tell(trace, cursor, "told", calls=f"mount in ({_PAUSED_MOUNTS})", objects=_OF_DIRECTORY)
        found.append(ByMount.of_query(cursor, _PAUSES))
    asking = opening(trace, cursor, parts=pairs is not None)
    addresses = cursor.execute(
        "select mount, client, server from mounts order by client, server, mount"
    ).fetchall()
    for mount, client, server in addresses:
        told = (rows.told(mount) for rows in found)
        row = {key: value for row in told for key, value in row.items()}
        yield _evidence(client, server, row | {"opens_ask": mount in asking, "mount": mount})


def _asked_in_part(row: Mapping[str, object]) -> bool:
    """Whether questions about directories stand between moves, but not between all of them."""
    return ENOUGH <= integer(row["moves_asked"]) < integer(row["moves"])


def opening(trace: Trace, cursor: duckdb.DuckDBPyConnection, *, parts: bool) -> set[int]:
    """The mounts with versions of NFS whose opens ask.

    Args:
        trace: The trace.
        cursor: A connection to it.
        parts: It has parts of pairs in place of mounts.
    """
    if parts:
        return {integer(mount) for (mount,) in cursor.execute(_OPENING).fetchall()}
    lines = traffic.of_clients(trace)
    return set(lines.where(lines.numbers["version"] < 4).mounts())


def _steps(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, *, held: bool
) -> Iterator[tuple[int, dict[str, object]]]:
    """Moves, visits and first READs of each mount, by column.

    Args:
        trace: The trace.
        cursor: A connection with the table `learned`.
        held: The table `delegated` has rows.
    """
    walk = walks.Steps(
        together_s=TOGETHER_S,
        neighbours_s=NEIGHBOURS_S,
        at_once_s=AT_ONCE_S,
        pause_s=(PAUSE_S, DIRECTORY_DEFAULT_S),
        examples=OPTION_EXAMPLES,
    )
    cursor.execute(_KNOWN)
    taken = _UNHELD_STEPS if held else _STEPS
    many = parts.number(trace, entries=True)
    if many == 1:
        parts.whole(cursor)
        walk.add(cursor.sql(taken), cursor.sql(_ENTRIES))
        return walk.found()
    parts.fill(trace, cursor, "steps", taken)
    cursor.execute(f"create temp table listed as {_ENTRIES}")
    with trace.room_for():
        for part, table in parts.divided(cursor, "steps", many, lambda some: _belong(some, many)):
            of_part = parts.within("mount, file", range(part, part + 1), many)
            entries = cursor.sql(f"from listed where {of_part}")
            walk.add(cursor.sql(steps(table, part, many)), entries)
    cursor.execute("drop table listed")
    return walk.found()


def steps(table: str, part: int, many: int) -> str:
    """SQL: the rows of `_STEPS` for a part of the objects, from a table that has them and others.

    A call may be about a file of it, and a directory of another one.
    """
    here, there = _places(range(part, part + 1), many)
    return f"""
        select * replace (of_file and here as of_file, of_directory and here as of_directory,
                          case when there then directory end as directory)
        from (select *, {here} as here, {there} as there from {table}) where here or there
    """


def _belong(some: range, many: int) -> str:
    return " or ".join(_places(some, many))


def _places(some: range, many: int) -> tuple[str, str]:
    """SQL: the file that a call is about, and the directory, are of these parts of the objects."""
    return parts.within("mount, file", some, many), parts.within("mount, directory", some, many)


_COUNTED = tuple(name for name, kind in MountEvidence.__annotations__.items() if kind == "int")
"""Fields that count: queries have them under the same names, and lack those that are 0."""

SHOWN = (
    "moves",
    "ways",
    "visits",
    "returns",
    "settled",
    "pauses",
    "aged",
    "young",
    "missing",
    "early",
    "listing",
    "read",
    "write",
    "sync",
)
"""What queries have example frames of."""


def _evidence(client: str, server: str, row: dict[str, object]) -> MountEvidence:
    """The evidence of one mount, by the columns of all that was asked about it."""

    def age(name: str) -> float | None:
        value = row.get(name)
        return float(value) if isinstance(value, int | float) else None

    def frames(name: str) -> tuple[int, ...]:
        value = row.get(f"{name}_frames")
        return tuple(integer(frame) for frame in value) if isinstance(value, list) else ()

    return MountEvidence(
        client=client,
        server=server,
        opens_ask=bool(row.get("opens_ask")),
        pause_shortest_s=age("pause_shortest"),
        unasked_longest_s=age("unasked_longest"),
        aged_shortest_s=age("aged_shortest"),
        early_shortest_s=age("early_shortest"),
        listing_bytes=whole(row.get("listing_bytes")),
        read_bytes=whole(row.get("read_bytes")),
        write_bytes=whole(row.get("write_bytes")),
        max_read_bytes=whole(row.get("max_read")),
        max_write_bytes=whole(row.get("max_write")),
        limits_withheld=bool(row.get("withheld")),
        frames={name: frames(name) for name in SHOWN},
        **{name: whole(row.get(name)) or 0 for name in _COUNTED},
    )


# A file that is open needs no way through its directory.
_STREAMS = ("READ_PLUS", "WRITE", "COMMIT", "CLOSE", "LOCK", "LOCKT", "LOCKU", "DELEGRETURN")

# READs, WRITEs and the like belong to a file that is open; a LOOKUP needs no knowledge of the
# directory, and NFSv3 brings some.
_TOUCHES = ("OPEN", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK")

_KIND = {
    **{op: op.lower() for op in ("GETATTR", "LOOKUP", "ACCESS", "READ", "READDIR")},
    "READDIRPLUS": "readdir",
    **dict.fromkeys(_STREAMS, "stream"),
    **dict.fromkeys(_TOUCHES, "touch"),
}
"""What a call is to the questions here, the most frequent first; the others are `other`."""

_NAMES = ("access", "getattr", "lookup", "read", "readdir", "stream", "touch", "other")
"""Their names by number, as `core/src/walk/steps.rs` has them."""


def _number(kind: str) -> int:
    return _NAMES.index(kind)


_NUMBERS = {op: _number(kind) for op, kind in _KIND.items()}
"""The number of what a call is, by its operation."""


# With a table of these DuckDB knows how few they are: calls are looked up there, not they among all
# calls.
_KNOWN = """
    create temp table known as
    select call, file, known_time, known_call from learned
    where question = 'getattr'::question and finding = 'unchanged'::finding and not meddled
"""

_DIRECTORIES_ASKED = f"""
    select mount, count(*) as directories_asked,
           count(*) filter ({age_s()} < {FILE_TIMEOUT_S}) as directories_young
    from known join calls using (call, file)
         semi join (select file from files where role = 'directory') as objects using (file)
    where not callback and {age_s()} between 0 and {DIRECTORY_DEFAULT_S}
          and call not in (select call from unasked)
    group by mount
"""

_STEPS = f"""
    with asked as (select call, file, known_time from known where of_stretch(call)),
    objects as (
        select file, parent, role = 'file' as of_file, role = 'directory' as of_directory from files
    )
    select mount, calls.call, call_frame, call_time, version = 3 as v3, version = 4 as v4,
           coalesce({number("op", _NUMBERS)}, {_number("other")}) as kind,
           file, of_file, of_directory, coalesce(directory, parent) as directory, known_time
    from calls join objects using (file) left join asked using (call, file)
    where of_stretch(calls.call) and not callback and program in {NFS_PROGRAMS}
"""
"""Every call about an object, with the directory that it is in; of those that asked, and nothing
had changed, since when the client had known it."""

_UNHELD_STEPS = f"""
    select * replace (
               of_file and call not in (select call from unasked) as of_file,
               case when call not in (select call from sheltered) then directory end as directory
           )
    from ({_STEPS})
"""
"""The same, where calls about a file under a delegation are no visits of it, and those in a
directory under one no moves."""

_ENTRIES = """
    select mount, entries.file, call, reply_time
    from entries join calls using (call)
    where version = 3 and entries.ctime is not null and entries.file is not null
          and reply_time is not null
"""
"""What listings of NFSv3 told of files."""

_OPENING = f"""
    select distinct mount from calls
    where not callback and program in {NFS_PROGRAMS} and version < 4
"""

_PAUSED = f"create temp table paused as select {given.rows('paused', 'uinteger')} as mount"

_PAUSED_MOUNTS = "select mount from paused"

_OF_DIRECTORY = "file in (select file from files where role = 'directory')"

_PAUSES = f"""
    with questions as (
        select mount, file, call, call_time, false as mounts
        from steps where known_time is not null and mount in ({_PAUSED_MOUNTS})
        union all
        select mount, file, call, call_time, true
        from calls where op = 'FSINFO' and not callback
    ),
    -- A mount asks for its root, whatever was known of it before.
    of_mounts as (
        select call from (
            select call, bool_or(mounts) over (
                       partition by mount, file order by call_time
                       range between {TOGETHER_NS - 1} preceding and {TOGETHER_NS - 1} following
                   ) as near
            from questions
        ) where near
    ),
    aged_steps as (
        select *, known_time is not null and call not in (from of_mounts) as asked,
               {age_s()} as age
        from steps where mount in ({_PAUSED_MOUNTS})
    ),
    stream as (
        -- Of a directory that it has listed Linux does not know the access time, until it asks.
        select mount, file as directory, reply_time as moment, call, null::ubigint as call_frame,
               null as age, true as told, true as by_reply,
               modified or call in (
                   select call from aged_steps where kind = {_number("readdir")}
               ) as modified, false as asked, false as touched, false as examined
        from told
        union all
        -- NFSv4 listings bring no attributes of the directory, but change its access time.
        select mount, file, call_time, call, null, null, true, false, true, false, false, false
        from aged_steps where kind = {_number("readdir")} and v4
        union all
        select mount, file, call_time, call, call_frame, age, false, false, false, true, false,
               false
        from aged_steps where asked and of_directory
        union all
        select mount, directory, call_time, call, call_frame, null, false, false, false, false,
               kind in ({_number("access")}, {_number("touch")}),
               kind in ({_number("access")}, {_number("touch")}, {_number("getattr")})
        from aged_steps where directory is not null
    ),
    ordered as (
        select *, lag(case when by_reply then moment end ignore nulls) over earlier as told_at,
               lag(case when told then modified end ignore nulls) over earlier as unsure,
               lead(case when touched then moment end ignore nulls) over earlier as touched_at,
               lead(case when asked then moment end ignore nulls) over earlier as asked_at
        from stream
        window earlier as (partition by mount, directory order by moment, told desc, call, asked)
    ),
    aged as (
        select *, {age_s("moment - told_at")} as unasked,
               asked and touched_at - moment < {TOGETHER_NS}
               and age between {PAUSE_S} and {DIRECTORY_DEFAULT_S} as paused
        from ordered
    )
    select mount, count(*) filter (paused) as pauses_asked,
           count(*) filter (paused and not unsure and asked_at - moment < {TOGETHER_NS})
               as pauses_asked_twice,
           min(age) filter (paused) as pause_shortest,
           arg_min(call_frame, (moment, call_frame), {OPTION_EXAMPLES})
               filter (paused) as pauses_frames,
           max(unasked) filter (examined) as unasked_longest
    from aged group by mount
"""
"""Only of mounts where there was a pause at all: elsewhere nothing could follow from it."""
