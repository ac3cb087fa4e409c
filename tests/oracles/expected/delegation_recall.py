"""Whether clients waited for delegations: who works on whose files, by the steps."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def shared(capture: Capture) -> bool:
    """Whether a second client, or a program on the server, was at work on an NFSv4 export."""
    return any(
        truth["nfs_version"].startswith("4")
        and (
            len(truth["clients"]) > 1
            or any(str(step.get("who", "")).startswith("server") for step in truth["steps"])
        )
        for truth in capture.truths()
    )


def expected(capture: Capture) -> Expected:
    """One client opens what another has written just now: seen from the server, both are there."""
    if not shared(capture):
        return Expected.NEVER
    labels = {step.get("label", "") for step in capture.truth()["steps"]}
    both = capture.vantage == "server" and {"c1-append", "c2-truncate"} <= labels
    return Expected.MUST if both else Expected.MAY
