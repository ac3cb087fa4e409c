"""Rows whose values have the names that their query gives them.

For queries that give so many values that their order says little: a place in a row of twenty is
found in neither the query nor the record that it fills.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import duckdb

    from pcapnfs.trace import Trace

    Row = dict[str, Any]
    """A row by the names of its columns."""


def by_name(answer: duckdb.DuckDBPyConnection, most: int | None = None) -> list[Row]:
    """The rows of the query that a connection answers, by the names of its columns.

    Args:
        answer: The connection.
        most: How many rows are taken, of those that were not; None: all.
    """
    names = [name for name, *_ in answer.description or ()]
    rows = answer.fetchall() if most is None else answer.fetchmany(most)
    return [dict(zip(names, row, strict=True)) for row in rows]


def rows(
    trace: Trace, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
) -> list[Row]:
    """All rows of a query of a trace, likewise."""
    with closing(trace.cursor()) as cursor:
        return by_name(cursor.execute(query, parameters))
