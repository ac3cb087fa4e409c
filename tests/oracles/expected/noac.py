"""Whether the option noac was in force, and its synchronous writes can show it."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.sync_mount import cut
from tests.oracles.kernel import all_options, readable


def expected(capture: Capture) -> Expected:
    """A file of one WRITE shows nothing: the client sends it FILE_SYNC by default, too."""
    if not any("noac" in each for each in all_options(capture)) or not cut(capture):
        return Expected.NEVER
    return Expected.MUST if readable(capture) else Expected.MAY
