"""Files that a client asked for after it had left them alone: when their attributes expire.

Takes a connection with the tables `known` (`mount_evidence`) and `unasked` (`held_files`); counts,
for each mount, the questions about regular files that no call had been about since the client last
knew them: all of NFSv4, and of NFSv3, whose opens ask as well, those about files that it never
opened (`unopened`). One right behind the LOOKUP that brought what it knew is told apart: some
clients ask so for whatever they look up, whatever their options, and then believe the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.examples import OPTION_EXAMPLES
from pcapnfs.analyses.caching import unopened
from pcapnfs.analyses.caching.change_ids import age_s
from pcapnfs.analyses.caching.unopened import FILE_DEFAULT_S, FILE_TIMEOUT_S
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH

if TYPE_CHECKING:
    import duckdb


def aged_files(cursor: duckdb.DuckDBPyConnection) -> ByMount:
    """Count the questions; nothing where none may be due to a timeout, and there are few."""
    unopened.register(cursor)
    cursor.execute(_RIPE)
    if cursor.execute("select 1 from ripe limit 1").fetchone() is None:
        return ByMount()
    return ByMount.of_query(cursor, _AGED)


_RIPE = f"""
    create temp table ripe as
    with asked as (
        select mount, calls.file, call, call_time, call_frame, known_time, known_call,
               {age_s()} as age
        from known join calls using (call, file)
             semi join (select file from files where role = 'file') as objects using (file)
        where (version = 4 or (mount, calls.file) in (select (mount, file) from unopened))
              and not callback and {age_s()} between 0 and {FILE_DEFAULT_S}
    )
    from asked
    where mount in (
              select mount from asked group by mount
              having max(age) >= {FILE_TIMEOUT_S} or count(*) >= {ENOUGH}
          )
          and call not in (select call from unasked)
"""
"""Questions about files that no open explains, of mounts where some may be due to a timeout, or
there are some."""

# A call that tells no attributes may have made the client doubt what it knew: READ voids the access
# time, LOCK all that is cached.
_AGED = f"""
    with about as (
        select mount, file, call_time, reply_time from calls
        where not callback and mount in (select mount from ripe)
              and file in (select file from ripe)
    ),
    found as (
        select call from calls where op = 'LOOKUP' and call in (select known_call from ripe)
    ),
    alone as (
        select ripe.*, age < {FILE_TIMEOUT_S} and known_call not in (from found) as young,
               age < {FILE_TIMEOUT_S} and known_call in (from found) as just_found
        from ripe asof left join about
             on ripe.mount = about.mount and ripe.file = about.file
                and ripe.call_time > about.call_time
        where about.call_time is null or reply_time <= known_time
    )
    select mount, count(*) filter (age >= {FILE_TIMEOUT_S}) as files_aged,
           count(*) filter (young) as files_young,
           count(*) filter (just_found) as files_just_found,
           count(distinct file) filter (age >= {FILE_TIMEOUT_S}) as aged_objects,
           count(distinct file) filter (young) as young_objects,
           min(age) filter (age >= {FILE_TIMEOUT_S}) as aged_shortest,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (age >= {FILE_TIMEOUT_S}) as aged_frames,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (young) as young_frames
    from alone group by mount
"""
