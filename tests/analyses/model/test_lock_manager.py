"""Calls of the lock manager: no RPCs of a file, but round trips that go with the network."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.comparison.waterfall import waterfall
from pcapnfs.trace import Trace
from tests.analyses.model.runs import FILES, connection, ends, inputs, objects, run
from tests.unit.rows import MILLISECOND, START_NS, Row, file, meta, trace_of

NLM = {"program": 100021, "version": 4, "protocol": "nlm4"}


def locking(rtt_ms: float = 1) -> list[Row]:
    """Files one after the other: LOCK, LOOKUP, UNLOCK, and two stable calls; 2 ms between calls."""
    rows: list[Row] = []
    now = START_NS
    for row in run(small=("LOCK", "LOOKUP", "UNLOCK")):
        lasts = int(str(row["srt"])) + int((rtt_ms - 1) * MILLISECOND)
        end = now + lasts
        times = {"call_first_time": now, "call_time": now, "reply_first_time": end}
        times |= {"reply_time": end, "srt": lasts}
        rows.append({**row, **times, **(NLM if row["op"] in ("LOCK", "UNLOCK") else {})})
        now = end + 2 * MILLISECOND
    return rows


def trace(rtt_ms: float = 1) -> Trace:
    path = connection(0.8 + rtt_ms - 1, 0.001)
    return trace_of(files=objects(), calls=locking(rtt_ms), connections=[path])


def given(found: Model) -> float:
    return next(each.forecast_s for each in found.what_if if each.change == "given")


def test_they_are_none_of_a_file_s_rpcs_but_take_round_trips() -> None:
    with trace() as locked:
        found = model(locked)
    assert inputs(found)["rpcs_per_file"] == (3, "counted")
    assert (found.calls, found.lock_calls) == (3 * FILES, 2 * FILES)
    assert found.predicted_s == pytest.approx(FILES * (3 * 0.001 + 2 * 0.005))
    assert found.locks_s == pytest.approx(2 * FILES * 0.001)
    assert found.other_s == pytest.approx(found.locks_s)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.verdict is not None
    causes = {each.cause: each.time_s for each in found.verdict.causes}
    assert causes["round_trips"] == pytest.approx(5 * FILES * 0.001)
    assert causes["server"] == pytest.approx(0)
    with trace(21) as locked:
        far = model(locked).verdict
    assert far is not None
    assert f"{5 * FILES} calls at a round trip" in far.sentence


@pytest.mark.parametrize(("now_ms", "then_ms"), [(1, 21), (21, 1)])
def test_a_forecast_with_another_network_is_what_it_then_takes(now_ms: int, then_ms: int) -> None:
    with trace(now_ms) as before, trace(then_ms) as after:
        found = model(before, Overrides(rtt_s=(then_ms - 0.2) / 1000))
        other = model(after)
    assert given(found) == pytest.approx(other.measured_s)
    assert found.locks_s == pytest.approx(other.locks_s)
    low, high = ends(next(each for each in found.what_if if each.change == "given"))
    assert low <= given(found) <= high


def test_a_longer_path_is_one_step_of_what_differs() -> None:
    with trace(1) as before, trace(21) as after:
        steps = {step.factor: step.change_s for step in waterfall(measure(before), measure(after))}
    assert steps["network_rtt_s"] == pytest.approx(5 * FILES * 0.020)
    assert sum(map(abs, steps.values())) == pytest.approx(steps["network_rtt_s"])


def test_so_it_is_of_each_of_several_clients() -> None:
    other = {"client": "10.0.0.3", "connection": 1}
    rows = locking()
    later = max(int(str(row["reply_time"])) for row in rows) - START_NS
    times = ("call_time", "call_first_time", "reply_time", "reply_first_time")
    rows += [
        {
            **row,
            **other,
            **{name: int(str(row[name])) + later for name in times},
            "call": len(rows) + number,
            "file": FILES + 1,
        }
        for number, row in enumerate(locking(), 1)
    ]
    paths = [connection(0.8, 0.001), {**connection(0.8, 0.001), **other}]
    names = [*objects(), file(FILES + 1, "shared")]
    with trace_of(files=names, calls=rows, connections=paths) as locked:
        found = model(locked, Overrides(rtt_s=0.0208))
    assert found.lock_calls == 4 * FILES
    for each in found.clients:
        forecasts = {scenario.change: scenario.forecast_s for scenario in each.what_if}
        assert forecasts["given"] - forecasts["measured"] == pytest.approx(5 * FILES * 0.020)


def test_of_twice_the_files_there_are_twice_as_many() -> None:
    with trace() as locked:
        found = model(locked, Overrides(files=2 * FILES))
    assert found.locks_s == pytest.approx(4 * FILES * 0.001)


def test_where_they_are_most_of_the_time_the_formula_does_not_hold_and_they_are_named() -> None:
    many = ("LOCK", "UNLOCK") * 40
    rows = [
        dict(row) | (NLM if row["op"] in many else {})
        for row in run(small=("LOOKUP", *many), persist_ms=0.1)
    ]
    ends = meta(end_ns=max(int(str(row["reply_time"])) for row in rows))
    paths = [connection(0.8, 0.001)]
    with trace_of(ends, files=objects(), calls=rows, connections=paths) as locked:
        found = model(locked)
    assert not found.formula_holds
    parts = {each.part: each.time_s for each in found.left_out}
    assert parts["locks"] == pytest.approx(80 * FILES * 0.001)
