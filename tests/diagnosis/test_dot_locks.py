"""The rule for locks that are files, made and removed."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.locks.dot_locks import DotLocks
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.dot_locks import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = DotLocks(
    client="10.0.0.2",
    server="10.0.0.1",
    taken=20,
    names=1,
    most="box.lock",
    calls=100,
    time_s=(("stable", 1.9), ("unstable", 0.1)),
    pause_s=0.1,
    frames=(5, 7),
)


def test_they_are_told_and_claimed_by_row() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), dot_locks=(MANY,)))
    assert seen.seen == (
        "20 locks of 1 name were made and removed (box.lock): 5.0 calls for each, 100 ms each."
    )
    assert (seen.severity, seen.confidence) == ("problem", "likely")
    assert seen.claims == (Claim("client", 0.1), Claim("stable", 1.9), Claim("unstable", 0.1))
    assert "fcntl" in seen.advice[0].action
    assert (seen.calls, seen.frames, seen.about) == (100, (5, 7), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize("change", [{"taken": 19}, {"time_s": (("stable", 0.05),), "pause_s": 0.0}])
def test_few_or_quick_ones_are_not(change: dict[str, object]) -> None:
    pair = replace(MANY, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, replace(bound_by("client"), dot_locks=(pair,))) == []


def test_the_user_may_think_otherwise() -> None:
    found = replace(bound_by("client"), dot_locks=(replace(MANY, taken=19),))
    assert seen_by(RULE, found, "dot_locks.least=19")
