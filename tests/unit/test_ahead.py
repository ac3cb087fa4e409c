"""What is decoded ahead of who takes it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import Any

import pytest

from pcapnfs import decoding


class AtItsEnd:
    """A decoder that gives nothing; the step after the first is under way until it may go on."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self._asked = 0

    def next(self) -> None:
        self._asked += 1
        if self._asked > 1:
            self.goes_on.wait(60)

    def progress(self) -> tuple[int, int]:
        return 0, 0


def test_steps_that_were_called_off_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not count as done: all of the patience would go by, each time that anything is read
    to its end.
    """
    decoder: Any = AtItsEnd()
    waited: list[Future[Any]] = []

    def look(steps: Sequence[Future[Any]], timeout: float) -> object:
        waited.extend(steps)
        decoder.goes_on.set()
        return wait(steps, timeout=timeout)

    monkeypatch.setattr(decoding, "wait", look)
    assert list(decoding.ahead(decoder, 8)) == []
    assert waited
    assert all(step.done() and not step.cancelled() for step in waited)
