"""The tables of traces on disk in an embedded database.

Takes a database and the metadata of traces (`store.py`); gives views, through which a query reads
only the columns that it names, or loads the rows into the database. Several traces become one,
numbered consecutively. Promises that a table that cannot be read is refused with one sentence that
names the file and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pcapnfs import database, numbering, schema
from pcapnfs.errors import DECODE_AGAIN, CaptureError, UsageError
from pcapnfs.numbering import NUMBERS
from pcapnfs.record import replace
from pcapnfs.store import Stored
from pcapnfs.text import some

if TYPE_CHECKING:
    import duckdb

MERGED_ROWS = 61_440
"""Rows per row group of merged tables. With twice as many and a limit of 96 MB, the database
spilled them to disk first, and took 9 s for half a million calls instead of 2.7."""


CARDINALITY_FACTOR = 5
"""Factor by which DuckDB's estimate of the number of calls is raised. It expects any filter to
leave a fifth of a Parquet file, and nearly every query filters out callbacks, which are few. So it
expected fewer calls than operations of one kind, and built its hash tables of the calls: a query
about six operations took 60 ms among half a million calls, and now takes 5."""

NAMED = 3
"""Traces that an error names if it is unknown which of them is damaged."""

DAMAGED = (
    "Failed to read file",
    "TProtocolException",
    "Out of buffer",
    "Could not read enough bytes",
    "don't know what type",
    "invalid TType",
    "invalid number of miniblocks",
    "GZIP stream",
)
"""Parts of DuckDB's error messages about damaged pages of a Parquet file."""

PICTURE = "\nLINE "
"""Before the picture of a query in DuckDB's error messages."""


def demand_utterable(directory: Path) -> None:
    """Refuse a directory for temporary files whose path the database does not accept.

    Raises:
        UsageError: Its path is not UTF-8.
    """
    if not _utterable(directory):
        raise UsageError(
            f"{directory}: the database takes only paths in UTF-8; "
            "TMPDIR names another place for temporary tables"
        )


def reach(parts: Sequence[Stored], directory: Path) -> list[Stored]:
    """The parts with paths that the database accepts: a link, if a path is not UTF-8.

    Args:
        parts: The parts.
        directory: Where links may be made; it lives as long as the database is asked.

    Raises:
        OSError: A link cannot be made.
    """
    found = []
    for number, part in enumerate(parts):
        if _utterable(part.reached or part.directory):
            found.append(part)
            continue
        link = directory / f"part-{number}"
        link.symlink_to(part.directory, target_is_directory=True)
        found.append(replace(part, reached=link))
    return found


def _utterable(path: Path) -> bool:
    """Whether SQL can name a path: names of files may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def attach(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[Stored],
    tables: Sequence[schema.Table],
    *,
    own: bool = False,
) -> None:
    """Make a view of each table over all parts, which reads from the disk what a query names.

    Args:
        connection: The database.
        parts: The parts.
        tables: The tables, with the columns that will be asked for.
        own: The files are this process' own, and one part: their types and numbers need not be
            seen to, and they do not change, so that what stands at their ends is read once.

    Raises:
        CaptureError: A file is not the table that it should be.
    """
    if own:
        connection.execute("set global parquet_metadata_cache = true")
        connection.execute("set validate_external_file_cache = 'NO_VALIDATION'")
    befores = _before(parts)
    paths = _paths(connection, parts, tables)
    for table in tables:
        numbered = len(parts) > 1 and any(
            column.name == "call" and not column.nullable for column in table.columns
        )
        selects = [
            _select(table, part, before, paths, own=own)
            + (_WANTED.format(before=before["call"]) if numbered else "")
            for part, before in zip(parts, befores, strict=True)
        ]
        with _naming(connection, table, parts):
            connection.execute(f'create view "{table.name}" as {" union all ".join(selects)}')


def gather(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[Stored],
    tables: Sequence[schema.Table],
) -> None:
    """Fill the empty tables of a database with the rows of all parts, in order.

    Args:
        connection: The database.
        parts: The parts.
        tables: The tables, with the columns that will be asked for.

    Raises:
        CaptureError: As of `attach`.
    """
    counted, paths = _counted(parts), _paths(connection, parts, tables)
    for table in tables:
        with _naming(connection, table, parts):
            rows = _rows(table, parts, counted, paths)
            connection.execute(f'insert into "{table.name}" {rows}')


def merge(
    connection: duckdb.DuckDBPyConnection,
    parts: Sequence[Stored],
    tables: Sequence[schema.Table],
    directory: Path,
) -> Stored:
    """Write the rows of all parts, in order, into one part for this process.

    Args:
        connection: Any database.
        parts: The parts.
        tables: The tables, with the columns that will be asked for.
        directory: A new one, which is made for the files.

    Raises:
        CaptureError: As of `attach`.
        OSError: The directory cannot be made.
    """
    directory.mkdir()
    merged = Stored(
        directory=directory,
        columns={table.name: tuple(column.name for column in table.columns) for table in tables},
        meta=numbering.together(parts),
        sources=(),
        highest={},
        brief=True,
    )
    counted, paths = _counted(parts), _paths(connection, parts, tables)
    for table in tables:
        rows = _rows(table, parts, counted, paths)
        with _naming(connection, table, parts):
            connection.execute(
                f"copy ({rows}) to {_quoted(merged.file(table.name))} "
                f"(format parquet, compression uncompressed, row_group_size {MERGED_ROWS})"
            )
    return merged


def _rows(
    table: schema.Table, parts: Sequence[Stored], counted: Mapping[str, str], paths: str | None
) -> str:
    """SQL: the rows of all parts in one look at a list of files.

    A look at each would be planned by itself: 300 parts of 500 calls took a summary a minute.
    """
    columns = ", ".join(_column(table, column, counted, paths) for column in table.columns)
    files = ", ".join(_literal(part.reachable(table.name)) for part in parts)
    return f"select {columns} from read_parquet([{files}])"


def _counted(parts: Sequence[Stored]) -> dict[str, str]:
    """SQL: how far the numbers of each kind reach in the files of a list before a row's own."""
    befores = _before(parts)
    return {
        kind: f"list_extract([{', '.join(str(each[kind]) for each in befores)}]::ubigint[], "
        "file_index::bigint + 1)"
        for kind in befores[0]
    }


@contextmanager
def _naming(
    connection: duckdb.DuckDBPyConnection, table: schema.Table, parts: Sequence[Stored]
) -> Iterator[None]:
    """Say of which part a table cannot be read; other failures are the database's."""
    try:
        yield
    except database.Error as error:
        for part in parts:
            try:
                connection.execute(f"describe {_select(table, part, {}, None, own=False)}")
            except database.Error as failure:
                if "Too many open files" in str(failure):
                    raise
                raise _damaged(part.file(table.name)) from error
        if (damage := blamed(error, parts)) is not None:
            raise damage from error
        raise


def blamed(error: database.Error, parts: Sequence[Stored]) -> CaptureError | None:
    """What is to be said where the pages of a table are not what was written; None: they are."""
    message = str(error)
    # With a picture of the query it is about that, which may hold any words.
    if PICTURE in message or not any(words in message for words in DAMAGED):
        return None
    for part in parts:
        for table in part.columns:
            if str(part.reachable(table)) in message:
                return _damaged(part.file(table))
    directories = some([str(part.directory) for part in parts], NAMED, visible=str)
    return CaptureError(f"{directories}: a table is damaged; {DECODE_AGAIN}") if parts else None


def _damaged(table: Path) -> CaptureError:
    return CaptureError(f"{table}: the table is damaged; {DECODE_AGAIN}")


def _before(parts: Sequence[Stored]) -> list[dict[str, int]]:
    """For each part, how far the numbers of each kind reach in those before."""
    before = dict.fromkeys(NUMBERS.values(), 0)
    found = []
    for part in parts:
        found.append(before)
        before = {kind: number + numbering.span(part, kind) for kind, number in before.items()}
    return found


def allow(connection: duckdb.DuckDBPyConnection, parts: Sequence[Stored]) -> None:
    """Let the tables be read also when the database is shut off from files."""
    paths = [str(part.reachable(table)) for part in parts for table in part.columns]
    if paths:
        connection.execute("set allowed_paths = ?", [[*paths, *map(_pattern, paths)]])


def want(connection: duckdb.DuckDBPyConnection, calls: range | None) -> None:
    """Tell the views that a connection will ask for rows of these calls alone; None: for all.

    Where numbers are counted on from part to part, DuckDB does not find out by itself which row
    groups of a file cannot have them. Queries say which calls they mean all the same.
    """
    if calls is None:
        connection.execute("reset variable first_call")
        connection.execute("reset variable end_call")
        return
    connection.execute(f"set variable first_call = {calls.start}")
    connection.execute(f"set variable end_call = {calls.stop}")


_WANTED = """
    where getvariable('first_call') is null
          or call >= greatest(getvariable('first_call')::bigint - {before}, 0)::ubigint
             and call < greatest(getvariable('end_call')::bigint - {before}, 0)::ubigint
"""


def _paths(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[Stored], tables: Sequence[schema.Table]
) -> str | None:
    """SQL: the path of a file, where only all parts together show several exports; None elsewhere.

    As the decoder writes paths that it finds in one capture (`core/src/names/paths.rs`): each then
    begins with its export. A part that has several exports by itself has them there already.
    """
    files = next((table for table in tables if table.name == "files"), None)
    told = {column.name for column in files.columns} if files else set()
    if files is None or len(parts) == 1 or not {"path", "export"} <= told:
        return None
    named = ", ".join(_literal(part.reachable("files")) for part in parts)
    with _naming(connection, files, parts):
        row = connection.execute(
            f"select count(distinct export) > 1 from read_parquet([{named}])"
        ).fetchone()
    return _WITH_EXPORT if row and row[0] else None


_WITH_EXPORT = """
    case when export is null or path = export or starts_with(path, '/') then path
         when path = '.' then export
         else rtrim(export, '/') || '/' || path end
"""
"""SQL: the path of a row of files with its export before it, also where it stands there already."""


def _select(
    table: schema.Table,
    part: Stored,
    before: Mapping[str, int],
    paths: str | None,
    *,
    own: bool,
) -> str:
    """The SQL that reads a part's rows; `before` are the numbers of each kind in parts before."""
    if own:  # They are one part: no numbers come before its own.
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
    else:
        columns = ", ".join(_column(table, column, before, paths) for column in table.columns)
    rows = (
        f", explicit_cardinality = {CARDINALITY_FACTOR * part.meta.calls}"
        if table.name == "calls"
        else ""
    )
    return f"select {columns} from read_parquet({_literal(part.reachable(table.name))}{rows})"


def _column(
    table: schema.Table, column: schema.Column, before: Mapping[str, int | str], paths: str | None
) -> str:
    """A column with the type that it has in a table; numbers are counted on from SQL's."""
    if paths is not None and (table.name, column.name) == ("files", "path"):
        return f'{paths} as "path"'
    moved = before.get(NUMBERS.get(column.name, ""), 0)
    value = f'"{column.name}" + {moved}' if moved else f'"{column.name}"'
    return f'cast({value} as {column.sql}) as "{column.name}"'


def _literal(path: Path) -> str:
    """A file as SQL names it where it expects a pattern."""
    return _quoted(_pattern(str(path)))


def _quoted(text: Path | str) -> str:
    """A text, or a path, in SQL."""
    quoted = str(text).replace("'", "''")
    return f"'{quoted}'"


def _pattern(path: str) -> str:
    """A path where DuckDB expects a pattern."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)
