"""Whether COMMITs cost something: how many the kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 10
"""COMMITs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """Never of a few."""
    commits = sum(operations(truth)["COMMIT"] for truth in capture.truths())
    return Expected.NEVER if commits < LEAST else Expected.MAY
