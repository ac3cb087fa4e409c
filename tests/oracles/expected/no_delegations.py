"""Whether files were opened again without need: the kernel counts OPENs, but not of which files."""

from __future__ import annotations

from pcapnfs.diagnosis.rules.no_delegations import LEAST
from tests.oracles.corpus import Capture
from tests.oracles.expected import Expected
from tests.oracles.kernel import operations


def expected(capture: Capture) -> Expected:
    """By the OPENs and CLOSEs that the kernel counted: what is told is a part of them."""
    counted = [operations(truth) for truth in capture.truths()]
    calls = sum(each[op] for each in counted for op in ("OPEN", "OPEN_NOATTR", "CLOSE"))
    return Expected.NEVER if calls < LEAST.value else Expected.MAY
