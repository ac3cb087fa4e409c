"""Whether the capture lacks packets: tcpdump dropped none, but a file may break off."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """By the name of the cut file, and tcpdump's own counter."""
    dropped = any(truth["capture"]["packets_dropped_by_kernel"] for truth in capture.truths())
    return Expected.MUST if capture.cut_off or dropped else Expected.NEVER
