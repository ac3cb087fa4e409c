"""Whether the server refused what clients asked for: the errors that the kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import readable

LEAST = 10
"""Refusals below which the rule has nothing to say: the lab tries some."""


def expected(capture: Capture) -> Expected:
    """Nothing but permission, or an owner that cannot be mapped, makes SETATTR fail there."""
    refused = sum(
        client.get("mountstats_delta_total", {}).get("ops", {}).get("SETATTR", {}).get("errors", 0)
        for truth in capture.truths()
        for client in truth["clients"].values()
    )
    if refused < LEAST:
        return Expected.NEVER
    return Expected.MUST if readable(capture) else Expected.MAY
