"""Whether OPENs waited for one another: only with NFSv4.0, and several programs at once."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_overload import parallel


def expected(capture: Capture) -> Expected:
    """The truth does not say in what order opens came."""
    return Expected.MAY if capture.version == "4.0" and parallel(capture) else Expected.NEVER
