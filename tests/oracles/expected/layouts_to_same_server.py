"""Whether layouts led to the server that gave them: the lab's servers give none."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """No export has the option pnfs."""
    return Expected.NEVER
