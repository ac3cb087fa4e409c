"""The model's inputs and figures: what is measured, what is given, and where each is from."""

from __future__ import annotations

import json

import pytest

from pcapnfs.analyses.forecasts.bottleneck import bottleneck
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.model import model
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.verdict import measured_verdict
from pcapnfs.errors import UsageError
from pcapnfs.record import replace
from pcapnfs.trace import Trace
from pcapnfs.views.document import to_json
from tests.analyses.model.runs import FILES, TIMES, connection, inputs, objects, reading, run
from tests.unit.rows import MILLISECOND, START_NS, Row, call, file, meta, trace_of

SECOND_NS = 1000 * MILLISECOND


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


def test_for_other_calls_of_a_file_the_client_takes_as_long(trace: Trace) -> None:
    usual = model(trace)
    twice = model(trace, Overrides(rpcs_per_file=2 * (usual.rpcs_per_file or 0.0)))
    assert twice.client_s == pytest.approx(usual.client_s)
    assert twice.forecast_s == pytest.approx(
        (usual.forecast_s or 0.0) + usual.calls * (usual.rtt_s or 0.0)
    )
    (used,) = (each for each in twice.inputs if each.name == "client_s")
    assert used.value == pytest.approx((used.measured or 0.0) / 2)


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


def test_a_full_link_is_no_round_trip() -> None:
    with reading() as trace:
        found = model(trace)
    assert found.rtt_source == "gaps"
    assert found.rtt_s == pytest.approx(0, abs=0.001)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.verdict is not None
    assert found.verdict.named == ("transfer",)


@pytest.mark.parametrize(
    ("writes", "told"),
    [
        (0, "the network or the server 33.9 % (40 calls of 1.00 ms each or more, nearly all such "),
        (2, "the network or the server 33.9 % (40 calls of 1.00 ms each or more, nearly all such "),
        (3, "round trips 33.9 % (40 calls at a round trip of 1.00 ms at most)"),
    ],
)
def test_a_bound_of_the_round_trip_is_told_as_one(writes: int, told: str) -> None:
    """READs that take 1 ms each: nothing tells what of it the network takes.

    Nor whether they waited for a disk; of WRITEs to the server's memory the quickest did not.
    """
    calls = run(small=("READ",), stable=(), persist_ms=0)
    write = {"op": "WRITE", "stability": "unstable_write"}
    calls = [
        {**row, "connection": 0, "stability": "read"} | (write if place < writes else {})
        for place, row in enumerate(calls)
    ]
    late = {"server_turns": FILES, "server_turn_min": 900_000, "server_turn_rtt": 950_000}
    late |= {"client_acks": FILES, "client_ack_min": 1_000, "client_ack_rtt": 20_000}
    with trace_of(
        files=objects(), calls=calls, connections=[{**connection(None, None), **late}]
    ) as trace:
        found, bound = model(trace), bottleneck(trace)
    assert found.rtt_source == "gaps"
    assert found.verdict is not None
    assert told in found.verdict.sentence
    assert bound.network_rtt_s is None
    assert not any(part for _, part in bound.network_s)


def bounded() -> list[Row]:
    """A connection of which only the turns of the server's replies are known, 5 ms each."""
    turns = {"server_turns": FILES, "server_turn_min": 4_900_000, "server_turn_rtt": 5_000_000}
    client = {"client_acks": FILES, "client_ack_min": 1_000, "client_ack_rtt": 20_000}
    return [{**connection(None, None), **turns, **client}]


def test_the_quickest_of_calls_that_all_wait_for_storage_is_no_round_trip() -> None:
    """As `greater 200` leaves them: large packets alone."""
    calls = run(small=(), stable=("CREATE",))
    with trace_of(files=objects(), calls=calls, connections=bounded()) as trace:
        found = model(trace)
        given = model(trace, Overrides(rtt_s=0.001))
    assert (found.rtt_s, found.rtt_source, found.verdict) == (None, "none", None)
    assert found.missing == ("rtt",)
    assert given.missing == ()
    assert given.rtt_s == pytest.approx(0.001)
    assert given.verdict is not None
    assert given.verdict.named[0] == "persistence"
    # Calls that read are bounded by the same, and a few of them are enough.
    calls += [
        {**row, "call": 1000 + place, "connection": 0, "stability": "read"}
        for place, row in enumerate(run(small=("READ",), stable=(), persist_ms=0))
    ]
    with trace_of(files=objects(), calls=calls, connections=bounded()) as trace:
        assert model(trace).rtt_source == "gaps"


def test_calls_without_a_reply_tell_no_round_trip_either() -> None:
    """Of what was lost nobody knows whether it was stable; all that is known was."""
    calls = run(small=(), stable=("CREATE",))
    nothing: Row = dict.fromkeys(("reply_time", "reply_first_time", "srt", "reply_frame"))
    lost = [{**row, **nothing, "stability": "unknown"} for row in calls[::4]]
    whole = [row for place, row in enumerate(calls) if place % 4]
    ordered = sorted([*lost, *whole], key=lambda row: int(str(row["call"])))
    with trace_of(files=objects(), calls=ordered, connections=bounded()) as trace:
        found = model(trace)
    assert (found.rtt_s, found.rtt_source, found.verdict) == (None, "none", None)
    # A tenth of what is known needs no storage: the quickest are these.
    written = {"op": "WRITE", "stability": "unstable_write"}
    some = [{**row, **written} if place < 3 else row for place, row in enumerate(whole)]
    with trace_of(files=objects(), calls=[*lost, *some], connections=bounded()) as trace:
        found = model(trace)
    assert found.rtt_source == "gaps"
    assert found.verdict is not None
    assert "round_trips" in {each.cause for each in found.verdict.causes}


def test_a_bound_of_the_clients_half_does_not_hang_on_what_answers_took() -> None:
    """Captured at the server, whose ACK shows the way to it; the client's next calls bound its."""
    calls = run(small=(), stable=("CREATE",))
    turns = {"client_turns": FILES, "client_turn_min": 1_900_000, "client_turn_rtt": 2_000_000}
    server = {"server_acks": 1, "server_ack_min": 60_000, "server_ack_rtt": 60_000}
    there = [{**connection(None, None), **turns, **server}]
    with trace_of(files=objects(), calls=calls, connections=there) as trace:
        found = model(trace)
    assert found.vantage == "server"
    assert found.rtt_source == "gaps"
    assert found.rtt_s == pytest.approx(0.00206)
    assert found.verdict is not None
    assert found.verdict.named[0] == "persistence"


def test_of_reads_that_may_wait_for_a_disk_no_other_network_is_foretold() -> None:
    """Half of a network of which nothing is known: it may be next to nothing of the 5 ms."""
    calls = [
        {**row, "stability": "read"}
        for row in run(small=(), stable=("READ",), persist_ms=4, connection=0)
    ]
    with trace_of(files=objects(), calls=calls, connections=bounded()) as trace:
        found = model(trace)
        given = model(trace, Overrides(rtt_s=0.001))
        longer = model(trace, Overrides(rtt_s=0.020))
        bottom = bottleneck(trace)
    assert found.rtt_s == pytest.approx(0.005)
    assert found.rtt_source == "gaps"
    assert found.network_rtt_s is None
    assert {"rtt", "local"}.isdisjoint(each.change for each in found.what_if)
    assert found.verdict is not None
    assert found.verdict.named[0] == "network_or_server"
    assert bottom.network_rtt_s is None
    # What ping says of the network tells the rest: that is the server's, and stays.
    measured_s = found.measured_s or 0.0
    cases = {each.change: each.forecast_s for each in given.what_if}
    assert given.forecast_s == pytest.approx(measured_s)
    assert cases["rtt"] == pytest.approx(measured_s - FILES * 0.0005)
    assert cases["local"] == pytest.approx(measured_s - FILES * 0.001)
    assert given.verdict is not None
    assert given.verdict.named[0] == "server"
    # What is longer than all that calls took is another network.
    assert longer.forecast_s == pytest.approx(measured_s + FILES * 0.015)


@pytest.mark.parametrize(("calls", "told"), [(1, False), (4, False), (5, True)])
def test_a_handful_of_calls_that_tell_the_round_trip_themselves_is_no_verdict(
    calls: int, told: bool
) -> None:
    rows = run(2, stable=())[:1] * calls
    rows = [
        {**row, "call": number}
        | {name: int(str(row[name])) + number * MILLISECOND for name in TIMES}
        for number, row in enumerate(rows, 1)
    ]
    with trace_of(files=objects(1), calls=rows) as trace:
        found = model(trace)
    assert found.rtt_source == "few_calls"
    assert (found.verdict is not None, found.too_few) == (told, not told)
    # What TCP tells is none of theirs.
    with trace_of(files=objects(1), calls=rows, connections=[connection(0.8, 0.0)]) as trace:
        assert model(trace).verdict is not None


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


def _apart(pause_s: int) -> list[Row]:
    """Two runs alike, and a pause between them."""
    rows = run()
    later = max(int(str(row["reply_time"])) for row in rows) - START_NS + (pause_s - 1) * SECOND_NS
    again = [
        {**row, "call": len(rows) + number}
        | {name: int(str(row[name])) + later for name in TIMES if row.get(name) is not None}
        for number, row in enumerate(rows, 1)
    ]
    return rows + again


def test_an_hour_between_two_commands_is_in_no_forecast() -> None:
    told = meta(end_ns=START_NS + 3_700 * SECOND_NS)
    with trace_of(told, files=objects(), calls=_apart(3600)) as trace:
        found = model(trace)
        measured = measure(trace)
    assert found.away_s == pytest.approx(3600, abs=0.01)
    assert measured.span_s == pytest.approx(3600 + 2 * (40 * 0.013 + 119 * 0.002), abs=0.01)
    worked_s = 2 * (40 * 0.013 + 119 * 0.002)
    assert found.measured_s == pytest.approx(worked_s)
    assert found.forecast_s == pytest.approx(found.measured_s)
    assert found.pauses_s == 0
    forecasts = {each.change: each for each in found.what_if}
    assert forecasts["async"].forecast_s == pytest.approx(worked_s - 160 * 0.005)
    assert (forecasts["async"].high_s or 0.0) < worked_s
    assert found.verdict is not None
    assert sum(each.time_s for each in found.verdict.causes) == pytest.approx(worked_s)


def test_a_pause_that_a_program_may_make_is_in_each_forecast() -> None:
    told = meta(end_ns=START_NS + 100 * SECOND_NS)
    with trace_of(told, files=objects(), calls=_apart(29)) as trace:
        found = model(trace)
        measured = measure(trace)
    assert found.away_s == 0
    # Findings leave it out, unless something was waited for meanwhile.
    assert measured.rest_s == pytest.approx(29, abs=0.01)
    assert replace(measured, unreached_s=20.0).rest_s == pytest.approx(9, abs=0.01)
    assert replace(measured, unreached_s=28.5).rest_s == 0
    assert replace(measured, lacking=True).rest_s == 0
    assert found.pauses_s == pytest.approx(29, abs=0.01)
    assert found.forecast_s == pytest.approx(found.measured_s)


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
