"""The rule for sessions whose slots are all taken."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.caps import Slots
from pcapnfs.diagnosis.rules.session_slots import RULE
from pcapnfs.record import replace
from tests.diagnosis.limits import SLOTS, limited
from tests.diagnosis.material import seen_by


def test_a_tenth_of_the_time_is_much() -> None:
    (seen,) = seen_by(RULE, limited(SLOTS))
    assert seen.severity == "warning"
    assert seen.seen == (
        "The server grants 64 slots, and for 10.0 % of the 5.00 s with calls under way all of them "
        "were taken."
    )


@pytest.mark.parametrize(
    "session",
    [
        replace(SLOTS, full_s=0.49),
        replace(SLOTS, calls=99),
        replace(SLOTS, full_s=0.0, busy_s=0.0),
    ],
)
def test_a_little_less_is_not(session: Slots) -> None:
    assert seen_by(RULE, limited(session)) == []


def test_the_user_may_think_otherwise() -> None:
    assert seen_by(RULE, limited(SLOTS), "session_slots.share=0.2") == []


def test_slots_that_were_taken_back_are_asked_for_at_the_server() -> None:
    (seen,) = seen_by(RULE, limited(replace(SLOTS, limit=4, lowered_from=64)))
    assert seen.seen.startswith("The server wants no more than 4 slots used, of 64 that it granted")
    assert [each.action[:32] for each in seen.advice] == ["Find out why the server takes sl"]


def test_who_asks_for_more_than_is_granted_is_not_told_to_ask() -> None:
    (seen,) = seen_by(RULE, limited(SLOTS))
    assert "raise max_session_slots" in seen.advice[1].action
    (seen,) = seen_by(RULE, limited(replace(SLOTS, limit=30)))
    assert "asks for 64 slots, more than are granted" in seen.advice[1].action
