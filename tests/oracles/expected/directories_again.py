"""Whether directories were looked up though they were known: mkdir -p before each file.

The kernel counts LOOKUPs, but not of what, nor for which of them it had known the name.
"""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 50
"""LOOKUPs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """Only where a client looks up that many names."""
    if any(operations(truth)["LOOKUP"] >= LEAST for truth in capture.truths()):
        return Expected.MAY
    return Expected.NEVER
