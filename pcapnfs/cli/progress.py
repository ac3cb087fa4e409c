"""A progress bar on stderr, for terminals, once a capture takes longer than half a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""Seconds of silence; what is over by then needs no bar."""


@contextmanager
def progress() -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that takes bytes consumed and in all; None when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    """A Rich progress bar that appears late and vanishes."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def update(self, done: int, total: int) -> None:
        if self._shown is None:
            if time.monotonic() - self._start < PATIENCE_S:
                return
            self._shown = _show()
        bar, task = self._shown
        bar.update(task, completed=done, total=total or None)

    def close(self) -> None:
        if self._shown is not None:
            self._shown[0].stop()


def _show() -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress("reading", *columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("reading", total=None)
    bar.start()
    return bar, task
