"""Rows whose values have the names that their query gives them.

For queries that give so many values that their order says little: a place in a row of twenty is
found in neither the query nor the record that it fills.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    import duckdb

    from pcapnfs.trace import Trace

    Row = dict[str, Any]
    """A row by the names of its columns."""


def by_name(answer: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    """All rows of the query that a connection answers, by the names of its columns.

    They are taken from it at once; each is named as it is looked at, since a dictionary takes
    several times as much as a row.
    """
    names = _names(answer)
    return (dict(zip(names, row, strict=True)) for row in answer.fetchall())


def each(answer: duckdb.DuckDBPyConnection, together: int) -> Iterator[Row]:
    """The same, of which so many are taken at a time; nothing else may be asked meanwhile."""
    names = _names(answer)
    while rows := answer.fetchmany(together):
        for row in rows:
            yield dict(zip(names, row, strict=True))


def rows(
    trace: Trace, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
) -> Iterator[Row]:
    """All rows of a query of a trace, likewise."""
    with closing(trace.cursor()) as cursor:
        return by_name(cursor.execute(query, parameters))


def _names(answer: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(name) for name, *_ in answer.description or ()]
