"""Whether calls at once stayed at a limit: only much data, read or written ahead, can reach it."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 16
"""Calls that must be under way at once."""


def expected(capture: Capture) -> Expected:
    """No workload of the lab has sixteen programs; a client may read ahead as many calls."""
    moved = max(
        sum(operations(truth)[name] for name in ("READ", "READ_PLUS", "WRITE"))
        for truth in capture.truths()
    )
    return Expected.NEVER if moved < LEAST else Expected.MAY
