"""Whether a file system moved to another server: in the lab none ever did."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Every export stays where it is."""
    return Expected.NEVER
