"""Whether the server restarted: a step of the workload says so."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def restarted(capture: Capture) -> bool:
    """The lab stopped its server and started it again."""
    return any(step["label"] == "restart" for truth in capture.truths() for step in truth["steps"])


def expected(capture: Capture) -> Expected:
    """Data was written before and after, so that the verifier shows it."""
    return Expected.MUST if restarted(capture) else Expected.NEVER
