"""Whether access times were asked for after reading: of NFSv4 the kernel counts GETATTRs alike."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations

LEAST = 50
"""GETATTRs below which the rule has nothing to say."""


def expected(capture: Capture) -> Expected:
    """Only of NFSv4, where a client asks so often, and reads, without noatime."""
    options = all_options(capture)
    if not any(each.get("vers", "").startswith("4") and "noatime" not in each for each in options):
        return Expected.NEVER
    counted = [operations(truth) for truth in capture.truths()]
    if any(each["GETATTR"] >= LEAST and each["READ"] >= 1 for each in counted):
        return Expected.MAY
    return Expected.NEVER
