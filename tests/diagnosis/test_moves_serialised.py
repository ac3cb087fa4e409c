"""The rule for moves between directories that wait for one another."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.moves_serialised import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.waiting import OF_MOVES


def test_what_waited_costs_half_of_its_time_and_directories_are_named() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), move_order=(OF_MOVES,)))
    assert seen.seen == (
        "60 of 100 RENAMEs from one directory into another were sent at the moment at which that "
        "of another file was answered, and no two overlap: each had waited. Beside 30 of them "
        "another file that is moved was called for: more than one program is at it. These took "
        "3.00 s: tmp → new (40, 2.00 s); new → the root of the export (15, 800 ms); and 2 more "
        "pairs of directories. What it costs is told as if two programs waited; with more it is "
        "more."
    )
    assert seen.claims == (Claim("stable", 1.5),)
    assert seen.severity == "problem"
    assert "under a temporary name" in seen.advice[0].action
    assert (seen.frames, seen.about) == ((5, 7), ("10.0.0.2", "10.0.0.1"))


@pytest.mark.parametrize(("handed", "told"), [(30, True), (29, False)])
def test_few_are_not_told(handed: int, *, told: bool) -> None:
    pair = replace(OF_MOVES, handed_over=handed)
    found = replace(bound_by("persistence"), move_order=(pair,))
    assert bool(seen_by(RULE, found)) is told


def test_where_all_pairs_are_named_none_are_counted() -> None:
    pair = replace(OF_MOVES, pairs=2)
    (seen,) = seen_by(RULE, replace(bound_by("persistence"), move_order=(pair,)))
    assert "(15, 800 ms). What it costs" in seen.seen
