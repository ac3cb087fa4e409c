"""What each client learnt of each file's change-ID, and who had changed the file.

Takes a trace; gives a cursor with two temporary tables that other analyses question. The change-ID
is NFSv4's change attribute, else ctime, mtime and size (of directories ctime and mtime: what the
weak cache consistency data of NFSv3 has of them). Promises that no row leaves the database.

A client learns it from every reply with attributes of the object: GETATTR, post-operation
attributes, `change_info4`, entries of a listing. Whether it changed the object itself is told by
what it knew before and what the server says to have found (RFC 1813 section 2.6 `wcc_data`, RFC
8881 section 3.3.8 `change_info4`); where the server does not say, by whether a modifying operation
of its own lies in between or was under way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.programs import NFS_PROGRAMS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call connection client server mount callback program version op signature call_time "
    "reply_time file",
    operations="call position op executed status stability file directory target_directory name "
    "change_before change_after type size change mtime ctime before_size before_mtime before_ctime "
    "directory_mtime directory_ctime directory_before_mtime directory_before_ctime attributes",
    entries="call position file type size change mtime ctime",
    connections="connection role",
)
"""The columns that the queries here read."""

SAME, NOT_SAME = 10009, 10027
"""NFS4ERR_SAME and NFS4ERR_NOT_SAME: how NVERIFY and VERIFY say no (RFC 7530 section 13.1)."""


@contextmanager
def change_ids(trace: Trace) -> Iterator[duckdb.DuckDBPyConnection]:
    """Fill the tables `mounts` and `learned` on a connection of their own.

    `mounts`: the addresses of each `calls.mount`. `learned`: a row for each time that a
    client learnt the change-ID of an object, modified it, or asked for it:

    - `question`: NULL for attributes that came along with something else. `getattr`: a call whose
      purpose was to ask; `open`: the GETATTR in the compound of an OPEN; `verify`: VERIFY or
      NVERIFY on the change attribute.
    - `finding`: `first` (nothing known before), `unchanged`, `self`, `other`; NULL when the reply
      did not tell.
    - `modified`: the operation itself modified the object. `meddled`: so did one of this client
      since it last knew the change-ID.
    - `known_time`: when it last learnt it; NULL when it never had. Times are the capture's.
    - `alone`: the call did nothing but ask, so that the time to its reply is the question's.
    """
    cursor = trace.cursor()
    try:
        cursor.execute(_MOUNTS, {"programs": NFS_PROGRAMS})
        cursor.execute(_KINDS)
        cursor.execute(_LEARNED, {"programs": NFS_PROGRAMS, "same": SAME, "not_same": NOT_SAME})
        yield cursor
    finally:
        cursor.close()


def age_s(column: str = "call_time - known_time") -> str:
    """SQL for how old the client's knowledge was when it asked, in seconds."""
    return f"({column}) / {NANOSECONDS}"


_MOUNTS = """
    create temp table mounts as
    select mount, any_value(client) as client, any_value(server) as server
    from calls where not callback and list_contains($programs, program)
    group by mount
"""

_KINDS = """
    create temp type question as enum ('getattr', 'open', 'verify');
    create temp type finding as enum ('first', 'unchanged', 'self', 'other');
"""
"""A byte in each row instead of a text."""

# What is unknown (the reply was cut before it told) may have modified the object, too.
_MODIFYING = "('stable', 'unstable_write', 'unknown')"

ASKS_CHANGE = "substr(operations.attributes, 8, 1) >= '8'"
"""SQL: an NFSv4 bitmap holds the change attribute, bit 3 of its first word, whose eighth digit has
bits 0 to 3."""

ASKS_STATE = f"""
    ({ASKS_CHANGE} or not contains('048c', substr(operations.attributes, 12, 1)))
"""
"""SQL: it holds the change attribute, time_metadata or time_modify (bits 20 and 21 of the second
word): a GETATTR without them (access control lists, statfs) revalidates nothing. Under a delegation
Linux asks for the times alone."""


def _change_id(change: str, ctime: str, mtime: str, size: str) -> str:
    """SQL: one number for a change-ID, so that rows stay narrow; equal for equal ones.

    Times of NFSv4 are none: a reply may bring them without the change attribute. Nor is anything
    that a data server says: it speaks of the data that it holds.
    """
    return f"""
        case when of_data then null
             when {change} is not null then hash({change})
             when {ctime} is not null and of_version < 4 then hash({ctime}, {mtime}, {size}) end
    """


def _size(table: str, column: str) -> str:
    return f"case when {table}.type = 'DIR' then null else {table}.{column} end"


_LEARNED = f"""
    create temp table learned as
    with answered as (
        select call, mount, version as of_version, call_time, reply_time, op as purpose,
               file as about,
               version < 4 or signature not like '%GETATTR%GETATTR%' as single,
               connection in (select k.connection from connections k where role = 'data server')
                   as of_data
        from calls
        where not callback and reply_time is not null and list_contains($programs, program)
    ),
    told as (
        select operations.file, call, position, mount, call_time, reply_time,
               {
    _change_id(
        "operations.change", "operations.ctime", "operations.mtime", _size("operations", "size")
    )
} as change_id,
               {
    _change_id("null", "before_ctime", "before_mtime", _size("operations", "before_size"))
} as before,
               stability in {_MODIFYING} as modified,
               case when op in ('VERIFY', 'NVERIFY') and {ASKS_CHANGE}
                    then 'verify'::question
                    when op = 'GETATTR' and operations.file = about
                         and (of_version < 4 or {ASKS_STATE})
                    then case purpose when 'GETATTR' then 'getattr'::question
                                      when 'OPEN' then 'open'::question end
                    end as question,
               case when op in ('VERIFY', 'NVERIFY') then status in ($same, $not_same)
                    else single end as alone,
               case when op in ('VERIFY', 'NVERIFY') and status in (0, $same, $not_same)
                    then (op = 'VERIFY') = (status = 0) end as verified
        from operations join answered using (call)
        where executed and operations.file is not null
              and (operations.change is not null or operations.ctime is not null
                   or stability <> 'unstable' or op in ('GETATTR', 'VERIFY', 'NVERIFY'))
        union all by name
        select directory as file, call, position, mount, call_time, reply_time,
               case when name is not null or of_version < 4 then
                   {_change_id("change_after", "directory_ctime", "directory_mtime", "null")}
                   end as change_id,
               {
    _change_id("change_before", "directory_before_ctime", "directory_before_mtime", "null")
} as before,
               -- An OPEN whose name was cut off may be about the object itself: only what the
               -- reply says to have changed has.
               case when name is not null or of_version < 4 then stability in {_MODIFYING}
                    else false end
               or coalesce(change_before <> change_after, false) as modified
        from operations join answered using (call)
        where executed and directory is not null
        union all by name
        -- RENAME modifies both directories; the tables have what the reply says of the source.
        select target_directory as file, call, position, mount, call_time, reply_time,
               true as modified
        from operations join answered using (call)
        where executed and target_directory <> directory and stability in {_MODIFYING}
        union all by name
        select entries.file, call, position, mount, call_time, reply_time,
               {
    _change_id("entries.change", "entries.ctime", "entries.mtime", _size("entries", "size"))
} as change_id,
               false as modified
        from entries join answered using (call) where entries.file is not null
    ),
    ordered as (
        select *,
               lag(case when change_id is not null
                   then {{'id': change_id, 'at': reply_time, 'asked': call_time,
                         'modified': modified}} end ignore nulls) over around as last,
               lag(case when modified then reply_time end ignore nulls) over around
                   as modified_before,
               lag(case when modified then reply_time end, 2 ignore nulls) over around
                   as modified_earlier,
               lead(case when modified then call_time end ignore nulls) over around
                   as modified_after
        from told where change_id is not null or modified or question is not null
        window around as (partition by mount, file order by reply_time, call, position)
    ),
    compared as (
        select *, last.id as known, last.at as known_time, last.asked as known_call_time,
               last.modified as known_modified
        from ordered
    )
    select mount, file, call, call_time, reply_time, question, modified, alone, known_time,
           coalesce(modified_before > known_time, false) as meddled,
           case when verified then 'unchanged'::finding
                when not verified then
                    case when modified_before > known_time then 'self'::finding
                         else 'other'::finding end
                when change_id is null then null
                when known is null then 'first'::finding
                when change_id = known then 'unchanged'::finding
                when modified_before > known_time then 'self'::finding
                -- Replies may come in another order than the server worked in: what was under way
                -- around this one, or around the one before, may explain the difference.
                when modified_before > call_time or modified_after < reply_time then 'self'::finding
                when case when known_modified then modified_earlier else modified_before end
                         > known_call_time
                     or case when modified then call_time else modified_after end < known_time
                    then 'self'::finding
                when modified and coalesce(before = known, true) then 'self'::finding
                else 'other'::finding end as finding
    from compared
"""
"""One pass over what each client was told of each object, in the order of the replies."""
