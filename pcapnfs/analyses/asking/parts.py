"""Rows of a query, all at once or some of them at a time where they are many.

Takes a query and what its rows are divided by; gives relations for a walk (`pcapnfs.walks`), which
holds the rows of one in memory, or arrays: for those the database makes rows first, as large again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer

if TYPE_CHECKING:
    from typing import Any

    import duckdb
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace


STRETCH_ROWS = 1 << 18
"""Rows of calls, operations and entries that are joined at a time, or more where memory allows it.
The tables have groups of 122,880 rows, of which each is read once by each stretch that has any.
With twice as many, what listings told took 50 MB more than the least limit leaves for it."""

MOST_STRETCH_ROWS = 1 << 21
"""The most of them: the database holds some 50 MB for a join of their calls."""

BLOCK = 1 << 10
"""Calls whose rows are counted together; a stretch has whole blocks, but for those of which each
has more rows than a stretch: replies of a megabyte have thousands of entries."""

_OF_STRETCH = "create or replace temp macro of_stretch(number) as {condition}"

MANY = 9
"""From so many parts on, some at a time get a table of their own."""


OPERATIONS = 8
"""Operations of a call, on average, of which no more than one or two give rows."""


def number(trace: Trace, *, entries: bool) -> int:
    """In how many parts the rows of a trace are walked over: calls have one or two rows each.

    Compounds of very many operations have more.

    Args:
        trace: The trace.
        entries: Whether entries of directories are among them.
    """
    rows = trace.meta.calls + _more_operations(trace) + (_entries(trace) if entries else 0)
    return -(-rows // trace.walked) or 1


@once
def stretches(trace: Trace) -> tuple[range, ...]:
    """The numbers of all calls, in stretches of calls that together have so many rows.

    A call with many operations or entries may have more.
    """
    most = most_of_stretch(trace)
    found = []
    begin = rows = 0
    for first, number in _counted(trace, most):
        if rows and rows + number > most:
            found.append(range(begin, first))
            begin, rows = first, 0
        rows += number
    return (*found, range(begin, _calls_end(trace)))


def _counted(trace: Trace, most: int) -> Iterator[tuple[int, int]]:
    """How many rows calls have that stay together, and the first of these calls, in their order."""
    for block, number in trace.rows(_rows_of(trace, f"call // {BLOCK}")):
        if number <= most:
            yield block * BLOCK, number
        else:
            of_block = f"call >= {block * BLOCK} and call < {(block + 1) * BLOCK}"
            yield from trace.rows(_rows_of(trace, "call", of_block))


def most_of_stretch(trace: Trace) -> int:
    """How many rows a stretch has, but for those of a call with many."""
    return max(STRETCH_ROWS, min(2 * trace.walked, MOST_STRETCH_ROWS))


def _rows_of(trace: Trace, by: str, condition: str = "true") -> str:
    """SQL: the values of an expression for calls that have rows in any table, and how many."""
    # A trace has the tables and columns alone that somebody will ask for.
    tables = trace.rows(
        "select table_name from duckdb_columns() where column_name = 'call' "
        "and table_name in ('calls', 'operations', 'entries')"
    )
    counts = " union all ".join(
        f"select {by} as counted, count(*) as number from {table} where {condition} group by all"
        for (table,) in tables
    )
    return f"select counted, sum(number)::bigint from ({counts}) group by all order by all"


@once
def _more_operations(trace: Trace) -> int:
    """How many operations there are beyond those that calls usually have."""
    tables = trace.rows("select 1 from duckdb_columns() where table_name = 'operations' limit 1")
    ((found,),) = trace.rows("select count(*) from operations") if tables else ((0,),)
    return max(0, integer(found) - OPERATIONS * trace.meta.calls)


@once
def _entries(trace: Trace) -> int:
    """How many entries of directories there are."""
    ((found,),) = trace.rows("select count(*) from entries")
    return integer(found)


def arrays(trace: Trace, query: str) -> dict[str, NDArray[Any]]:
    """The rows of a query about calls as an array for each column; `call` has 32 bits if it can.

    Args:
        trace: The trace.
        query: A query without parameters that ends with a condition, to which one on `call` can be
            added; no column has NULL.
    """
    pieces = number(trace, entries=False)
    if pieces == 1:
        return _narrow(trace.arrays(query))
    width = -(-_calls_end(trace) // pieces)
    found = [
        _narrow(trace.arrays(f"{query} and call >= {begin} and call < {begin + width}"))
        for begin in range(0, pieces * width, width)
    ]
    # One column after the other: the pieces of each go as soon as they are put together.
    return {name: np.concatenate([piece.pop(name) for piece in found]) for name in list(found[0])}


def by_call(trace: Trace, query: str) -> dict[str, NDArray[Any]]:
    """The same in ascending order of the column `call`.

    Args:
        trace: The trace.
        query: As of `arrays`; it gives `call`.
    """
    rows = arrays(trace, query)
    call = rows["call"]
    if np.any(call[1:] < call[:-1]):
        order = np.argsort(call, kind="stable")
        rows = {name: rows.pop(name)[order] for name in list(rows)}
    return rows


def _narrow(rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Have numbers of calls take no more than they need: captures hold millions, and few 2^32."""
    if "call" in rows and rows["call"].max(initial=0) < 1 << 32:
        rows["call"] = rows["call"].astype(np.uint32)
    return rows


@once
def _calls_end(trace: Trace) -> int:
    """The number after that of the last call."""
    ((last,),) = trace.rows("select coalesce(max(call), 0) from calls")
    return integer(last) + 1


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

    Raises:
        UsageError: Rows that stay together take more memory than was asked for.
    """
    parts = number(trace, entries=entries)
    if parts == 1:
        whole(cursor)
        yield cursor.sql(query)
        return

    fill(trace, cursor, "parted", query)
    yield from of_table(trace, cursor, "parted", by, parts)


def of_table(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, table: str, by: str, parts: int
) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of a temporary table, part by part; then it is dropped.

    Args:
        trace: The trace.
        cursor: A connection to it.
        table: The table.
        by: Columns of which equal values stay together, divided by commas.
        parts: How many parts.

    Raises:
        UsageError: Rows that stay together take more memory than was asked for.
    """

    def belong(some: range) -> str:
        return within(by, some, parts)

    with trace.room_for(_most_together(cursor, table, by)):
        for part, found in divided(cursor, table, parts, belong):
            yield cursor.sql(f"from {found} where {within(by, range(part, part + 1), parts)}")
    cursor.execute(f"drop table {table}")


def _most_together(cursor: duckdb.DuckDBPyConnection, table: str, by: str) -> int:
    """How many rows have the same values, of those that most have."""
    counts = f"select count(*) as number from {table} group by {by}"
    found = cursor.execute(f"select coalesce(max(number), 0) from ({counts})").fetchone()
    return integer(found[0] if found else 0)


def whole(cursor: duckdb.DuckDBPyConnection) -> None:
    """Have queries of a cursor that name `of_stretch(call)` give the rows of all calls."""
    cursor.execute(_OF_STRETCH.format(condition="true"))


def fill(trace: Trace, cursor: duckdb.DuckDBPyConnection, table: str, query: str) -> None:
    """Make a temporary table of a query's rows.

    Args:
        trace: The trace.
        cursor: A connection to it.
        table: The name of the table.
        query: A query without parameters. Where it names `of_stretch(call)` of each table of calls
            that it joins, it is asked for some calls at a time, and what the database holds of a
            join does not grow with the trace.
    """
    statement = f"create temp table {table} as {query}"
    if "of_stretch(" not in query:
        cursor.execute(statement)
        return
    for _ in by_stretch(trace, cursor):
        cursor.execute(statement)
        statement = f"insert into {table} {query}"


def by_stretch(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, *, many: bool = True
) -> Iterator[None]:
    """Have queries of a cursor that name `of_stretch(call)` give the rows of some calls at a time.

    Comes back for each stretch of calls.

    Args:
        trace: The trace.
        cursor: A connection to it.
        many: The rows are more than a walk takes; else all calls are one stretch.
    """
    if not many:
        whole(cursor)
        yield
        return
    for calls in stretches(trace):
        with only(trace, cursor, calls):
            yield


@contextmanager
def only(trace: Trace, cursor: duckdb.DuckDBPyConnection, calls: range) -> Iterator[None]:
    """Have queries of a cursor that name `of_stretch(call)` give the rows of these calls.

    Args:
        trace: The trace.
        cursor: A connection to it.
        calls: The numbers of the calls.
    """
    bounds = f"number >= {calls.start} and number < {calls.stop}"
    cursor.execute(_OF_STRETCH.format(condition=bounds))
    trace.want(cursor, calls)
    yield
    trace.want(cursor, None)


def divided(
    cursor: duckdb.DuckDBPyConnection, table: str, parts: int, belong: Callable[[range], str]
) -> Iterator[tuple[int, str]]:
    """Each part, and a table with its rows and those of others, until the next part is wanted.

    To find the rows of a part is to scan the table. Of many parts, some at a time get one of their
    own: of a hundred parts each row is looked at twenty times, and not a hundred times.

    Args:
        cursor: A connection to the trace.
        table: A table with the rows of all parts.
        parts: How many.
        belong: SQL: a row belongs to one of these parts.
    """
    if parts < MANY:
        yield from ((part, table) for part in range(parts))
        return
    width = isqrt(parts)
    for first in range(0, parts, width):
        some = range(first, min(first + width, parts))
        cursor.execute(f"create temp table some_parts as from {table} where {belong(some)}")
        yield from ((part, "some_parts") for part in some)
        cursor.execute("drop table some_parts")


def within(by: str, some: range, parts: int) -> str:
    """SQL: rows with these values are of some parts.

    Args:
        by: Columns of which equal values stay together, divided by commas.
        some: Which parts, counted from 0.
        parts: How many there are.
    """
    return f"hash({by}) % {parts} between {some[0]} and {some[-1]}"
