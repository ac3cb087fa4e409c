"""Costs: a second is booked once, rules of one topic become one finding, gravest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.diagnosis.finding import SEVERITIES, Claim, Finding, Observed, Rule, Severity
from pcapnfs.diagnosis.settle import settle
from pcapnfs.record import replace

BUDGET = {"stable": 6.0, "unstable": 3.0, "client": 1.0}


def rule(name: str, *, topic: str | None = None, general: bool = False) -> Rule:
    return Rule(name, name, "a test", lambda _material, _values: (), topic=topic, general=general)


def seen(
    *claims: tuple[str, float],
    severity: Severity = "warning",
    about: tuple[str, ...] = (),
    frames: tuple[int, ...] = (),
    calls: int | None = None,
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
        calls=calls,
    )


def costs(findings: tuple[Finding, ...]) -> dict[str, float | None]:
    return {finding.id: finding.cost_s for finding in findings}


def test_time_claimed_twice_goes_to_the_costlier_one() -> None:
    found = settle(
        [(rule("small"), seen(("stable", 2.0))), (rule("large"), seen(("stable", 5.0)))], BUDGET
    )
    assert costs(found) == {"large": 5.0, "small": 1.0}
    assert [finding.saving_s for finding in found] == [5.0, 2.0]
    assert [finding.cost_share for finding in found] == [0.5, 0.1]


def test_what_is_left_of_a_cost_tells_which_of_one_severity_comes_first() -> None:
    """Else a row of 1.8 % stands above one of 62.5 % that has claimed the same time."""
    found = settle(
        [
            (rule("general", general=True), seen(("stable", 5.5))),
            (rule("cause"), seen(("stable", 5.0))),
            (rule("all of it", general=True), seen(("stable", 4.0))),
            (rule("grave"), seen(("unstable", 0.1), severity="problem")),
        ],
        BUDGET,
    )
    # Of what is all counted already, what would be saved alone.
    assert list(costs(found).items()) == [
        ("grave", 0.1),
        ("cause", 5.0),
        ("general", 1.0),
        ("all of it", 0.0),
    ]


def test_of_two_of_which_nothing_is_left_the_one_that_would_save_more_comes_first() -> None:
    found = settle(
        [
            (rule("general", general=True), seen(("stable", 5.0))),
            (rule("small"), seen(("stable", 2.0))),
            (rule("all"), seen(("stable", 6.0))),
        ],
        BUDGET,
    )
    assert [(each.id, each.cost_s, each.saving_s) for each in found] == [
        ("all", 6.0, 6.0),
        ("general", 0.0, 5.0),
        ("small", 0.0, 2.0),
    ]


def test_what_no_call_was_under_way_for_is_part_of_a_cost() -> None:
    found = settle(
        [
            (rule("large"), seen(("unstable", 2.0), ("client", 0.75))),
            (rule("small"), seen(("unstable", 0.5), ("client", 0.75))),
            (rule("calls"), seen(("stable", 0.5))),
        ],
        BUDGET,
    )
    assert {each.id: (each.cost_s, each.cost_idle_s) for each in found} == {
        "large": (2.75, 0.75),
        "small": (0.75, 0.25),
        "calls": (0.5, 0.0),
    }


def test_a_general_rule_claims_what_particular_ones_left() -> None:
    found = settle(
        [
            (rule("general", general=True), seen(("stable", 6.0))),
            (rule("particular"), seen(("stable", 1.0))),
        ],
        BUDGET,
    )
    assert costs(found) == {"general": 5.0, "particular": 1.0}


def test_what_is_told_first_is_told_with_all_that_mending_it_brings() -> None:
    """A note on the same calls has what graver findings left, however much it costs."""
    found = settle(
        [
            (rule("note"), seen(("unstable", 3.0), severity="note")),
            (rule("problem"), seen(("unstable", 2.0), severity="problem")),
            (rule("warning"), seen(("unstable", 2.5))),
        ],
        BUDGET,
    )
    assert costs(found) == {"problem": 2.0, "warning": 1.0, "note": 0.0}
    # A general one has what is left even so.
    found = settle(
        [
            (rule("general", general=True), seen(("stable", 6.0), severity="problem")),
            (rule("particular"), seen(("stable", 1.0), severity="note")),
        ],
        BUDGET,
    )
    assert costs(found) == {"general": 5.0, "particular": 1.0}


def test_no_claim_is_larger_than_its_row_however_it_is_split() -> None:
    (found,) = settle([(rule("a"), seen(("unstable", 2.0), ("unstable", 9.0)))], BUDGET)
    assert (found.cost_s, found.saving_s) == (3.0, 3.0)


def test_a_finding_without_claim_costs_nothing_known() -> None:
    (found,) = settle([(rule("a"), seen())], BUDGET)
    assert (found.cost_s, found.cost_share, found.saving_s) == (None, None, None)


@pytest.mark.parametrize(("claimed_s", "row_s"), [(0.0, 6.0), (1.0, 0.0), (-1.0, 6.0)])
def test_what_takes_no_time_costs_nothing_known(claimed_s: float, row_s: float) -> None:
    """No 0 s and 0 %: clients that were told to wait were there again at once."""
    (found,) = settle([(rule("a"), seen(("stable", claimed_s)))], {"stable": row_s})
    assert (found.cost_s, found.cost_share, found.saving_s) == (None, None, None)


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


def test_what_is_alike_of_several_clients_is_one_finding_with_their_costs() -> None:
    each = [
        (
            rule("small"),
            seen(
                ("unstable", seconds),
                about=(f"10.0.0.{host}", "10.0.0.1"),
                frames=(host, 100 + host),
                calls=10 * host,
                severity="note",
            ),
        )
        for host, seconds in ((2, 0.01), (3, 0.5), (4, 0.02), (5, 0.03))
    ]
    (found,) = settle(each, BUDGET)
    assert found.about == ("10.0.0.3", "10.0.0.1")
    assert [subject.about[0] for subject in found.alike] == [
        "10.0.0.3", "10.0.0.5", "10.0.0.4", "10.0.0.2",
    ]  # fmt: skip
    assert [subject.calls for subject in found.alike] == [30, 50, 40, 20]
    assert found.cost_s == pytest.approx(0.56)
    assert found.saving_s == pytest.approx(0.56)
    assert found.frames == (3, 5, 4, 2, 103)
    assert found.evidence == (
        "Alike for 4 clients (10.0.0.3, 10.0.0.5, 10.0.0.4 and 1 more); 140 calls in all; "
        "10.0 ms to 500 ms each. 10.0.0.3, the first of them: It was seen."
    )
    assert found.data == "4 clients; of the first: 10 calls"


def test_another_cause_is_another_finding() -> None:
    one, other = ("10.0.0.2", "10.0.0.1"), ("10.0.0.3", "10.0.0.1")
    mine = seen(("stable", 1.0), about=one)
    for change in ({"title": "actimeo=0"}, {"confidence": "possible"}, {"why": "It is another."}):
        theirs = replace(seen(("stable", 2.0), about=other), **change)  # type: ignore[arg-type]
        found = settle([(rule("a"), mine), (rule("a"), theirs)], BUDGET)
        assert [(finding.about, finding.alike) for finding in found] == [(other, ()), (one, ())]


def test_together_they_cost_no_more_than_a_row_holds() -> None:
    each = [(rule("a"), seen(("client", 0.4), about=(f"10.0.0.{host}",))) for host in range(2, 6)]
    (found,) = settle([*each, (rule("b"), seen(("client", 0.3)))], BUDGET)[:1]
    assert (found.cost_s, found.saving_s) == (1.0, 1.0)
    assert found.evidence.startswith(
        "Alike for 4 servers (10.0.0.2, 10.0.0.3, 10.0.0.4 and 1 more);"
    )


@pytest.mark.parametrize(
    ("at_most", "severity"), [(None, "note"), ("warning", "warning"), ("problem", "problem")]
)
def test_together_they_are_as_grave_as_their_cost(
    at_most: Severity | None, severity: Severity
) -> None:
    each = [
        (
            rule("a"),
            replace(
                seen(("stable", 0.09), about=(f"10.0.0.{host}", "10.0.0.1"), severity="note"),
                at_most=at_most,
            ),
        )
        for host in range(2, 14)
    ]
    (found,) = settle(each, BUDGET)
    assert found.severity == severity


def test_mounts_of_the_same_addresses_and_pairs_are_counted_as_such() -> None:
    mount = ("10.0.0.2", "10.0.0.1")
    (found,) = settle([(rule("a"), seen(about=mount))] * 2, BUDGET)
    assert found.evidence.startswith(
        "Alike for 2 mounts of the same addresses (10.0.0.2 → 10.0.0.1)."
    )
    (found,) = settle(
        [(rule("a"), seen(about=mount)), (rule("a"), seen(about=("10.0.0.3", "10.0.0.4")))], BUDGET
    )
    assert found.evidence.startswith(
        "Alike for 2 pairs of client and server (10.0.0.2 → 10.0.0.1, 10.0.0.3 → 10.0.0.4)."
    )


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
            st.sampled_from([(), ("a", "s"), ("b", "s"), ("b", "t")]),
        ),
        max_size=12,
    )
)
def test_costs_never_exceed_the_budget(
    drawn: list[tuple[list[tuple[str, float]], bool, str | None, Severity, tuple[str, ...]]],
) -> None:
    observed = [
        (
            rule(f"r{place // 4}", topic=topic, general=general),
            seen(*claims, severity=severity, about=about),
        )
        for place, (claims, general, topic, severity, about) in enumerate(drawn)
    ]
    found = settle(observed, BUDGET)
    booked = [finding.cost_s for finding in found if finding.cost_s is not None]
    assert sum(booked) <= sum(BUDGET.values()) + 1e-9
    assert all(cost >= 0 for cost in booked)
    for finding in found:
        if finding.cost_s is not None and finding.saving_s is not None:
            assert finding.cost_s <= finding.saving_s + 1e-12
    names = {finding.id for finding in found} | {name for f in found for name in f.also}
    assert names == {each.id for each, _ in observed}
