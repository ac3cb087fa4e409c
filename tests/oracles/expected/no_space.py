"""Whether the server had no room left: the lab's disks are much larger than what is written."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """No export was full, and there are no quotas."""
    return Expected.NEVER
