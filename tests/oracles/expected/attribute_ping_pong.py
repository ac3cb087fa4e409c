"""Whether clients changed files by turns: two clients, both in the capture."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """They append to the same file; or lock it by turns, and write it now and then."""
    if len(capture.clients) < 2 or capture.vantage != "server":
        return Expected.NEVER
    labels = {step.get("label", "") for step in capture.truth()["steps"]}
    return Expected.MUST if {"c1-append", "c2-append"} <= labels else Expected.MAY
