"""The rule for changes of one directory that wait for one another."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.directory_serialised import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.waiting import IN_DIRECTORY


def test_what_waited_costs_half_of_its_time() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), directory_order=(IN_DIRECTORY,)))
    assert seen.seen == (
        "60 of 100 changes of 1 directory (spool) were sent at the moment at which that of another "
        "file was answered, and no two overlap: each had waited. Beside 30 of them another file "
        "that is made or removed there was called for: more than one program is at it. These took "
        "3.00 s. What it costs is told as if two programs waited; with more it is more."
    )
    assert seen.claims == (Claim("stable", 1.5),)
    assert seen.severity == "problem"
    assert "directory of its own" in seen.advice[0].action
    assert (seen.frames, seen.about) == ((5, 7), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(("handed", "told"), [(30, True), (29, False)])
def test_few_are_not_told(handed: int, *, told: bool) -> None:
    pair = replace(IN_DIRECTORY, handed_over=handed)
    found = replace(bound_by("persistence"), directory_order=(pair,))
    assert bool(seen_by(RULE, found)) is told


def test_the_more_programs_are_known_to_wait_the_more_it_costs() -> None:
    pair = replace(IN_DIRECTORY, programs=6)
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), directory_order=(pair,)))
    assert seen.claims == (Claim("stable", 2.5),)
    assert "6 programs looked up names there at once" in seen.seen
    assert "as if two" not in seen.seen
