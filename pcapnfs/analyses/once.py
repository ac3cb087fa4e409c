"""Answers that several questions build on, worked out once for each trace.

Takes a function of a trace; gives one that remembers what it gave. For small answers only: they
stay as long as the trace. A trace does not change, so neither do they.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

Answer = TypeVar("Answer")


def once(question: Callable[[Trace], Answer]) -> Callable[[Trace], Answer]:
    """Let the question be asked of each trace once."""
    known: weakref.WeakKeyDictionary[Trace, Answer] = weakref.WeakKeyDictionary()

    @wraps(question)
    def answer(trace: Trace) -> Answer:
        if trace not in known:
            known[trace] = question(trace)
        return known[trace]

    return answer
