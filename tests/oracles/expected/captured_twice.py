"""Whether each packet was recorded on two interfaces."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """As the tcpdump command and the way of the packets say."""
    return Expected.MUST if capture.seen_twice else Expected.NEVER
