"""Whether names were kept: the option lookupcache in force."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options


def expected(capture: Capture) -> Expected:
    """Only what paths are walked through again and again can show it."""
    none = any(each.get("lookupcache") == "none" for each in all_options(capture))
    return Expected.MAY if none else Expected.NEVER
