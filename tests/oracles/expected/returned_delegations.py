"""Whether delegations were given back at all: what for, counters do not tell."""

from __future__ import annotations

from pcapnfs.diagnosis.rules.returned_delegations import LEAST
from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations


def expected(capture: Capture) -> Expected:
    """By the DELEGRETURNs that the kernel counted."""
    returned = sum(operations(truth)["DELEGRETURN"] for truth in capture.truths())
    return Expected.NEVER if returned < LEAST.value else Expected.MAY
