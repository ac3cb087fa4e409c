"""Whether the server put calls off: Linux does it for delegations alone."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.delegation_recall import shared


def expected(capture: Capture) -> Expected:
    """Seen from the server or the holder, the recall says it all."""
    if not shared(capture) or capture.vantage == "server":
        return Expected.NEVER
    return Expected.MAY
