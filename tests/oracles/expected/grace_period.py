"""Whether clients met a grace period: NFSv4 has one after each restart."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """With NFSv3 only locks do."""
    if not restarted(capture):
        return Expected.NEVER
    return Expected.MAY if capture.version == "3" else Expected.MUST
