"""Whether WRITEs covered parts of pages: as many as the rule wants, and not one for each file."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 30
"""WRITEs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """A file of one WRITE is written from its begin to its end."""
    for truth in capture.truths():
        counted = operations(truth)
        made = counted["CREATE"] + counted["OPEN"]
        if counted["WRITE"] >= LEAST and counted["WRITE"] > made:
            return Expected.MAY
    return Expected.NEVER
