"""Whether a connection took long to come about: only while the server was stopped."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """A stopped server refuses; how soon the client asks again, the truth does not tell."""
    return Expected.MAY if restarted(capture) else Expected.NEVER
