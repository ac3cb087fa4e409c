"""The rule for stable calls that take no time."""

from __future__ import annotations

from typing import Any

import pytest

from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.diagnosis.rules.async_export import RULE
from pcapnfs.record import replace
from tests.diagnosis.bottlenecks import bound_by, of_client
from tests.diagnosis.material import seen_by
from tests.diagnosis.test_captured_at_server import THERE

FAST: dict[str, Any] = {"usual_s": 0.0003, "stable_median_s": 0.00044, "stable_calls": 30}


def test_stable_calls_as_fast_as_others_are_told_with_the_risk() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", **FAST))
    assert (seen.severity, seen.confidence) == ("note", "possible")
    assert seen.seen == (
        "The median of 30 stable calls took 440 µs, that of small calls which need no storage "
        "300 µs."
    )
    assert "lost" in seen.why


def test_where_data_waits_only_names_and_attributes_are_fast() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", **FAST, storage="data"))
    assert seen.title == "Names and attributes are changed as fast as in memory, though data waits"
    assert seen.seen.endswith("Those that store data (COMMIT, stable WRITEs) took longer.")
    assert not any("exportfs" in str(advice) for advice in seen.advice)


def test_where_data_cannot_be_seen_only_names_and_attributes_are_called_fast() -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", **FAST, storage="names"))
    assert seen.title == "Names and attributes are changed as fast as in memory"
    assert seen.seen.endswith("took longer: they may have stored data.")
    assert "user space" in seen.why


@pytest.mark.parametrize(
    "change",
    [
        {"stable_median_s": 0.00046},
        {"usual_s": 0.001, "stable_median_s": 0.00131},
        {"stable_calls": 29},
        {"usual_s": None},
        {"stable": StableCalls(shown=0.95)},
    ],
    ids=["half as long again", "0.3 ms longer", "too few", "no round trip", "some are SETACLs"],
)
def test_a_little_slower_is_a_device(change: dict[str, Any]) -> None:
    assert seen_by(RULE, bound_by("round_trips", **(FAST | change))) == []


@pytest.mark.parametrize(("network_rtt_s", "told"), [(None, True), (0.0401, True), (0.0399, False)])
def test_a_server_that_is_busy_otherwise_hides_what_it_stores(
    network_rtt_s: float | None, told: bool
) -> None:
    """A small call takes 43 ms: of a path of that length, or at the server."""
    far = FAST | {"usual_s": 0.043, "stable_median_s": 0.0431, "network_rtt_s": network_rtt_s}
    assert bool(seen_by(RULE, bound_by("round_trips", **far))) is told


def test_small_calls_that_vary_hide_what_it_stores() -> None:
    half = replace(THERE.pairs[0].server_side, scatters=True)
    trips = replace(THERE, pairs=(replace(THERE.pairs[0], server_side=half),))
    found = bound_by("round_trips", **FAST)
    assert seen_by(RULE, replace(found, round_trips=THERE))
    assert seen_by(RULE, replace(found, round_trips=trips)) == []


def test_the_user_may_think_otherwise() -> None:
    slower = bound_by("round_trips", **(FAST | {"stable_median_s": 0.00046}))
    assert seen_by(RULE, slower, "async_export.ratio=2")


def test_of_several_clients_each_is_judged_by_its_own_calls() -> None:
    # Far from the server, a call without storage takes longer than a change does nearby.
    far = of_client(2, "round_trips", **(FAST | {"usual_s": 0.02, "stable_median_s": 0.0202}))
    far = replace(far, network_rtt_s=0.0199)
    near = of_client(3, "persistence", **(FAST | {"usual_s": 0.0002, "stable_median_s": 0.002}))
    both = bound_by("round_trips", **(FAST | {"usual_s": 0.02, "stable_median_s": 0.002}))
    several = replace(both, bottleneck=replace(both.bottleneck, clients=(far, near)))
    (seen,) = seen_by(RULE, several)
    assert seen.about == ("10.0.0.2", "10.0.0.1")
    assert "took 20.2 ms, that of small calls which need no storage 20.0 ms" in seen.seen


def test_by_a_clock_of_milliseconds_nobody_knows_how_much_slower_they_are() -> None:
    fast = bound_by("round_trips", **(FAST | {"usual_s": 0.001, "stable_median_s": 0.001}))
    assert seen_by(RULE, fast)
    ticks = replace(fast, trust=replace(fast.trust, clock_tick_s=0.001))
    assert seen_by(RULE, ticks) == []


@pytest.mark.parametrize("storage", ["mixed", "mostly"])
def test_where_some_took_far_longer_only_most_are_as_fast(storage: str) -> None:
    (seen,) = seen_by(RULE, bound_by("round_trips", **FAST, storage=storage))
    assert seen.title.startswith("Most changes are answered as fast as from memory")
    assert seen.seen.endswith("Some took as long as a disk does, or longer.")
    assert any("exportfs" in str(advice) for advice in seen.advice)
