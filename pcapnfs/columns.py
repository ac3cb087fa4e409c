"""Which columns of which tables a question reads.

Each analysis says so beside its queries; a command that asks one question then has nothing else
decoded and stored.
"""

from __future__ import annotations

from collections.abc import Mapping

Columns = Mapping[str, frozenset[str]]
"""Names of columns by table."""


def of(**tables: str) -> Columns:
    """The columns named, separated by spaces: `of(calls="call op srt", files="path")`."""
    return {table: frozenset(names.split()) for table, names in tables.items()}


def together(*parts: Columns) -> Columns:
    """All columns that any of the parts names."""
    union: dict[str, frozenset[str]] = {}
    for part in parts:
        for table, names in part.items():
            union[table] = union.get(table, frozenset()) | names
    return union
