"""Rows of a query, all at once or of some objects at a time where they are many.

Takes a query and what its rows are divided by; gives relations for a walk (`pcapnfs.walks`), which
holds the rows of one in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.analyses.once import once
from pcapnfs.analyses.service_time import integer

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace


def number(trace: Trace, *, entries: bool) -> int:
    """In how many parts the rows of a trace are walked over: calls have one or two rows each.

    Args:
        trace: The trace.
        entries: Whether entries of directories are among them.
    """
    rows = trace.meta.calls + (_entries(trace) if entries else 0)
    return -(-rows // trace.walked) or 1


@once
def _entries(trace: Trace) -> int:
    """How many entries of directories there are."""
    ((found,),) = trace.rows("select count(*) from entries")
    return integer(found)


def of(
    trace: Trace,
    cursor: duckdb.DuckDBPyConnection,
    query: str,
    by: str,
    *,
    entries: bool = False,
) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of a query, part by part.

    Args:
        trace: The trace.
        cursor: A connection to it.
        query: A query without parameters.
        by: Columns of which equal values stay together, divided by commas.
        entries: Whether rows come from entries of directories, too.
    """
    parts = number(trace, entries=entries)
    if parts == 1:
        yield cursor.sql(query)
        return
    cursor.execute(f"create temp table parted as {query}")
    for part in range(parts):
        yield cursor.sql(f"from parted where hash({by}) % {parts} = {part}")
    cursor.execute("drop table parted")
