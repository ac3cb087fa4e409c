"""The rule for directories that are looked up though they are known."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.directories_again import DirectoriesAgain
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.directories_again import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import clock
from tests.diagnosis.material import nothing, seen_by
from tests.diagnosis.mounts import CLIENT, SERVER, mounted, verdict

AGAIN = Spared(100, 0.9, 0.1, (3, 5))
FOUND = DirectoriesAgain(CLIENT, SERVER, 1000, AGAIN, 7, ("modules", "modules/a"), 60, 10, 20)


def test_a_tenth_of_the_calls_is_told_and_claimed() -> None:
    found = nothing(directories_again=(FOUND,), time_budget=clock(unstable=1.0))
    (seen,) = seen_by(RULE, found)
    assert (seen.severity, seen.confidence) == ("problem", "likely")
    assert seen.seen == (
        "100 of 1\u2009000 calls are LOOKUPs of 7 directories that the client had found or made "
        "itself less than 29.5 s before, and that nobody else had changed; modules alone was "
        "looked up 60 times."
    )
    assert seen.claims == (Claim("unstable", 0.9), Claim("client", 0.1))
    assert (seen.calls, seen.frames, seen.about) == (100, (3, 5), (CLIENT, SERVER))


@pytest.mark.parametrize(
    "change",
    [
        {"calls": 1001},
        {"again": replace(AGAIN, calls=49), "calls": 100, "files": 0},
        {"files": 11},
        {"entered": 19},
    ],
)
def test_a_little_less_is_not(change: dict[str, object]) -> None:
    pair = replace(FOUND, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(directories_again=(pair,))) == []


def test_a_client_that_keeps_no_names_is_another_rule() -> None:
    none = verdict("lookupcache=none")
    assert seen_by(RULE, mounted(none, directories_again=(FOUND,))) == []
    other = replace(FOUND, client="10.0.0.9")
    assert len(seen_by(RULE, mounted(none, directories_again=(other,)))) == 1
