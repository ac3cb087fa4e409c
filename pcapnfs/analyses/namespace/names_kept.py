"""Which LOOKUPs a client would not have sent, had it kept names: not all are calls less.

Takes a connection with the table `again` (`names_again`); makes the table `kept` of calls. A LOOKUP
brings attributes, too. Where names are kept, a GETATTR takes its place when something is opened
(close-to-open consistency), and when the attributes of a file have expired. On the other hand a
listing with attributes brings names, which then need no LOOKUP at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.by_file.visits import TOGETHER_NS
from pcapnfs.analyses.caching.asked_again import DOUBLED, FIRST_S
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

LONGEST_S = 60.0
"""For how long Linux believes a file at most by default (acregmax)."""


def register(cursor: duckdb.DuckDBPyConnection, unchanged: str, kept_s: float) -> None:
    """Make the table `kept`: `call`, of LOOKUPs in whose place no other call would have been sent.

    Args:
        cursor: The connection.
        unchanged: SQL: common table expressions that give `unchanged`, the calls of `shortly` whose
            directory has not changed since `before`.
        kept_s: For how long names count as kept, seconds.
    """
    listed = _LISTED.format(unchanged=unchanged, kept=int(kept_s * NANOSECONDS))
    for statement in (_OPENED, _CHECKS, _EXPIRED, listed, _KEPT):
        cursor.execute(statement)


# A file of NFSv4 is opened by an OPEN, which takes the place of the LOOKUP.
_OPENED = """
    create or replace temp table kept_opened as
    select distinct mount, file, role = 'directory' as directory
    from calls join (select file, role from files) using (file)
    where not callback and mount in (select mount from looking)
          and (op in ('READDIR', 'READDIRPLUS') or version < 4 and op in ('READ', 'WRITE'))
          and file in (select file from again)
"""
"""What a client is seen to have opened: it may have done so again, and read what it had cached."""

# A program that walks a tree examines each directory and then opens it: two LOOKUPs of the same. A
# LOOKUP of a directory before one of what is in it is a step of a way, unless it is the second.
_CHECKS = f"""
    create or replace temp table kept_checks as
    with ways as (
        select mount, file, call, call_time,
               coalesce(lag(file) over steps = file
                        and call_time - lag(call_time) over steps < {TOGETHER_NS}, false)
                   as repeats,
               coalesce(lead(file) over steps = file
                        and lead(call_time) over steps - call_time < {TOGETHER_NS}, false)
                   as repeated,
               coalesce(call_time - lag(call_time) over visits < {TOGETHER_NS}, false) as soon
        from again
        window steps as (partition by mount order by call_time, call),
               visits as (partition by mount, file order by call_time, call)
    ),
    places as (select mount, file from kept_opened where directory),
    events as (
        select mount, file as place, call, call_time, false as inside
        from again semi join places using (mount, file)
        union all
        select mount, directory, call, call_time, true
        from calls
        where not callback and mount in (select mount from looking)
              and directory in (select file from places)
    ),
    onward as (
        select call, place as file, inside,
               coalesce(lead(inside) over (
                   partition by mount, place order by call_time, call), false) as enters
        from events
    )
    select call
    from ways join kept_opened using (mount, file)
         left join (select call, file, enters from onward where not inside) using (call, file)
    where case when directory then not repeated and (repeats or not coalesce(enters, false))
               else not soon end
"""
"""LOOKUPs that stand for the check at an open: of a file, of those less than a second apart the
first, as in `questions`."""

_BOUNDS = tuple(FIRST_S * (2**times - 1) for times in range(1, DOUBLED + 2))
"""When a file's attributes expire, seconds after they came, where nothing changes."""


def span_of_file(age: str) -> str:
    """SQL: how often a file's attributes have expired by default, so many seconds after they came.

    Args:
        age: The seconds.
    """
    spans = " ".join(f"when {age} < {bound} then {place}" for place, bound in enumerate(_BOUNDS))
    longer = f"{len(_BOUNDS)} + floor(({age} - {_BOUNDS[-1]}) / {LONGEST_S})"
    return f"case {spans} else {longer} end"


_EXPIRED = f"""
    create or replace temp table kept_expired as
    with aged as (
        select mount, file, call, call_time,
               (call_time - min(call_time) over (partition by mount, file)) / {NANOSECONDS} as age
        from again semi join (select file from files where role = 'file') as objects using (file)
    ),
    spans as (
        select *, {span_of_file("age")} as span
        from aged where call not in (from kept_checks)
    )
    select call from spans where span > 0
    qualify row_number() over (partition by mount, file, span order by call_time, call) = 1
"""
"""The first LOOKUP of a file after its attributes would have expired: one for each time."""

_LISTED = """
    create or replace temp table kept_listed as
    with told as (
        select mount, entries.file, reply_time
        from entries join calls using (call)
        where entries.file in (select file from again where not spared)
              and coalesce(entries.ctime, entries.change) is not null and reply_time is not null
    ),
    shortly as (
        select again.mount, directory, again.call, call_time, reply_time as before
        from (from again where not spared) as again
             asof join told
             on again.mount = told.mount and again.file = told.file and call_time >= reply_time
        where call_time - reply_time <= {kept}
    ),
    {unchanged}
    select call from unchanged
"""
"""LOOKUPs of what the client had not found before, but been told by a listing with attributes."""

_KEPT = """
    create or replace temp table kept as
    select call from again
    where (spared or call in (from kept_listed))
          and call not in (from kept_checks) and call not in (from kept_expired)
"""
