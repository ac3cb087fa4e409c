"""Whether READs were limited by a small rsize: the size in force, and what was moved."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.transfer_size import small


def expected(capture: Capture) -> Expected:
    """By the size that is mounted with."""
    return small(capture, "rsize")
