"""The tables as the core declares them.

Takes the JSON text of `_core.schema()`; gives tables and columns as values, and the SQL that
creates them. Names, types, units and meanings are written once, in the core; nothing here repeats
them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
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


@dataclass(frozen=True, slots=True)
class Table:
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
