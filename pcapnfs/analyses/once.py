"""Answers that several questions build on, worked out once for each trace.

Takes a function of a trace; gives one that remembers what it gave. For small answers only: they
stay as long as the trace. A trace does not change, so neither do they.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

Answer = TypeVar("Answer")

ANSWERS: WeakKeyDictionary[Trace, dict[Callable[..., Any], Any]] = WeakKeyDictionary()
"""What was worked out for each trace that is still in use."""


def once(question: Callable[[Trace], Answer]) -> Callable[[Trace], Answer]:
    """Let the question be asked of each trace once."""

    @wraps(question)
    def answer(trace: Trace) -> Answer:
        known = ANSWERS.setdefault(trace, {})
        if question not in known:
            known[question] = question(trace)
        found: Answer = known[question]
        return found

    return answer
