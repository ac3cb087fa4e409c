"""Whether messages wait for delayed ACKs: Linux' client and server set TCP_NODELAY."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Never."""
    return Expected.NEVER
