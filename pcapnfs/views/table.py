r"""The answer to a user's own query: on the screen, as CSV or as JSON.

Takes column names and rows of database values; gives a renderable, or text piece by piece. Promises
that an answer of any length is written as CSV or JSON without being held in memory, and that no
format carries a control character: in CSV it is written `\xNN` as on the screen, in JSON as
`\u00NN`.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import FORMULA, escape
from pcapnfs.views.columns import GAP, Column, FittedTable
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult


class AnswerTable:
    """Rows side by side when they fit the width, else a value a line, as psql expands them.

    Without rows the names of the columns.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Keep names and values; all rows are laid out together."""
        self._titles = [escape(column) for column in columns]
        self._rows = [
            [units.fraction(value) if isinstance(value, float) else cell(value) for value in row]
            for row in rows
        ]
        self._numeric = [
            all(value is None or isinstance(value, int | float | Decimal) for value in values)
            for values in (zip(*rows, strict=True) if rows else [()] * len(columns))
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Choose the layout by the width."""
        widths = [
            max([cell_len(title), *(cell_len(row[place]) for row in self._rows)])
            for place, title in enumerate(self._titles)
        ]
        if sum(widths) + GAP * (len(widths) - 1) <= options.max_width:
            yield FittedTable(
                [
                    Column(title, align="right" if numeric else "left")
                    for title, numeric in zip(self._titles, self._numeric, strict=True)
                ],
                self._rows,
            )
            return
        if not self._rows:
            yield Prose(f"No rows, of {', '.join(self._titles)}.")
            return
        yield from (self._record(number, row) for number, row in enumerate(self._rows, 1))

    def _record(self, number: int, row: Sequence[str]) -> RenderableType:
        width = max(cell_len(title) for title in self._titles)
        lines = [Text(f"row {number}", style="bold")]
        for title, value in zip(self._titles, row, strict=True):
            text = Text(f"  {title}{' ' * (width - cell_len(title))}  ", style="dim")
            text.append(value, style="not dim")
            text.overflow = "fold"
            lines.append(text)
        return Group(*lines)


def plan(rows: Iterable[Sequence[object]]) -> RenderableType:
    """What EXPLAIN drew: the last column, whose line ends are its own."""
    lines = [escape(line) for row in rows for line in str(row[-1]).splitlines()]
    return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def csv_pieces(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, spreadsheet: bool = False
) -> Iterator[str]:
    """A header, then a line per row (RFC 4180); NULL is empty, bytes are hexadecimal.

    With `spreadsheet`, an apostrophe stands before texts that one would take for a formula.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([escape(column) for column in columns])
    for row in rows:
        texts = ["" if value is None else cell(value) for value in row]
        if spreadsheet:
            texts = [
                f"'{text}" if isinstance(value, str) and text.startswith(tuple(FORMULA)) else text
                for text, value in zip(texts, row, strict=True)
            ]
        writer.writerow(texts)
        yield _take(buffer)
    yield _take(buffer)


def json_pieces(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A list of objects, one a line; NULL, NaN and Infinity are null, bytes are hexadecimal.

    Of several columns with one name each but the first gets a number, as an object has it once.
    """
    columns = distinct(columns)
    separator = "[\n"
    for row in rows:
        document = {column: plain(value) for column, value in zip(columns, row, strict=True)}
        yield separator + json.dumps(document, allow_nan=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def distinct(names: Sequence[str]) -> list[str]:
    """Names of which none is there twice: `op`, `op_1`, `op_2`."""
    taken = set(names)
    found: list[str] = []
    for name in names:
        other, number = name, 0
        while other in found or (number and other in taken):
            number += 1
            other = f"{name}_{number}"
        found.append(other)
    return found


def cell(value: object) -> str:
    """A database value as text in one cell, NULL as nothing."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple | Mapping):
        return escape(json.dumps(plain(value), ensure_ascii=False))
    return escape(str(value))


def plain(value: object) -> object:
    """A database value as JSON has it: what JSON has no word for becomes text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)


def _take(buffer: io.StringIO) -> str:
    """Empty the buffer."""
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
