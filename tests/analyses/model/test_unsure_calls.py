"""Calls that may have waited for something else than they seem to."""

from __future__ import annotations

import numpy as np
import pytest

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.resampling import resampled
from pcapnfs.analyses.forecasts.what_if import LOG_DEVICE_S, Base, Change
from pcapnfs.trace import Trace
from pcapnfs.views.estimate import lines
from pcapnfs.views.forecasts import about_what_if
from tests.analyses.model.runs import TIMES, connection, ends, objects, run, slowed
from tests.unit.rows import MILLISECOND, Row, trace_of


@pytest.mark.parametrize("lost", [False, True])
def test_calls_of_unknown_outcome_are_a_cause_of_their_own(*, lost: bool) -> None:
    """Their replies were cut, or are not there: what they took beyond a round trip, nobody knows.

    A call without reply is taken to wait until a later one is answered.
    """
    nothing = dict.fromkeys(("reply_first_time", "reply_time", "srt", "status_name"))
    calls = [
        {**row, "stability": "unknown"} | (nothing if lost else {}) if row["op"] == "CREATE"
        else row
        for row in run(stable=("CREATE",))
    ]  # fmt: skip
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.verdict is not None
    times = {each.cause: each.time_s for each in found.verdict.causes}
    assert times["server"] == pytest.approx(0, abs=1e-6)
    assert found.verdict.named[0] == "unknown"
    if not lost:
        assert times["unknown"] == pytest.approx(40 * 0.005)


def test_calls_of_unknown_outcome_may_be_stable_or_not() -> None:
    """Half of the CREATEs were cut: 20 times 5 ms may be persistence, or none of it."""
    calls = run(stable=("CREATE", "SETATTR"))
    cut = [
        {**row, "stability": "unknown"}
        if row["op"] == "CREATE" and int(str(row["file"])) % 2
        else row
        for row in calls
    ]
    with trace_of(files=objects(), calls=cut) as trace:
        found = model(trace)
    with trace_of(files=objects(), calls=calls) as trace:
        whole = {each.change: each for each in model(trace).what_if}
    assert (found.unknown_calls, found.unseen_replies) == (20, 0)
    assert found.unsure_s == pytest.approx(20 * 0.005)
    assert found.unsure
    by_name = {each.change: each for each in found.what_if}
    changed = by_name["async"]
    assert changed.forecast_s == pytest.approx(whole["async"].forecast_s + 20 * 0.005)
    assert changed.low_s == pytest.approx(whole["async"].forecast_s, rel=0.02)
    assert ends(changed)[1] >= changed.forecast_s
    fast = by_name["log_device"]
    part = 1 - LOG_DEVICE_S / 0.005
    assert fast.low_s == pytest.approx(fast.forecast_s - part * 20 * 0.005, rel=0.02)
    # Of the same storage, what they took is known.
    same = by_name["measured"]
    assert same.low_s == pytest.approx(same.forecast_s, rel=0.02)


def test_that_most_outcomes_were_cut_is_no_run_without_stable_calls() -> None:
    """No forecast with given files either: it would be one of stable calls that cost nothing."""
    calls = run(stable=("CREATE", "SETATTR"), small=("LOOKUP",))

    def cut(share: int) -> list[Row]:
        return [
            {**row, "stability": "unknown"} if number % 10 < share else row
            for number, row in enumerate({**row, "stability": "unstable"} for row in calls)
        ]

    with trace_of(files=objects(), calls=cut(5)) as trace:
        found = model(trace)
        assert (found.stable_calls, found.syncops_per_file) == (None, None)
        assert found.missing == ("outcomes",)
        assert model(trace, Overrides(syncops_per_file=0)).missing == ()
    with trace_of(files=objects(), calls=cut(4)) as trace:
        found = model(trace)
        assert (found.stable_calls, found.missing) == (0, ())


@pytest.mark.parametrize(
    ("persist_ms", "unsure_ms", "more_ms"),
    [(5, 5, 5), (5, 0, 5), (5, 20, 20), (0, 0, 10), (0.5, 4, 9.5)],
)
def test_slower_storage_may_make_calls_of_unknown_outcome_longer_as_well(
    persist_ms: float, unsure_ms: float, more_ms: float
) -> None:
    """Of 10 ms: as a stable call, or as many times as long if these waited longer than that.

    What is less than a round trip tells no such factor.
    """
    costs = Costs(
        files=20.0,
        rpcs_per_file=3.0,
        rtt_s=0.001,
        syncops_per_file=1.0,
        persist_s=persist_ms / 1000,
        other_s=unsure_ms / 1000,
        client_s=0.0,
        pauses_s=0.0,
        concurrency=1.0,
        unsure_s=unsure_ms / 1000,
        unsure_calls=1.0,
    )
    change = Change(persist_s=0.010)
    low, high = Base(costs, resamples=None, absorbs=False).range(change)
    assert low == pytest.approx(change.of(costs).forecast_s)
    assert high == pytest.approx(low + 20 * more_ms / 1000)


def test_calls_of_unknown_outcome_are_counted_by_file() -> None:
    cut = [
        {**row, "stability": "unknown"}
        if row["op"] == "CREATE" and int(str(row["file"])) % 2
        else row
        for row in run(stable=("CREATE", "SETATTR"))
    ]
    with trace_of(files=objects(), calls=cut) as trace:
        measured = measure(trace)
        found = model(trace, Overrides(persist_s=0.010))
    resamples = resampled(measured)
    assert measured.costs().unsure_calls == pytest.approx(0.5)
    assert resamples is not None
    assert np.mean(resamples.unsure_calls) == pytest.approx(0.5, abs=0.05)
    told = next(each for each in found.what_if if each.change == "given")
    assert ends(told)[1] == pytest.approx(told.forecast_s + 20 * 0.005, rel=0.02)


def test_the_same_calls_are_foretold_of_files_that_nobody_knows(trace: Trace) -> None:
    """Cut before they tell of any: a network or a disk takes as long of each of them."""
    cut = [{**row, "file": None, "undecoded": "truncated"} for row in run()]
    with trace_of(calls=cut, connections=[connection(0.8, 0.001)]) as opened:
        found = model(opened)
        slower = model(opened, Overrides(rtt_s=0.0108))
        given = model(opened, Overrides(files=80))
    assert (found.files, found.missing, found.predicted_s) == (None, ("files",), None)
    # The client's own time is in each forecast, and is told with them.
    assert found.client_s == pytest.approx(119 * 0.002)
    assert "client's own time, 238 ms in each forecast" in " ".join(about_what_if(found))
    whole = {each.change: each.forecast_s for each in model(trace).what_if}
    told = {each.change: each.forecast_s for each in found.what_if}
    # Streams are of files side by side, of which none is known.
    assert list(told) == ["measured", "async", "log_device", "rtt", "local"]
    assert told == pytest.approx({change: whole[change] for change in told})
    longer = next(each for each in slower.what_if if each.change == "given")
    assert longer.forecast_s == pytest.approx((found.measured_s or 0.0) + 120 * 0.01)
    # How many calls other files would take is not known.
    assert (given.what_if, given.client_s) == ((), None)
    said = " ".join(about_what_if(found))
    assert "of how many files these are does not matter" in said
    assert "No file is known to tell how unlike others would be" in said
    assert "Forecast: async export (risks data) 358 ms" in " ".join(lines(found))


def test_no_other_storage_is_foretold_of_calls_of_unknown_outcome() -> None:
    """Of another network it does not matter which of them were stable."""
    cut = [{**row, "stability": "unknown"} for row in run()]
    with trace_of(files=objects(), calls=cut, connections=[connection(0.8, 0.001)]) as opened:
        found = model(opened)
        slower = model(opened, Overrides(rtt_s=0.0108))
        stored = model(opened, Overrides(persist_s=0.0))
    assert found.missing == ("outcomes",)
    assert [each.change for each in found.what_if] == ["measured", "rtt", "streams"]
    assert "No forecast for other storage: of most calls" in " ".join(about_what_if(found))
    longer = next(each for each in slower.what_if if each.change == "given")
    assert longer.forecast_s == pytest.approx((found.measured_s or 0.0) + 120 * 0.01)
    assert stored.what_if == ()


def test_a_few_slow_calls_may_have_waited_for_the_storage() -> None:
    """Of 40 LOOKUPs 5 took 41 ms: that all calls take 6 ms then is their mean, or none's."""
    calls = slowed(run(persist_ms=20), *range(1, 120, 24))
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as trace:
        found = model(trace)
        given = model(trace, Overrides(persist_s=0.0, rtt_s=0.0))
    calls = run(persist_ms=20)
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as trace:
        usual = {each.change: each for each in model(trace).what_if}
    assert found.rtt_s == pytest.approx(0.006)
    assert found.usual_s == pytest.approx(0.001)
    assert found.slow_s == pytest.approx(120 * 0.005)
    assert found.slow
    by_name = {each.change: each for each in found.what_if}
    for change in ("async", "log_device", "local"):
        each = by_name[change]
        assert each.low_s == pytest.approx(usual[change].forecast_s, rel=0.05)
        assert each.forecast_s == pytest.approx(usual[change].forecast_s + 120 * 0.005, rel=0.01)
    assert given.forecast_low_s is not None
    assert given.forecast_low_s >= 0
    # Of the same storage, and of another network, they are what was measured.
    for change in ("measured", "rtt"):
        assert by_name[change].low_s == pytest.approx(by_name[change].forecast_s, rel=0.15)


def test_where_calls_take_alike_no_slow_ones_are_told(trace: Trace) -> None:
    found = model(trace)
    assert found.usual_s == pytest.approx(0.001)
    assert found.slow_s == pytest.approx(0)
    assert not found.slow


def test_where_only_a_reply_was_captured_the_client_may_have_waited_for_it() -> None:
    """Of every tenth CREATE the call was lost: its 6 ms, but for a round trip, may be stable."""
    rows = run(stable=("CREATE",))
    lost = [row for row in rows if row["op"] == "CREATE" and int(str(row["file"])) % 10 == 5]
    notes = [{"reason": "reply_without_call", "time": row["reply_time"]} for row in lost]
    kept = [row for row in rows if row not in lost]
    with trace_of(files=objects(), calls=kept, notes=notes) as trace:
        found = model(trace)
    assert (found.unknown_calls, found.unseen_replies) == (0, 4)
    # With the 2 ms before each call, which look like its time as well.
    assert found.unsure_s == pytest.approx(4 * (0.008 - 0.001))
    changed = next(each for each in found.what_if if each.change == "async")
    assert changed.low_s == pytest.approx(changed.forecast_s - 4 * 0.007, rel=0.06)


def test_what_stood_still_for_lost_segments_is_in_no_round_trip() -> None:
    """Four CREATEs and four LOOKUPs stand still for 200 ms each; eight segments were sent again."""
    late_ms, calls, shift = 200, [], 0
    for number, row in enumerate(run()):
        times = {name: int(str(row[name])) + shift for name in TIMES}
        if number % 15 == 0:
            shift += late_ms * MILLISECOND
            times |= {name: times[name] + late_ms * MILLISECOND for name in TIMES[2:]}
            times["srt"] = times["reply_time"] - times["call_time"]
        calls.append({**row, **times, "connection": 0})
    lossy = {**connection(0.8, 0.001), "connection": 0, "transport": "TCP"}
    lossy |= {"client": "10.0.0.2", "server": "10.0.0.1", "client_resent": 8}
    with trace_of(files=objects(), calls=calls, connections=[lossy]) as trace:
        found = model(trace)
    assert found.rtt_s == pytest.approx(0.001)
    assert found.persist_s == pytest.approx(0.005)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.verdict is not None
    times_s = {each.cause: each.time_s for each in found.verdict.causes}
    assert times_s["loss"] == pytest.approx(8 * 0.2)
    assert times_s["server"] == pytest.approx(0, abs=1e-9)
    assert found.verdict.named == ("loss",)


def test_what_a_longer_path_took_is_in_no_round_trip_and_no_persistence() -> None:
    """From the middle on each call takes 60 ms longer, and its path is known to."""
    more, calls, shift = 60 * MILLISECOND, [], 0
    rows = run()
    for number, row in enumerate(rows):
        times = {name: int(str(row[name])) + shift for name in TIMES}
        if number >= len(rows) // 2:
            shift += more
            times |= {name: times[name] + more for name in TIMES[2:]}
            times["srt"] = times["reply_time"] - times["call_time"]
        calls.append({**row, **times, "connection": 0})
    since = int(str(calls[len(rows) // 2]["call_first_time"]))
    longer = {
        **connection(0.8, 0.001),
        "server_slow_from": since,
        "server_slow_until": int(str(calls[-1]["reply_time"])),
        "server_slow_rtt": more + 800_000,
        "server_slow_acks": 20,
        "server_slow_turns": 0,
        "server_slow_full": 20,
        "server_slow_soon": 20,
    }
    with trace_of(files=objects(), calls=calls, connections=[longer]) as trace:
        found = model(trace)
    assert found.rtt_s == pytest.approx(0.001)
    assert found.persist_s == pytest.approx(0.005)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.verdict is not None
    times_s = {each.cause: each.time_s for each in found.verdict.causes}
    assert times_s["path"] == pytest.approx(len(rows) // 2 * 0.06)
    assert times_s["server"] == pytest.approx(0, abs=1e-9)
    assert found.verdict.named == ("path",)
