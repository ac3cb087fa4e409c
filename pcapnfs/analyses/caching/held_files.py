"""Files under a delegation, about which a client need not ask the server, whatever its options.

Takes a trace; makes the table `unasked` of the calls about them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.by_file.visits import TOGETHER_NS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

NEEDS = population.Operations(("OPEN", "DELEGRETURN"), statuses=(0,))
"""Without these no file is known to be under a delegation."""


def register(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> ByMount:
    """Make the table `unasked`, and say how many files there are.

    `unasked` has a row for each call about a file under a delegation: `mount`, `file` and `call`.
    """
    cursor.execute(_UNASKED)
    if not NEEDS.met(trace):
        return ByMount()
    cursor.execute(_CHANGES)
    cursor.execute(_DELEGATED)
    cursor.execute(_HELD)
    return ByMount.of_query(cursor, _HELD_FILES)


_UNASKED = "create temp table unasked (mount uinteger, file uinteger, call ubigint)"

# With a table of these DuckDB knows how many there are.
_CHANGES = f"""
    create temp table delegation_changes as
    select mount, operations.file, operations.op = 'OPEN' as granted,
           case operations.op when 'OPEN' then call_time else reply_time end as moment
    from operations join calls using (call)
    where not callback and operations.file is not null and reply_time is not null
          and operations.status = 0 and {among("operations.op", NEEDS.ops)}
          and (operations.op = 'DELEGRETURN' or operations.op = 'OPEN'
               and (delegation like 'READ%' or delegation like 'WRITE%'))
"""

# Of a delegation that was returned without having been granted the capture lacks the beginning.
_DELEGATED = """
    create temp table delegated as
    with grants as (
        select mount, file, moment from delegation_changes where granted
        union all
        select mount, file, 0 from delegation_changes
        group by mount, file having not arg_min(granted, moment)
    ),
    returns as (select mount, file, moment as until from delegation_changes where not granted)
    select grants.mount, grants.file, grants.moment, until
    from grants asof left join returns
         on grants.mount = returns.mount and grants.file = returns.file
            and grants.moment <= returns.until
"""
"""From when until when a file was under a delegation; NULL: until the end."""

# The visit in which it is granted shows as little as those that follow.
_HELD = f"""
    insert into unasked
    with begun as (select mount, file, moment - {TOGETHER_NS} as moment, until from delegated)
    select about.mount, about.file, call
    from (
        select mount, file, call, call_time from calls
        where not callback and file in (select file from delegated)
    ) as about asof join begun
         on about.mount = begun.mount and about.file = begun.file
            and about.call_time >= begun.moment
    where until is null or call_time <= until
"""

_HELD_FILES = "select mount, count(distinct file) as files_delegated from unasked group by mount"
