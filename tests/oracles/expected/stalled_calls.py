"""Whether a few calls stood still: nothing froze the server; a mount may wait for mountd."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted

LEAST_MS = 1000.0
"""What one call takes at least."""


def expected(capture: Capture) -> Expected:
    """By what the kernel timed of each operation in all, and how long mounting took."""
    if restarted(capture):
        return Expected.MAY
    for truth in capture.truths():
        for client in truth["clients"].values():
            told = client.get("mountstats_delta_total", {}).get("ops", {})
            if any(operation["rtt_ms"] >= LEAST_MS for operation in told.values()):
                return Expected.MAY
            if any(
                mount["end_ns"] - mount["start_ns"] >= LEAST_MS * 1e6
                for mount in client.get("mounts", [])
            ):
                return Expected.MAY
    return Expected.NEVER
