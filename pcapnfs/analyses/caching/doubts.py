"""Changes that a client took for somebody else's though it may have made them itself.

Takes a connection with the tables `mounts`, `learned` and `asked_about` (`change_ids`), and takes
back in them what is in doubt: where the change may have been that of a RENAME or LINK of which the
capture does not tell the objects, or of a call whose reply, or of a reply whose call, is not in the
capture, or of a call that failed, nothing tells who made it; nor where nothing proves that anybody
changed the object (`whose_changes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching import told, whose_changes
from pcapnfs.analyses.caching.told import MODIFYING
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.analyses.servers import silent_calls
from pcapnfs.operations import modifying_operations
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    whose_changes.READS,
    columns.of(
        calls="call connection mount callback call_time reply_time",
        operations="call op executed status stability file directory target_directory name",
        files="file handle name",
        names="call file",
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

UNCLEAR = (5, 28, 69, 10006)
"""NFS3ERR_IO, NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_SERVERFAULT and those of NFSv4: the server met
something of its own, or found no room, after it had begun, and may have modified the object all the
same. Linux sets the times of a file before it looks for room for what is written."""


def take_back(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Take back that somebody else made a change that nobody else may have made."""
    if cursor.execute(_OTHERS).fetchone() is None:
        return
    cursor.execute(_UNPLACED)
    if NEEDS_MOVES.met(trace):
        cursor.execute(_MOVED)
    if silent_calls.any_silent(trace):
        cursor.execute(_unanswered())
    cursor.execute(_UNASKED)
    if population.Operations(modifying_operations(), statuses=UNCLEAR).met(trace):
        cursor.execute(_failed())
    whose_changes.review(trace, cursor, raw=told.RAW, modifying=MODIFYING)
    cursor.execute(_DOUBTFUL)
    if cursor.execute("select 1 from doubtful limit 1").fetchone() is None:
        return
    cursor.execute(_TAKEN_BACK)
    if told.at_once(trace):
        for statement in _OF_THEIR_OWN:
            cursor.execute(statement)
        cursor.unregister("asked_counts")
    cursor.execute(_CORRECTED)
    cursor.execute("delete from asked_about where revalidations = 0 and invalidations = 0")


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
        where {among("op", MOVES)} and executed and {among("stability", MODIFYING)}
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
