"""Whether packets were cut: the snaplen that tcpdump was given."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Each of these runs has larger packets."""
    return Expected.NEVER if capture.full else Expected.MUST
