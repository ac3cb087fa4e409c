"""Whether the kernels counted so much of an operation that a finding about it is due."""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations, readable


def of(capture: Capture, op: str, *, least: int, share: float, edge: float) -> Expected:
    """What is expected of a rule about a share of the calls.

    Args:
        capture: The capture.
        op: The operation, as mountstats names it.
        least: Calls below which the rule has nothing to say.
        share: The share of the calls from which on it has.
        edge: How far from it the truth does not decide: of several clients' calls, and of what
            mounting takes, a capture may hold a part.
    """
    found = Expected.NEVER
    for truth in capture.truths():
        counted = operations(truth)
        part = counted[op] / max(1, counted.total())
        if counted[op] < least or part < share - edge:
            continue
        alone = len(truth["clients"]) == 1
        if part > share + edge and alone and readable(capture):
            return Expected.MUST
        found = Expected.MAY
    return found
