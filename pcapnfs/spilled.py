"""Rows with long texts, in order or as they came: some are in memory, the others in files.

Takes rows of numbers and texts; gives them again. The files have no name, so that nothing of them
stays behind, however the process ends.
"""

from __future__ import annotations

import heapq
import json
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Any, Generic, TypeVar

from pcapnfs.errors import WriteError, said

Row = TypeVar("Row", bound=tuple[Any, ...])

HELD_BYTES = 16 << 20
"""Characters of rows that are in memory at a time."""


class Kept(Generic[Row]):
    """Rows that are gone over again and again, by one at a time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Keep the rows.

        Raises:
            WriteError: The disk is full.
        """
        self._held: list[Row] = []
        self._runs: list[IO[str]] = []
        files = ExitStack()
        weakref.finalize(self, files.close)
        for part in _parts(rows):
            if self._held:
                self._runs.append(files.enter_context(_run(self._held)))
            self._held = part

    def __iter__(self) -> Iterator[Row]:
        """The rows as they came."""
        for run in self._runs:
            run.seek(0)
            yield from _rows(run)
        yield from self._held

    def __repr__(self) -> str:
        """All of the rows."""
        return f"Kept({list(self)})"


def ordered(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows in ascending order.

    Raises:
        WriteError: The disk is full.
    """
    with ExitStack() as stack:
        runs: list[Iterator[Row]] = []
        held: list[Row] = []
        for part in _parts(rows):
            if held:
                runs.append(_rows(stack.enter_context(_run(sorted(held)))))
            held = part
        held.sort()
        yield from heapq.merge(held, *runs)


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows, as many together as are in memory at a time."""
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        size += sum(len(value) for value in row if isinstance(value, str))
        if size >= HELD_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _run(part: list[Row]) -> IO[str]:
    """A file that holds rows."""
    try:
        run = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # Whoever asks has it.
        run.writelines(f"{json.dumps(row)}\n" for row in part)
        run.seek(0)
    except OSError as error:
        raise WriteError(
            f"{tempfile.gettempdir()}: {said(error)}; TMPDIR names another place for temporary "
            "tables"
        ) from error
    return run


def _rows(run: IO[str]) -> Iterator[Any]:
    return (tuple(json.loads(line)) for line in run)
