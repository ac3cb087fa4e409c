"""The rule for questions for access times."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.access_times import AccessTimes
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.access_times import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import CLIENT, SERVER

ASKED = Spared(100, 0.9, 0.1, (3, 5))
FOUND = AccessTimes(CLIENT, SERVER, 1000, ASKED, 7, 0)


def test_a_tenth_of_the_calls_is_told_and_claimed() -> None:
    (seen,) = seen_by(RULE, nothing(access_times=(FOUND,), time_budget=clock(unstable=1.0)))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.seen == (
        "100 of 1\u2009000 calls are GETATTRs about 7 files that the client had just read: 100 ask "
        "for times, and neither for change, size, mode nor owner."
    )
    assert seen.claims == (Claim("unstable", 0.9), Claim("client", 0.1))
    assert (seen.calls, seen.frames, seen.about) == (100, (3, 5), (CLIENT, SERVER))
    assert "noatime" in seen.advice[0].action


@pytest.mark.parametrize(
    ("whole", "confidence", "kinds"),
    [
        (
            40, "likely",
            "60 ask for times, and neither for change, size, mode nor owner; 40 for what had come "
            "less than three seconds before, and had not changed.",
        ),
        (
            100, "possible",
            "100 for what had come less than three seconds before, and had not changed.",
        ),
    ],
)  # fmt: skip
def test_those_for_all_attributes_are_told_apart(whole: int, confidence: str, kinds: str) -> None:
    (seen,) = seen_by(RULE, nothing(access_times=(replace(FOUND, whole=whole),)))
    assert seen.seen.endswith(f"had just read: {kinds}")
    assert seen.confidence == confidence


def test_few_are_told_where_they_cost_much() -> None:
    found = nothing(access_times=(replace(FOUND, calls=1001),), time_budget=clock(unstable=9.0))
    assert len(seen_by(RULE, found)) == 1


@pytest.mark.parametrize(
    "change",
    [{"calls": 1001, "asked": replace(ASKED, time_s=0.1)}, {"asked": replace(ASKED, calls=49)}],
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(FOUND, **({"calls": 100} | change))  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(access_times=(pair,))) == []
