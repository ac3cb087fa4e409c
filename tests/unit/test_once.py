"""An answer that others build on is worked out once for each trace, and goes with it."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, cast

from pcapnfs.analyses.asking.once import once

if TYPE_CHECKING:
    from pcapnfs.trace import Trace


class Stand:
    """Stands for a trace."""


def test_each_trace_is_asked_once() -> None:
    asked = []

    @once
    def question(trace: Trace) -> int:
        asked.append(trace)
        return len(asked)

    first, second = (cast("Trace", Stand()) for _ in range(2))
    assert [question(first), question(second), question(first), question(second)] == [1, 2, 1, 2]
    assert asked == [first, second]


def test_a_trace_is_not_held() -> None:
    @once
    def question(trace: Trace) -> int:
        return len(str(trace))

    trace = Stand()
    gone = weakref.ref(trace)
    question(cast("Trace", trace))
    del trace
    gc.collect()
    assert gone() is None
