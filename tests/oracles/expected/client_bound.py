"""Whether the client takes a large part: the steps' durations against what its calls took."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected

NEARLY_ALL = 0.9
"""Calls that take this much of the steps one after the other leave no room for the client."""


def expected(capture: Capture) -> Expected:
    """Never where one program waited for calls all the time, by the kernel's own clock."""
    waited_s = ran_s = 0.0
    for truth in capture.truths():
        for client in truth["clients"].values():
            told = client.get("mountstats_delta_total", {}).get("ops", {})
            waited_s += sum(each["rtt_ms"] for each in told.values()) / 1000
        ran_s += sum(step.get("duration_s") or 0.0 for step in truth["steps"])
    alone = capture.vantage == "client1" and len(capture.clients) == 1
    if alone and ran_s > 0 and NEARLY_ALL * ran_s <= waited_s <= ran_s and not capture.lossy:
        return Expected.NEVER
    return Expected.MAY
