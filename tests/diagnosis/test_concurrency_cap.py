"""The rule for a flat number of calls at once."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.caps import Pair
from pcapnfs.analyses.wire.turns import Turns
from pcapnfs.diagnosis.rules.concurrency_cap import RULE
from pcapnfs.record import replace
from tests.diagnosis.limits import PAIR, SLOTS, limited
from tests.diagnosis.material import seen_by


def test_a_flat_top_is_told() -> None:
    (seen,) = seen_by(RULE, limited())
    assert (seen.severity, seen.confidence) == ("note", "possible")
    assert seen.seen == (
        "For 10.0 % of the 5.00 s with calls under way there were exactly 16, and never more; 8 on "
        "average, over 1 connection."
    )


@pytest.mark.parametrize("pair", [replace(PAIR, peak=15), replace(PAIR, at_peak_s=0.49)])
def test_a_little_less_is_not(pair: Pair) -> None:
    assert seen_by(RULE, limited(pair=pair)) == []


FEW = replace(PAIR, peak=2, at_peak_s=4.8, mean=1.96, turns=Turns(50, 5, 4.0))
"""Two calls at a time, and programs that wait for them."""


def test_programs_that_wait_show_a_lower_limit() -> None:
    (seen,) = seen_by(RULE, limited(pair=FEW))
    assert (seen.severity, seen.confidence) == ("warning", "likely")
    assert seen.seen == (
        "For 96.0 % of the 5.00 s with calls under way there were exactly 2, and never more; 1.96 "
        "on average, over 1 connection. Between the answer by which a program opens or makes a "
        "file and its next call about that file, 4 others are sent (median of 50): more programs "
        "are at work, and wait for their turn."
    )
    assert "max_session_slots" not in str(seen.advice)
    (seen,) = seen_by(RULE, limited(pair=replace(FEW, sessions=True)))
    assert "max_session_slots" in seen.advice[0].action


@pytest.mark.parametrize(
    "turns",
    [None, Turns(49, 0, 6.0), Turns(50, 6, 6.0)],
    ids=["not asked", "few", "at once"],
)
def test_programs_that_go_on_at_once_do_no_more(turns: Turns | None) -> None:
    assert seen_by(RULE, limited(pair=replace(FEW, turns=turns))) == []


def test_the_slots_of_a_session_say_it_already() -> None:
    assert seen_by(RULE, limited(SLOTS)) == []
    assert seen_by(RULE, limited(SLOTS, pair=FEW)) == []
    assert seen_by(RULE, limited(replace(SLOTS, full_s=0.0)))
