"""Whether entries were looked up one by one after a listing without attributes."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import readable, steps

LEAST = 30
"""LOOKUPs below which the rule has nothing to say."""

MANY = 0.5
"""Share of the files that are looked up, from which on it must speak."""


def expected(capture: Capture) -> Expected:
    """LOOKUPs that the kernel counted from the first listing on.

    mountstats tells READDIR from READDIRPLUS, but of NFSv4 it has READDIR alone.
    """
    found = Expected.NEVER
    for truth in capture.truths():
        looked, listed = 0, False
        for counted in steps(truth):
            listed = listed or counted["READDIR"] > 0
            looked += counted["LOOKUP"] if listed else 0
        if looked < LEAST:
            continue
        if looked >= MANY * truth["facts"].get("files", 0) and readable(capture):
            return Expected.MUST
        found = Expected.MAY
    return found
