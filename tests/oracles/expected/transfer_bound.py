"""Whether data takes a large part: the bytes that the kernels counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

LITTLE = 4 << 20
"""Bytes that are over in no time on the lab's links, which have no limit."""


def expected(capture: Capture) -> Expected:
    """Never of a few megabytes."""
    moved = sum(
        each["bytes_sent"] + each["bytes_received"]
        for truth in capture.truths()
        for client in truth["clients"].values()
        for each in client.get("mountstats_delta_total", {}).get("ops", {}).values()
    )
    return Expected.NEVER if moved < LITTLE else Expected.MAY
