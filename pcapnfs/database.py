"""DuckDB's engine, without what its package does besides when it is imported.

The package opens a database of its own and looks itself up among what is installed: 20 ms of every
command. What it gives is the engine's: an error that is caught here is `duckdb.Error`, and the
connection of a trace is a `duckdb.DuckDBPyConnection`. Functions of the engine that work on its
default connection are not here: it is made when it is first asked for, and two threads that ask
then wait for each other for ever.
"""

from _duckdb import (
    ConnectionException,
    Error,
    InterruptException,
    IOException,
    OperationalError,
    OutOfMemoryException,
    Statement,
    StatementType,
    connect,
    tokenize,
)

__all__ = [
    "AHEAD",
    "ConnectionException",
    "Error",
    "IOException",
    "InterruptException",
    "OperationalError",
    "OutOfMemoryException",
    "Statement",
    "StatementType",
    "connect",
    "tokenize",
]

AHEAD = "set streaming_buffer_size = '40KB'"
"""Has a connection hold few rows of an answer that are not fetched yet, one piece of 2,048. The
database counts 16 bytes of a text, however long it is: up to a megabyte, as it would hold, are 24
pieces, and of long paths 280 MB."""
