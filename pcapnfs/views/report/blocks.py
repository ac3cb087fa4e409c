"""What a report is made of: sections of paragraphs, tables, pictures and things to unfold.

Takes finished text; gives values that the page and the Markdown document write, each in its way.
Promises that text from a capture is visible and of bounded length once it has been through `told`,
and that a table has no empty column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pcapnfs import spilled, units
from pcapnfs.record import Record
from pcapnfs.text import escape, sentence
from pcapnfs.views import numbered
from pcapnfs.views.columns import shorten

if TYPE_CHECKING:
    from pcapnfs.meta import Stream

TOLD_CELLS = 110
"""Width to which a name is cut in its middle: a hostile one may have megabytes."""

STEPS_CELLS = 300
"""Width to which a pattern is cut."""

SENTENCE_CELLS = 1200
"""Width to which a sentence that quotes names is cut at its end."""


class Cell(Record):
    """A cell of a table."""

    text: str
    """What stands in it, escaped."""
    value: float | None = None
    """What it is sorted by; None: by its text."""
    anchor: str = ""
    """Where it leads, within the report; empty: nowhere."""


class Column(Record):
    """A column of a table."""

    title: str
    """Heading."""
    kind: Literal["number", "name", "words", "long"] = "number"
    """Numbers stand to the right; names, in the type of code, break anywhere if long; words between
    words; long texts take more room."""


class Paragraph(Record):
    """A sentence or several."""

    kind: ClassVar[str] = "paragraph"
    text: str
    """The text, escaped."""
    style: Literal["", "note", "verdict", "warning", "screen"] = ""
    """How much it stands out; `screen`: it is about what is not printed."""


class Facts(Record):
    """What belongs to a word, line by line."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]
    """Words and what is said of each."""


class Filter(Record):
    """A display filter to copy."""

    kind: ClassVar[str] = "filter"
    text: str
    """The filter as Wireshark takes it."""


class Table(Record):
    """Rows under headings; the first cell of a row names it."""

    kind: ClassVar[str] = "table"
    caption: str
    """What it shows."""
    columns: tuple[Column, ...]
    """The columns."""
    rows: Sequence[tuple[Cell, ...]]
    """The rows, a cell for each column."""
    more: str = ""
    """What was left out; empty when nothing was."""


class Picture(Record):
    """A drawing; the same numbers stand in a table beside it."""

    kind: ClassVar[str] = "picture"
    svg: str
    """The drawing as an SVG element."""
    legend: tuple[tuple[str, str], ...] = ()
    """Classes of colours and what they stand for."""


class Fold(Record):
    """Something to unfold."""

    kind: ClassVar[str] = "fold"
    title: str
    """What it holds."""
    blocks: tuple[Block, ...]
    """The content."""
    aside: str = ""
    """What stands beside the title, in small."""


class Card(Record):
    """Something with a title of its own: a finding."""

    kind: ClassVar[str] = "card"
    anchor: str
    """Where links lead."""
    tag: str
    """How grave it is, in a word."""
    title: str
    """What it is."""
    blocks: tuple[Block, ...]
    """The content."""


Block = Paragraph | Facts | Filter | Table | Picture | Fold | Card


class Section(Record):
    """A part of the report with a heading."""

    anchor: str
    """Where links lead."""
    title: str
    """Heading."""
    blocks: tuple[Block, ...]
    """The content."""
    terms: tuple[str, ...] = ()
    """Anchors of the definitions of its figures, in the last section."""


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, more: str = ""
) -> Table:
    """A table without the columns in which nothing stands; there may be any number of rows."""
    cells = spilled.listed(map(tuple, rows), tuple[Cell, ...])
    telling = {place for row in cells for place, cell in enumerate(row) if cell.text}
    kept = [place for place in range(len(columns)) if place == 0 or place in telling]
    if len(kept) < len(columns):
        some = (tuple(row[place] for place in kept) for row in cells)
        cells = spilled.listed(some, tuple[Cell, ...])
    return Table(caption, tuple(columns[place] for place in kept), cells, more)


def told(text: str, width: int = TOLD_CELLS) -> str:
    """A name from the capture, visible and not too long."""
    # What is cut off need not be escaped: that takes time in proportion to the length.
    return shorten(escape(text if len(text) <= 2 * width else text[:width] + text[-width:]), width)


def quoted(text: str, width: int = SENTENCE_CELLS) -> str:
    """A sentence of ours that may quote names from the capture, likewise."""
    return shorten(sentence(text[: 2 * width]), width, "end")


def filters(numbers: Iterable[int], streams: Sequence[Stream]) -> Iterator[Block]:
    """The filter for these frames, by the numbers of the captures that have them."""
    for where, text in numbered.filters(numbers, streams, told):
        if where:
            yield Paragraph(f"In {where}:", "note")
        yield Filter(text)


def name(text: str | None) -> Cell:
    """A name from the capture."""
    return Cell(told(text or ""))


def steps(text: str) -> Cell:
    """The calls of a pattern, cut between two of them."""
    return Cell(shorten(escape(text[: 2 * STEPS_CELLS]), STEPS_CELLS, "end"))


def words(text: str) -> Cell:
    """Our own words."""
    return Cell(text)


def count(number: int | None) -> Cell:
    """A count; nothing for zero, which would only be noise."""
    return Cell(units.count(number) if number else "", number or 0)


def total(number: int | None) -> Cell:
    """A count of which also zero tells."""
    return Cell(units.count(number), _rank(number))


def mean(value: float | None) -> Cell:
    """A mean or quantile of counts."""
    return Cell("" if value is None else units.number(value), -1.0 if value is None else value)


def time(value: float | None) -> Cell:
    """Seconds; nothing where they are not known."""
    return Cell("" if value is None else units.duration(value), _rank(value))


def size(value: float | None) -> Cell:
    """Bytes; nothing where they are not known."""
    return Cell("" if value is None else units.size(value), _rank(value))


def volume(value: int | None) -> Cell:
    """An amount of bytes; nothing for zero."""
    return Cell("" if value == 0 else units.size(value), _rank(value))


def share(value: float | None) -> Cell:
    """A share of 0…1; nothing where it is not known, or zero."""
    return Cell(units.share(value) if value else "", _rank(value))


def _rank(value: float | None) -> float:
    """Unknown comes before everything."""
    return -1e300 if value is None else value
