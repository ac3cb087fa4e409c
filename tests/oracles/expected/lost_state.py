"""Whether the server took state from a client that it still knew."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """No client of the lab was out of reach for longer than its lease, but for the restarts."""
    return Expected.MAY if restarted(capture) else Expected.NEVER
