"""Queries of a trace, each looked at before it is carried out.

Takes a trace and what looks at its queries. Promises that they are carried out as they would be
without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import duckdb

from pcapnfs import database
from pcapnfs.trace import Trace


class Look(Protocol):
    """Looks at a query and its parameters; may ask the connection, which carries it out next."""

    def __call__(
        self, connection: duckdb.DuckDBPyConnection, query: str, /, *given: object
    ) -> None: ...


class Listening:
    """A connection that has each query looked at, as those have that are made of it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, look: Look) -> None:
        self.connection = connection
        self.look = look

    def __getattr__(self, name: str) -> object:
        return getattr(self.connection, name)

    def cursor(self) -> Listening:
        return Listening(self.connection.cursor(), self.look)

    def execute(self, query: str | database.Statement, *given: object) -> duckdb.DuckDBPyConnection:
        if isinstance(query, str):
            # Each statement by itself: some need what those before them make.
            *first, query = self.connection.extract_statements(query)
            for statement in first:
                self.execute(statement)
        self.look(self.connection, query.query, *given)
        return self.connection.execute(query, *given)

    def sql(
        self, query: str | database.Statement, *, params: object = None
    ) -> duckdb.DuckDBPyRelation:
        text = query if isinstance(query, str) else query.query
        self.look(self.connection, text, *filter(None, [params]))
        return self.connection.sql(query, params=params)


def listen(trace: Trace, look: Look) -> None:
    """Have the queries of a trace looked at from now on."""
    listening: Any = Listening(trace._connection, look)
    trace._connection = trace._of_thread.connection = listening


@contextmanager
def listened(trace: Trace, look: Look) -> Iterator[None]:
    """Have the queries of a trace looked at for a while."""
    connection = trace._connection
    listen(trace, look)
    try:
        yield
    finally:
        trace._connection = trace._of_thread.connection = connection
