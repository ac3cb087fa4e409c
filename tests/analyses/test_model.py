"""The model's inputs, figures and changes, on traces written by hand with round numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pcapnfs.analyses.forecasts import what_if
from pcapnfs.analyses.forecasts.bottleneck import bottleneck
from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import Model, model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.resampling import holdout_error, interval, resampled
from pcapnfs.analyses.forecasts.scenarios import STREAMS
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.analyses.forecasts.what_if import LOG_DEVICE_S, Change, Scenario
from pcapnfs.errors import UsageError
from pcapnfs.trace import Trace
from pcapnfs.views.document import to_json
from pcapnfs.views.estimate import remarks
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, operation, trace_of

FILES = 40
RTT_MS, PERSIST_MS, THINK_MS = 1, 5, 2


@pytest.fixture(autouse=True)
def _alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges without what differs from run to run, so that what else is in them can be told."""
    monkeypatch.setattr(what_if, "CLIENT_TIMES", 1.0)
    monkeypatch.setattr(what_if, "CALLS_PART", 0.0)


def run(
    files: int = FILES,
    *,
    stable: tuple[str, ...] = ("CREATE", "SETATTR"),
    small: tuple[str, ...] = ("LOOKUP",),
    persist_ms: float = PERSIST_MS,
    pause_ms: float = 0,
    **columns: object,
) -> list[Row]:
    """Calls of files one after the other: small ones, then stable ones, 2 ms between them."""
    rows: list[Row] = []
    now_ms = 1000.0
    for number in range(1, files + 1):
        for op in (*small, *stable):
            lasts = RTT_MS + (persist_ms if op in stable else 0)
            sent = START_NS + int(now_ms * MILLISECOND)
            end = sent + int(lasts * MILLISECOND)
            rows.append(
                call(
                    len(rows) + 1,
                    op,
                    lasts,
                    file=number,
                    stability="stable" if op in stable else "unstable",
                    **{
                        "call_time": sent,
                        "call_first_time": sent,
                        "reply_first_time": end,
                        "reply_time": end,
                        "srt": end - sent,
                    }
                    | columns,
                )
            )
            now_ms += lasts + THINK_MS
        now_ms += pause_ms
    return rows


def objects(files: int = FILES) -> list[Row]:
    return [file(number, f"f{number}") for number in range(1, files + 1)]


def connection(syn_ms: float | None, ack_ms: float | None) -> Row:
    """A connection whose handshake shows both halves of the round trip."""
    ns = [None if each is None else int(each * MILLISECOND) for each in (syn_ms, ack_ms)]
    return {
        "connection": 0,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "handshake": syn_ms is not None,
        "syn_rtt": ns[0],
        "ack_rtt": ns[1],
    }


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    """40 files, each with a LOOKUP of 1 ms and two stable calls of 6 ms."""
    calls = run()
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as opened:
        yield opened


def ends(found: Scenario) -> tuple[float, float]:
    """The range of a forecast that has one."""
    assert found.low_s is not None
    assert found.high_s is not None
    return found.low_s, found.high_s


def inputs(found: Model) -> dict[str, tuple[Any, str]]:
    return {each.name: (each.value, each.source) for each in found.inputs}


def test_every_input_is_measured_and_says_where_it_is_from(trace: Trace) -> None:
    found = model(trace)
    told = inputs(found)
    assert told["files"] == (40, "counted")
    assert told["rpcs_per_file"] == (3, "counted")
    assert told["syncops_per_file"] == (2, "counted")
    assert told["rtt_s"] == (pytest.approx(0.001), "calls")
    assert told["persist_s"] == (pytest.approx(0.005), "calls")
    assert told["concurrency"] == (pytest.approx(1), "calls")
    assert told["client_s"] == (pytest.approx(0.002 * 119 / 120), "calls")
    assert found.network_rtt_s == pytest.approx(0.0008)
    assert found.vantage == "client"
    assert [(each.op, each.calls) for each in found.persist_by_op] == [
        ("CREATE", 40),
        ("SETATTR", 40),
    ]
    assert all(each.persist_s == pytest.approx(0.005) for each in found.persist_by_op)


def test_the_forecast_of_the_run_itself_is_what_was_measured(trace: Trace) -> None:
    found = model(trace)
    assert found.predicted_s == pytest.approx(40 * (3 * 0.001 + 2 * 0.005))
    assert found.other_s == pytest.approx(0)
    assert found.measured_s == pytest.approx(40 * 0.013 + 119 * 0.002)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.holdout_error == pytest.approx(0, abs=0.01)
    assert found.forecast_s is not None
    assert found.forecast_low_s is not None
    assert found.forecast_high_s is not None
    assert found.forecast_low_s <= found.forecast_s <= found.forecast_high_s


def test_given_values_replace_what_was_measured(trace: Trace) -> None:
    found = model(trace, Overrides(persist_s=0.0, files=80))
    assert found.predicted_s == pytest.approx(80 * 3 * 0.001)
    assert found.forecast_s == pytest.approx(80 * 3 * 0.003, rel=0.01)
    assert found.measured_s == pytest.approx(0.758)
    assert inputs(found)["persist_s"] == (0, "given")
    assert [each.change for each in found.what_if][:2] == ["measured", "given"]
    assert next(each for each in found.inputs if each.name == "persist_s").measured == (
        pytest.approx(0.005)
    )


def test_a_given_round_trip_replaces_the_networks_part_alone(trace: Trace) -> None:
    found = model(trace, Overrides(rtt_s=0.0108))
    assert found.rtt_s == pytest.approx(0.011)
    assert found.network_rtt_s == pytest.approx(0.0108)
    assert found.persist_s == pytest.approx(0.005)
    none = model(trace, Overrides(rtt_s=0.0))
    assert none.rtt_s == pytest.approx(0.0002)


def test_streams_and_client_time_are_given(trace: Trace) -> None:
    found = model(trace, Overrides(streams=4, client_s=0.001))
    assert found.forecast_s == pytest.approx(40 * 0.013 / 4 + 120 * 0.001)
    assert found.forecast_low_s == pytest.approx(40 * 0.013 / 4 + 120 * 0.001 / 4, rel=0.05)
    assert found.forecast_high_s == pytest.approx(40 * 0.013 + 120 * 0.001, rel=0.05)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (Overrides(streams=8), Overrides(streams=8, persist_s=0.0)),
        (Overrides(streams=8, persist_s=LOG_DEVICE_S), Overrides(streams=8, persist_s=0.0)),
        (Overrides(rtt_s=0.005), Overrides(rtt_s=0.005, persist_s=0.0)),
    ],
)
def test_what_was_given_and_a_change_are_one_scenario_whichever_is_given(
    trace: Trace, given: Overrides, asked: Overrides
) -> None:
    changed = {each.change: each for each in model(trace, given).what_if}["async"]
    told = {each.change: each for each in model(trace, asked).what_if}["given"]
    assert changed.forecast_s == pytest.approx(told.forecast_s)
    assert (changed.low_s, changed.high_s) == pytest.approx((told.low_s, told.high_s))


def test_less_waiting_takes_no_longer_at_most(trace: Trace) -> None:
    found = {each.change: each for each in model(trace, Overrides(streams=8)).what_if}
    ranges = [ends(found[change]) for change in ("async", "log_device", "given")]
    for ordered in zip(*ranges, strict=True):
        assert list(ordered) == sorted(set(ordered))


def test_what_would_happen_if(trace: Trace) -> None:
    by_name = {each.change: each for each in model(trace).what_if}
    assert list(by_name) == ["measured", "async", "log_device", "rtt", "streams", "local"]
    client = 119 * 0.002
    assert by_name["async"].forecast_s == pytest.approx(40 * 0.003 + client)
    assert by_name["log_device"].forecast_s == pytest.approx(
        40 * (0.003 + 2 * LOG_DEVICE_S) + client
    )
    assert by_name["rtt"].forecast_s == pytest.approx(40 * (0.013 - 3 * 0.0004) + client)
    assert by_name["rtt"].value == pytest.approx(0.0004)
    assert by_name["streams"].forecast_s == pytest.approx(40 * 0.013 / STREAMS + client)
    assert by_name["local"].forecast_s == pytest.approx(40 * 3 * 0.0002 + client)
    assert by_name["async"].factor == pytest.approx(0.758 / (0.12 + client))


@pytest.mark.parametrize(("files", "told"), [(STREAMS, True), (STREAMS - 1, False)])
def test_no_more_streams_are_foretold_than_there_are_files(files: int, told: bool) -> None:
    calls = [{**row, "file": place % files + 1} for place, row in enumerate(run())]
    with trace_of(
        files=[file(number + 1, f"f{number}") for number in range(files)],
        calls=calls,
        connections=[connection(0.8, 0.001)],
    ) as opened:
        found, more = model(opened), model(opened, Overrides(files=40))
    assert ("streams" in {each.change for each in found.what_if}) is told
    assert "streams" in {each.change for each in more.what_if}


@pytest.mark.parametrize(("streams", "told"), [(7, True), (8, False)])
def test_no_more_streams_are_foretold_where_as_many_ran(streams: int, told: bool) -> None:
    """Each begins 57 ms after the one before, so that fewer are under way on average."""
    calls: list[Row] = []
    for stream in range(streams):
        for place, row in enumerate(run()):
            times = {
                name: int(str(row[name])) + stream * 57 * MILLISECOND
                for name in row
                if name.endswith("_time")
            }
            about = 2 * stream + place % 2 + 1
            calls.append({**row, **times, "call": len(calls) + 1, "file": about})
    with trace_of(
        files=[file(number + 1, f"f{number}") for number in range(2 * streams)],
        calls=calls,
        connections=[connection(0.8, 0.001)],
    ) as opened:
        found, given = model(opened), model(opened, Overrides(streams=4))
    assert 2 < float(inputs(found)["concurrency"][0]) < STREAMS - 1
    assert ("streams" in {each.change for each in found.what_if}) is told
    assert "streams" in {each.change for each in given.what_if}


@pytest.mark.parametrize(("files", "told"), [(10, True), (9, False)])
def test_a_range_without_width_is_none(files: int, told: bool) -> None:
    """Of fewer than 10 files nothing shows how unlike others are."""
    calls = [{**row, "file": place % files + 1} for place, row in enumerate(run(20))]
    with trace_of(
        files=objects(files), calls=calls, connections=[connection(0.8, 0.001)]
    ) as opened:
        found = model(opened)
    by_name = {each.change: each for each in found.what_if}
    assert (found.forecast_low_s is not None) is told
    for name in ("measured", "async"):
        assert (by_name[name].low_s is not None) is told
        assert (by_name[name].high_s is not None) is told
    # One after the other, or side by side: that can be told of any.
    low, high = ends(by_name["streams"])
    assert low < by_name["streams"].forecast_s < high


def test_fewer_than_thirty_stable_calls_are_not_enough(trace: Trace) -> None:
    with trace_of(files=objects(14), calls=run(14), connections=[connection(0.8, 0.001)]) as few:
        found = model(few)
        assert found.missing == ("stable_calls",)
        assert (found.predicted_s, found.persist_s, found.forecast_s) == (None, None, None)
        assert found.what_if == ()
        # Where the time went is known all the same.
        assert found.verdict is not None
        assert found.verdict.named[0] == "persistence"
        assert "too few" in found.verdict.sentence
        given = model(few, Overrides(persist_s=0.005))
        assert given.predicted_s == pytest.approx(14 * 0.013)
        assert given.missing == ()
    assert model(trace).missing == ()


def test_without_stable_calls_no_persistence_is_needed() -> None:
    calls = run(stable=(), small=("LOOKUP", "GETATTR"))
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.persist_s is None
    assert found.missing == ()
    assert found.predicted_s == pytest.approx(80 * 0.001)
    assert "async" not in {each.change for each in found.what_if}
    with trace_of(files=objects(), calls=calls) as trace:
        assert model(trace, Overrides(syncops_per_file=2)).missing == ("stable_calls",)
        assert model(trace, Overrides(syncops_per_file=2, persist_s=0.001)).missing == ()


def test_few_unstable_calls_take_their_round_trip_from_tcp() -> None:
    """Eight of them: TCP's 0.8 ms, and the 0.2 ms that the server took for the fastest."""
    calls = [*run(small=())]
    begin = START_NS + 10_000 * MILLISECOND
    for number in range(8):
        sent = begin + number * 10 * MILLISECOND
        lasts = (1 if number else 1.5) * MILLISECOND
        times = {"call_time": sent, "call_first_time": sent, "reply_time": int(sent + lasts)}
        calls.append(call(1000 + number, "GETATTR", 1, **times | {"srt": int(lasts)}))
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as trace:
        found = model(trace)
    assert found.small_calls == 8
    assert found.rtt_source == "handshake"
    assert found.rtt_s == pytest.approx(0.001)
    assert found.persist_s == pytest.approx(0.005)


def test_few_unstable_calls_take_no_longer_than_they_took() -> None:
    """Of a path of 300 ms that was 3 ms long for a moment, these 297 ms are no server's."""
    calls = [*run(small=(), persist_ms=319)]
    begin = START_NS + 100_000 * MILLISECOND
    for number in range(8):
        sent, lasts = begin + number * 1000 * MILLISECOND, 300 * MILLISECOND
        times = {"call_time": sent, "call_first_time": sent, "reply_time": sent + lasts}
        calls.append(call(1000 + number, "GETATTR", 1, **times | {"srt": lasts}))
    acks = {"server_acks": 40, "server_ack_min": 3 * MILLISECOND}
    acks |= {"server_ack_rtt": 299 * MILLISECOND, "client_acks": 40}
    acks |= {"client_ack_min": 1_000, "client_ack_rtt": 20_000}
    way = {**connection(None, None), **acks}
    with trace_of(files=objects(), calls=calls, connections=[way]) as trace:
        found = model(trace)
    assert found.rtt_source == "acks"
    assert found.rtt_s == pytest.approx(0.3)
    assert found.persist_s == pytest.approx(0.02)


def test_few_unstable_calls_to_each_of_two_servers_are_few() -> None:
    """Twenty to each, one of which takes 50 ms: TCP's 0.8 ms, and 0.2 ms of the fastest."""
    calls = [*run(small=())]
    begin = START_NS + 10_000 * MILLISECOND
    for number in range(40):
        sent = begin + number * 100 * MILLISECOND
        lasts = (1 if number % 20 else 50) * MILLISECOND
        times = {"call_time": sent, "call_first_time": sent, "reply_time": int(sent + lasts)}
        where = {"server": f"10.0.0.{number // 20}", "connection": number // 20 + 1}
        calls.append(call(1000 + number, "GETATTR", 1, **times | where | {"srt": int(lasts)}))
    with trace_of(files=objects(), calls=calls, connections=[connection(0.8, 0.001)]) as trace:
        found = model(trace)
    assert found.small_calls == 40
    assert found.rtt_source == "handshake"
    assert found.rtt_s == pytest.approx(0.001)
    assert found.persist_s == pytest.approx(0.005)


def test_nothing_tells_the_round_trip() -> None:
    told = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    calls = run(small=(), stable=("CREATE",), pause_ms=600)
    with trace_of(told, files=objects(), calls=calls) as trace:
        found = model(trace)
        assert (found.rtt_s, found.rtt_source) == (None, "none")
        assert "rtt" in found.missing
        assert model(trace, Overrides(rtt_s=0.001, persist_s=0.005)).missing == ()
        # With a round trip, there are stable calls enough for persistence.
        given = model(trace, Overrides(rtt_s=0.001))
        assert given.missing == ()
        assert given.persist_s == pytest.approx(0.005)


def test_captured_at_the_server_the_network_is_added() -> None:
    """The client waited 3 ms longer for each call than the capture shows."""
    with trace_of(files=objects(), calls=run(), connections=[connection(0.001, 3)]) as trace:
        found = model(trace)
    assert found.vantage == "server"
    assert found.rtt_s == pytest.approx(0.004)
    assert found.persist_s == pytest.approx(0.005)
    assert found.network_rtt_s == pytest.approx(0.003, rel=0.01)
    # Calls come 2 ms apart: for the client the next one is sent before the reply is there.
    assert found.measured_s == pytest.approx(0.758 + 0.003)
    assert found.forecast_s == pytest.approx(found.measured_s)


def reading(files: int = FILES, moving_ms: float = 10, objects: int = 1) -> Trace:
    """READs of objects by turns, two under way, whose replies fill the link one after the other.

    Nothing else tells the round trip, as in a capture of a copy that is under way: of 20 ms that a
    READ takes, it waits 10 for the reply before, and its own is on the wire for the rest.
    """
    rows: list[Row] = []
    for number in range(1, files + 1):
        sent = START_NS + int(number * moving_ms * MILLISECOND)
        first = sent + int(moving_ms * MILLISECOND)
        end = first + int(moving_ms * MILLISECOND)
        times = {"call_first_time": sent, "call_time": sent, "reply_first_time": first}
        times |= {"reply_time": end, "srt": end - sent, "connection": 0}
        rows.append(call(number, "READ", 1, file=number % objects + 1, stability="read", **times))
    late = {"server_turns": files, "server_turn_min": 8 * MILLISECOND}
    late |= {"server_turn_rtt": 10 * MILLISECOND, "client_acks": files}
    late |= {"client_ack_min": 1_000, "client_ack_rtt": 20_000}
    return trace_of(
        files=[file(number + 1, f"large{number}") for number in range(objects)],
        calls=rows,
        connections=[{**connection(None, None), **late}],
    )


def test_a_full_link_is_no_round_trip() -> None:
    with reading() as trace:
        found = model(trace)
    assert found.rtt_source == "gaps"
    assert found.rtt_s == pytest.approx(0, abs=0.001)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.verdict is not None
    assert found.verdict.named == ("transfer",)


def test_a_bound_of_the_round_trip_is_told_as_one() -> None:
    """READs that take 1 ms each: nothing tells what of it the network takes."""
    calls = run(small=("READ",), stable=(), persist_ms=0)
    calls = [{**row, "connection": 0, "stability": "read"} for row in calls]
    late = {"server_turns": FILES, "server_turn_min": 900_000, "server_turn_rtt": 950_000}
    late |= {"client_acks": FILES, "client_ack_min": 1_000, "client_ack_rtt": 20_000}
    with trace_of(
        files=objects(), calls=calls, connections=[{**connection(None, None), **late}]
    ) as trace:
        found, bound = model(trace), bottleneck(trace)
    assert found.rtt_source == "gaps"
    assert found.verdict is not None
    assert f"{FILES} calls at a round trip of 1.00 ms at most" in found.verdict.sentence
    assert bound.network_rtt_s is None
    assert not any(part for _, part in bound.network_s)


def test_a_pause_is_counted_once_and_not_by_call() -> None:
    told = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(told, files=objects(), calls=run(pause_ms=1500)) as trace:
        found = model(trace)
        more = model(trace, Overrides(files=FILES * 10))
    assert found.pauses_s == pytest.approx(39 * 1.502)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert more.forecast_s == pytest.approx(10 * (40 * 0.013 + 80 * 0.002) + 39 * 1.502)
    assert found.verdict is not None
    assert found.verdict.named == ("client",)


def test_other_calls_take_what_they_took() -> None:
    """READs of 4 ms are neither round trips nor persistence: 3 ms of them are beyond."""
    calls = run()
    sent = START_NS + 5_000 * MILLISECOND
    for number in range(10):
        times = {
            "call_time": sent,
            "call_first_time": sent,
            "reply_first_time": sent + 3 * MILLISECOND,
            "reply_time": sent + 4 * MILLISECOND,
            "srt": 4 * MILLISECOND,
        }
        calls.append(call(1000 + number, "READ", 4, file=1, stability="read", **times))
        sent += 10 * MILLISECOND
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.other_s == pytest.approx(10 * 0.003)
    assert found.transfer_s == pytest.approx(10 * 0.001)
    assert found.forecast_s == pytest.approx(found.measured_s)


def test_the_verdict_has_of_transfer_what_the_budget_has() -> None:
    """Ten WRITEs of 9 ms come one by one, and move for 8 ms; 40 READs of 100 ms come at once."""
    calls = run()
    sent = START_NS + 5_000 * MILLISECOND
    for number in range(10):
        first = sent + 10 * number * MILLISECOND
        times = {"call_first_time": first, "call_time": first + 8 * MILLISECOND}
        times |= dict.fromkeys(("reply_first_time", "reply_time"), first + 9 * MILLISECOND)
        calls.append(call(1000 + number, "WRITE", 1, file=1, stability="unstable_write", **times))
    sent += 1_000 * MILLISECOND
    for number in range(40):
        times = dict.fromkeys(("call_first_time", "call_time"), sent)
        times |= dict.fromkeys(("reply_first_time", "reply_time"), sent + 100 * MILLISECOND)
        calls.append(call(2000 + number, "READ", 100, file=1, stability="read", **times))
    with trace_of(files=objects(), calls=calls) as trace:
        measured = measure(trace)
        told = measured_verdict(measured)
    assert told is not None
    times_s = {each.cause: each.time_s for each in told.causes}
    assert measured.transfer_s == pytest.approx(0.08)
    assert measured.moving_s == pytest.approx(0.08)
    assert times_s["transfer"] == pytest.approx(0.08)
    assert measured.concurrency > 4


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


def slowed(rows: list[Row], *numbers: int) -> list[Row]:
    """Calls of which some took 40 ms, in the 40 ms that all after them come later."""
    found: list[Row] = []
    later = 0
    for row in rows:
        late = {key: int(str(row[key])) + later for key in ("call_time", "call_first_time")}
        if row["call"] in numbers:
            later += 40 * MILLISECOND
        end = int(str(row["reply_time"])) + later
        took = {"reply_first_time": end, "reply_time": end, "srt": end - late["call_time"]}
        found.append({**row, **late, **took})
    return found


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


@pytest.mark.parametrize("persist_s", [0.0, 1e-20, 1e-17])
def test_storage_that_takes_no_time_makes_no_call_shorter(persist_s: float) -> None:
    costs = Costs(
        files=10.0,
        rpcs_per_file=3.0,
        rtt_s=0.001,
        syncops_per_file=2.0,
        persist_s=persist_s,
        other_s=0.002,
        client_s=0.0,
        pauses_s=0.0,
        concurrency=1.0,
        unsure_s=0.001,
        slow_s=0.001,
    )
    for given in (0.0, 0.0001):
        change = Change(persist_s=given)
        for case in change.extremes(costs, absorbs=False):
            assert case.forecast_s == pytest.approx(change.of(costs).forecast_s)


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
        times = {name: int(str(row[name])) + shift for name in _TIMES}
        if number % 15 == 0:
            shift += late_ms * MILLISECOND
            times |= {name: times[name] + late_ms * MILLISECOND for name in _TIMES[2:]}
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
        times = {name: int(str(row[name])) + shift for name in _TIMES}
        if number >= len(rows) // 2:
            shift += more
            times |= {name: times[name] + more for name in _TIMES[2:]}
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


@pytest.mark.parametrize(("late_ms", "shared"), [(4_000, False), (2_900, True)])
def test_streams_do_not_shorten_the_wait_for_a_path_that_was_cut(
    late_ms: int, *, shared: bool
) -> None:
    """The last CREATE stands still; what is shorter may be a loss of its own."""
    rows = run()
    last = dict(rows[-1])
    for name in _TIMES[2:]:
        last[name] = int(str(last[name])) + late_ms * MILLISECOND
    last |= {"srt": int(str(last["reply_time"])) - int(str(last["call_time"])), "tcp_resent": True}
    calls = [{**row, "connection": 0} for row in (*rows[:-1], last)]
    lossy = {**connection(0.8, 0.001), "connection": 0, "transport": "TCP"}
    lossy |= {"client": "10.0.0.2", "server": "10.0.0.1", "client_resent": 5}
    with trace_of(files=objects(), calls=calls, connections=[lossy]) as trace:
        found, given = model(trace), model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = (len(rows) - 1) * 0.002
    busy = float(found.measured_s or 0.0) - client - late_ms / 1000
    waited = late_ms / 1000 / (STREAMS if shared else 1)
    assert streams.forecast_s == pytest.approx(busy / STREAMS + waited + client)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    detail = "until TCP's retransmission timer ran out" if shared else "let nothing through"
    assert found.verdict is not None
    assert detail in found.verdict.sentence
    lost = next(each for each in given.verdict.causes if each.cause == "loss")
    assert lost.time_s == pytest.approx(waited, rel=0.01)


def refusing(status: str) -> Trace:
    """The server refuses an OPEN so, and takes it 4 s later."""
    late_ns = 4_000 * MILLISECOND
    rows = run()
    at = int(str(rows[-1]["reply_time"])) + 2 * MILLISECOND

    def opening(number: int, sent: int, status: str) -> Row:
        times = {"call_first_time": sent, "call_time": sent}
        times |= dict.fromkeys(("reply_first_time", "reply_time"), sent + MILLISECOND)
        return call(number, "OPEN", 1, file=1, status_name=status, **times)

    refused = opening(len(rows) + 1, at, status)
    taken = opening(len(rows) + 2, at + late_ns, "NFS4_OK")
    return trace_of(files=objects(), calls=[*rows, refused, taken])


def test_streams_do_not_shorten_the_wait_for_a_server_that_is_not_ready() -> None:
    """Eight streams wait as long as one."""
    with refusing("NFS4ERR_GRACE") as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = 120 * 0.002
    assert streams.forecast_s == pytest.approx(4 + (40 * 0.013 + 0.001) / STREAMS + client)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    assert given.verdict.named == ("waiting",)
    waiting = next(each for each in given.verdict.causes if each.cause == "waiting")
    assert waiting.time_s == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("streams", [None, STREAMS])
@pytest.mark.parametrize("status", ["NFS4ERR_GRACE", "NFS4ERR_DELAY"])
def test_a_local_disk_is_ready(status: str, streams: int | None) -> None:
    with refusing(status) as trace:
        found = model(trace, Overrides(streams=streams)).what_if[-1]
    assert found.change == "local"
    # 122 calls of 1 ms, and the client's own time.
    local = 0.122 / (streams or 1) + 120 * 0.002
    assert found.forecast_s == pytest.approx(local, rel=0.02)
    low, high = ends(found)
    assert low <= local <= high < 4


@pytest.mark.parametrize("status", ["NFS4ERR_DELAY", "NFS3ERR_JUKEBOX"])
def test_while_one_file_is_put_off_other_streams_go_on(status: str) -> None:
    with refusing(status) as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
    streams = next(each for each in found.what_if if each.change == "streams")
    client = 120 * 0.002
    assert streams.forecast_s == pytest.approx((4 + 40 * 0.013 + 0.001) / STREAMS + client)
    # Unless all of them need that file.
    assert ends(streams)[1] > 4
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    waiting = next(each for each in given.verdict.causes if each.cause == "waiting")
    assert waiting.time_s == pytest.approx(4 / STREAMS, rel=0.01)


def test_streams_move_no_bytes_faster_over_a_link_that_is_full() -> None:
    """Unless it is not: then they share that time as well."""
    with reading(objects=STREAMS) as trace:
        found = model(trace)
        given = model(trace, Overrides(streams=STREAMS))
        local = model(trace, Overrides(streams=STREAMS)).what_if[-1]
    streams = next(each for each in found.what_if if each.change == "streams")
    measured = float(found.measured_s or 0.0)
    assert streams.forecast_s == pytest.approx(measured, rel=0.05)
    assert found.concurrency is not None
    assert streams.low_s == pytest.approx(measured * found.concurrency / STREAMS, rel=0.05)
    assert given.forecast_s == pytest.approx(streams.forecast_s)
    assert given.verdict is not None
    assert given.verdict.named == ("transfer",)
    assert local.change == "local"
    assert local.forecast_s == pytest.approx(0, abs=0.001)


def test_what_one_file_moved_is_not_taken_from_runs_without_it() -> None:
    """A third of the resamples lack the only file that took 2 s on the wire."""
    rows = run()
    last = rows[-1]
    first = int(str(last["reply_time"])) + 2 * MILLISECOND
    end = first + 2000 * MILLISECOND
    times = {"call_first_time": first, "call_time": first, "reply_first_time": first + MILLISECOND}
    times |= {"reply_time": end, "srt": end - first, "connection": 0}
    rows.append(call(len(rows) + 1, "READ", 1, file=FILES, stability="read", **times))
    with trace_of(files=objects(), calls=rows, connections=[connection(0.8, 0.001)]) as trace:
        local = next(each for each in model(trace).what_if if each.change == "local")
    low, high = ends(local)
    client = 120 * 0.002
    assert client <= low <= local.forecast_s <= high < 1


def test_no_other_storage_is_forecast_where_nothing_tells_how_slow_it_is() -> None:
    """Most stable calls were sent again: what they took is the wait for that."""
    rows = [{**row, "transmissions": 2} if row["stability"] == "stable" else row for row in run()]
    with trace_of(files=objects(), calls=rows) as trace:
        found = model(trace)
        given = model(trace, Overrides(persist_s=0.005))
    assert found.resent
    assert [each.change for each in found.what_if] == ["measured", "streams"]
    assert any("nothing tells what other storage would bring" in told for told in remarks(found))
    # What the user gives is known.
    assert not given.resent
    assert "async" in {each.change for each in given.what_if}


_TIMES = ("call_first_time", "call_time", "reply_first_time", "reply_time")


def test_without_regular_files_directories_are_counted() -> None:
    folders = [file(number, f"d{number}", "directory") for number in range(1, FILES + 1)]
    with trace_of(files=folders, calls=run(stable=())) as trace:
        found = model(trace)
    assert (found.files, found.counted) == (40, "directories")
    # But not where a call was cut before it told what it is about.
    calls = [*run(stable=())]
    cut = {**calls[0], "file": None, "undecoded": "truncated"}
    with trace_of(files=folders, calls=[cut, *calls[1:]]) as trace:
        unknown = model(trace)
    assert (unknown.files, unknown.counted, unknown.missing) == (None, "files", ("files",))
    with trace_of(calls=run(stable=())) as trace:
        nothing = model(trace)
    assert nothing.missing == ("files",)
    assert (nothing.files, nothing.rpcs_per_file, nothing.predicted_s) == (0, None, None)
    # What the time went into does not depend on it.
    assert nothing.verdict is not None
    assert {each.cause: each.time_s for each in nothing.verdict.causes}["round_trips"] == (
        pytest.approx(0.040)
    )


def test_an_empty_trace_is_no_failure() -> None:
    with trace_of() as trace:
        found = model(trace)
    assert found.missing == ("files", "rtt")
    assert found.verdict is None
    assert json.loads(to_json(found))["forecast_s"] is None


def test_a_larger_wsize_saves_calls() -> None:
    """Files of 64 KiB in two WRITEs and a COMMIT: two calls less each, no stable one less."""
    rows = run(stable=("CREATE", "COMMIT"), small=("WRITE", "WRITE", "LOOKUP"))
    rows = [{**row, "stability": "unstable_write"} if row["op"] == "WRITE" else row for row in rows]
    operations, offset = [], 0
    for row in rows:
        if row["op"] == "WRITE":
            number, of = row["call"], row["file"]
            assert isinstance(number, int)
            operations.append(operation(number, "WRITE", file=of, offset=offset, requested=32768))
            offset = 32768 - offset
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        found = {each.change: each for each in model(trace).what_if}
    assert found["wsize"].value == 65536
    saved = found["measured"].forecast_s - found["wsize"].forecast_s
    # Two round trips of 1 ms for each file, and perhaps the client's 2 ms.
    assert saved == pytest.approx(40 * 2 * 0.001, rel=0.02)
    saved = found["measured"].forecast_s - ends(found["wsize"])[0]
    assert saved == pytest.approx(40 * 2 * 0.003, rel=0.05)
    # Where another file went in a larger WRITE, wsize is larger, and somebody wanted the pieces.
    last = rows[-1]["call"]
    assert isinstance(last, int)
    rows.append(call(last + 1, "WRITE", 1, stability="unstable_write"))
    operations.append(operation(last + 1, "WRITE", file=1000, offset=0, requested=65536))
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        assert "wsize" not in {each.change for each in model(trace).what_if}


def test_appended_lines_are_not_cut_by_wsize() -> None:
    rows = run(stable=("CREATE",), small=("WRITE", "WRITE", "LOOKUP"))
    operations = [
        operation(row["call"], "WRITE", file=row["file"], offset=0, requested=size)  # type: ignore[arg-type]
        for row, size in zip(
            [row for row in rows if row["op"] == "WRITE"], [100, 250] * FILES, strict=True
        )
    ]
    with trace_of(files=objects(), calls=rows, operations=operations) as trace:
        assert "wsize" not in {each.change for each in model(trace).what_if}


def test_listings_with_attributes_save_what_followed() -> None:
    folder = file(200, "d", "directory")
    inside = [{**row, "parent": 200, "name": row["path"]} for row in objects()]
    ready = START_NS + 999 * MILLISECOND
    times = {"call_first_time": ready, "call_time": ready, "reply_time": ready + MILLISECOND}
    listing = call(900, "READDIR", 1, file=200, **times)
    entries = [
        {"call": 900, "directory": 200, "name": f"f{n}", "file": n} for n in range(1, FILES + 1)
    ]
    with trace_of(
        files=[folder, *inside],
        calls=[listing, *run(stable=(), small=("GETATTR",), directory=200)],
        operations=[operation(900, "READDIR", file=200, cookie=0, entries=40)],
        entries=entries,
    ) as trace:
        found = {each.change: each for each in model(trace).what_if}
    assert found["readdirplus"].value == 40
    saved = found["measured"].forecast_s - found["readdirplus"].forecast_s
    # The client's pauses beside these calls as well: before the first and behind the last is none.
    assert saved == pytest.approx(40 * (RTT_MS + THINK_MS) / 1e3, rel=0.05)


def test_without_a_trace_all_inputs_are_needed() -> None:
    with pytest.raises(UsageError, match="syncops_per_file"):
        model(None, Overrides(files=10, rtt_s=0.001))
    found = model(
        None,
        Overrides(files=290_000, rpcs_per_file=1, rtt_s=0.01262, syncops_per_file=0),
    )
    assert found.predicted_s == pytest.approx(61 * 60, abs=1)
    assert found.forecast_s == found.predicted_s
    assert (found.measured_s, found.vantage) == (None, "none")
    assert found.verdict is not None
    assert found.verdict.named == ("round_trips",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"files": 0},
        {"streams": 0},
        {"rtt_s": -1.0},
        {"persist_s": float("nan")},
        {"rpcs_per_file": float("inf")},
        {"files": 10**400},
    ],
)
def test_what_no_run_can_have_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Overrides(**wrong)  # type: ignore[arg-type]


def test_resamples_are_the_same_for_the_same_seed(trace: Trace) -> None:
    measured = measure(trace)
    one, same, other = (resampled(measured, seed=seed) for seed in (1, 1, 2))
    assert one is not None
    assert same is not None
    assert other is not None
    assert (one.forecast_s == same.forecast_s).all()
    assert not (one.forecast_s == other.forecast_s).all()


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


TIMES = ("call_time", "call_first_time", "reply_time", "reply_first_time")


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


def test_the_plain_formula_holds_where_nothing_else_takes_time(trace: Trace) -> None:
    found = model(trace)
    assert found.formula_holds
    assert [each.part for each in found.left_out] == ["client"]


def test_what_the_plain_formula_leaves_out_is_named() -> None:
    told = meta(end_ns=START_NS + 100_000 * MILLISECOND)
    with trace_of(told, files=objects(), calls=run(pause_ms=1500)) as trace:
        found = model(trace)
        more = model(trace, Overrides(files=2 * FILES))
    assert not found.formula_holds
    (left,) = found.left_out
    assert left.part == "pauses"
    assert left.time_s == pytest.approx(found.pauses_s)
    assert found.pauses_s == pytest.approx(39 * 1.502)
    # Pauses come once, whatever is given.
    assert [(each.part, each.time_s) for each in more.left_out] == [("pauses", left.time_s)]


def test_an_overlap_of_calls_is_what_the_plain_formula_leaves_out() -> None:
    calls = []
    for row in run():
        copies = [{**row, "call": 8 * int(str(row["call"])) + copy} for copy in range(8)]
        calls += copies
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.concurrency == pytest.approx(8)
    assert not found.formula_holds
    assert found.predicted_s is not None
    most = found.left_out[0]
    assert most.part == "overlap"
    assert most.time_s == pytest.approx(-found.predicted_s * 7 / 8)


def test_too_few_files_have_no_interval() -> None:
    with trace_of(files=objects(9), calls=run(9, stable=("CREATE",) * 4)) as trace:
        found = model(trace)
    assert found.forecast_s is not None
    assert (found.forecast_low_s, found.forecast_high_s, found.holdout_error) == (None, None, None)


def test_calls_on_directories_are_carried_by_the_files() -> None:
    calls = [{**row, "file": None if row["op"] == "SETATTR" else row["file"]} for row in run()]
    with trace_of(files=objects(), calls=calls) as trace:
        found = model(trace)
    assert found.rpcs_per_file == 3
    assert found.syncops_per_file == 2
    assert found.holdout_error == pytest.approx(0, abs=0.01)


def test_the_figures_are_json(trace: Trace) -> None:
    told = json.loads(to_json(model(trace)))
    assert told["predicted_s"] == pytest.approx(
        told["files"]
        * (told["rpcs_per_file"] * told["rtt_s"] + told["syncops_per_file"] * told["persist_s"])
    )
    assert told["forecast_s"] == pytest.approx(
        (told["predicted_s"] + told["other_s"]) / told["concurrency"] + told["client_s"]
    )
