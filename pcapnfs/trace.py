"""A trace: the tables of one or several captures in an embedded database.

Takes capture files; gives a `Trace`, whose tables the analyses question in SQL. Promises that
memory stays within the limit (the database spills to disk), that temporary files vanish when the
trace is closed or the program ends, and that a damaged capture still gives everything before the
damage. Knows nothing of NFS.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pcapnfs import (
    attached,
    decoding,
    digests,
    holding,
    meta,
    placement,
    schema,
    store,
    temporary,
    units,
)
from pcapnfs import memory as limits
from pcapnfs.columns import Columns
from pcapnfs.decoding import PathLike, Progress
from pcapnfs.errors import CaptureError, UsageError, WriteError, said
from pcapnfs.query import demand_reading, in_utc, unzoned, zoned

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    from numpy.typing import NDArray

    from pcapnfs._core import Batch, Decoder
    from pcapnfs.digests import Digest
    from pcapnfs.holding import Hold

IN_MEMORY_BYTES = 64 << 20
"""Captures larger than this are not put into a database in memory, but into files that queries
read.

For a capture of 780 MB and all columns that takes 1.3 s where a database, which would have to be a
file, took 4.7 s to fill, with 0.13 GB of memory instead of 0.37 GB; a query takes a millisecond
more, one for all columns up to 30 ms.
"""

IN_MEMORY_SHARE = 4
"""A capture may be one of so many parts of the database's limit, for its rows to be in memory: one
of 58 MB with short messages did not fit into 64 MB."""

BRIEF_BYTES = 32 << 30
"""Captures up to which the files that stand for tables are not compressed: they take an eighth of
the capture then, and a summary of 10 GB took 92 s of the processor's time instead of 120."""

COMPRESSED_SUFFIXES = (".gz", ".zst", ".lz4", ".xz", ".bz2")
"""Files whose size says nothing about what is in them."""


ROW_GROUP = 122_880
"""Rows that DuckDB stores together. It compresses and stores that many at once, where fewer would
be written to its log first."""

DECODED_AHEAD = 24
"""Steps of the decoder, a batch of 4,096 rows each, that may wait for the database: what is decoded
in the time that it takes for a row group."""

GATHERED_CALLS = 15_000
"""Calls of one trace on disk up to which its tables are read into a database, or into files of the
command's own, instead of by each query; of several, or of several parts, twice as many for each
but the first. A query takes 1.5 ms more of the processor's time for
each part (50 parts of 500 calls: a summary in 1.8 s instead of 15), and filling a database 4 µs for
a call."""

FEW_CALLS = 40_000
"""Calls up to which planning a query takes longer than answering it."""

THREAD_CALLS = 2 * ROW_GROUP
"""Calls for which another thread answers. DuckDB divides tables by the row group; a thread that
finds no more of them waits busily for the others. A summary of 500,000 calls took two threads a
fifth less time by the clock and a tenth more of the processor's; below 40,000 a quarter more."""

WORKER_CALLS = 5_000
"""Calls from which on questions are asked at the same time (analyses/side_by_side.py). On two
processors that takes a third off the time by the clock from 9,000 calls to 500,000, and nothing or
less of the processor's; of a small sample it takes a tenth off the one and adds a twentieth to the
other."""

ROWS_HELD = 10_000
"""Rows that `Trace.each` holds at a time: as Python's objects they take ten times what they do in
the database."""

THOROUGH = (
    "join_order",
    "statistics_propagation",
    "common_subplan",
    "duplicate_groups",
    "join_elimination",
    "join_filter_pushdown",
    "late_materialization",
    "materialized_cte",
    "sampling_pushdown",
    "sum_rewriter",
)
"""What so few rows do not repay, as far as this version of DuckDB has it: the first two take two
fifths of the optimizer's time, the others together a twentieth of a query's. Without all that it
can do without, queries over 10,000 calls took longer again."""

LAVISH = ("join_filter_pushdown", "statistics_propagation")
"""What tells DuckDB that the keys of a join are dense. It then makes arrays of all of them, up to a
million for each column, which its memory limit does not count: 150 MB for half a million calls."""

LOG = "1TB"
"""Size of the log at which a database is put in order: in memory there is none, and that would only
move rows around."""

STANDARD_INPUT = "-"
"""The path that stands for standard input."""


def open(
    paths: PathLike | Sequence[PathLike],
    *,
    memory: int | str | None = None,
    ports: Sequence[int] = (),
    columns: Columns | None = None,
    stored: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """Decode captures into a trace, or take one that was decoded before.

    Args:
        paths: One capture, or several that are one stream in order of time; `-` is standard input.
            Or traces on disk: each of several, and the captures beside them, is a part of its own,
            decoded by itself.
        memory: Limit for the whole process, in bytes or as `512M`; None: half of what is free. The
            database gets what decoding leaves of it, and uses the disk beyond that.
        ports: Ports that carry RPC besides those that are recognised by themselves.
        columns: The columns that will be asked for, by table, as the analyses name theirs in
            `READS`: decoding and storing nothing else takes less time and memory. None: all, for
            questions of one's own.
        stored: Keep the tables of captures in compressed Parquet files until the trace is closed,
            and nothing in the database: for one pass over a table.
        progress: Called after each batch with bytes consumed and bytes in all (0: unknown).

    Raises:
        CaptureError: A file cannot be opened, or is no capture; a trace is damaged, or of another
            version. A capture that breaks off is no error: see `Trace.meta`.
        UsageError: No capture was named, or ports though there are only traces; a port, or the
            limit of memory, is none.
        WriteError: The tables of captures are to be kept in files, and the disk is full.
    """
    named = decoding.named(paths)
    if isinstance(memory, str):
        memory = units.parse_size(memory)
    elif memory is not None and memory < 1:
        raise UsageError(f"memory is {memory}: a byte is the least")
    decoding.demand_ports(ports)
    limit = limits.default_limit() if memory is None else memory
    from pcapnfs import _core

    tables = schema.parse(_core.schema())
    wanted = None
    if columns is not None:
        tables = tuple(schema.narrow(tables, columns))
        wanted = {table: set(names) for table, names in columns.items()}
    temporary.sweep()
    directory = temporary.make()
    holds: list[Hold] = []
    try:
        attached.demand_utterable(directory.path)
        own = not any(map(store.is_trace, named))
        size = _plain_bytes(named)
        if stored or not own or not _fits(size, limit):
            brief = own and not stored and size <= BRIEF_BYTES
            parts = _parts(named, directory.path, ports, columns, progress, holds, brief=brief)
            parts = attached.reach(parts, directory.path)
            together = store.together(parts)
            few = together.calls <= GATHERED_CALLS * (2 * len(parts) - 1)
            if few and columns is not None and not stored and not own:
                connection, read = _gathered(parts, together, tables, directory.path, limit)
            else:
                read = parts
                connection = _viewing(read, together, tables, directory.path, limit, own=own)
            names = tuple(name for part in parts for name in part.named)
            return Trace(
                connection,
                together,
                directory,
                parts,
                read=read,
                holds=holds,
                own=own,
                named=names,
                limit=limit,
            )
        decoder = _core.Decoder(named, list(ports), wanted)
        connection = connect(tables, directory.path)
        _bound(connection, limit)
        # Rows come by the row group: another thread finds nothing to do, and costs memory.
        with _one_thread(connection):
            _load(connection, decoder, progress)
        told = meta.parse(decoder.finish())
        _bound(connection, limit, told.calls)
        return Trace(connection, told, directory, named=decoder.captures(), limit=limit)
    except BaseException as error:
        directory.remove()
        _let_go(holds)
        if isinstance(error, _core.ReadError):
            raise CaptureError(str(error)) from error
        raise


def interrupt_all() -> None:
    """Let the queries fail that run at this moment on any open trace."""
    for trace in _open_ones():
        trace.interrupt()


def close_all() -> None:
    """Close the traces that are open."""
    for trace in _open_ones():
        trace.close()


def _open_ones() -> list[Trace]:
    with _CURSORS:
        return list(_OPEN)


def connect(tables: Sequence[schema.Table], directory: Path) -> duckdb.DuckDBPyConnection:
    """Create an empty database with the given tables; what it spills goes into `directory`."""
    connection = duckdb.connect()
    connection.execute("set temp_directory = ?", [str(directory / "spill")])
    connection.execute("set preserve_insertion_order = false")
    connection.execute("set wal_autocheckpoint = ?", [LOG])
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    # What is asked of a trace must not depend on where it is asked.
    connection.execute("set global TimeZone = 'UTC'")
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
        self,
        connection: duckdb.DuckDBPyConnection,
        meta: meta.Meta,
        directory: temporary.Held,
        parts: Sequence[store.Stored] = (),
        *,
        read: Sequence[store.Stored] = (),
        holds: Sequence[Hold] = (),
        own: bool = False,
        named: Sequence[str] = (),
        limit: int | None = None,
    ) -> None:
        """Take over a filled database and the directory that its files are in.

        Args:
            connection: The database.
            meta: What the decoder said.
            directory: Temporary files; it is removed with the trace.
            parts: Traces on disk that were opened; none: it was captures.
            read: Those that the tables are views of; none: the tables are in the database.
            holds: What keeps traces on disk as they are until this one is closed.
            own: The parts were made for this trace, and go away with it.
            named: The captures as they were named, in the order of `meta.files`.
            limit: Memory that the process may take, bytes; None: what it likes.
        """
        self.meta = meta
        self._parts = parts
        self._read = read
        self._own = own
        self._named = named
        self._connection = connection
        # A connection does one thing at a time: each thread has its own.
        self._of_thread = threading.local()
        self._of_thread.connection = connection
        # DuckDB keeps the result of a query with parameters, and without this gives its pieces of
        # 2,048 rows in any order, also where the query orders them.
        connection.execute("set preserve_insertion_order = true")
        self._busy, workers = _share_out(connection, meta.calls, limit)
        self.workers = workers
        """Questions that may be asked of the trace at a time, each by a thread of its own."""
        self.walked = limits.walked(limit, meta.calls)
        """Calls, and entries of directories, that a walk takes at a time (analyses/parts.py)."""
        connection.execute("set threads = ?", [self._busy])
        spared = THOROUGH if meta.calls <= FEW_CALLS else ()
        if limits.tight(limit, meta.calls):
            limits.give_back()
            spared = (*spared, *LAVISH)
        if spared:
            known = {name for (name,) in connection.execute(_OPTIMIZERS).fetchall()}
            chosen = ",".join(sorted(known.intersection(spared)))
            connection.execute(f"set disabled_optimizers = '{chosen}'")
        self._locked = False
        self._cursors = weakref.WeakSet([connection])
        with _CURSORS:
            _OPEN.add(self)
        self._cleanup = weakref.finalize(self, _close, connection, self._cursors, directory, holds)

    def sql(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Ask in SQL; the columns are described in docs/tables.md.

        Times with a time zone come as times without one, in UTC.

        Raises:
            UsageError: It is not one statement, or one that does not only read, as `pcapnfs sql`
                refuses it; nothing of it was carried out.
            duckdb.Error: The query fails.
        """
        demand_reading(query)
        return in_utc(self._own_connection.sql(query, params=params))

    def rows(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[Any]:
        """All rows of a query at once, as tuples.

        Where nothing but these is wanted, half of what planning the query costs is spared: DuckDB
        plans that of `sql` for its columns, and again for its rows.
        """
        asked = self._asked(query, params)
        return (self.sql(query, params) if zoned(asked) else asked).fetchall()

    def each(self, query: str) -> Iterator[Any]:
        """The same rows one after the other, of which some are held at a time.

        Other questions may be asked meanwhile.
        """
        with contextlib.closing(self.cursor()) as cursor:
            demand_reading(query)
            if zoned(cursor.execute(query)):
                cursor.execute(unzoned(cursor, query, "TIMESTAMP"))
            while rows := cursor.fetchmany(ROWS_HELD):
                yield from rows

    def arrays(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None = None
    ) -> dict[str, NDArray[Any]]:
        """All rows of a query at once, as an array for each column."""
        return self._asked(query, params).fetchnumpy()

    def _asked(
        self, query: str, params: Sequence[object] | Mapping[str, object] | None
    ) -> duckdb.DuckDBPyConnection:
        demand_reading(query)
        return self._own_connection.execute(query, params)

    @property
    def _own_connection(self) -> duckdb.DuckDBPyConnection:
        """That of the thread which asks."""
        self._demand_open()
        own: duckdb.DuckDBPyConnection | None = getattr(self._of_thread, "connection", None)
        if own is None:
            own = self._of_thread.connection = self.cursor()
        return own

    @contextlib.contextmanager
    def divided(self) -> Iterator[int]:
        """Let several threads ask at the same time; gives how many there may be.

        Whoever asks works on the answer: the database needs so many threads less of its own.
        """
        self._demand_open()
        if not self._locked:
            own = max(1, self._busy - self.workers + 1)
            self._connection.execute("set threads = ?", [own])
        try:
            yield self.workers
        finally:
            if not self._locked:
                # After a failure the trace may have been closed before this.
                with contextlib.suppress(duckdb.ConnectionException):
                    self._connection.execute("set threads = ?", [self._busy])

    def want(self, cursor: duckdb.DuckDBPyConnection, calls: range | None) -> None:
        """Tell that a cursor will ask for rows of these calls alone, so that others are not read.

        Its queries say so, too. None: for all, again.
        """
        if len(self._read) > 1:
            attached.want(cursor, calls)

    def lock(self) -> None:
        """Shut the database off from files, extensions, Python's variables and settings, for good.

        Every analysis works on a locked trace. Spilling to disk goes on: DuckDB always allows its
        own directory.
        """
        self._demand_open()
        if self._locked:
            return
        self._connection.execute("set python_enable_replacements = false")
        attached.allow(self._connection, self._read)
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")
        self._locked = True

    def captures(self) -> list[str]:
        """The captures that the trace was made of, for those who need the packets.

        Raises:
            CaptureError: The trace is one on disk, and a capture is gone or not what it was.
            UsageError: The trace was put together from several decodes.
        """
        if self._parts and not self._own:
            return store.captures(self._parts)
        return list(self._named)

    def file(self, table: str) -> Path | None:
        """The Parquet file that is a table, compressed; None where it is none, or several."""
        if len(self._parts) != 1:
            return None
        (part,) = self._parts
        return part.reachable(table) if table in part.columns and not part.brief else None

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own to the same tables, for a transaction of its own.

        Raises:
            UsageError: The trace is closed.
        """
        self._demand_open()
        cursor = self._connection.cursor()
        with _CURSORS:
            self._cursors.add(cursor)
        return cursor

    def interrupt(self) -> None:
        """Let the queries that run at this moment fail; for another thread to call."""
        with _CURSORS:
            if self in _OPEN:
                _interrupt(self._cursors)

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
        """Close the database and remove its temporary files; a second time does nothing.

        Whoever asks a closed trace gets a UsageError.
        """
        with _CURSORS:
            _OPEN.discard(self)
        self._cleanup()

    def __enter__(self) -> Self:
        """Give the trace itself.

        Raises:
            UsageError: It is closed.
        """
        self._demand_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the trace.

        Raises:
            CaptureError: A query failed since a table of a trace on disk is damaged.
        """
        self.close()
        if isinstance(error, duckdb.Error):
            damage = attached.blamed(error, [] if self._own else self._parts)
            if damage is not None:
                raise damage from error

    def _demand_open(self) -> None:
        if not self._cleanup.alive:
            raise UsageError("the trace is closed: its tables are gone; open the captures again")

    def __repr__(self) -> str:
        """Name the files and the number of calls."""
        paths = ", ".join(file.path for file in self.meta.files)
        return f"<Trace of {paths}: {units.counted(self.meta.calls, 'call')}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the files that were read."""
        from pcapnfs.views import notebook

        return notebook.meta_html(self.meta)


def _bound(connection: duckdb.DuckDBPyConnection, limit: int | None, calls: int = 0) -> None:
    """Let the database take what the limit of the process leaves it; None: what it likes."""
    if limit is not None:
        memory = limits.of_database(limit, calls)
        connection.execute("set memory_limit = ?", [f"{memory}B"])


def _share_out(
    connection: duckdb.DuckDBPyConnection, calls: int, limit: int | None
) -> tuple[int, int]:
    """How many threads will find enough to do in one query, and how many queries at a time."""
    if calls < WORKER_CALLS:
        return 1, 1
    ((threads,),) = connection.execute("select current_setting('threads')").fetchall()
    busy = limits.threads(limit, calls, min(max(1, calls // THREAD_CALLS), threads))
    return busy, min(threads, limits.workers(limit, calls))


@contextlib.contextmanager
def _one_thread(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let one thread of the database do what takes rows in order."""
    connection.execute("set threads = 1")
    yield
    connection.execute("reset threads")


def _gathered(
    parts: Sequence[store.Stored],
    together: meta.Meta,
    tables: Sequence[schema.Table],
    directory: Path,
    limit: int | None,
) -> tuple[duckdb.DuckDBPyConnection, list[store.Stored]]:
    """Have the rows of traces on disk in one place: in memory or, as of captures, in files.

    Gives the database, and what its tables are views of, if they are.
    """
    connection = connect(tables, directory)
    _bound(connection, limit, together.calls)
    # Each file is read once: kept in memory, thousands of them would take hundreds of MB.
    connection.execute("set enable_external_file_cache = false")
    with _one_thread(connection):
        if sum(file.bytes for file in together.files) <= IN_MEMORY_BYTES:
            attached.gather(connection, parts, tables)
            return connection, []
        merged = attached.merge(connection, parts, tables, directory / "merged")
    connection.close()  # It would keep some of what it has read.
    return _viewing([merged], together, tables, directory, limit, own=True), [merged]


def _viewing(
    parts: Sequence[store.Stored],
    together: meta.Meta,
    tables: Sequence[schema.Table],
    directory: Path,
    limit: int | None,
    *,
    own: bool,
) -> duckdb.DuckDBPyConnection:
    """A database whose tables are views of the files of traces."""
    connection = connect((), directory)
    attached.attach(connection, parts, tables, own=own)
    _bound(connection, limit, together.calls)
    return connection


def _load(
    connection: duckdb.DuckDBPyConnection, decoder: Decoder, progress: Progress | None
) -> None:
    """Insert what the decoder gives, while it decodes what comes next."""
    waiting: dict[str, list[Batch]] = {}
    with contextlib.closing(decoding.ahead(decoder, DECODED_AHEAD)) as steps:
        for batches, position in steps:
            for batch in batches:
                held = waiting.setdefault(batch.table, [])
                held.append(batch)
                if sum(each.rows for each in held) >= ROW_GROUP:
                    _insert(connection, waiting.pop(batch.table))
            if progress is not None:
                progress(*position)
    for held in waiting.values():
        _insert(connection, held)


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


def _fits(size: float, limit: int | None) -> bool:
    """Whether the rows of captures of this size are to be in memory."""
    if limit is None:
        return size <= IN_MEMORY_BYTES
    return size <= min(IN_MEMORY_BYTES, limits.of_database(limit) // IN_MEMORY_SHARE)


def _plain_bytes(paths: Sequence[str]) -> float:
    """The size of captures that are plain files; infinite where one is not."""
    total = 0
    for name in paths:
        path = Path(name)
        if name == STANDARD_INPUT or path.suffix in COMPRESSED_SUFFIXES or not os.path.isfile(path):
            return math.inf
        total += path.stat().st_size
    return total


def _parts(
    named: Sequence[str],
    directory: Path,
    ports: Sequence[int],
    columns: Columns | None,
    progress: Progress | None,
    holds: list[Hold],
    *,
    brief: bool,
) -> list[store.Stored]:
    """The traces that are named; captures beside them are decoded, as one stream.

    Traces are held as they are: what is to let them go is added to `holds`.
    """
    whole = decoding.tables()
    captures = []
    parts = []
    made_of: list[tuple[str, dict[Digest | None, str]]] = []
    for path in named:
        if not store.is_trace(path):
            captures.append(path)
            continue
        try:
            held = holding.hold(Path(path))
        except OSError as error:
            raise CaptureError(f"{path}: {said(error)}") from error
        holds.append(held)
        stored = store.read(path, whole, reached=held.path)
        made_of.append(
            (path, {source.digest: source.path for part in stored for source in part.sources})
        )
        parts += stored
    _demand_once(made_of, captures)
    if captures:
        try:
            parts += [
                decoding.write(
                    captures,
                    directory,
                    ports=ports,
                    columns=columns,
                    brief=brief,
                    progress=progress,
                )
            ]
        except OSError as error:
            raise WriteError(
                f"{directory}: {said(error)}; TMPDIR names another place for temporary tables"
            ) from error
    elif ports:
        raise UsageError("a trace was decoded before: its ports are named when it is written")
    return store.in_order(parts)


def _demand_once(
    made_of: Sequence[tuple[str, Mapping[Digest | None, str]]], captures: Sequence[str]
) -> None:
    """Refuse traces of which one holds what is also in another, or in a capture beside them.

    Args:
        made_of: The traces, each with the captures that it was made of.
        captures: What is named beside them.

    Raises:
        UsageError: That is so.
    """
    before: dict[Digest, str] = {}
    for trace, sources in made_of:
        for digest, source in sources.items():
            if digest is None:
                continue
            other = before.setdefault(digest, trace)
            if other != trace:
                raise UsageError(
                    f"{trace}: it was made of {source}, and so was {other}; "
                    "everything in it would count double"
                )
    for path in captures if before else ():
        for digest, trace in before.items():
            if _is(path, digest):
                raise UsageError(
                    f"{path}: {trace} was made of it; everything in it would count double"
                )


def _is(path: str, digest: Digest) -> bool:
    """Whether a file is the capture that has this digest.

    What cannot be read, the decoder tells.
    """
    with contextlib.suppress(OSError):
        file = Path(path)
        return file.is_file() and file.stat().st_size == digest.bytes and digests.of(path) == digest
    return False


def _interrupt(cursors: weakref.WeakSet[duckdb.DuckDBPyConnection]) -> None:
    for cursor in list(cursors):
        with contextlib.suppress(duckdb.ConnectionException):  # It was closed.
            cursor.interrupt()


def _close(
    connection: duckdb.DuckDBPyConnection,
    cursors: weakref.WeakSet[duckdb.DuckDBPyConnection],
    directory: temporary.Held,
    holds: Sequence[Hold],
) -> None:
    with _CURSORS:
        _interrupt(cursors)  # Closing waits for queries that were left behind by a failure.
    connection.close()
    directory.remove()
    _let_go(holds)


def _let_go(holds: Sequence[Hold]) -> None:
    for held in holds:
        held.let_go(placement.sweep)


_OPTIMIZERS = "select name from duckdb_optimizers()"

_CURSORS = threading.Lock()
"""Held by who looks at the open traces or the cursors of one, or changes them: nobody is to
interrupt what is being closed."""

_OPEN: weakref.WeakSet[Trace] = weakref.WeakSet()
"""The traces of this process."""
