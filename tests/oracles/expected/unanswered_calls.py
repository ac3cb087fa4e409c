"""Whether calls went without an answer: the lab's server answers all, but while it is restarted."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.server_restart import restarted


def expected(capture: Capture) -> Expected:
    """Where packets were cut, replies may be hidden, and nothing is to be said of that."""
    return Expected.MAY if restarted(capture) else Expected.NEVER
