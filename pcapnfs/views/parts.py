"""Pieces that several screens are made of.

Takes finished text; gives Rich renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pcapnfs import units

if TYPE_CHECKING:
    from rich.console import RenderableType


def heading(title: str) -> Text:
    """The title of a block, after an empty line."""
    return Text(f"\n{title}", style="bold cyan")


def note(text: str, *, indent: int = 2, style: str = "") -> RenderableType:
    """A sentence below a title; it wraps within its indent."""
    return Padding(Text(text, style=style), (0, 0, 0, indent), expand=False)


def unless_zero(number: int) -> str:
    """A count whose zeros would only be noise."""
    return units.count(number) if number else ""
