"""Whether the server slowed down under load: only parallel steps put any on it."""

from __future__ import annotations

import re

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

PARALLEL = re.compile(r"-P [2-9]|&\s|& *$|wait")
"""Commands that run side by side."""


def parallel(capture: Capture) -> bool:
    """The workload, or several clients, had calls under way side by side."""
    commands = [step.get("command") or "" for truth in capture.truths() for step in truth["steps"]]
    return len(capture.clients) > 1 or any(PARALLEL.search(command) for command in commands)


def expected(capture: Capture) -> Expected:
    """The truth does not say what the server had to do."""
    return Expected.MAY if parallel(capture) else Expected.NEVER
