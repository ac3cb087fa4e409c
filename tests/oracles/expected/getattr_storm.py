"""Whether most calls were GETATTRs that found nothing changed: what the kernel counted."""

from __future__ import annotations

from tests.oracles import counted_shares
from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations

LEAST = 50
"""Calls below which the rule has nothing to say; of a smaller share of all it may, by their
cost."""


def expected(capture: Capture) -> Expected:
    """Never where mount options are the reason: their rules say so."""
    if any(each.get("acdirmin") == "0" for each in all_options(capture)):
        return Expected.NEVER
    due = counted_shares.of(capture, "GETATTR", least=LEAST, share=0.4, edge=0.1)
    if due is Expected.NEVER and any(
        operations(truth)["GETATTR"] >= LEAST for truth in capture.truths()
    ):
        return Expected.MAY
    return due
