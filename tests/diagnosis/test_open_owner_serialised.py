"""The rule for OPENs that wait for one another."""

from __future__ import annotations

import pytest

from pcapnfs.diagnosis.rules.open_owner_serialised import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by
from tests.diagnosis.waiting import OF_OWNER

HELD_UP = replace(OF_OWNER, opens=30, closes=20, handed_over=2, others_at_once=1.5, ordered_s=())


def test_opens_that_never_overlap_beside_calls_that_do_are_told() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), open_order=(HELD_UP,)))
    assert seen.severity == "note"
    assert seen.seen == (
        "None of 30 OPENs of user 1000 overlaps another, while 1.50 other calls are under way at "
        "once. They took 300 ms."
    )


@pytest.mark.parametrize(
    "change",
    [
        {"overlapping": True},
        {"opens": 29},
        {"others_at_once": 1.49},
    ],
)
def test_a_little_less_is_not(change: dict[str, float]) -> None:
    owner = replace(HELD_UP, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, replace(bound_by("client"), open_order=(owner,))) == []


def test_what_waited_for_others_has_a_cost() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), open_order=(OF_OWNER,)))
    assert seen.title == "OPENs and CLOSEs of NFSv4.0 wait for one another"
    assert "30 of 240 CLOSEs were sent at the moment" in seen.seen
    assert "one after the other 4.80 s" in seen.seen
    # A quarter of them waited, of which two programs would save half.
    assert {claim.row: claim.seconds for claim in seen.claims} == pytest.approx(
        {"stable": 0.5, "state": 0.1}
    )
    assert seen.severity == "warning"
    assert "as if two programs waited" in seen.seen


def test_the_more_programs_are_known_to_wait_the_more_it_costs() -> None:
    owner = replace(OF_OWNER, handed_over=120, between=3, most_at_once=3)
    (seen,) = seen_by(RULE, replace(bound_by("client"), open_order=(owner,)))
    assert {claim.row: claim.seconds for claim in seen.claims} == pytest.approx(
        {"stable": 3.0, "state": 0.6}
    )
    assert "3 others were opened in the median" in seen.seen
    assert "as if 4 programs waited" in seen.seen


def test_files_that_one_program_keeps_open_are_no_programs() -> None:
    """It opens the next and closes the oldest, and never has two calls under way."""
    owner = replace(OF_OWNER, handed_over=120, between=16)
    (seen,) = seen_by(RULE, replace(bound_by("client"), open_order=(owner,)))
    assert {claim.row: claim.seconds for claim in seen.claims} == pytest.approx(
        {"stable": 2.0, "state": 0.4}
    )


@pytest.mark.parametrize(
    "change", [{"handed_over": 29}, {"closes": 241}, {"overlapping": True}], ids=str
)
def test_a_few_that_came_so_show_nothing(change: dict[str, int]) -> None:
    owner = replace(OF_OWNER, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, replace(bound_by("client"), open_order=(owner,))) == []
