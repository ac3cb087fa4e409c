"""Whether clients had one name: each of these has a host name of its own."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """No client was cloned."""
    return Expected.NEVER
