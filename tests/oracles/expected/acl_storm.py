"""Whether ACLs were asked for one by one: of NFSv4 the kernel counts these calls apart.

So it does of NFSv3 too, but of another program: mountstats of NFS do not have them.
"""

from __future__ import annotations

from tests.oracles import counted_shares
from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, operations

LEAST = 50
"""Calls below which the rule has nothing to say; of a smaller share of all it may, by their
cost."""


def expected(capture: Capture) -> Expected:
    """By the kernel's count of NFSv4; of NFSv3 noacl does without these calls."""
    options = all_options(capture)
    if not all(each.get("vers", "").startswith("4") for each in options):
        off = all("noacl" in each for each in options)
        return Expected.NEVER if off else Expected.MAY
    due = counted_shares.of(capture, "GETACL", least=LEAST, share=0.1, edge=0.02)
    if due is Expected.NEVER and any(
        operations(truth)["GETACL"] >= LEAST for truth in capture.truths()
    ):
        return Expected.MAY
    return due
