"""Whether one export lies on slower storage than another: all of a server share a disk here."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """One file system, exported whole or by directory."""
    return Expected.NEVER
