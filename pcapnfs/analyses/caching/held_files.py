"""What is under a delegation, about which a client need not ask, whatever its options.

Takes a trace; makes the tables `delegated`, `unasked` and `sheltered`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.by_file.visits import TOGETHER_NS
from pcapnfs.analyses.caching.delegations import OF_DIRECTORY

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

NEEDS = population.Operations(("OPEN", "DELEGRETURN", OF_DIRECTORY), statuses=(0,))
"""Without these nothing is known to be under a delegation."""


def any_held(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether anything was under a delegation, on a connection with the tables."""
    return cursor.execute("select 1 from delegated limit 1").fetchone() is not None


def register(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> ByMount:
    """Make the tables, and say how many files with such calls there are.

    `delegated` says from when until when an object was under a delegation: `mount`, `file`,
    `moment` and `until`, which is NULL to the end. `unasked` has a row for each call about a file
    meanwhile: `mount`, `file` and `call`; `sheltered` has the calls about an object in a directory
    meanwhile: `call`.
    """
    for table in (_DELEGATIONS, _UNASKED, _SHELTERED):
        cursor.execute(table)
    if not NEEDS.met(trace):
        return ByMount()
    cursor.execute(_CHANGES)
    cursor.execute(_DELEGATED)
    cursor.execute(_HELD)
    if cursor.execute(f"{_DIRECTORIES} limit 1").fetchone() is not None:
        cursor.execute(_IN_HELD)
    return ByMount.of_query(cursor, _HELD_FILES)


_DELEGATIONS = """
    create temp table delegated (mount uinteger, file uinteger, moment bigint, until bigint)
"""

_UNASKED = "create temp table unasked (mount uinteger, file uinteger, call ubigint)"

_SHELTERED = "create temp table sheltered (call ubigint)"

# With a table of these DuckDB knows how many there are.
_CHANGES = f"""
    create temp table delegation_changes as
    select mount, operations.file, operations.op <> 'DELEGRETURN' as granted,
           case operations.op when 'DELEGRETURN' then reply_time else call_time end as moment
    from operations join calls using (call)
    where not callback and operations.file is not null and reply_time is not null
          and operations.status = 0 and {among("operations.op", NEEDS.ops)}
          and (operations.op = 'DELEGRETURN' or delegation like 'READ%' or delegation like 'WRITE%')
"""

# Of a delegation that was returned without having been granted the capture lacks the beginning.
_DELEGATED = """
    insert into delegated
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
"""Fills the table `delegated`."""

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

_DIRECTORIES = """
    select mount, file as directory, moment, until
    from delegated semi join (select file from files where role = 'directory') using (file)
"""
"""The directories among them."""

# Names in such a directory need no question either, and it need not be asked for their sake.
_IN_HELD = f"""
    insert into sheltered
    with begun as ({_DIRECTORIES})
    select call
    from (
        select mount, coalesce(directory, parent) as directory, call, call_time
        from calls join (select file, parent from files) using (file)
        where not callback and coalesce(directory, parent) in (select directory from begun)
    ) as inside asof join begun
         on inside.mount = begun.mount and inside.directory = begun.directory
            and inside.call_time >= begun.moment
    where until is null or call_time <= until
"""

_HELD_FILES = """
    select mount, count(distinct file) as files_delegated
    from unasked semi join (select file from files where role = 'file') using (file)
    group by mount
"""
