"""Whether a receiver could take no more data: nothing in the lab made that happen."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Never."""
    return Expected.NEVER
