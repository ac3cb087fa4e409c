"""Whether programs locked by files that they made and removed: by the programs that ran."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

DOT_LOCK = re.compile(r"dotlock|lockfile|\.lock|mkdir \S*lock|svn|git")
"""Programs that lock so."""


def expected(capture: Capture) -> Expected:
    """Never without such a program."""
    commands = [step.get("command") or "" for truth in capture.truths() for step in truth["steps"]]
    by_such = any(DOT_LOCK.search(command) for command in commands)
    return Expected.MAY if by_such else Expected.NEVER
