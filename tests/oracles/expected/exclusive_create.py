"""Whether files were made exclusively: tar and cp do so, and with a Linux server it takes two
calls, whatever the version."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations, readable

LEAST = 30
"""Such files below which the rule has nothing to say."""

EXCLUSIVE = re.compile(r"\btar -x|\bcp\b")
"""Programs that open new files with O_EXCL."""


def expected(capture: Capture) -> Expected:
    """By what the kernel counted, and who made the files."""
    made = sum(
        operations(truth)["CREATE"] if truth["nfs_version"] == "3" else operations(truth)["OPEN"]
        for truth in capture.truths()
    )
    if made < LEAST:
        return Expected.NEVER
    commands = [step.get("command") or "" for truth in capture.truths() for step in truth["steps"]]
    by_such = any(EXCLUSIVE.search(command) for command in commands)
    whole = readable(capture) and not capture.lossy
    return Expected.MUST if by_such and whole and made >= 2 * LEAST else Expected.MAY
