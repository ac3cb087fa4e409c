"""Whether a connection was asked for in vain: only while the server was stopped."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """Whether the capture ends before the server is back, the truth does not tell."""
    return Expected.MAY if restarted(capture) else Expected.NEVER
