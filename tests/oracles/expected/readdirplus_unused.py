"""Whether listings fetched attributes in vain, at the price of the server's disk."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Never: the lab's directories lie in its servers' memory, and find -ls uses what it lists."""
    del capture
    return Expected.NEVER
