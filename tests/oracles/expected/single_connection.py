"""Whether several connections would have helped: nconnect, and how much ran side by side."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_overload import parallel
from tests.oracles.kernel import all_options


def expected(capture: Capture) -> Expected:
    """Never with nconnect, nor for one program that does one thing after the other."""
    several = all("nconnect" in each for each in all_options(capture))
    reads = capture.name.startswith(("cachedread", "k61-cachedread", "bigdir"))
    if several or not (parallel(capture) or reads):
        return Expected.NEVER
    return Expected.MAY
