"""Whether programs locked all the time: of NFSv4 the kernel counts these calls.

Those beside NFSv3 are of another program, which mountstats do not have; the steps tell who locks.
"""

from __future__ import annotations

from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.expected.lock_contention import LOCKS
from tests.oracles.kernel import operations

OPS = ("LOCK", "LOCKT", "LOCKU")
"""What mountstats name them."""


def expected(capture: Capture) -> Expected:
    """Only where steps lock, or the kernel counted as many as the rule asks for."""
    truths = capture.truths()
    if any(LOCKS.search(step.get("command", "")) for truth in truths for step in truth["steps"]):
        return Expected.MAY
    counted = [sum(operations(truth)[op] for op in OPS) for truth in truths]
    return Expected.MAY if max(counted, default=0) >= 50 else Expected.NEVER
