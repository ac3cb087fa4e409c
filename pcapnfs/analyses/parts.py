"""Rows of a query, all at once or of some objects at a time where they are many.

Takes a query and what its rows are divided by; gives relations for a walk (`pcapnfs.walks`), which
holds the rows of one in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import memory
from pcapnfs.analyses.service_time import integer

if TYPE_CHECKING:
    import duckdb

ROWS_AT_ONCE = memory.WALKED_CALLS
"""Calls, and entries of directories, up to which a walk takes all rows at once: it has one or two
for each."""


def number(cursor: duckdb.DuckDBPyConnection, *, entries: bool) -> int:
    """In how many parts the rows of a trace are walked over.

    Args:
        cursor: The connection.
        entries: Whether entries of directories are among them.
    """
    tables = ("calls", "entries") if entries else ("calls",)
    counted = " + ".join(f"(select count(*) from {table})" for table in tables)
    ((rows,),) = cursor.execute(f"select {counted}").fetchall()
    return -(-integer(rows) // ROWS_AT_ONCE) or 1


def of(
    cursor: duckdb.DuckDBPyConnection, query: str, by: str, *, entries: bool = False
) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of a query, part by part.

    Args:
        cursor: The connection.
        query: A query without parameters.
        by: Columns of which equal values stay together, divided by commas.
        entries: Whether rows come from entries of directories, too.
    """
    parts = number(cursor, entries=entries)
    if parts == 1:
        yield cursor.sql(query)
        return
    cursor.execute(f"create temp table parted as {query}")
    for part in range(parts):
        yield cursor.sql(f"from parted where hash({by}) % {parts} = {part}")
    cursor.execute("drop table parted")
