"""What each client learnt of each file's change-ID, and who had changed the file.

Takes a trace; gives a cursor with temporary tables that other analyses question. The change-ID is
NFSv4's change attribute, else ctime, mtime and size (of directories ctime and mtime: what the weak
cache consistency data of NFSv3 has of them). Here stands what clients were told; what follows from
its order is a walk of the core (`pcapnfs.walks`).

A client learns it from every reply with attributes of the object: GETATTR, post-operation
attributes, `change_info4`, entries of a listing. Whether it changed the object itself is told by
what it knew before and what the server says to have found (RFC 1813 section 2.6 `wcc_data`, RFC
8881 section 3.3.8 `change_info4`); where the server does not say, by whether a modifying operation
of its own lies in between or was under way. Where that may have been a RENAME or LINK of which the
capture does not tell the objects, or a call whose reply it does not hold, nothing tells who it was;
nor where nothing proves that anybody changed the object (`whose_changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts, population
from pcapnfs.analyses.asking.service_time import NANOSECONDS
from pcapnfs.analyses.asking.texts import among, place
from pcapnfs.analyses.caching import whose_changes
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.analyses.servers import silent_calls
from pcapnfs.operations import modifying_operations
from pcapnfs.programs import NFS_PROGRAMS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs._core import Batch
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    whose_changes.READS,
    columns.of(
        calls="call connection client server mount callback program version op signature call_time "
        "reply_time file",
        operations="call position op executed status stability file directory target_directory "
        "name new_name change_before change_after type size change mtime ctime before_size "
        "before_mtime before_ctime directory_mtime directory_ctime directory_before_mtime "
        "directory_before_ctime target_change_before target_change_after target_mtime "
        "target_ctime target_before_mtime target_before_ctime attributes",
        entries="call position file type size change mtime ctime",
        files="file handle name",
        names="call directory name file",
        connections="connection role",
        notes="connection reason time",
    ),
)
"""The columns that the queries here read."""

MOVES = ("RENAME", "LINK")
"""Operations that change objects which the capture may not tell."""

NEEDS_MOVES = population.Operations(MOVES)
"""What must be there for a change to be that of a move."""

SOON_S = 1.0
"""A call whose reply is not in the capture was carried out so soon, as nearly all calls are."""

SAME, NOT_SAME = 10009, 10027
"""NFS4ERR_SAME and NFS4ERR_NOT_SAME: how NVERIFY and VERIFY say no (RFC 7530 section 13.1)."""

UNCLEAR = (5, 28, 69, 10006)
"""NFS3ERR_IO, NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_SERVERFAULT and those of NFSv4: the server met
something of its own, or found no room, after it had begun, and may have modified the object all the
same. Linux sets the times of a file before it looks for room for what is written."""

NOT_DIRECTORY = 20
"""NFS3ERR_NOTDIR and NFS4ERR_NOTDIR: the attributes that come with it are not those of a directory,
whose change-ID has no size."""


@contextmanager
def change_ids(
    trace: Trace,
    *,
    all_rows: bool = False,
    begin: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Fill the tables `mounts`, `learned` and `asked_about` on a connection of their own.

    `mounts`: the addresses of each `calls.mount`. `learned`: a row for each time that a client
    asked for the change-ID of an object, or learnt that somebody else had changed it:

    - `question`: NULL for attributes that came along with something else. `getattr`: a call whose
      purpose was to ask; `open`: the GETATTR in the compound of an OPEN; `verify`: VERIFY or
      NVERIFY on the change attribute.
    - `finding`: `first` (nothing known before), `unchanged`, `self`, `other`; `unknown` when a
      RENAME or LINK of this client in between may have been about it, or a call whose reply, or a
      reply whose call, is not in the capture, or when nothing proves that anybody changed it; NULL
      when the reply did not tell.
    - `modified`: the operation itself modified the object. `meddled`: so did one of this client
      since it last knew the change-ID.
    - `known_time`: when it last learnt it; NULL when it never had. Times are the capture's.
      `known_call`, `known_position`: from which operation's reply.
    - `alone`: the call did nothing but ask, so that the time to its reply is the question's.

    `asked_about`: a row for each mount and object with rows in `learned`, with their numbers:
    `revalidations` (a first OPEN of a file is none: it asks nothing that the client could have
    known), of these by finding `first_sight`, `unchanged`, `changed_by_self`, `changed_by_other`,
    `changed_by_unknown` (those taken back) and `unknown`; `by_getattr`, `by_open`, `by_verify`;
    `invalidations`: times that it learnt, asked or not, that somebody else had changed it; `time`:
    nanoseconds from calls to replies, of those calls that did nothing but ask.

    Args:
        trace: The trace.
        all_rows: Also have those rows in `learned` that are neither a question nor somebody else's
            change: attributes that came along, and the client's own changes.
        begin: What to do with the connection first: it may put other mounts in place of those of
            `calls`.
    """
    cursor = trace.cursor()
    try:
        if begin is not None:
            begin(cursor)
        cursor.execute(_MOUNTS)
        cursor.execute(_TABLES)
        _learn(trace, cursor, all_rows=all_rows)
        _doubt(trace, cursor)
        yield cursor
    finally:
        cursor.close()


def tell(
    trace: Trace,
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    *,
    calls: str = "true",
    objects: str = "true",
) -> None:
    """Make a temporary table of what clients were told of objects, modified of them and asked for.

    It has the columns of `walks.learned`, and no rows that tell nothing.

    Args:
        trace: The trace.
        cursor: A connection to it.
        table: The name of the table.
        calls: SQL: a condition on calls.
        objects: SQL: one on the column `file`.
    """
    _look_beside(cursor)
    statement = f"create temp table {table} as from some_told"
    many = not _at_once(trace)
    for _ in parts.by_stretch(trace, cursor, many=many):
        answered = walks.Answered(cursor.sql(f"{_ANSWERED} and {calls}"))
        some = answered.told(cursor.sql(f"{_SAID} from said where {objects}"))
        cursor.register("some_told", some)
        cursor.execute(statement)
        cursor.unregister("some_told")
        statement = f"insert into {table} from some_told"


def _learn(trace: Trace, cursor: duckdb.DuckDBPyConnection, *, all_rows: bool) -> None:
    """Fill `learned` and `asked_about`."""
    # Held as they come from the walk, the counts of millions of objects would be memory that
    # nothing can put on the disk.
    as_they_come = _at_once(trace)
    statement = f"create temp {'view' if as_they_come else 'table'} asked_about as {_ASKED_ABOUT}"
    for learned, asked in _walked(trace, cursor, all_rows=all_rows):
        walks.put(cursor, "learned", learned)
        del learned
        cursor.register("asked_counts", asked)
        cursor.execute(statement)
        if not as_they_come:
            cursor.unregister("asked_counts")
            statement = f"insert into asked_about {_ASKED_ABOUT}"


def _at_once(trace: Trace) -> bool:
    """Whether the walk is not divided."""
    return parts.number(trace, entries=True) == 1


def _walked(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, *, all_rows: bool
) -> Iterator[tuple[Batch, Batch]]:
    """What clients learnt and asked, part by part of the objects."""
    many = parts.number(trace, entries=True)
    if many == 1:
        parts.whole(cursor)
        _look_beside(cursor)
        answered = walks.Answered(cursor.sql(_ANSWERED))
        yield answered.learned(cursor.sql(f"{_SAID} from said"), all_rows=all_rows)
        return
    tell(trace, cursor, "told")
    for told in parts.of_table(trace, cursor, "told", "mount, file", many):
        yield walks.learned(told, all_rows=all_rows)


def _look_beside(cursor: duckdb.DuckDBPyConnection) -> None:
    """Fill the table `beside`: what operations modified besides the objects that they name."""
    for statement in (_FEW, _HANDLES, _BESIDE, _REPLACED):
        cursor.execute(statement)


def _doubt(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Take back that somebody else made a change that nobody else may have made."""
    if cursor.execute(_OTHERS).fetchone() is None:
        return
    cursor.execute(_UNPLACED)
    if NEEDS_MOVES.met(trace):
        cursor.execute(_MOVED)
    if silent_calls.any_silent(trace):
        cursor.execute(_unanswered())
    cursor.execute(_UNASKED)
    cursor.execute(_failed())
    whose_changes.review(trace, cursor, raw=_RAW, modifying=_MODIFYING)
    cursor.execute(_DOUBTFUL)
    if cursor.execute("select 1 from doubtful limit 1").fetchone() is None:
        return
    cursor.execute(_TAKEN_BACK)
    if _at_once(trace):
        for statement in _OF_THEIR_OWN:
            cursor.execute(statement)
        cursor.unregister("asked_counts")
    cursor.execute(_CORRECTED)
    cursor.execute("delete from asked_about where revalidations = 0 and invalidations = 0")


def age_s(column: str = "call_time - known_time") -> str:
    """SQL for how old the client's knowledge was when it asked, in seconds."""
    return f"({column}) / {NANOSECONDS}"


_MOUNTS = f"""
    create temp table mounts as
    select mount, any_value(client) as client, any_value(server) as server
    from calls where not callback and program in {NFS_PROGRAMS}
    group by mount
"""

_TABLES = """
    create temp type question as enum ('getattr', 'open', 'verify');
    create temp type finding as enum ('first', 'unchanged', 'self', 'other', 'unknown');
    create temp table learned (
        mount uinteger, file uinteger, call ubigint, position uinteger, call_time bigint,
        reply_time bigint, question question, modified boolean, alone boolean, known_call ubigint,
        known_position uinteger, known_time bigint, meddled boolean, finding finding
    );
"""

# What is unknown (the reply was cut before it told) may have modified the object, too.
_MODIFYING = ("stable", "unstable_write", "unknown")

_COMPARING = ("VERIFY", "NVERIFY")

_COPYING = ("CLONE", "COPY")

_MOVING = ("PUTFH", "PUTROOTFH", "LOOKUP", "LOOKUPP", "RESTOREFH")
"""Operations after which the current handle is that of their object, as far as it is known."""

ASKS_CHANGE = "substr(operations.attributes, 8, 1) >= '8'"
"""SQL: an NFSv4 bitmap holds the change attribute, bit 3 of its first word, whose eighth digit has
bits 0 to 3."""

ASKS_STATE = f"""
    ({ASKS_CHANGE} or not contains('048c', substr(operations.attributes, 12, 1)))
"""
"""SQL: it holds the change attribute, time_metadata or time_modify (bits 20 and 21 of the second
word): a GETATTR without them (access control lists, statfs) revalidates nothing. Under a delegation
Linux asks for the times alone."""


def _size(column: str) -> str:
    return f"case when type = 'DIR' then null else {column} end"


_FEW = f"""
    create or replace temp table few as
    select call, position, op, target_directory, new_name, change_before, change_after
    from operations
    where {among("op", ("RENAME", *_COPYING))} and executed and {among("stability", _MODIFYING)}
    union all
    select call, position, op, null, null, change_before, change_after
    from operations
    where op = 'OPEN' and directory is null and executed and {among("stability", _MODIFYING)}
          and change_before <> change_after
"""

_HANDLES = f"""
    create or replace temp table handles as
    select call, position, op, file from operations
    where {among("op", ("SAVEFH", *_MOVING))}
          and call in (select call from few where op <> 'RENAME')
"""

# An OPEN that was cut before its name changed the directory that its reply tells of, which is the
# current one; by the handle of a file nothing would have changed (RFC 8881 section 18.16.3). A
# CLONE, and a COPY that shares blocks, marks the source as well, the saved handle.
_BESIDE = f"""
    create or replace temp table beside as
    with saved as (
        select few.call, few.position, max(handles.position) as saved
        from few join handles using (call)
        where {among("few.op", _COPYING)} and handles.op = 'SAVEFH'
              and handles.position < few.position
        group by all
    ),
    places as (
        select call, position, position as before, change_before, change_after
        from few where op = 'OPEN'
        union all by name
        select call, position, saved as before from saved
    )
    select places.call, places.position, change_before, change_after,
           arg_max_null(handles.file, handles.position) as file
    from places join handles
         on handles.call = places.call and handles.position < places.before
            and handles.op <> 'SAVEFH'
    group by all
"""

# A file whose name a RENAME took loses a link, and who has it by another name sees that in its
# attributes.
_REPLACED = """
    insert into beside by name
    with renames as (select * from few where op = 'RENAME'),
    known as (
        select call, directory, name, file from names
        where name in (select new_name from renames)
              and directory in (select target_directory from renames)
    )
    select renames.call, renames.position, known.file
    from renames asof join known
         on known.directory = renames.target_directory and known.name = renames.new_name
            and renames.call > known.call
"""

_OTHERS = "select 1 from learned where finding = 'other'::finding limit 1"

# What the client may have changed, of which nothing more is known: where `file` is NULL any object,
# or any that had no name yet when the client knew it: one of a later name may have had this one.
_UNPLACED = """
    create temp table unplaced (
        mount uinteger, begun bigint, ended bigint, file uinteger, unnamed boolean
    )
"""

# A RENAME changes ctime and change attribute of its file, and both directories, a LINK its
# directory. What was cut of them may be any object; a file that was renamed by a name of which the
# capture tells no handle, any of which it told no name before.
_MOVED = f"""
    insert into unplaced
    with moved as (
        select call, op = 'RENAME' and operations.file in (
                   select files.file from files where handle is null) as without_handle,
               case op when 'LINK' then directory is null
                       else operations.name is null or target_directory is null end as cut
        from operations
        where {among("op", MOVES)} and executed and {among("stability", _MODIFYING)}
    )
    select mount, call_time, reply_time, null, not cut
    from moved join calls using (call)
    where not callback and reply_time is not null and (cut or without_handle)
"""


def _unanswered() -> str:
    """SQL: the objects of calls whose reply may have told a change, but is not in the capture."""
    return f"""
        insert into unplaced
        with asked as (
            select call, unnest([operations.file, directory, target_directory]) as file
            from operations
            where {among("op", modifying_operations())}
                  and call in (
                      select calls.call from calls where reply_time is null and not callback)
        )
        select mount, call_time, call_time + {int(SOON_S * NANOSECONDS)}, asked.file, false
        from asked join calls using (call)
        where asked.file is not null
    """


def _failed() -> str:
    """SQL: the objects of calls that failed, but may have done what they were to do."""
    return f"""
        insert into unplaced
        with failed as (
            select call, unnest([operations.file, directory, target_directory]) as file
            from operations
            where status in {UNCLEAR} and {among("op", modifying_operations())}
        )
        select mount, call_time, reply_time, failed.file, false
        from failed join calls using (call)
        where failed.file is not null and not callback and reply_time is not null
    """


# A reply without its call may be that of any.
_UNASKED = f"""
    insert into unplaced
    select mount, time - {int(SOON_S * NANOSECONDS)}, time, null, false
    from (select connection, time from notes where reason = '{ORPHAN_REPLY}') as replies
         join (
             select connection, mount from calls where not callback group by all
         ) as asking using (connection)
"""

# Mostly few changes are of a time in which there is something unplaced that they may be.
_DOUBTFUL = """
    create temp table doubtful as
    with spans as (
        select mount, file, min(begun) as first, max(ended) as last
        from unplaced group by mount, file
    ),
    any_object as (select mount, first, last from spans where file is null),
    moments as (
        select mount, begun as moment, ended as until, unnamed, null::bigint as row, file,
               null::bigint as known_time, null::ubigint as known_call
        from unplaced
        union all
        select mount, reply_time, null, null, learned.rowid, file, known_time, known_call
        from learned left join spans using (mount, file) left join any_object using (mount)
        where finding = 'other'::finding
              and (reply_time >= spans.first and known_time < spans.last
                   or reply_time >= any_object.first and known_time < any_object.last)
    ),
    meant as (
        select *,
               max(until) filter (file is null and not unnamed) over of_mount as until_any,
               max(until) filter (file is null) over of_mount as until_unnamed,
               max(until) over of_file as until_this
        from moments
        window of_mount as (partition by mount order by moment, row nulls first
                            rows between unbounded preceding and current row),
               of_file as (partition by mount, file order by moment, row nulls first
                           rows between unbounded preceding and current row)
    ),
    named as (
        select file, min(call) as call from names
        where file in (select file from meant where until_unnamed > known_time)
        group by file
    ),
    doubted as (
        select row from unproven
        union
        select row from meant left join named using (file)
        where row is not null
              and (until_any > known_time or until_this > known_time
                   or until_unnamed > known_time
                      and (coalesce(named.call > known_call, false)
                           or file in (select file from files where name is null)))
    )
    select row, mount, file, question is not null as asked,
           coalesce(unproven.finding, 'unknown'::finding) as finding
    from doubted left join unproven using (row) join learned on learned.rowid = doubted.row
"""

_TAKEN_BACK = """
    update learned set finding = doubtful.finding from doubtful where learned.rowid = doubtful.row
"""

# Whose change it was is in doubt only where all objects are looked at together.
_ASKED_ABOUT = "select *, 0::ubigint as changed_by_unknown from asked_counts"

# Rows of the core cannot be changed.
_OF_THEIR_OWN = (
    "create temp table counts as from asked_about",
    "drop view asked_about",
    "alter table counts rename to asked_about",
)

_CORRECTED = """
    update asked_about
    set changed_by_other = changed_by_other - asked,
        changed_by_unknown = asked - same,
        unchanged = asked_about.unchanged + same,
        invalidations = invalidations - doubts
    from (
        select mount, file, count(*) as doubts, count(*) filter (asked) as asked,
               count(*) filter (asked and finding = 'unchanged'::finding) as same
        from doubtful group by mount, file
    ) as doubted
    where asked_about.mount = doubted.mount and asked_about.file = doubted.file
"""

_ANSWERED = f"""
    select call, mount, version < 4 as by_times, call_time, reply_time,
           {place("op", ("GETATTR", "OPEN"))} as purpose, file as about,
           version < 4 or signature not like '%GETATTR%GETATTR%' as single,
           connection in (select k.connection from connections k where role = 'data server')
               as of_data
    from calls
    where of_stretch(call) and not callback and reply_time is not null
          and program in {NFS_PROGRAMS}
"""
"""Calls whose replies told something. Attributes without a change attribute are a change-ID in
NFSv2 and NFSv3 only: replies of NFSv4 may bring times alone. And nothing is that a data server
says, which speaks of the data that it holds."""

_RAW = f"""
    with raw as (
        select call, position, file, operations.change as change, operations.ctime as ctime,
               operations.mtime as mtime, {_size("operations.size")} as size, before_ctime,
               before_mtime, {_size("before_size")} as before_size,
               {among("stability", _MODIFYING)} as modified,
               case when {among("op", _COMPARING)} and {ASKS_CHANGE} then 2
                    when op = 'GETATTR' and {ASKS_STATE} then 1
                    when op = 'GETATTR' then 0 end::utinyint as asked,
               case when {among("op", _COMPARING)}
                    then coalesce(status in ({SAME}, {NOT_SAME}), false) end as refused,
               case when {among("op", _COMPARING)} and status in (0, {SAME}, {NOT_SAME})
                    then (op = 'VERIFY') = (status = 0) end as verified
        from operations
        where of_stretch(call) and executed and file is not null
              and (operations.change is not null or operations.ctime is not null
                   or stability <> 'unstable' or {among("op", ("GETATTR", *_COMPARING))})
        union all by name
        -- An OPEN whose name was cut off may be about the object itself: only what the reply says
        -- to have changed has.
        select call, position, directory as file,
               case when name is not null then change_after end as change,
               directory_ctime as ctime, directory_mtime as mtime,
               change_before as before_change, directory_before_ctime as before_ctime,
               directory_before_mtime as before_mtime,
               name is not null and {among("stability", _MODIFYING)}
               or coalesce(change_before <> change_after, false) as modified,
               {among("stability", _MODIFYING)} as modified_unless_v4
        from operations
        where of_stretch(call) and executed and directory is not null
              and status is distinct from {NOT_DIRECTORY}
        union all by name
        -- RENAME modifies both directories.
        select call, position, target_directory as file, target_change_after as change,
               target_ctime as ctime, target_mtime as mtime,
               target_change_before as before_change, target_before_ctime as before_ctime,
               target_before_mtime as before_mtime,
               {among("stability", _MODIFYING)} as modified
        from operations
        where of_stretch(call) and executed and target_directory is not null
              and target_directory <> directory and status is distinct from {NOT_DIRECTORY}
        union all by name
        select call, position, file, change_after as change, change_before as before_change,
               true as modified
        from beside where of_stretch(call) and file is not null
        union all by name
        select call, position, file, entries.change as change, entries.ctime as ctime,
               entries.mtime as mtime, {_size("entries.size")} as size
        from entries where of_stretch(call) and file is not null
    )
"""
"""SQL: a `with` clause with `raw`: what replies said of objects, in any order; rows may tell
nothing."""

# A change-ID as one number, so that rows stay narrow; equal for equal ones. Those of change
# attributes are exact.
_SAID = f"""
    {_RAW},
    said as (
        select call, position, file,
               case when change is not null then hash(change)
                    when ctime is not null then hash(ctime, mtime, size) end as change_id,
               change is not null as exact,
               case when before_change is not null then hash(before_change)
                    when before_ctime is not null
                    then hash(before_ctime, before_mtime, before_size) end as before,
               before_change is not null as exact_before,
               modified, modified_unless_v4, asked, refused, verified
        from raw
    )
"""
"""SQL: a `with` clause with `said`: the same with change-IDs. `core/src/walk/told.rs` says what it
meant to the clients of these calls."""
