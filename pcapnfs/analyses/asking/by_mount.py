"""Rows of a query for each pair of client and server, by the names of their columns.

Takes a query, or what a walk found; gives for a mount what was found of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.values import integer

if TYPE_CHECKING:
    import duckdb


class ByMount(dict[int, Sequence[object]]):
    """A row for each mount. A dictionary for each of a hundred thousand would take ten times that.

    Rows have the same columns, which `told` names.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        super().__init__()
        self._names = names

    @classmethod
    def of_query(
        cls,
        cursor: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Mapping[str, object] | None = None,
    ) -> ByMount:
        """The rows of a query, one of whose columns is the mount."""
        cursor.execute(query, parameters) if parameters else cursor.execute(query)
        names = [str(column[0]) for column in cursor.description or ()]
        mount = names.index("mount")
        found = cls(names)
        found.update((integer(row[mount]), row) for row in cursor.fetchall())
        return found

    @classmethod
    def of_named(cls, rows: Iterable[tuple[int, dict[str, object]]]) -> ByMount:
        """Rows that all have the same names."""
        found = cls()
        for mount, row in rows:
            found._names = found._names or tuple(row)
            found[mount] = tuple(row.values())
        return found

    def told(self, mount: int) -> dict[str, object]:
        """The row of a mount by name; nothing without one."""
        row = self.get(mount)
        return {} if row is None else dict(zip(self._names, row, strict=True))
