"""Whether a TCP window held data down: the lab's paths are short, and its windows grow."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Never."""
    return Expected.NEVER
