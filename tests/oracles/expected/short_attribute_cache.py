"""Whether attributes were kept for a shorter time than by default: the timeouts in force."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, readable

DEFAULT_S = {"acregmin": 3, "acregmax": 60, "acdirmin": 30, "acdirmax": 60}
"""Of Linux."""


def expected(capture: Capture) -> Expected:
    """Some timeout is smaller than the default, but not 0; the workload has pauses that show it."""
    short = any(
        0 < int(each[name]) < default
        for each in all_options(capture)
        for name, default in DEFAULT_S.items()
        if name in each
    )
    if not short:
        return Expected.NEVER
    paused = any(
        step.get("label", "").startswith("sleep")
        for truth in capture.truths()
        for step in truth["steps"]
    )
    return Expected.MUST if paused and readable(capture) else Expected.MAY
