"""Databases that traces of rows by hand have in turn.

To begin one takes 10 ms and to make its tables 5 more: longer than most of what is asked of a few
rows. Takes the directory of a trace; gives a connection to a database. Promises one as
`pcapnfs.opening.connect` makes it, with empty tables, its settings and nothing else: where a trace
left anything that cannot be taken back, nobody gets its database.
"""

from __future__ import annotations

import contextlib
import weakref
from pathlib import Path

import duckdb

from pcapnfs import _core, schema
from pcapnfs.opening import connect
from pcapnfs.trace import Trace

TABLES = schema.parse(_core.schema())
"""The tables that the core declares."""

_STATEMENTS = {table.name: table.create_statement() for table in TABLES}

_SETTINGS = "select name, value from duckdb_settings() where name <> 'temp_directory'"

_MADE = """
    select 'table', table_name, sql, estimated_size > 0 from duckdb_tables()
    union all select 'view', view_name, null, null from duckdb_views() where not internal
"""

_BEGIN = """
    set enable_progress_bar = false;
    set preserve_insertion_order = false;
    reset threads; reset disabled_optimizers; reset memory_limit
"""
"""What a connection has for itself, and what traces set."""

_FREE: list[duckdb.DuckDBPyConnection] = []
"""The databases that no trace has any more."""

_NEW: list[tuple[object, dict[str, str]]] = []
"""The settings of a new one, and its tables."""


def take(directory: Path) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]:
    """A database that nobody else has, and a connection to it that may be closed.

    What it spills goes into `directory`.
    """
    while _FREE:
        database = _FREE.pop()
        with contextlib.suppress(duckdb.Error):
            connection = _connection(database)
            connection.execute("set temp_directory = ?", [str(directory / "spill")])
            _empty(connection)
            if connection.execute(_SETTINGS).fetchall() == _NEW[0][0]:
                return database, connection
        database.close()
    database = connect(TABLES, directory)
    if not _NEW:
        made = {name: sql for _, name, sql, _ in database.execute(_MADE).fetchall()}
        _NEW.append((database.execute(_SETTINGS).fetchall(), made))
    return database, _connection(database)


def give_back(trace: Trace, database: duckdb.DuckDBPyConnection) -> None:
    """Have another trace get the database of this one once it is gone."""
    weakref.finalize(trace, _FREE.append, database).atexit = False


def _connection(database: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection = database.cursor()
    connection.execute(_BEGIN)
    return connection


def _empty(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop what is not there in a new one, and make tables anew that have rows or were changed."""
    _, new = _NEW[0]
    found = connection.execute(_MADE).fetchall()
    untouched = {name for _, name, sql, filled in found if new.get(name) == sql and not filled}
    dropped = [f'drop {kind} "{name}"' for kind, name, *_ in found if name not in untouched]
    made = [_STATEMENTS[name] for name in new if name not in untouched]
    if dropped or made:
        connection.execute("; ".join([*dropped, *made]))
