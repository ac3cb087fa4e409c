"""Sentences that wrap between words, and never within a quantity.

Takes text; gives a Rich text that is like any other, but that a line never ends between a number
and its unit, between groups of its digits, or between `frame` and its number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from pcapnfs.units import THIN_SPACE
from pcapnfs.views.words import quantities_held

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, OverflowMethod
    from rich.containers import Lines

_BLANK, _THIN = "\ue000", "\ue001"
"""What stands for blanks where no line may end: of private use, so that no text on a screen has
them (`text.escape`)."""


class Prose(Text):
    """Text whose quantities stay on one line."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Divide the text into lines of a width."""
        held = self.copy()
        held.plain = quantities_held(held.plain, blank=_BLANK, thin=_THIN)
        lines = held.wrap(
            console,
            width,
            justify=justify,
            overflow=overflow,
            tab_size=tab_size,
            no_wrap=no_wrap,
        )
        for line in lines:
            line.plain = line.plain.replace(_BLANK, " ").replace(_THIN, THIN_SPACE)
        return lines


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of whole words and quantities; one that is too wide stands alone."""
    lines = [""]
    for word in quantities_held(text, blank=_BLANK, thin=_THIN).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cell_len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [line.replace(_BLANK, " ").replace(_THIN, THIN_SPACE) for line in lines]
