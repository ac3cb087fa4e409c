"""Pieces that several screens are made of.

Takes finished text; gives Rich renderables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pcapnfs import units
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.prose import Prose
from pcapnfs.views.trust import warning

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.costs import Total
    from pcapnfs.analyses.captured.trust import Trust

_TOTAL_COLUMNS = (
    Column("", align="left"),
    Column("files"),
    Column("calls"),
    Column("stable"),
    Column("time"),
)


WARNING = "magenta"
"""Colour of what limits trust. Yellow and cyan can hardly be read on a light terminal, nor can blue
on a dark one."""


def heading(title: str, *, first: bool = False) -> Text:
    """The title of a block, after an empty line unless it is the first on the screen."""
    return Text(title if first else f"\n{title}", style="bold")


def note(text: str, *, indent: int = 2, style: str = "") -> RenderableType:
    """A sentence below a title; it wraps within its indent."""
    return Padding(Prose(text, style=style), (0, 0, 0, indent), expand=False)


def trusted(screen: RenderableType, trust: Trust) -> RenderableType:
    """A screen below what its capture lost, if it did."""
    told = warning(trust)
    return Group(note(told, indent=0, style=WARNING), screen) if told else screen


def unless_zero(number: int | None) -> str:
    """A count whose zeros would only be noise."""
    return "" if number == 0 else units.count(number)


def volume(size_bytes: int | None) -> str:
    """An amount of bytes whose zeros would only be noise."""
    return "" if size_bytes == 0 else units.size(size_bytes)


def frames(first: int | None, last: int | None) -> str:
    """A span of frames, the lower one first; a single one stands alone."""
    if first is None or last is None:
        return units.UNKNOWN
    return str(first) if first == last else f"{min(first, last)}-{max(first, last)}"


def totals(lines: Iterable[tuple[str, Total]]) -> RenderableType:
    """What groups of calls add up to, a line each."""
    rows = [
        [
            title,
            units.count(total.files),
            units.count(total.calls),
            units.count(total.stable_calls),
            units.taken(total.time_s),
        ]
        for title, total in lines
    ]
    return FittedTable(_TOTAL_COLUMNS, rows)
