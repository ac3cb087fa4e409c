"""Whether attributes were kept: the timeouts in force."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import all_options, readable


def expected(capture: Capture) -> Expected:
    """Both smallest timeouts are 0. The option noac is told by its synchronous writes alone."""
    off = any(each.get("acregmin") == each.get("acdirmin") == "0" for each in all_options(capture))
    if not off:
        return Expected.NEVER
    return Expected.MUST if readable(capture) else Expected.MAY
