"""Names that a client looked for again though it knew that they are not there.

Takes a connection with the table `learned` (`change_ids`); gives for each mount how often a client
looked for a name that it had not found shortly before, in a directory that it never changed and of
which nothing shows that anybody else had. By default Linux remembers that a name is not there for
as long as its directory is unchanged, as it remembers those that are (`names_again`); with
lookupcache=positive it does not, and with lookupcache=none neither (nfs(5)). Who makes something
asks for its name each time, so that directories which the client changed tell nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.examples import OPTION_EXAMPLES
from pcapnfs.analyses.asking.statuses import NOENT
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.namespace import changed_directories
from pcapnfs.analyses.namespace.names_again import KEPT_S, LEAST
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

OPS = ("LOOKUP", "OPEN")
"""Operations that look for a name."""

NEEDS = population.Operations(OPS, statuses=(NOENT,))
"""Without one there is none."""


def missing_again(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> ByMount:
    """Count, for each mount where some were not found more than once."""
    if not NEEDS.met(trace):
        return ByMount()
    cursor.execute(_MOUNTS)
    if cursor.execute("select 1 from missing_some limit 1").fetchone() is None:
        return ByMount()
    changed_directories.register(trace)
    return ByMount.of_query(cursor, _MISSING)


_MISSES = f"""
    {among("op", OPS)} and status = {NOENT} and not callback and program in {NFS_PROGRAMS}
    and file is not null and directory is not null and reply_time is not null
"""

_MOUNTS = f"""
    create or replace temp table missing_some as
    select mount from calls where {_MISSES}
    group by mount having count(*) - count(distinct file) >= {LEAST}
"""

_MISSING = f"""
    with missed as materialized (
        select mount, directory, call_time, call_frame,
               lag(reply_time) over (
                   partition by mount, directory, file order by call_time, call) as before
        from calls
        where {_MISSES} and mount in (select mount from missing_some)
    ),
    own as (
        select distinct mount, changed.directory
        from {changed_directories.TABLE} as changed join calls using (call)
        where not callback and changed.directory in (select directory from missed)
    ),
    others as ({changed_directories.by_others("select directory from missed")}),
    known as (
        select missed.*,
               coalesce(
                   before <= call_time and call_time - before <= {int(KEPT_S * NANOSECONDS)}
                   and coalesce(moment < before, true), false
               ) as again
        from (from missed anti join own using (mount, directory)) as missed asof left join others
             on missed.mount = others.mount and missed.directory = others.directory
                and missed.call_time >= others.moment
    )
    select mount, count(*) as missing, count(*) filter (again) as missing_again,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (again) as missing_frames
    from known group by mount
"""
