"""The rule for listings whose attributes may be for nothing."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.caching.spared import NONE, Spared
from pcapnfs.analyses.namespace.listing_costs import ListingCosts
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.readdirplus_unused import RULE
from pcapnfs.record import replace
from tests.diagnosis.material import nothing, seen_by

SLOW = ListingCosts(
    client="10.0.0.2",
    server="10.0.0.1",
    plain_calls=0,
    plain_versions=(),
    plain_entries=0,
    asked=NONE,
    asked_entries=0,
    followed=NONE,
    untyped=NONE,
    places=(),
    plus_calls=20,
    plus_entries=2000,
    plus_objects=1000,
    touched=50,
    plus=Spared(20, 4.01, 0.1, (5, 7)),
    plus_extra_s=4.0,
)


def test_entries_that_take_long_and_are_not_asked_for_are_told() -> None:
    (seen,) = seen_by(RULE, nothing(listing_costs=(SLOW,)))
    assert seen.seen == (
        "20 listings with attributes took 4.01 s, 2.00 ms for each of 2\u2009000 entries beyond "
        "what small calls take. Later calls were about 50 of 1\u2009000 of them."
    )
    assert seen.claims == (Claim("unstable", 4.0),)
    assert seen.confidence == "possible"


@pytest.mark.parametrize(
    "change",
    [{"touched": 51}, {"plus_extra_s": 1.9}, {"plus_entries": 199, "plus_extra_s": 1.0}],
)
def test_a_little_less_is_not(change: dict[str, float]) -> None:
    pair = replace(SLOW, **change)  # type: ignore[arg-type]
    assert seen_by(RULE, nothing(listing_costs=(pair,))) == []


def test_entries_that_came_without_attributes_took_their_share() -> None:
    """A server that leaves some out may have looked for them all the same."""
    few = replace(SLOW, plus_entries=1_000, bare_entries=1_000)
    (seen,) = seen_by(RULE, nothing(listing_costs=(few,)))
    assert "2.00 ms for each of 2\u2009000 entries beyond" in seen.seen
    most = replace(SLOW, bare_entries=2_001)
    assert seen_by(RULE, nothing(listing_costs=(most,))) == []
