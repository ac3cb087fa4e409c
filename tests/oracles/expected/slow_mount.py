"""Whether mounting took long: the lab's server knows its clients by their addresses."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """A restarted server may let its clients wait when they log in again."""
    return Expected.MAY if restarted(capture) else Expected.NEVER
