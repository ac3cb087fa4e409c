"""Whether owner, mode and times of new files were set with a call each: tar does so as root."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations, readable

LEAST = 30
"""Such calls below which the rule has nothing to say."""

ONE_BY_ONE = re.compile(r"\btar -?x")
"""A program that sets all three of each file, where root runs it."""


def expected(capture: Capture) -> Expected:
    """By what the kernel counted, and who made the files."""
    truths = list(capture.truths())
    made = sum(
        operations(truth)["CREATE"] if truth["nfs_version"] == "3" else operations(truth)["OPEN"]
        for truth in truths
    )
    if sum(operations(truth)["SETATTR"] for truth in truths) < LEAST or not made:
        return Expected.NEVER
    commands = [step.get("command") or "" for truth in truths for step in truth["steps"]]
    by_such = any(ONE_BY_ONE.search(command) for command in commands)
    # Where storage answers at once they cost next to nothing, and are not told.
    whole = readable(capture) and not capture.lossy and "async" not in capture.name
    return Expected.MUST if by_such and whole and made >= 2 * LEAST else Expected.MAY
