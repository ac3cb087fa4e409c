"""How far the model's forecasts may be off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pcapnfs.analyses.forecasts import resampling, what_if
from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.measurement import Sums
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.resampling import (
    GROUPS,
    grouped,
    holdout_error,
    interval,
    resampled,
    single_s,
)
from pcapnfs.analyses.forecasts.what_if import STREAMS
from pcapnfs.comparison.waterfall import BLOCKS
from pcapnfs.record import names, replace
from pcapnfs.trace import Trace
from tests.analyses.model.runs import TIMES, connection, ends, objects, run
from tests.unit.rows import MILLISECOND, Row, meta, trace_of


def test_a_range_of_few_files_holds_what_differs_from_run_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of fewer than 10 files nothing shows how unlike others are; that needs no files."""
    monkeypatch.setattr(what_if, "CALLS_PART", 0.15)
    calls = [{**row, "file": place % 9 + 1} for place, row in enumerate(run(20))]
    with trace_of(files=objects(9), calls=calls, connections=[connection(0.8, 0.001)]) as opened:
        found = model(opened)
    by_name = {each.change: each for each in found.what_if}
    assert found.forecast_low_s is None
    for name in ("measured", "async", "rtt"):
        told = by_name[name].forecast_s
        part = 0.15 * (told - (found.client_s or 0.0))
        assert ends(by_name[name]) == pytest.approx((told - part, told + part))
    # One after the other, or side by side: that can be told of any.
    low, high = ends(by_name["streams"])
    assert low < by_name["streams"].forecast_s < high


def test_fewer_than_thirty_stable_calls_are_not_enough(trace: Trace) -> None:
    with trace_of(files=objects(14), calls=run(14), connections=[connection(0.8, 0.001)]) as few:
        found = model(few)
        assert found.missing == ("stable_calls",)
        assert (found.predicted_s, found.persist_s, found.forecast_s) == (None, None, None)
        # What other storage would bring is not told; what keeps the storage as it is, is.
        assert {each.change for each in found.what_if} == {"measured", "rtt", "streams"}
        assert next(iter(found.what_if)).forecast_s == pytest.approx(found.measured_s)
        # Where the time went is known all the same.
        assert found.verdict is not None
        assert found.verdict.named[0] == "persistence"
        assert "too few" in found.verdict.sentence
        slower = model(few, Overrides(rtt_s=0.0108))
        (told,) = (each for each in slower.what_if if each.change == "given")
        assert told.forecast_s == pytest.approx((found.measured_s or 0.0) + found.calls * 0.01)
        assert model(few, Overrides(syncops_per_file=3)).what_if == ()
        given = model(few, Overrides(persist_s=0.005))
        assert given.predicted_s == pytest.approx(14 * 0.013)
        assert given.missing == ()
    assert model(trace).missing == ()


def test_what_is_not_the_client_s_own_is_not_half_as_long_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a client's 10 s between calls 9 s may have been the storage's: that leaves it 1 s."""
    monkeypatch.setattr(what_if, "CLIENT_TIMES", 2.0)
    costs = Costs(
        files=1.0,
        rpcs_per_file=1.0,
        rtt_s=0.0,
        syncops_per_file=1.0,
        persist_s=1.0,
        other_s=0.0,
        client_s=10.0,
        pauses_s=0.0,
        concurrency=1.0,
        unseen_s=9.0,
    )
    base = what_if.Base(costs, resamples=None, absorbs=False)
    low, high = base.range(what_if.Change(persist_s=0.0))
    assert low == pytest.approx(0.5)
    assert high == pytest.approx(20.0)
    # Streams that share the client's time leave it as much less.
    low, high = base.range(what_if.Change(streams=STREAMS))
    assert low == pytest.approx(11.0 / STREAMS / 2.0)


def test_a_coarse_clock_widens_the_range_by_its_tick() -> None:
    """By a millisecond for each of two stable calls of 40 files, all of a round trip below."""
    with trace_of(
        meta(packets=240), files=objects(), calls=run(), connections=[connection(0.8, 0.001)]
    ) as trace:
        found = model(trace)
    assert found.clock_tick_s == pytest.approx(0.001)
    by_name = {each.change: each for each in found.what_if}
    changed, same = by_name["async"], by_name["measured"]
    assert changed.low_s == pytest.approx(changed.forecast_s - 40 * 2 * 0.001, rel=0.02)
    assert changed.high_s == pytest.approx(changed.forecast_s + 40 * 2 * 0.001, rel=0.02)
    # How long all of it took does not depend on the tick.
    assert (same.low_s, same.high_s) == pytest.approx((same.forecast_s,) * 2, rel=0.01)


def test_resamples_are_the_same_for_the_same_seed(trace: Trace) -> None:
    measured = measure(trace)
    one, same, other = (resampled(measured, seed=seed) for seed in (1, 1, 2))
    assert one is not None
    assert same is not None
    assert other is not None
    assert (one.forecast_s == same.forecast_s).all()
    assert not (one.forecast_s == other.forecast_s).all()


def test_of_very_many_files_groups_are_kept_that_say_the_same(trace: Trace) -> None:
    """Twenty thousand files, one that takes longer than all others, and two thousand directories.

    The sums of each would stay with whoever compares, beside the next capture.
    """
    units = 22_001
    random = np.random.default_rng(1)
    numbers: dict[str, Any] = {
        name: random.random(units) * (1 + np.arange(units) // 700)
        for name in names(Sums)
        if name not in ("files", "drawn")
    }
    numbers["share_s"][7_000] = 2 * sum(numbers[name].sum() for name in ("share_s", "client_s"))
    files = np.ones(units)
    files[5_000:7_000] = 0.0
    each = replace(measure(trace), sums=Sums(files=files, **numbers))
    together = replace(each, sums=grouped(each.sums))
    assert len(together.sums.files) == GROUPS + 2
    assert single_s(together.sums) == single_s(each.sums) == pytest.approx(
        numbers["share_s"][7_000] + numbers["client_s"][7_000]
    )  # fmt: skip
    assert together.costs().forecast_s == pytest.approx(each.costs().forecast_s)
    assert holdout_error(together) == pytest.approx(holdout_error(each))
    for most in (GROUPS, BLOCKS):
        found = (resampled(measured, most=most) for measured in (together, each))
        one, other = (costs.forecast_s for costs in found if costs is not None)
        assert one == pytest.approx(other)
        assert np.ptp(one) > 0


def test_a_measurement_keeps_no_sums_of_each_file(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = measure(trace)
    monkeypatch.setattr(resampling, "GROUPS", 10)
    few = measure(trace)
    assert len(few.sums.files) == 12 < len(each.sums.files)
    assert few.sums.files.sum() == each.files
    assert few.costs().forecast_s == pytest.approx(each.costs().forecast_s)


def test_the_interval_grows_with_what_files_differ() -> None:
    slow = [
        {**row, "srt": 20 * MILLISECOND, "reply_time": row["call_time"] + 20 * MILLISECOND}  # type: ignore[operator]
        if row["file"] in (3, 17, 31) and row["op"] == "CREATE"
        else row
        for row in run(persist_ms=1)
    ]
    with trace_of(files=objects(), calls=run(persist_ms=1)) as trace:
        alike = resampled(measure(trace))
    with trace_of(files=objects(), calls=slow) as trace:
        differ = measure(trace)
    found = resampled(differ)
    assert alike is not None
    assert found is not None
    narrow, wide = (np.ptp(interval(each.forecast_s)) for each in (alike, found))
    assert wide > 3 * narrow
    low, high = interval(found.forecast_s)
    assert low < differ.span_s < high
    error = holdout_error(differ)
    assert error is not None
    assert error > 0.05


def _by_turns() -> list[Row]:
    """Calls of the run, of which every second file has no stable ones."""
    return [row for row in run() if int(str(row["file"])) % 2 or row["op"] == "LOOKUP"]


@pytest.fixture(scope="module")
def uneven() -> Iterator[Trace]:
    """40 files; their stable calls take 5 to 7 ms, few small ones more than the round trip of TCP.

    Nearly all draws then have a longer round trip than the forecast, and none a shorter one.
    """
    few = [row for row in run() if row["op"] != "LOOKUP" or int(str(row["file"])) < 4]
    calls: list[Row] = []
    for place, row in enumerate(few):
        srt = int(str(row["srt"])) + (place % 7 - 3) * MILLISECOND // 3
        calls.append({**row, "srt": srt, "reply_time": int(str(row["call_time"])) + srt})
    with trace_of(files=objects(), calls=calls, connections=[connection(0.4, 0.001)]) as opened:
        yield opened


_times = st.none() | st.sampled_from([0.0, 1e-4, 0.02]) | st.floats(0, 0.1)
_numbers = st.none() | st.floats(0, 100)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    overrides=st.builds(
        Overrides,
        files=st.none() | st.integers(1, 10_000),
        rtt_s=_times,
        persist_s=_times,
        rpcs_per_file=_numbers,
        syncops_per_file=_numbers,
        streams=st.none() | st.integers(1, 64),
        client_s=_times,
    )
)
@example(Overrides(persist_s=0.0))
def test_an_interval_holds_its_forecast_whatever_is_given(
    uneven: Trace, overrides: Overrides
) -> None:
    found = model(uneven, overrides)
    assert found.forecast_s is not None
    assert found.forecast_low_s is not None
    assert found.forecast_high_s is not None
    assert found.forecast_low_s <= found.forecast_s <= found.forecast_high_s
    for each in found.what_if:
        low, high = ends(each)
        assert low <= each.forecast_s <= high, each.change


def test_files_that_come_by_turns_are_halved_by_chance() -> None:
    """As a new file and the one that it takes the place of: every second one is like no other."""
    with trace_of(files=objects(), calls=_by_turns()) as trace:
        found = model(trace)
    assert found.holdout_error is not None
    assert 0.02 < found.holdout_error < 0.4
    assert not found.unlike


def _most_of_one_file() -> tuple[list[Row], list[Row]]:
    """Files of one call each, one of which has every second call, and a long one at first."""
    calls: list[Row] = []
    for place, row in enumerate(run(80, stable=())):
        later = {name: value + 500 * MILLISECOND for name, value in row.items() if name in TIMES}  # type: ignore[operator]
        if not place:
            later = {name: later[name] for name in ("reply_time", "reply_first_time")}
            later["srt"] = row["srt"] + 500 * MILLISECOND  # type: ignore[operator]
        calls.append({**row, **later} | ({} if place % 2 else {"file": 1}))
    return calls, [each for each in objects(80) if each["file"] in {row["file"] for row in calls}]


def test_a_file_that_takes_longer_than_all_others_is_drawn_with_none() -> None:
    calls, files = _most_of_one_file()
    with trace_of(files=files, calls=calls) as trace:
        found = model(trace)
        more = model(trace, Overrides(files=410))
    assert found.files == 41
    assert found.single_s == pytest.approx(0.5 + 40 * 0.001 + 39 * 0.002)
    assert found.holdout_error == pytest.approx(0, abs=0.01)
    assert found.forecast_low_s == pytest.approx(found.measured_s, rel=0.02)
    assert found.forecast_high_s == pytest.approx(found.measured_s, rel=0.02)
    # With another number of files, its time grows as that of all others.
    assert more.forecast_s == pytest.approx(10 * (found.measured_s or 0.0), rel=0.02)
    assert more.forecast_low_s == pytest.approx(more.forecast_s, rel=0.02)
    assert more.forecast_high_s == pytest.approx(more.forecast_s, rel=0.02)
    with trace_of(files=objects(), calls=run()) as trace:
        assert model(trace).single_s is None


def test_too_few_files_have_no_interval() -> None:
    with trace_of(files=objects(9), calls=run(9, stable=("CREATE",) * 4)) as trace:
        found = model(trace)
    assert found.forecast_s is not None
    assert (found.forecast_low_s, found.forecast_high_s, found.holdout_error) == (None, None, None)
