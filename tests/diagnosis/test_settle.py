"""Costs: a second is booked once, rules of one topic become one finding, gravest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.diagnosis.finding import SEVERITIES, Claim, Finding, Observed, Rule, Severity
from pcapnfs.diagnosis.settle import settle

BUDGET = {"stable": 6.0, "unstable": 3.0, "client": 1.0}


def rule(name: str, *, topic: str | None = None, general: bool = False) -> Rule:
    return Rule(name, name, "a test", lambda _material, _values: (), topic=topic, general=general)


def seen(
    *claims: tuple[str, float],
    severity: Severity = "warning",
    about: tuple[str, ...] = (),
    frames: tuple[int, ...] = (),
) -> Observed:
    return Observed(
        severity=severity,
        title="Something",
        seen="It was seen.",
        why="It matters.",
        advice=(),
        confidence="certain",
        data="10 calls",
        frames=frames,
        claims=tuple(Claim(row, seconds) for row, seconds in claims),
        about=about,
    )


def costs(findings: tuple[Finding, ...]) -> dict[str, float | None]:
    return {finding.id: finding.cost_s for finding in findings}


def test_time_claimed_twice_goes_to_the_costlier_one() -> None:
    found = settle(
        [(rule("small"), seen(("stable", 2.0))), (rule("large"), seen(("stable", 5.0)))], BUDGET
    )
    assert costs(found) == {"large": 5.0, "small": 1.0}
    assert [finding.alone_s for finding in found] == [5.0, 2.0]
    assert [finding.cost_share for finding in found] == [0.5, 0.1]


def test_a_general_rule_claims_what_particular_ones_left() -> None:
    found = settle(
        [
            (rule("general", general=True), seen(("stable", 6.0))),
            (rule("particular"), seen(("stable", 1.0))),
        ],
        BUDGET,
    )
    assert costs(found) == {"general": 5.0, "particular": 1.0}


def test_no_claim_is_larger_than_its_row_however_it_is_split() -> None:
    (found,) = settle([(rule("a"), seen(("unstable", 2.0), ("unstable", 9.0)))], BUDGET)
    assert (found.cost_s, found.alone_s) == (3.0, 3.0)


def test_a_finding_without_claim_costs_nothing_known() -> None:
    (found,) = settle([(rule("a"), seen())], BUDGET)
    assert (found.cost_s, found.cost_share, found.alone_s) == (None, None, None)


def test_an_empty_budget_has_no_shares() -> None:
    (found,) = settle([(rule("a"), seen(("stable", 1.0)))], {"stable": 0.0})
    assert (found.cost_s, found.cost_share) == (0.0, None)


def test_a_row_that_the_budget_lacks_is_a_fault_of_the_rule() -> None:
    with pytest.raises(KeyError):
        settle([(rule("a"), seen(("stabel", 1.0)))], BUDGET)


def test_rules_of_one_topic_about_one_subject_are_merged_into_the_costliest() -> None:
    pair = ("10.0.0.2", "10.0.0.1")
    found = settle(
        [
            (rule("storm", topic="attributes"), seen(("unstable", 1.0), about=pair)),
            (rule("noac", topic="attributes"), seen(("unstable", 2.0), about=pair)),
            (rule("noac", topic="attributes"), seen(("unstable", 0.5), about=("10.0.0.3",))),
            (rule("other"), seen(("unstable", 0.1), about=pair)),
        ],
        BUDGET,
    )
    assert [(finding.id, finding.also, finding.about) for finding in found] == [
        ("noac", ("storm",), pair),
        ("noac", (), ("10.0.0.3",)),
        ("other", (), pair),
    ]


def test_the_gravest_comes_first_whatever_it_costs() -> None:
    found = settle(
        [
            (rule("note"), seen(("stable", 3.0), severity="note")),
            (rule("problem"), seen(severity="problem")),
            (rule("cheap"), seen(("client", 0.1))),
            (rule("dear"), seen(("client", 0.2))),
        ],
        BUDGET,
    )
    assert [finding.id for finding in found] == ["problem", "dear", "cheap", "note"]


def test_the_filter_shows_the_example_frames() -> None:
    (found,) = settle([(rule("a"), seen(frames=(9, 7, 7, 8, 20, 21, 30)))], BUDGET)
    assert found.frames == (9, 7, 8, 20, 21)
    assert found.display_filter == "frame.number in {7..9, 20..21}"


CLAIMS = st.lists(st.tuples(st.sampled_from(sorted(BUDGET)), st.floats(-1.0, 20.0)), max_size=4)


@given(
    st.lists(
        st.tuples(
            CLAIMS,
            st.booleans(),
            st.sampled_from([None, "x", "y"]),
            st.sampled_from(SEVERITIES),
        ),
        max_size=12,
    )
)
def test_costs_never_exceed_the_budget(
    drawn: list[tuple[list[tuple[str, float]], bool, str | None, Severity]],
) -> None:
    observed = [
        (rule(f"r{place}", topic=topic, general=general), seen(*claims, severity=severity))
        for place, (claims, general, topic, severity) in enumerate(drawn)
    ]
    found = settle(observed, BUDGET)
    booked = [finding.cost_s for finding in found if finding.cost_s is not None]
    assert sum(booked) <= sum(BUDGET.values()) + 1e-9
    assert all(cost >= 0 for cost in booked)
    for finding in found:
        if finding.cost_s is not None and finding.alone_s is not None:
            assert finding.cost_s <= finding.alone_s + 1e-12
    names = {finding.id for finding in found} | {name for f in found for name in f.also}
    assert names == {each.id for each, _ in observed}
