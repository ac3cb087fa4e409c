"""What ranges of forecasts hold of what differs from run to run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.what_if import Base, Change, scenario
from pcapnfs.record import names, replace

COSTS = Costs(
    files=100.0, rpcs_per_file=10.0, rtt_s=0.001, syncops_per_file=2.0, persist_s=0.01,
    other_s=0.0, client_s=0.002, pauses_s=2.0, concurrency=1.0,
)  # fmt: skip
"""Calls take 3 s, the client 4."""


def resamples(of: Costs[float], spread: float = 0.0) -> Costs[NDArray[np.float64]]:
    """A thousand, of which calls take less and more by as much as is given."""
    part = np.linspace(1 - spread, 1 + spread, 1000)
    told = {name: np.full(1000, getattr(of, name)) for name in names(Costs)}
    return Costs(**told | {"rtt_s": of.rtt_s * part, "persist_s": of.persist_s * part})


def ends(base: Base, change: Change | None = None) -> tuple[float | None, float | None]:
    found = scenario("given", None, base, change or Change())
    return found.low_s, found.high_s


def test_the_clients_own_time_is_half_as_long_or_twice_and_calls_differ_a_little() -> None:
    low, high = ends(Base(COSTS, resamples(COSTS), absorbs=False))
    assert low == pytest.approx(7 - math.hypot(2, 0.45))
    assert high == pytest.approx(7 + math.hypot(4, 0.45))


def test_it_adds_up_with_what_files_tell_by_the_squares() -> None:
    low, high = ends(Base(COSTS, resamples(COSTS, spread=0.5), absorbs=False))
    assert low == pytest.approx(7 - math.hypot(2, 0.45, 0.9 * 1.5), abs=0.01)
    assert high == pytest.approx(7 + math.hypot(4, 0.45, 0.9 * 1.5), abs=0.01)


def test_it_is_that_of_the_forecast_and_not_of_the_run() -> None:
    change = Change(persist_s=0.0, client_s=0.0)
    low, high = ends(Base(COSTS, resamples(COSTS), absorbs=False), change)
    assert (low, high) == pytest.approx((0.85, 1.15))


def test_it_makes_no_range_narrower() -> None:
    none = replace(COSTS, client_s=0.0, pauses_s=0.0)
    low, high = ends(Base(none, resamples(none), absorbs=True), Change(rtt_added_s=0.009))
    assert low is not None
    assert high is not None
    assert low <= 3 + 9 - 100 * 2 * 0.009
    assert high >= 3 + 9


def test_it_needs_no_files() -> None:
    base = Base(COSTS, None, absorbs=False)
    both = (7 - math.hypot(2, 0.45), 7 + math.hypot(4, 0.45))
    assert base.range(Change(streams=1.0)) == pytest.approx(both)
    assert base.of_runs(Change()) == pytest.approx(both)


def test_what_is_given_alone_has_none() -> None:
    assert ends(Base(COSTS, None, absorbs=False, measured=False)) == (None, None)
