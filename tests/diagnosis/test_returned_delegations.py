"""The rule for delegations of new files that are given back at once."""

from __future__ import annotations

from pcapnfs.analyses.caching.returned_at_once import ReturnedAtOnce
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.returned_delegations import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = ReturnedAtOnce("10.0.0.2", "10.0.0.1", 50, Spared(40, 0.8, 0.1, (5, 9)))


def test_what_is_claimed_is_the_return_of_each() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), returned_at_once=(MANY,)))
    assert (seen.severity, seen.at_most) == ("warning", "warning")
    assert seen.seen == (
        "Of 50 delegations granted, 40 came with a new file and were given back at once, before a "
        "SETATTR: a DELEGRETURN of 20.0 ms each."
    )
    assert seen.claims == (Claim("unstable", 0.8), Claim("client", 0.1))
    assert (seen.frames, seen.about) == ((5, 9), ("10.0.0.2", "10.0.0.1"))


def test_where_others_may_save_more_nothing_is_said() -> None:
    """To switch delegations off would take these, too."""
    more = replace(MANY, granted=51)
    assert seen_by(RULE, replace(bound_by("client"), returned_at_once=(more,))) == []


def test_a_few_are_not_worth_a_word() -> None:
    few = replace(MANY, granted=29, returned=replace(MANY.returned, calls=29))
    assert seen_by(RULE, replace(bound_by("client"), returned_at_once=(few,))) == []
    few = replace(few, granted=30, returned=replace(MANY.returned, calls=30))
    assert len(seen_by(RULE, replace(bound_by("client"), returned_at_once=(few,)))) == 1
