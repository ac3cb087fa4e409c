"""Whether the same was mounted again and again: only where the workload does that."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Workloads mount once, or once more to drop what the client knows; some for each run."""
    mounts = sum(
        (step.get("command") or "").count("mount")
        for truth in capture.truths()
        for step in truth["steps"]
    )
    return Expected.MAY if mounts > 2 else Expected.NEVER
