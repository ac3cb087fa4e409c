"""The rule for a flat number of calls at once."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.caps import Pair
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


def test_the_slots_of_a_session_say_it_already() -> None:
    assert seen_by(RULE, limited(SLOTS)) == []
    assert seen_by(RULE, limited(replace(SLOTS, full_s=0.0)))
