"""Captures, and traces on disk, made one `Trace`.

Takes their paths; gives the tables in a database in memory, or as views of Parquet files, whichever
takes less, with what the decoder said. Promises that memory stays within the limit meanwhile, that
a damaged capture still gives everything before the damage, and that nothing stays behind where
opening fails. Knows nothing of NFS.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import (
    attached,
    database,
    decoding,
    digests,
    holding,
    meta,
    naming,
    numbering,
    schema,
    store,
    temporary,
    units,
    usage,
)
from pcapnfs import memory as limits
from pcapnfs.columns import Columns
from pcapnfs.columns import together as all_of
from pcapnfs.decoding import Progress
from pcapnfs.errors import CaptureError, UsageError, WriteError, said
from pcapnfs.trace import ROW_GROUP, Trace, let_go
from pcapnfs.usage import PathLike

if TYPE_CHECKING:
    import duckdb

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

TEXT_BYTES = 16 << 20
"""Bytes of texts that are put into a database in memory together, though they are not as many rows
as it stores together: a row group of the longest paths would take more than a gigabyte."""

DECODED_AHEAD = 24
"""Steps of the decoder, a batch of 4,096 rows each, that may wait for the database: what is decoded
in the time that it takes for a row group."""

GATHERED_CALLS = 15_000
"""Calls of one trace on disk up to which its tables are read into a database, or into files of the
command's own, instead of by each query; of several, or of several parts, twice as many for each
but the first. A query takes 1.5 ms more of the processor's time for each part (50 parts of 500
calls: a summary in 1.8 s instead of 15), and filling a database 4 µs for a call."""

LOG = "1TB"
"""Size of the log at which a database is put in order: in memory there is none, and that would only
move rows around."""


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
            limit of memory, is none; or it is too little for what is known of files while captures
            are decoded, which cannot wait on the disk.
        WriteError: The tables of captures are to be kept in files, and the disk is full.
    """
    named = usage.named(paths)
    if isinstance(memory, str):
        memory = units.parse_memory(memory)
    elif memory is not None and memory < 1:
        raise UsageError(f"memory is {memory}: a byte is the least")
    usage.demand_ports(ports)
    limit = limits.chosen(memory)
    if memory is not None:
        progress = decoding.watched(memory, progress)
    from pcapnfs import _core

    tables = schema.parse(_core.schema())
    own = not any(map(store.is_trace, named))
    if columns is not None:
        if not own and "path" in columns.get("files", ()):
            # Whether paths begin with it goes by the exports of all parts.
            columns = all_of(columns, {"files": frozenset({"export"})})
        tables = tuple(schema.narrow(tables, columns))
    asked = _Asked(
        named,
        ports,
        columns,
        tables,
        limit,
        demanded=memory is not None,
        own=own,
        bytes=_plain_bytes(named),
        progress=progress,
    )
    temporary.sweep()
    directory = temporary.make()
    holds: list[Hold] = []
    try:
        attached.demand_utterable(directory.path)
        if not stored and asked.own and _fits(asked.bytes, limit):
            return _in_memory(asked, directory)
        return _in_files(asked, directory, holds, stored=stored)
    except BaseException as error:
        directory.remove()
        let_go(holds)
        if isinstance(error, _core.ReadError):
            raise CaptureError(str(error)) from error
        raise


class _Asked(NamedTuple):
    """What `open` was asked for."""

    paths: Sequence[str]
    ports: Sequence[int]
    columns: Columns | None
    tables: Sequence[schema.Table]
    """Those with these columns."""
    limit: int | None
    """Memory of the process, bytes; None where it has no limit."""
    demanded: bool
    """Somebody named that limit."""
    own: bool
    """There are captures alone: what is stored of them goes with the trace."""
    bytes: float
    """Size of the captures; infinite where one is no plain file."""
    progress: Progress | None


def _in_memory(asked: _Asked, directory: temporary.Held) -> Trace:
    """Decode captures into a database in memory."""
    columns = asked.columns
    wanted = None if columns is None else {table: set(names) for table, names in columns.items()}
    files_bytes = limits.of_files(asked.limit)
    decoder = decoding.begun(asked.paths, asked.ports, wanted, files_bytes)
    connection = connect(asked.tables, directory.path)
    _bound(connection, asked.limit)
    # Rows come by the row group: another thread finds nothing to do, and costs memory.
    with _one_thread(connection):
        _load(connection, decoder, asked.progress)
    told = meta.parse(decoder.finish())
    return Trace(
        connection,
        told,
        directory,
        named=decoder.captures(),
        limit=asked.limit,
        demanded=asked.demanded,
    )


def _in_files(
    asked: _Asked, directory: temporary.Held, holds: list[Hold], *, stored: bool
) -> Trace:
    """Traces on disk, and captures decoded into files, as views, or gathered where few calls are.

    Traces are held as they are: what is to let them go is added to `holds`.
    """
    parts = attached.reach(_parts(asked, directory.path, holds, stored=stored), directory.path)
    together = numbering.together(parts)
    few = together.calls <= GATHERED_CALLS * (2 * len(parts) - 1)
    if few and asked.columns is not None and not stored and not asked.own:
        connection, read = _gathered(parts, together, asked.tables, directory.path, asked.limit)
    else:
        read = parts
        connection = _viewing(read, asked.tables, directory.path, asked.limit, own=asked.own)
    return Trace(
        connection,
        together,
        directory,
        parts,
        read=read,
        holds=holds,
        own=asked.own,
        named=tuple(name for part in parts for name in part.named),
        limit=asked.limit,
        demanded=asked.demanded,
    )


def connect(tables: Sequence[schema.Table], directory: Path) -> duckdb.DuckDBPyConnection:
    """Create an empty database with the given tables; what it spills goes into `directory`."""
    connection = database.connect()
    connection.execute("set temp_directory = ?", [str(directory / "spill")])
    connection.execute("set preserve_insertion_order = false")
    # Where it expects few rows, DuckDB compares each with all alike of the other table; and it may
    # expect few where a filter leaves all. Global, since each cursor has settings of its own.
    connection.execute("set global asof_loop_join_threshold = 0")
    # It would stand in what a program of a few lines (python -c) writes to standard output.
    connection.execute("set enable_progress_bar = false")
    connection.execute("set wal_autocheckpoint = ?", [LOG])
    connection.execute("set autoinstall_known_extensions = false")
    connection.execute("set autoload_known_extensions = false")
    # What is asked of a trace must not depend on where it is asked.
    connection.execute("set global TimeZone = 'UTC'")
    for table in tables:
        connection.execute(table.create_statement())
    return connection


def _bound(connection: duckdb.DuckDBPyConnection, limit: int | None) -> None:
    """Let the database take what the limit of the process leaves it; None: what it likes.

    What analyses hold of each call it leaves them when they begin (`Trace.make_room`).
    """
    if limit is not None:
        connection.execute("set memory_limit = ?", [f"{limits.of_database(limit)}B"])


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
    _bound(connection, limit)
    # Each file is read once: kept in memory, thousands of them would take hundreds of MB.
    connection.execute("set enable_external_file_cache = false")
    with _one_thread(connection):
        if sum(file.bytes for file in together.files) <= IN_MEMORY_BYTES:
            attached.gather(connection, parts, tables)
            return connection, []
        merged = attached.merge(connection, parts, tables, directory / "merged")
    connection.close()  # It would keep some of what it has read.
    return _viewing([merged], tables, directory, limit, own=True), [merged]


def _viewing(
    parts: Sequence[store.Stored],
    tables: Sequence[schema.Table],
    directory: Path,
    limit: int | None,
    *,
    own: bool,
) -> duckdb.DuckDBPyConnection:
    """A database whose tables are views of the files of traces."""
    connection = connect((), directory)
    attached.attach(connection, parts, tables, own=own)
    _bound(connection, limit)
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
                enough = sum(each.rows for each in held) >= ROW_GROUP
                if enough or sum(each.text_bytes for each in held) >= TEXT_BYTES:
                    _insert(connection, waiting.pop(batch.table))
            if progress is not None:
                progress(*position)
    for held in waiting.values():
        _insert(connection, held)


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
        if (
            name == meta.STANDARD_INPUT
            or path.suffix in naming.COMPRESSIONS  # Its size says nothing about what is in it.
            or not os.path.isfile(path)
        ):
            return math.inf
        total += path.stat().st_size
    return total


def _parts(
    asked: _Asked, directory: Path, holds: list[Hold], *, stored: bool
) -> list[store.Stored]:
    """The traces that are named; captures beside them are decoded, as one stream.

    Traces are held as they are: what is to let them go is added to `holds`.
    """
    whole = decoding.tables()
    captures = []
    parts = []
    made_of: list[tuple[str, dict[Digest, str]]] = []
    for path in asked.paths:
        if not store.is_trace(path):
            captures.append(path)
            continue
        try:
            held = holding.hold(Path(path))
        except OSError as error:
            raise CaptureError(f"{path}: {said(error)}") from error
        holds.append(held)
        of_trace = store.read(path, whole, reached=held.path)
        made_of.append((path, dict(chain.from_iterable(map(store.recognised, of_trace)))))
        parts += of_trace
    _demand_once(made_of, captures)
    if captures:
        try:
            parts += [
                decoding.write(
                    captures,
                    directory,
                    ports=asked.ports,
                    columns=asked.columns,
                    brief=asked.own and not stored and asked.bytes <= BRIEF_BYTES,
                    files_bytes=limits.of_files(asked.limit),
                    progress=asked.progress,
                )
            ]
        except OSError as error:
            raise WriteError(
                f"{directory}: {said(error)}; TMPDIR names another place for temporary tables"
            ) from error
    elif asked.ports:
        raise UsageError("a trace was decoded before: its ports are named when it is written")
    return numbering.in_order(parts)


def _demand_once(
    made_of: Sequence[tuple[str, Mapping[Digest, str]]], captures: Sequence[str]
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


def on_both_sides(
    before: Sequence[PathLike], after: Sequence[PathLike], empty: Collection[str] = ()
) -> tuple[str, str] | None:
    """What holds the same capture before and after, by its digest; None where nothing does.

    Args:
        before: Captures and traces.
        after: The same.
        empty: Captures without packets, which are all alike.
    """
    by_size: dict[int, list[tuple[str, Digest | None]]] = {}
    for path, size, digest in _known(before, empty):
        by_size.setdefault(size, []).append((path, digest))
    digest_of = functools.cache(_digest)
    for path, size, digest in _known(after, empty):
        # What has another size is another one, so that most are not looked into.
        for other, other_digest in by_size.get(size, ()):
            told = digest or digest_of(path)
            if told is not None and told == (other_digest or digest_of(other)):
                return other, path
    return None


def _known(
    paths: Sequence[PathLike], empty: Collection[str]
) -> Iterator[tuple[str, int, Digest | None]]:
    """What is named, with the sizes of captures, and of those that traces were made of.

    The digests of these stand in the traces. What cannot be read any more is passed over.
    """
    for path in [os.fspath(each) for each in paths]:
        with contextlib.suppress(OSError, CaptureError):
            if store.is_trace(path):
                for part in store.read(path, decoding.tables()):
                    yield from (
                        (path, digest.bytes, digest) for digest, _ in store.recognised(part)
                    )
            elif (
                path != meta.STANDARD_INPUT
                and path not in empty
                and (size := Path(path).stat().st_size)
            ):
                yield path, size, None


def _digest(path: str) -> Digest | None:
    """The digest of a capture; None where it cannot be read any more, or has none."""
    with contextlib.suppress(OSError):
        return digests.of(path)
    return None


def _is(path: str, digest: Digest) -> bool:
    """Whether a file is the capture that has this digest.

    What cannot be read, the decoder tells.
    """
    with contextlib.suppress(OSError):
        file = Path(path)
        return file.is_file() and file.stat().st_size == digest.bytes and digests.of(path) == digest
    return False
