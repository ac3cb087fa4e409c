"""Whether ACLs were asked for one by one: of NFSv3 the kernel counts these calls apart."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options


def expected(capture: Capture) -> Expected:
    """NFSv4 has no such program, and noacl does without it."""
    options = all_options(capture)
    if all("noacl" in each or each.get("vers", "").startswith("4") for each in options):
        return Expected.NEVER
    return Expected.MAY
