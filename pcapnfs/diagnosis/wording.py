"""Words that several rules use."""

from __future__ import annotations

from collections.abc import Iterable

from pcapnfs import units


def places(paths: Iterable[str]) -> str:
    """Paths in a sentence; not escaped."""
    return ", ".join("the root of the export" if path == "." else path for path in paths)


def times(number: int, one: str, many: str | None = None) -> str:
    """How many of what: `1 file`, `2 files`."""
    return f"{units.count(number)} {one if number == 1 else many or one + 's'}"
