"""The rule for a flat number of calls at once."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.data.transfer_runs import Runs
from pcapnfs.analyses.wire.caps import Pair
from pcapnfs.analyses.wire.turns import Turns
from pcapnfs.diagnosis.finding import Observed
from pcapnfs.diagnosis.rules.concurrency_cap import RULE
from pcapnfs.record import replace
from tests.diagnosis.limits import PAIR, SLOTS, limited
from tests.diagnosis.material import seen_by
from tests.diagnosis.mounts import MOVED


def test_a_flat_top_is_told() -> None:
    (seen,) = seen_by(RULE, limited())
    assert (seen.severity, seen.confidence) == ("note", "possible")
    assert seen.seen == (
        "For 10.0 % of the 5.00 s with calls under way there were exactly 16, and never more; 8 on "
        "average, over 1 connection."
    )


def reading(in_runs: int, ahead: int) -> Observed:
    """What is seen at 16 calls at once, where so many of 100 are READs in order, or ahead."""
    reads = Runs(100, in_runs, 16384, None, spared.NONE, 0.0, ahead=ahead)
    found = replace(limited(), transfer_runs=(replace(MOVED, reads=reads),))
    (seen,) = seen_by(RULE, found)
    return seen


def test_what_is_read_ahead_of_a_file_is_limited_by_how_far() -> None:
    seen = reading(50, 25)
    first, then, _ = (advice.action for advice in seen.advice)
    assert "the limit may be how far the client reads ahead (16 times 16.0 KiB)" in first
    assert "read_ahead_kb" in first
    assert "application has that many threads" in then
    assert "A flat top is a limit: how far the client reads ahead, the threads" in seen.why


@pytest.mark.parametrize(("in_runs", "ahead"), [(49, 49), (100, 49)], ids=["few", "threads"])
def test_threads_that_read_a_file_each_are_not_told_to_read_ahead(in_runs: int, ahead: int) -> None:
    """Each has one READ under way in its file; or most calls are no READs in order at all."""
    seen = reading(in_runs, ahead)
    assert not any("read_ahead_kb" in advice.action for advice in seen.advice)
    assert "A flat top is a limit: the threads" in seen.why


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
