"""Rows that may not fit into memory, sorted or in their order: many of them are kept in files.

Takes rows of numbers and texts, or records; gives them again. The files are unnamed, so that they
vanish however the process ends.
"""

from __future__ import annotations

import heapq
import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, islice
from typing import IO, Any, Generic, TypeVar, cast, overload

from pcapnfs.errors import WriteError, said
from pcapnfs.record import Record, decoder, encoded, names

Row = TypeVar("Row", bound=Record | tuple[Any, ...])
Values = TypeVar("Values", bound=tuple[Any, ...])

HELD_BYTES = 8 << 20
"""Memory for rows before they go to a file, estimated by the length of their texts, bytes."""

VALUE_BYTES = 56
"""Memory of a value besides its text, bytes: the Python object and its place in the row."""

READ_BYTES = 64 << 10
"""Bytes read from a file at a time."""

MARKED = 1024
"""Every so many rows, the position in the file is remembered."""

RUNS = 32
"""Files that are merged at once. Each is open, and as many of those that were merged before."""


class Kept(Sequence[Row]):
    """Rows that can be iterated any number of times, also by several iterators at once."""

    def __init__(self, rows: Iterable[Row], kind: type[Row] | None = None) -> None:
        """Keep the rows.

        Args:
            rows: The rows.
            kind: What each is; None: tuples of numbers and texts.

        Raises:
            WriteError: The disk is full.
        """
        coming = iter(rows)
        self._held = _part(coming)
        following = list(islice(coming, 1))
        self._file = None
        if following:
            # The iterator alone keeps these, and lets go of them once they are written.
            held, self._held = iter(self._held), []
            self._file = _File(chain(held, following, coming), kind)

    @property
    def in_memory(self) -> bool:
        """Whether they were few enough."""
        return self._file is None

    def __len__(self) -> int:
        """How many they are."""
        return len(self._held) if self._file is None else self._file.rows

    def __iter__(self) -> Iterator[Row]:
        """The rows as they came."""
        return self._from(0)

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...

    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """A row, or some of them, in ascending order."""
        if isinstance(place, slice):
            begin, end, step = place.indices(len(self))
            return tuple(islice(self._from(begin), 0, max(end - begin, 0), step))
        if self._file is None:
            return self._held[place]
        return next(self._from(range(len(self))[place]))

    def _from(self, begin: int) -> Iterator[Row]:
        """The rows from one on."""
        return iter(self._held[begin:]) if self._file is None else self._file.read(begin)

    def __repr__(self) -> str:
        """All of the rows."""
        return f"Kept({list(self)})"


def listed(rows: Iterable[Row], kind: type[Row]) -> Sequence[Row]:
    """A tuple of records; of more than are to be in memory, something that is gone over alike.

    Raises:
        WriteError: The disk is full.
    """
    kept = Kept(rows, kind)
    return tuple(kept) if kept.in_memory else kept


def ordered(rows: Iterable[Values]) -> Iterator[Values]:
    """The rows in ascending order.

    Raises:
        WriteError: The disk is full.
    """
    with ExitStack() as stack:
        # Runs of each level were merged of so many of the one below: a row is written once for each
        # level, and not again for each run that came after it.
        levels: list[list[_File[Values]]] = [[]]
        coming = iter(rows)
        following: list[Values] = []
        while True:
            held = _part(chain(following, coming))
            held.sort()
            following = list(islice(coming, 1))
            if not following:
                break
            levels[0].append(stack.enter_context(closing(_File(held))))
            held = []  # Gone before the next ones come.
            _merge(levels, stack)
        yield from heapq.merge(held, *(run.read(0) for level in levels for run in level))


def _merge(levels: list[list[_File[Values]]], stack: ExitStack) -> None:
    """Make one run of those of each level that is full."""
    for place, level in enumerate(levels):
        if len(level) < RUNS:
            return
        merged = _File(heapq.merge(*(run.read(0) for run in level)))
        for run in level:
            run.close()
        level.clear()
        if place + 1 == len(levels):
            levels.append([])
        levels[place + 1].append(stack.enter_context(closing(merged)))


class _File(Generic[Row]):
    """Rows in a file without a name."""

    def __init__(self, rows: Iterable[Row], kind: type[Row] | None = None) -> None:
        self.rows = 0
        # Without a kind, rows are tuples.
        self._decode = decoder(cast("type[Row]", kind or tuple))
        self._marks = array("Q")
        with _disk():
            file = tempfile.TemporaryFile("w+b")  # noqa: SIM115  # `close` does it.
        # Who still reads holds this, too.
        self.close = weakref.finalize(self, file.close)
        self._descriptor = file.fileno()
        self._write(file, rows)

    def _write(self, file: IO[bytes], rows: Iterable[Row]) -> None:
        size = 0
        for row in rows:
            if self.rows % MARKED == 0:
                self._marks.append(size)
            line = encoded(row) + b"\n"
            with _disk():
                file.write(line)
            size += len(line)
            self.rows += 1
        with _disk():
            file.flush()

    def read(self, begin: int) -> Iterator[Row]:
        """The rows from one on; whoever else reads does not matter."""
        lines = self._lines(self._marks[begin // MARKED]) if begin < self.rows else iter(())
        return map(self._decode, islice(lines, begin % MARKED, None))

    def _lines(self, place: int) -> Iterator[bytes]:
        rest = b""
        while piece := os.pread(self._descriptor, READ_BYTES, place):
            place += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines


@contextmanager
def _disk() -> Iterator[None]:
    """Say of a failure to write where other room may be."""
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{tempfile.gettempdir()}: {said(error)}; TMPDIR names another place for temporary "
            "tables"
        ) from error


def _part(rows: Iterator[Row]) -> list[Row]:
    """As many of the next rows as are in memory at a time."""
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        values = len(row) if isinstance(row, tuple) else len(names(row))
        size += len(encoded(row)) + (values + 1) * VALUE_BYTES
        if size >= HELD_BYTES:
            break
    return part
