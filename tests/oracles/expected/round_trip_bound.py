"""Whether round trips take a large part: calls that need no storage, or a network far away."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations

FEW_CALLS = 20
"""Calls that cannot add up to a large part of any run of the lab."""


def expected(capture: Capture) -> Expected:
    """Only few calls rule it out: the kernels do not say what part of a call was the network."""
    calls = sum(operations(truth).total() for truth in capture.truths())
    return Expected.NEVER if calls < FEW_CALLS else Expected.MAY
