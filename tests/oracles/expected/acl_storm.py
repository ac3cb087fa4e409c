"""Whether ACLs were asked for one by one: of NFSv4 the kernel counts these calls apart.

So it does of NFSv3 too, but of another program: mountstats of NFS do not have them.
"""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations, readable

LEAST = 50
"""Calls that fetch an ACL below which the rule has nothing to say."""

SHARE, EDGE = 0.1, 0.02
"""Share of the calls, and how far from it the truth does not decide: of what mounting takes, a
capture may hold a part."""


def expected(capture: Capture) -> Expected:
    """By the kernel's count of NFSv4; of NFSv3 noacl does without these calls."""
    options = all_options(capture)
    if not all(each.get("vers", "").startswith("4") for each in options):
        off = all("noacl" in each for each in options)
        return Expected.NEVER if off else Expected.MAY
    found = Expected.NEVER
    for truth in capture.truths():
        counted = operations(truth)
        share = counted["GETACL"] / max(1, counted.total())
        if counted["GETACL"] < LEAST or share < SHARE - EDGE:
            continue
        alone = len(truth["clients"]) == 1
        if share > SHARE + EDGE and alone and readable(capture):
            return Expected.MUST
        found = Expected.MAY
    return found
