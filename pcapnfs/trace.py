"""A trace: the tables of one or several captures in an embedded database.

Takes capture files; gives a `Trace`, whose tables the analyses question in SQL. Promises that
memory stays within the limit (the database spills to disk), that temporary files vanish when the
trace is closed or the program ends, and that a damaged capture still gives everything before the
damage. Knows nothing of NFS.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pcapnfs import meta, schema
from pcapnfs.columns import Columns
from pcapnfs.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pcapnfs._core import Batch, Decoder

DATABASE_FILE_THRESHOLD_BYTES = 64 * 1024 * 1024
"""Captures larger than this go into a database file instead of memory.

A file is compressed where memory is not (230 MB against 913 MB for a capture of 1.1 GB), and costs
0.1 s to set up.
"""

COMPRESSED_SUFFIXES = (".gz", ".zst", ".lz4", ".xz", ".bz2")
"""Files whose size says nothing about what is in them."""


ROW_GROUP = 122_880
"""Rows that DuckDB stores together. It compresses and stores that many at once, where fewer would
be written to its log first."""

FILE_LOG = "256MB"
"""Size of the log at which a database file is put in order; with DuckDB's 16 MB loading took twice
as long."""

MEMORY_LOG = "1TB"
"""The same in memory, where there is no log and putting in order would only move rows around."""

STANDARD_INPUT = "-"
"""The path that stands for standard input."""

Progress = Callable[[int, int], None]
"""Called with bytes consumed and bytes in all (0: unknown) after each batch."""

PathLike = str | os.PathLike[str]
"""How a capture is named."""


def open(
    paths: PathLike | Sequence[PathLike],
    *,
    memory: int | None = None,
    ports: Sequence[int] = (),
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Decode captures into a trace.

    Args:
        paths: One capture or several of the same time; `-` is standard input.
        memory: Limit for the database, in bytes; None leaves DuckDB's own, 80 % of the machine's.
        ports: Ports that carry RPC besides those that are recognised by themselves.
        columns: The columns that will be asked for, by table, as the analyses name theirs in
            `READS`: decoding and storing nothing else takes less time and memory. None: all.
        progress: Called after each batch with bytes consumed and bytes in all (0: unknown).

    Raises:
        CaptureError: A file cannot be opened, or is no capture. A capture that breaks off is no
            error: see `Trace.meta`.
        UsageError: No capture was named.
    """
    named = [
        os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)
    ]
    if not named:
        raise UsageError("name at least one capture")
    from pcapnfs import _core

    tables = schema.parse(_core.schema())
    wanted = None
    if columns is not None:
        tables = tuple(schema.narrow(tables, columns))
        wanted = {table: set(names) for table, names in columns.items()}
    directory = tempfile.mkdtemp(prefix="pcapnfs-")
    try:
        decoder = _core.Decoder(named, list(ports), wanted)
        connection = connect(tables, directory, in_memory=_fits_memory(named), memory=memory)
        _load(connection, decoder, progress)
        return Trace(connection, meta.parse(decoder.finish()), directory)
    except _core.ReadError as error:
        _remove(directory)
        raise CaptureError(str(error)) from error
    except BaseException:
        _remove(directory)
        raise


def connect(
    tables: Sequence[schema.Table], directory: str, *, in_memory: bool, memory: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Create an empty database with the given tables; what it spills goes into `directory`."""
    database = ":memory:" if in_memory else str(Path(directory, "trace.duckdb"))
    connection = duckdb.connect(database)
    connection.execute("set temp_directory = ?", [str(Path(directory, "spill"))])
    connection.execute("set preserve_insertion_order = false")
    # The file goes away with the trace: putting it in order at the end would only cost memory.
    connection.execute("pragma disable_checkpoint_on_shutdown")
    connection.execute("set wal_autocheckpoint = ?", [MEMORY_LOG if in_memory else FILE_LOG])
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    if memory is not None:
        connection.execute("set memory_limit = ?", [f"{memory}B"])
    for table in tables:
        connection.execute(table.create_statement())
    return connection


class Trace:
    """The tables of a trace, and what the decoder said at its end.

    A context manager; `close` removes the temporary files. Relations (`sql`, `calls`, …) are
    DuckDB's: lazy, and with `fetchall()`, `show()`, `df()`, `pl()` and `arrow()` for whatever is
    installed.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, meta: meta.Meta, directory: str
    ) -> None:
        """Take over a filled database and the directory that its files are in."""
        self.meta = meta
        self._connection = connection
        # DuckDB keeps the result of a query with parameters, and without this gives its pieces of
        # 2,048 rows in any order, also where the query orders them.
        connection.execute("set preserve_insertion_order = true")
        self._locked = False
        self._cleanup = weakref.finalize(self, _close, connection, directory)

    def sql(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Ask in SQL; the columns are described in docs/tables.md.

        Raises:
            UsageError: The statement gives no rows.
        """
        relation = self._connection.sql(query, params=params)
        if relation is None:
            raise UsageError("the statement gives no rows")
        return relation

    def lock(self) -> None:
        """Shut the database off from files, extensions, Python's variables and settings, for good.

        Every analysis works on a locked trace. Spilling to disk goes on: DuckDB always allows its
        own directory.
        """
        if self._locked:
            return
        self._connection.execute("set python_enable_replacements = false")
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")
        self._locked = True

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own to the same tables, for a transaction of its own."""
        return self._connection.cursor()

    @property
    def calls(self) -> duckdb.DuckDBPyRelation:
        """A row per RPC call."""
        return self.sql("from calls")

    @property
    def operations(self) -> duckdb.DuckDBPyRelation:
        """A row per NFS operation."""
        return self.sql("from operations")

    @property
    def files(self) -> duckdb.DuckDBPyRelation:
        """A row per object that was named by handle, or looked for by name."""
        return self.sql("from files")

    @property
    def names(self) -> duckdb.DuckDBPyRelation:
        """A row per binding of a name in a directory."""
        return self.sql("from names")

    @property
    def entries(self) -> duckdb.DuckDBPyRelation:
        """A row per directory entry that was listed."""
        return self.sql("from entries")

    @property
    def connections(self) -> duckdb.DuckDBPyRelation:
        """A row per connection that carried RPC."""
        return self.sql("from connections")

    @property
    def notes(self) -> duckdb.DuckDBPyRelation:
        """A row per message that was not decoded to its end."""
        return self.sql("from notes")

    def close(self) -> None:
        """Close the database and remove its temporary files; a second time does nothing."""
        self._cleanup()

    def __enter__(self) -> Self:
        """Give the trace itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the trace."""
        self.close()

    def __repr__(self) -> str:
        """Name the files and the number of calls."""
        paths = ", ".join(file.path for file in self.meta.files)
        return f"<Trace of {paths}: {self.meta.calls} calls>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the files that were read."""
        from pcapnfs.views import notebook

        return notebook.meta_html(self.meta)


def _load(
    connection: duckdb.DuckDBPyConnection, decoder: Decoder, progress: Progress | None
) -> None:
    """Insert what the decoder gives, while it decodes what comes next on a thread of its own."""
    # Rows come by the row group: another thread finds nothing to do, and costs memory.
    connection.execute("set threads = 1")
    waiting: dict[str, list[Batch]] = {}
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="decode") as decoding:
        upcoming = decoding.submit(decoder.next)
        while (batches := upcoming.result()) is not None:
            # Asked before the decoder is busy again.
            position = decoder.progress()
            upcoming = decoding.submit(decoder.next)
            for batch in batches:
                held = waiting.setdefault(batch.table, [])
                held.append(batch)
                if sum(each.rows for each in held) >= ROW_GROUP:
                    _insert(connection, waiting.pop(batch.table))
            if progress is not None:
                progress(*position)
    for held in waiting.values():
        _insert(connection, held)
    connection.execute("reset threads")


@cache
def operation_numbers(protocol: str) -> frozenset[int]:
    """The numbers of a protocol's procedures or operations, as the core's table has them.

    Empty for a protocol that the table does not name (docs/operations.md has their names).
    """
    from pcapnfs import _core

    rows = json.loads(_core.operations())
    return frozenset(row["number"] for row in rows if row["protocol"] == protocol)


def _insert(connection: duckdb.DuckDBPyConnection, batches: list[Batch]) -> None:
    """Append batches of one table; DuckDB finds the Arrow stream under the local name `rows`."""
    from pcapnfs import _core

    rows = _core.joined(batches)
    connection.execute(f'insert into "{rows.table}" by name select * from rows')


def _fits_memory(paths: Sequence[str]) -> bool:
    """Whether all captures are plain files whose sizes add up to less than the threshold."""
    total = 0
    for name in paths:
        path = Path(name)
        if name == STANDARD_INPUT or path.suffix in COMPRESSED_SUFFIXES or not path.is_file():
            return False
        total += path.stat().st_size
    return total <= DATABASE_FILE_THRESHOLD_BYTES


def _close(connection: duckdb.DuckDBPyConnection, directory: str) -> None:
    connection.close()
    _remove(directory)


def _remove(directory: str) -> None:
    """Remove temporary files; what cannot be removed is left to the system's own cleaning."""
    shutil.rmtree(directory, ignore_errors=True)
