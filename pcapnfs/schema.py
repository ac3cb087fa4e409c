"""The tables as the core declares them.

Takes the JSON text of `_core.schema()`; gives tables and columns as values, and the SQL that
creates them. Names, types, units and meanings are written once, in the core; nothing here repeats
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pcapnfs.columns import Columns
from pcapnfs.record import Record, replace


class Column(Record):
    """One column."""

    name: str
    """Name."""
    sql: str
    """Type in DuckDB's SQL."""
    nullable: bool
    """Whether it can be NULL: unknown or not applicable, never zero."""
    unit: str
    """Unit, or empty."""
    meaning: str
    """One sentence."""


class Table(Record):
    """One table."""

    name: str
    """Name."""
    meaning: str
    """One sentence: what a row is."""
    columns: tuple[Column, ...]
    """Columns in order."""

    def create_statement(self) -> str:
        """The SQL that creates the empty table.

        NOT NULL is left to the core's own tests: DuckDB would check it for every row.
        """
        columns = ", ".join(f'"{column.name}" {column.sql}' for column in self.columns)
        return f'create table "{self.name}" ({columns})'


def parse(document: str) -> tuple[Table, ...]:
    """Read the text of `_core.schema()`."""
    return tuple(
        Table(
            table["name"], table["meaning"], tuple(Column(**column) for column in table["columns"])
        )
        for table in json.loads(document)
    )


def narrow(tables: Sequence[Table], chosen: Columns) -> Iterator[Table]:
    """The tables with only the chosen columns, without those of which none is chosen.

    Raises:
        ValueError: A chosen table or column does not exist.
    """
    known = {table.name: {column.name for column in table.columns} for table in tables}
    for name, wanted in chosen.items():
        if strange := wanted - known.get(name, set()):
            raise ValueError(f"the table {name} has no column {', '.join(sorted(strange))}")
    for table in tables:
        if kept := chosen.get(table.name):
            columns = tuple(column for column in table.columns if column.name in kept)
            yield replace(table, columns=columns)
