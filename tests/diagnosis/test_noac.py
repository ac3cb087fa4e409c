"""The rule for noac: no attributes, and data written through."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.noac import RULE
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import THROUGH, mounted, verdict

NOAC = verdict("noac", "actimeo=0,sync")


def test_questions_and_writes_are_claimed_together() -> None:
    (seen,) = seen_by(RULE, mounted(NOAC, transfer_runs=(THROUGH,)))
    assert seen.claims == (Claim("unstable", 2.0), Claim("client", 1.0), Claim("stable", 2.8))
    assert "1\u2009000 of its 1\u2009500 calls are GETATTRs" in seen.seen
    assert "600 of 600 WRITEs that continue one another asked for stable storage" in seen.seen
    assert "in 40 files" in seen.seen


def test_it_may_be_acdirmin_0_with_sync() -> None:
    unsure = verdict("noac", "actimeo=0,sync", "acdirmin=0,sync", confidence="possible")
    (seen,) = seen_by(RULE, mounted(unsure, transfer_runs=(THROUGH,)))
    assert seen.confidence == "possible"


@pytest.mark.parametrize("options", [("noac", "actimeo=0"), ("sync",), ("acdirmin=0",)])
def test_without_writes_that_show_it_there_is_no_telling(options: tuple[str, ...]) -> None:
    assert seen_by(RULE, mounted(verdict(*options), transfer_runs=(THROUGH,))) == []
