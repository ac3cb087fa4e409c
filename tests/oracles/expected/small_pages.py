"""Whether listings came in small pages: the servers of the lab send full ones."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(capture: Capture) -> Expected:
    """Never: servers in the lab fill what is asked for."""
    del capture
    return Expected.NEVER
