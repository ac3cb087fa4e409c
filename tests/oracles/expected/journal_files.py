"""Whether a database made journals and removed them: by the programs that ran."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

LEAST = 10
"""Journals below which the rule has nothing to say."""

DATABASE = re.compile(r"sqlite|svn|-journal")
"""Programs that make them."""


def expected(capture: Capture) -> Expected:
    """Never without such a program, nor where fewer files were removed."""
    truths = list(capture.truths())
    commands = [step.get("command") or "" for truth in truths for step in truth["steps"]]
    removed = sum(operations(truth)["REMOVE"] for truth in truths)
    by_such = any(DATABASE.search(command) for command in commands)
    return Expected.MAY if by_such and removed >= LEAST else Expected.NEVER
