"""Whether the client sent calls again: what its kernel counted as transmissions."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def resent(capture: Capture) -> int:
    """Transmissions beyond one of each call, of all clients."""
    return sum(
        counted["transmissions"] - counted["count"]
        for truth in capture.truths()
        for client in truth["clients"].values()
        for counted in client.get("mountstats_delta_total", {}).get("ops", {}).values()
    )


def expected(capture: Capture) -> Expected:
    """Sent again, whole, and in this capture."""
    if not resent(capture):
        return Expected.NEVER
    return Expected.MUST if capture.full and capture.encryption is None else Expected.MAY
