"""A table in a form that other programs read: CSV, JSON Lines, Parquet.

Takes a trace and the name of a table; writes all rows and columns in order. Values are as the table
has them: times and durations are whole nanoseconds, bytes are hexadecimal in CSV and JSON, NULL is
nothing in CSV (an empty text is `""`) and null in JSON. Texts keep what stands in them, line ends
and control characters too; CSV quotes where it must (RFC 4180). Promises that memory does not grow
with the table, and that a file is there whole or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from pcapnfs import decoding, memory, placement
from pcapnfs.errors import UsageError, WriteError, not_written
from pcapnfs.text import FORMULA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb

    from pcapnfs import schema
    from pcapnfs.columns import Columns
    from pcapnfs.decoding import Progress
    from pcapnfs.meta import Meta
    from pcapnfs.trace import Trace

Form = Literal["csv", "jsonl", "parquet"]
"""What can be written."""

_OPTIONS = {
    "csv": "format csv, header true, delimiter ',', quote '\"', escape '\"', nullstr ''",
    "jsonl": "format json, array false",
    "parquet": "format parquet, compression zstd",
}
"""How DuckDB is told."""

_DESCRIPTOR = r'^.*"/dev/fd/\d+": '
"""How the database begins to say that it could not write."""

PIECE_BYTES = 1 << 20
"""What is handed over at a time."""


def tables() -> tuple[str, ...]:
    """The names of the tables."""
    return tuple(table.name for table in decoding.tables())


def reads(table: str) -> Columns:
    """The columns that an export of a table reads."""
    return {
        each.name: frozenset(column.name for column in each.columns)
        for each in decoding.tables()
        if each.name == table
    }


def to_file(
    trace: Trace, table: str, form: Form, target: Path, *, spreadsheet: bool = False
) -> None:
    """Write a table into a file; what has its name is replaced once the new one is whole.

    Args:
        trace: The trace, not locked.
        table: The table.
        form: What to write.
        target: The file.
        spreadsheet: CSV only: put an apostrophe before texts that a spreadsheet would take for a
            formula.

    Raises:
        UsageError: There is no such table or form, or the target is a directory.
        WriteError: The file cannot be written: the disk is full, the directory is not there …
    """
    from pcapnfs import database

    _demand_file(target)
    statement = _selection(table, form, spreadsheet=spreadsheet)
    try:
        with placement.placed_file(target) as fresh:
            stored = trace.file(table) if form == "parquet" else None
            if stored is not None:
                shutil.copyfile(stored, fresh)
            else:
                # The database cannot be told of a path that is not UTF-8.
                with fresh.open("wb") as sink, closing(trace.cursor()) as cursor:
                    _copy(cursor, statement, form, f"/dev/fd/{sink.fileno()}")
    except OSError as error:
        raise WriteError(not_written(target, error)) from error
    except database.IOException as error:
        # It names the path that it was given, which says nothing to anybody.
        what = " ".join(str(error).split())
        raise WriteError(f"{target} cannot be written: {re.sub(_DESCRIPTOR, '', what)}") from error


def decode_to_file(
    captures: Sequence[str],
    table: str,
    target: Path,
    *,
    ports: Sequence[int] = (),
    limit: int | None = None,
    accept: Callable[[Meta], None] | None = None,
    progress: Progress | None = None,
) -> Meta:
    """Write a table of captures as Parquet, as `to_file` does, without a database.

    That takes a tenth less of the processor's time.

    Args:
        captures: As of `decoding.write`.
        table: The table.
        target: The file.
        ports: Ports that carry RPC besides those that are recognised by themselves.
        limit: As of `decoding.decode`.
        accept: Called with what the decoder said before the file gets its name; what it raises
            leaves nothing behind.
        progress: As of `decoding.write`.

    Raises:
        CaptureError: A file cannot be opened, or is no capture.
        UsageError: There is no such table, or the target is a directory.
        WriteError: The file cannot be written: the disk is full, the directory is not there …
    """
    _demand_file(target)
    _declared(table)
    wanted = reads(table)
    files_bytes = memory.of_files(memory.chosen(limit))
    try:
        # Beside the target, so that the table is renamed and not copied.
        with placement.placed_file(target) as fresh, placement.beside(target) as directory:
            written = decoding.write(
                captures,
                directory,
                ports=ports,
                columns=wanted,
                files_bytes=files_bytes,
                progress=progress,
            )
            if accept is not None:
                accept(written.meta)
            os.replace(written.file(table), fresh)
    except OSError as error:
        raise WriteError(not_written(target, error)) from error
    return written.meta


@contextmanager
def pieces(
    trace: Trace, table: str, form: Form, *, spreadsheet: bool = False
) -> Iterator[Iterator[bytes]]:
    """A table piece by piece, as `to_file` writes it; Parquet has no pieces.

    With the context the database's work for it ends, however many pieces were taken: it would else
    wait for a reader for ever, and whoever closes the trace for it.

    Raises:
        UsageError: There is no such table, or no such form in pieces.
    """
    if form == "parquet":
        raise UsageError("Parquet is no stream: name a file")
    from pcapnfs import database

    statement = _selection(table, form, spreadsheet=spreadsheet)
    reading, writing = os.pipe()
    failures: list[database.Error] = []

    def work() -> None:
        try:
            _copy(cursor, statement, form, f"/dev/fd/{writing}")
        except database.Error as error:
            failures.append(error)
        finally:
            os.close(writing)

    copying = threading.Thread(target=work, name="export")

    def taken() -> Iterator[bytes]:
        while piece := os.read(reading, PIECE_BYTES):
            yield piece
        if failures:
            raise failures[0]

    with closing(trace.cursor()) as cursor:
        copying.start()
        try:
            yield taken()
        finally:
            # Somebody has to read: a pipe without a reader could not even be opened.
            while os.read(reading, PIECE_BYTES):
                cursor.interrupt()
            copying.join()
            os.close(reading)


def _copy(cursor: duckdb.DuckDBPyConnection, statement: str, form: Form, path: str) -> None:
    literal = path.replace("'", "''")
    cursor.execute(f"copy ({statement}) to '{literal}' ({_OPTIONS[form]}, use_tmp_file false)")


def _selection(table: str, form: Form, *, spreadsheet: bool) -> str:
    """The SQL that gives a table's values as the form has them."""
    if form not in get_args(Form):
        raise UsageError(f"a table is exported as {', '.join(get_args(Form))}, not as {form!r}")
    if spreadsheet and form != "csv":
        raise UsageError("only CSV is for spreadsheets")
    columns = ", ".join(
        f'{_value(column, form, spreadsheet=spreadsheet)} as "{column.name}"'
        for column in _declared(table).columns
    )
    return f'select {columns} from "{table}"'


def _declared(table: str) -> schema.Table:
    """The table of this name."""
    declared = {each.name: each for each in decoding.tables()}
    if table not in declared:
        raise UsageError(f"there is no table {table!r}; there are {', '.join(declared)}")
    return declared[table]


def _demand_file(target: Path) -> None:
    """Refuse a target that cannot be a file."""
    if os.path.isdir(target):
        raise UsageError(f"{target}: that is a directory; name a file")


def _value(column: schema.Column, form: Form, *, spreadsheet: bool) -> str:
    name = f'"{column.name}"'
    if form == "parquet":
        return name
    if column.sql == "BLOB":
        return f"lower(hex({name}))"
    if spreadsheet and column.sql == "VARCHAR":
        first = ", ".join(f"chr({ord(character)})" for character in FORMULA)
        return f"case when left({name}, 1) in ({first}) then chr(39) || {name} else {name} end"
    return name
