"""Answers that several questions build on, worked out once for each trace.

Takes a function of a trace; gives one that remembers what it gave. For small answers only: they
stay as long as the trace. A trace does not change, so neither do they. Whoever asks while another
thread works an answer out waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

Answer = TypeVar("Answer")


class Answers:
    """What was worked out for a trace."""

    def __init__(self) -> None:
        """Nothing so far."""
        self.found: dict[Callable[..., Any], Any] = {}
        """Answers by question."""
        self._asked: dict[Callable[..., Any], threading.Lock] = {}

    def get(self, question: Callable[..., Any], work_out: Callable[[], Answer]) -> Answer:
        """The answer to a question, worked out unless it is there."""
        # Questions build on one another, but none on itself: locks are never waited for in a ring.
        with self._asked.setdefault(question, threading.Lock()):
            if question not in self.found:
                self.found[question] = work_out()
            found: Answer = self.found[question]
            return found


ANSWERS: WeakKeyDictionary[Trace, Answers] = WeakKeyDictionary()
"""What was worked out for each trace that is still in use."""


def answers(trace: Trace) -> Answers:
    """What was worked out for a trace."""
    return ANSWERS.setdefault(trace, Answers())


def once(question: Callable[[Trace], Answer]) -> Callable[[Trace], Answer]:
    """Let the question be asked of each trace once."""

    @wraps(question)
    def answer(trace: Trace) -> Answer:
        return answers(trace).get(question, lambda: question(trace))

    return answer
