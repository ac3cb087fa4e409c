"""Whether packets of RDMA were sent again: the lab has none."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Its clients mount over TCP."""
    return Expected.NEVER
