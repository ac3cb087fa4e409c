"""Words that several rules use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pcapnfs import units

NAMED = 3
"""Of many alike so many are named."""


def places(paths: Iterable[str]) -> str:
    """Paths in a sentence; not escaped."""
    return ", ".join("the root of the export" if path == "." else path for path in paths)


def several(names: Sequence[str]) -> str:
    """The first of them, and how many more there are; not escaped."""
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {units.count(len(names) - NAMED)} more"


def times(number: int, one: str, many: str | None = None) -> str:
    """How many of what: `1 file`, `2 files`."""
    return units.counted(number, one, many)
