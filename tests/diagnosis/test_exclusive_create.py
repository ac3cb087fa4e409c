"""The rule for exclusive creates."""

from __future__ import annotations

from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace.exclusive_creates import ExclusiveCreates
from pcapnfs.diagnosis.finding import Claim
from pcapnfs.diagnosis.rules.exclusive_create import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by
from tests.diagnosis.material import seen_by

MANY = ExclusiveCreates("10.0.0.2", "10.0.0.1", 40, 0, 50, Spared(30, 0.6, 0.1, (5, 9)))


def test_the_second_call_for_each_file_is_claimed() -> None:
    (seen,) = seen_by(RULE, replace(bound_by("client"), exclusive_creates=(MANY,)))
    assert seen.severity == "warning"
    assert seen.seen == (
        "40 exclusive creates of 50 creates; 30 were followed by a SETATTR of their own, 20.0 ms "
        "each."
    )
    assert seen.claims == (Claim("stable", 0.6), Claim("client", 0.1))
    # What is advised leaves files half new when it is interrupted.
    assert "stays so when the program is interrupted" in (seen.advice[0].risk or "")


def test_another_version_is_advised_only_where_it_may_help() -> None:
    def advice(newer: int) -> list[str]:
        pair = replace(MANY, with_attributes=newer)
        (seen,) = seen_by(RULE, replace(bound_by("client"), exclusive_creates=(pair,)))
        assert ("sets the mode at once" in seen.why) is (newer > 0)
        return [each.action for each in seen.advice]

    assert ["vers=4.1" in each for each in advice(0)] == [False, True]
    assert ["vers=4.1" in each for each in advice(39)] == [False, True]
    assert ["vers=4.1" in each for each in advice(40)] == [False]


def test_a_few_are_not_worth_a_word() -> None:
    few = replace(MANY, followed=replace(MANY.followed, calls=29))
    assert seen_by(RULE, replace(bound_by("client"), exclusive_creates=(few,))) == []
