"""How long something takes of the processor, on a machine that may be halted meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """What the processor is busy for with `work`."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def in_time(limit_s: float, taken_s: Callable[[], float]) -> bool:
    """Whether it took less than `limit_s`, the first time or the second.

    A virtual machine that stands still for seconds, since its host does something else, counts them
    as time of the program that was running. What is slow is so both times.
    """
    return taken_s() < limit_s or taken_s() < limit_s
