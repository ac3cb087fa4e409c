"""Whether the same rights were asked for again and again: what the kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 50
"""ACCESSes below which the rule has nothing to say."""

SHARE = 0.2
"""Share of the calls that makes a storm."""


def expected(capture: Capture) -> Expected:
    """The kernel does not count which of them were about the same object."""
    for truth in capture.truths():
        counted = operations(truth)
        if counted["ACCESS"] >= max(LEAST, SHARE * counted.total()):
            return Expected.MAY
    return Expected.NEVER
