"""Whether the capture was taken at the server: the interface that was listened on."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """By the truth's vantage."""
    return Expected.MUST if capture.vantage == "server" else Expected.NEVER
