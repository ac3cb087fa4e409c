"""A table that fits its width: columns are dropped by priority, numbers are never wrapped or cut.

Takes columns and cells of finished text; gives a Rich renderable. A column without any content is
left out. When columns that may shrink are as narrow as they may be, others go: first those that
hold nothing but zeros, then by priority; paths are shortened in their middle, where they differ
least; sentences wrap within their column. Where that is not enough, all names are shortened, and
rows go on in the next line. What a row has to say beyond its numbers stands below it, wrapped
between words. A table whose columns are all an answer names below itself those that went.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import repeat, zip_longest
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.padding import Padding
from rich.text import Text

from pcapnfs.record import Record
from pcapnfs.spilled import Kept
from pcapnfs.views.prose import Prose, wrapped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

Told = TypeVar("Told")

GAP = 2
"""Blanks between columns."""

NOTHING = frozenset(("", "-", "0", "0 s", "0 B", "0 %"))
"""Cells that say no more than that there is nothing (units.py)."""

NARROWEST = 10
"""Width down to which names are shortened where nothing else helps."""

BELOW = 4
"""Blanks before a line that stands below a row."""

WIDER = "a wider terminal or --json shows them"
"""Where columns are that there is no room for."""


class Column(Record):
    """A column of a `FittedTable`."""

    title: str
    """Heading."""
    priority: int = 0
    """0 always stays; of the others those with nothing but zeros go first, then the largest, the
    rightmost among equals."""
    align: Literal["left", "right"] = "right"
    """Numbers to the right, names to the left."""
    least: int | None = None
    """Width down to which cells may be shortened; None for cells that are never cut."""
    cut: Literal["middle", "end", "wrap"] = "middle"
    """Where cells are shortened; `wrap`: not at all, they go on in further lines."""


class Below(Generic[Told]):
    """What stands below the rows of a table, made when it is drawn."""

    def __init__(self, told: Iterable[Told], lines: Callable[[Told], Sequence[Text]]) -> None:
        """Keep what the rows are about, and what makes lines of it."""
        self._told = told
        self._lines = lines

    def __iter__(self) -> Iterator[Sequence[Text]]:
        """The lines, row by row."""
        return map(self._lines, self._told)


class FittedTable:
    """Columns and rows of text, laid out when the width is known."""

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[str]],
        *,
        indent: int = 0,
        below: Iterable[Sequence[Text]] = (),
        naming: bool | Container[str] = False,
    ) -> None:
        """Keep the cells; each row has one for each column, and may have lines below it.

        With `naming`, columns that have something to say and no room are named below the rows: all
        of them, or those with these titles.

        Rows that are no sequence are gone over once, here, and may be any number: widths are known
        when all were seen, and until then what does not fit into memory is in a file. What stands
        below is gone over each time that the table is drawn.
        """
        self._columns = columns
        self._rows = rows if isinstance(rows, Sequence) else Kept(map(tuple, rows))
        self._indent = indent
        self._below = below
        self._naming = naming

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        yield from self.lines(options.max_width)

    def lines(self, width: int) -> Iterator[RenderableType]:
        """A line for the heading, if there is any, one for each row, and what had no room.

        Args:
            width: How wide the table may be.
        """
        titles = [column.title for column in self._columns]
        content, telling = self._measured()
        widths = {
            place: max(_cells(titles[place]), width)
            for place, width in enumerate(content)
            if width or not self._rows
        }
        hollow = widths.keys() - telling
        kept = _fit(self._columns, widths, hollow, width - self._indent)
        fits = self._indent + _total(kept) <= width
        if any(titles[place] for place in kept):
            yield self._line(titles, kept, fits, "bold")
        for row, below in zip(self._rows, self._below or repeat(()), strict=False):
            for line in self._lines(row, kept):
                yield self._line(line, kept, fits)
            for text in below:
                yield Padding(text, (0, 0, 0, self._indent + BELOW), expand=False)
        gone = [
            titles[place]
            for place in sorted(telling - kept.keys())
            if titles[place] and self._names(titles[place])
        ]
        if gone:
            told = f"No room for {', '.join(dict.fromkeys(gone))}: {WIDER}."
            yield Padding(Prose(told, style="dim"), (0, 0, 0, self._indent), expand=False)

    def _names(self, title: str) -> bool:
        """Whether a column without room is named."""
        return self._naming if isinstance(self._naming, bool) else title in self._naming

    def _measured(self) -> tuple[list[int], set[int]]:
        """How wide the cells of each column are at most, and where any says something."""
        places = range(len(self._columns))
        content = [0] * len(places)
        telling: set[int] = set()
        for row in self._rows:
            for place in places:
                cell = row[place]
                content[place] = max(content[place], _cells(cell))
                if cell not in NOTHING:
                    telling.add(place)
        return content, telling

    def _lines(self, row: Sequence[str], kept: dict[int, int]) -> list[Sequence[str]]:
        """The row's cells, line by line: more than one where some of them wrap."""
        parts = [
            wrapped(cell, kept[place])
            if place in kept and self._columns[place].cut == "wrap"
            else [cell]
            for place, cell in enumerate(row)
        ]
        return list(zip_longest(*parts, fillvalue=""))

    def _line(
        self, cells: Sequence[str], kept: dict[int, int], fits: bool, style: str = ""
    ) -> Text:
        parts = []
        for place, width in kept.items():
            cut = self._columns[place].cut
            # Of what wraps, only a word alone is too wide: an address, a name.
            cell = shorten(cells[place], width, "middle" if cut == "wrap" else cut)
            blanks = " " * (width - _cells(cell))
            parts.append(cell + blanks if self._columns[place].align == "left" else blanks + cell)
        line = " " * self._indent + (" " * GAP).join(parts)
        # What fits need not be looked at word by word.
        return Text(line.rstrip(), style=style, no_wrap=fits, overflow="ignore" if fits else "fold")


def _cells(text: str) -> int:
    """How wide a text is: Rich looks at each character, which ASCII can do without."""
    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, width: int, cut: Literal["middle", "end"] = "middle") -> str:
    """Cut the middle or the end off a text that is too wide, and say so with an ellipsis."""
    if _cells(text) <= width:
        return text
    if cut == "end":
        return _begun(text, width)
    tail_cells = (width - 1) * 2 // 3
    if text.isascii():
        return f"{text[: width - 1 - tail_cells]}…{text[len(text) - tail_cells :]}"
    tail = text
    while _cells(tail) > tail_cells:
        tail = tail[max(1, (_cells(tail) - tail_cells) // 2) :]
    head = set_cell_size(text, width - 1 - _cells(tail))
    return head + "…" + tail


def _begun(text: str, width: int) -> str:
    """The beginning of a text: whole words, where they fill half of the width."""
    words = set_cell_size(text, max(0, width - 1)).rpartition(" ")[0].rstrip(" ,;:")
    if _cells(words) >= width // 2:
        return f"{words} …"
    return set_cell_size(text, max(0, width - 1)) + "…"


def _fit(
    columns: Sequence[Column], widths: dict[int, int], hollow: set[int], available: int
) -> dict[int, int]:
    """The places of the columns that stay, in order, with their widths."""
    least = {place: min(width, columns[place].least or width) for place, width in widths.items()}
    by_priority = sorted(
        widths, key=lambda place: (place not in hollow, -columns[place].priority, -place)
    )
    for place in by_priority:
        if columns[place].priority > 0 and _total(least) > available:
            del least[place]
    kept = {place: widths[place] for place in least}
    for place in by_priority:
        surplus = _total(kept) - available
        if place in kept and surplus > 0:
            kept[place] = max(least[place], kept[place] - surplus)
    for place in by_priority:
        surplus = _total(kept) - available
        if place in kept and surplus > 0 and columns[place].align == "left":
            kept[place] = max(min(kept[place], NARROWEST), kept[place] - surplus)
    return kept


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)
