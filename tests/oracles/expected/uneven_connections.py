"""Whether one of several connections had another way: all packets of a client share one here."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """One link and one delay for all ports."""
    return Expected.NEVER
