"""Whether all slots of a session were taken: a Linux server grants more than the lab ever used."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """No workload of the lab has sixteen programs."""
    return Expected.NEVER
