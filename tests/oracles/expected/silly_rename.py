"""Whether files were removed while open: what the client's kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """The kernel counts them by this name."""
    renamed = sum(
        client.get("mountstats_delta_total", {}).get("events", {}).get("sillyrenames", 0)
        for truth in capture.truths()
        for client in truth["clients"].values()
    )
    return Expected.MUST if renamed else Expected.NEVER
