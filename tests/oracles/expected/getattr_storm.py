"""Whether most calls were GETATTRs that found nothing changed: what the kernel counted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations, readable

LEAST = 50
"""GETATTRs below which the rule has nothing to say."""

SHARE, EDGE = 0.4, 0.1
"""Share of the calls that makes a storm, and how far from it the truth does not decide: of several
clients' calls and of what mounting takes, a capture may hold a part."""


def expected(capture: Capture) -> Expected:
    """Never where mount options are the reason: their rules say so."""
    off = any(each.get("acdirmin") == "0" for each in all_options(capture))
    found = Expected.NEVER
    for truth in capture.truths():
        counted = operations(truth)
        share = counted["GETATTR"] / max(1, counted.total())
        if off or counted["GETATTR"] < LEAST or share < SHARE - EDGE:
            continue
        alone = len(truth["clients"]) == 1
        if share > SHARE + EDGE and alone and readable(capture):
            return Expected.MUST
        found = Expected.MAY
    return found
