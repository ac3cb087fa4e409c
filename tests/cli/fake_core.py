"""A decoder whose captures are JSON files with rows, so that commands are tested without captures.

Takes `{"meta": …, "rows": {table: [row]}}` written by `write_capture`; behaves as `pcapnfs._core`
is declared to: an Arrow stream per table, errors as `ReadError`, the rest from `finish`.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import duckdb

import pcapnfs
from pcapnfs import _core as real
from pcapnfs import schema
from pcapnfs.meta import Meta
from pcapnfs.views.document import document
from tests.unit.rows import Row, fill, meta, tables


class ReadError(Exception):
    """As in the decoder."""


class Batch:
    """Rows of one table, given once as an Arrow stream."""

    def __init__(self, table: str, relation: duckdb.DuckDBPyRelation) -> None:
        self.table = table
        self.rows = len(relation)
        self.text_bytes = 0  # Texts are short.
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def joined(batches: list[Batch]) -> Batch:
    """The fake decoder gives one batch for each table."""
    (batch,) = batches
    return batch


class Decoder:
    """Reads one JSON file."""

    interrupt = False
    seen: list[tuple[list[str], list[int]]]

    def __init__(
        self,
        paths: list[str],
        ports: list[int] | None = None,
        columns: dict[str, set[str]] | None = None,
        files_bytes: int | None = None,
    ) -> None:
        del files_bytes
        self._columns = columns
        Decoder.seen = [(paths, ports or [])]
        try:
            self._told = json.loads(Path(paths[0]).read_text(encoding="utf-8"))
        except OSError as error:
            raise ReadError(f"{paths[0]}: {error.strerror}") from error
        except ValueError as error:
            raise ReadError(f"{paths[0]}: not a capture") from error
        self._left: list[Batch] | None = self._batches()

    def _batches(self) -> list[Batch]:
        self._connection = duckdb.connect()
        for table in tables():
            self._connection.execute(table.create_statement())
        fill(self._connection, self._told["rows"])
        return [
            Batch(name, self._connection.table(name).select(*self._wanted(name)))
            for name in self._told["rows"]
            if self._wanted(name)
        ]

    def _wanted(self, table: str) -> list[str]:
        if self._columns is None:
            return ["*"]
        return sorted(f'"{column}"' for column in self._columns.get(table, ()))

    def next(self) -> list[Batch] | None:
        if Decoder.interrupt:
            raise KeyboardInterrupt
        batches, self._left = self._left, None
        return batches

    def progress(self) -> tuple[int, int]:
        return 1, 1

    def captures(self) -> list[str]:
        return [file["path"] for file in self._told["meta"]["files"]]

    def finish(self) -> str:
        return json.dumps(self._told["meta"])


class Writer:
    """Writes the batches with DuckDB."""

    def __init__(
        self, directory: str, columns: dict[str, set[str]] | None = None, brief: bool = False
    ) -> None:
        del brief
        self._directory = Path(directory)
        self._connection = duckdb.connect()
        declared = list(tables())
        if columns is not None:
            chosen = {table: frozenset(names) for table, names in columns.items()}
            declared = list(schema.narrow(declared, chosen))
        self._tables = [table.name for table in declared]
        for table in declared:
            self._connection.execute(table.create_statement())

    def write(self, batches: list[Batch]) -> None:
        for rows in batches:
            self._connection.execute(f"insert into {rows.table} by name select * from rows")

    def finish(self) -> str:
        for table in self._tables:
            path = self._directory / f"{table}.parquet"
            self._connection.execute(f"copy {table} to '{path}' (format parquet)")
        return json.dumps({table: {"rows": 0, "highest": {}} for table in self._tables})


WALKS = (
    "Answered",
    "FollowUps",
    "OneByOne",
    "Patterns",
    "RowsError",
    "SharedFiles",
    "Steps",
    "equal_shares",
    "held",
    "in_order",
    "learned",
    "levels",
    "open_at_begin",
    "pauses",
    "rounded_shares",
    "under_way",
)


def install() -> None:
    """Put this in the decoder's place."""
    module = types.ModuleType("pcapnfs._core")
    declared = document(tables())
    module.__dict__.update(
        ReadError=ReadError,
        Batch=Batch,
        Decoder=Decoder,
        Writer=Writer,
        joined=joined,
        # Walks know nothing of captures: they are the core's own.
        **{name: getattr(real, name) for name in WALKS},
        schema=lambda: json.dumps(declared),
        operations=real.operations,
        is_capture=real.is_capture,
    )
    sys.modules["pcapnfs._core"] = module
    setattr(pcapnfs, "_core", module)  # noqa: B010 (the stub says that it cannot be assigned)


def write_capture(path: Path, told: Meta | None = None, **rows: Sequence[Row]) -> Path:
    """Write what the decoder above reads."""
    facts = document(told or meta(path=str(path)))
    path.write_text(json.dumps({"meta": facts, "rows": rows}), encoding="utf-8")
    return path
