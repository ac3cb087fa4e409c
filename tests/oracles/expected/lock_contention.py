"""Whether a client waited for another's lock: what the steps did at the same time."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

LOCKS = re.compile(r"lockhold|flock")
"""Commands that wait for a lock."""


def expected(capture: Capture) -> Expected:
    """Two clients lock at a time, and the one that waits is in the capture."""
    who = {
        str(step.get("who"))
        for step in capture.truths()[0]["steps"]
        if LOCKS.search(step.get("command", ""))
    }
    if len(who) < 2:
        return Expected.NEVER
    return Expected.MUST if capture.vantage in {"server", "client2"} else Expected.MAY
