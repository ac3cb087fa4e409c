"""Whether the path became longer during the run: what a step set the round trip to."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Set to ten times what it was, or never touched."""
    for truth in capture.truths():
        before = truth["network"]["rtt_configured_ms"]
        for step in truth["steps"]:
            found = re.fullmatch(r"rtt (\d+) ms", step.get("label", ""))
            if found and int(found[1]) >= 10 * max(before, 1):
                return Expected.MUST
    return Expected.NEVER
