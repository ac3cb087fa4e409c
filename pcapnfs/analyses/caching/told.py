"""What replies told of the change-IDs of objects, and which operations asked or modified.

Takes a trace; gives SQL for what each operation's reply said of each object, and what that meant to
the clients (a walk of the core). The change-ID is NFSv4's change attribute, else ctime, mtime and
size (of directories ctime and mtime: what the weak cache consistency data of NFSv3 has of them).
Whose changes these were is not looked at here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.texts import among, place
from pcapnfs.programs import NFS_PROGRAMS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call connection mount callback program version op signature call_time reply_time file",
    operations="call position op executed status stability file directory target_directory "
    "name new_name change_before change_after type size change mtime ctime before_size "
    "before_mtime before_ctime directory_mtime directory_ctime directory_before_mtime "
    "directory_before_ctime target_change_before target_change_after target_mtime "
    "target_ctime target_before_mtime target_before_ctime attributes",
    entries="call position file type size change mtime ctime",
    names="call directory name file",
    connections="connection role",
)
"""The columns that the queries here read."""

SAME, NOT_SAME = 10009, 10027
"""NFS4ERR_SAME and NFS4ERR_NOT_SAME: how NVERIFY and VERIFY say no (RFC 7530 section 13.1)."""

NOT_DIRECTORY = 20
"""NFS3ERR_NOTDIR and NFS4ERR_NOTDIR: the attributes that come with it are not those of a directory,
whose change-ID has no size."""

# What is unknown (the reply was cut before it told) may have modified the object, too.
MODIFYING = ("stable", "unstable_write", "unknown")


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
    look_beside(cursor)
    statement = f"create temp table {table} as from some_told"
    many = not at_once(trace)
    with trace.room_for(rows=parts.most_of_stretch(trace) if many else 0):
        for _ in parts.by_stretch(trace, cursor, many=many):
            answered = walks.Answered(cursor.sql(f"{ANSWERED} and {calls}"))
            some = answered.told(cursor.sql(f"{SAID} from said where {objects}"))
            cursor.register("some_told", some)
            cursor.execute(statement)
            cursor.unregister("some_told")
            statement = f"insert into {table} from some_told"


def at_once(trace: Trace) -> bool:
    """Whether the walk is not divided."""
    return parts.number(trace, entries=True) == 1


def look_beside(cursor: duckdb.DuckDBPyConnection) -> None:
    """Fill the table `beside`: what operations modified besides the objects that they name."""
    for statement in (_FEW, _HANDLES, _BESIDE, _REPLACED):
        cursor.execute(statement)


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
    where {among("op", ("RENAME", *_COPYING))} and executed and {among("stability", MODIFYING)}
    union all
    select call, position, op, null, null, change_before, change_after
    from operations
    where op = 'OPEN' and directory is null and executed and {among("stability", MODIFYING)}
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

ANSWERED = f"""
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

RAW = f"""
    with raw as (
        select call, position, file, operations.change as change, operations.ctime as ctime,
               operations.mtime as mtime, {_size("operations.size")} as size, before_ctime,
               before_mtime, {_size("before_size")} as before_size,
               {among("stability", MODIFYING)} as modified,
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
               name is not null and {among("stability", MODIFYING)}
               or coalesce(change_before <> change_after, false) as modified,
               {among("stability", MODIFYING)} as modified_unless_v4
        from operations
        where of_stretch(call) and executed and directory is not null
              and status is distinct from {NOT_DIRECTORY}
        union all by name
        -- RENAME modifies both directories.
        select call, position, target_directory as file, target_change_after as change,
               target_ctime as ctime, target_mtime as mtime,
               target_change_before as before_change, target_before_ctime as before_ctime,
               target_before_mtime as before_mtime,
               {among("stability", MODIFYING)} as modified
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
SAID = f"""
    {RAW},
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
