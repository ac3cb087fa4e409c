"""Whether the capture began while the workload was running."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """As the run was made."""
    return Expected.MUST if capture.started_late else Expected.NEVER
