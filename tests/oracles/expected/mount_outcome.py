"""Whether a mount came to nothing: the lab's all worked, and files were touched."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected


def expected(_capture: Capture) -> Expected:
    """Each mount names the version, the transport and an export of its server."""
    return Expected.NEVER
