"""Service times at the server, by operation."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.server_times import server_times
from pcapnfs.analyses.wire.round_trip import round_trips
from tests.analyses.test_clock_ticks import calls as ticking
from tests.analyses.test_clock_ticks import every
from tests.analyses.test_clocks_apart import ahead
from tests.analyses.test_slower_path import slow
from tests.analyses.test_tcp_stalls import asked, at
from tests.unit.rows import MILLISECOND, Row, call, file, meta, trace_of

NEAR: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "handshake": True,
    "syn_rtt": 0,
}
"""A connection whose handshake tells that the capture was taken at the server."""


def test_each_operation_has_its_own_without_what_is_stable_or_failed() -> None:
    calls = [
        *(call(number, "LOOKUP", took) for number, took in ((1, 1), (2, 2), (3, 6))),
        call(4, "LOOKUP", 9, status=13),
        call(5, "LOOKUP", 9, transmissions=2),
        call(6, "CREATE", 9, stability="stable"),
        call(7, "READDIRPLUS", 9),
        call(8, "WRITE", 4, stability="unstable_write"),
    ]
    with trace_of(calls=calls, connections=[NEAR]) as trace:
        look, write = server_times(trace)
    assert (look.op, look.kind, look.row, look.calls) == ("LOOKUP", "small", "unstable", 3)
    assert look.median_s == pytest.approx(0.002)
    assert look.mean_s == pytest.approx(0.003)
    assert look.time_s == pytest.approx(0.009)
    assert look.frames == (5, 3, 1)
    assert look.clients == ("10.0.0.2",)
    assert (write.op, write.kind, write.row) == ("WRITE", "write", "unstable_write")


@pytest.mark.parametrize("took_ms", [4, 0.9])
def test_the_file_that_most_of_the_time_of_data_went_into_is_told(took_ms: float) -> None:
    calls = [
        *(call(number, "READ", took_ms, stability="read", file=3) for number in (10, 20, 30)),
        call(40, "READ", took_ms, stability="read", file=4),
        call(50, "READ", took_ms, stability="read", file=None),
        *(call(number, "LOOKUP", took_ms, file=4) for number in (60, 70)),
    ]
    files = [file(3, "data/big"), file(4, "data/small")]
    with trace_of(calls=calls, connections=[NEAR], files=files) as trace:
        found = {each.op: each for each in server_times(trace)}
    assert (found["LOOKUP"].most, found["LOOKUP"].most_share) == (None, 0.0)
    slow = took_ms > 1
    assert found["READ"].most == ("data/big" if slow else None)
    assert found["READ"].most_share == pytest.approx(0.6 if slow else 0.0)


@pytest.mark.parametrize(("first_arrived", "number"), [(True, 1), (False, 0)])
def test_what_a_client_did_not_wait_for_took_the_server_as_long_as_anything_else(
    first_arrived: bool, number: int
) -> None:
    """Where nothing was lost, that a call was sent again is its timer's fault."""
    again = {"transmissions": 3, "first_arrived": first_arrived}
    calls = [call(10 * each, "READ", 300, stability="read", **again) for each in range(1, 4)]
    with trace_of(calls=calls, connections=[NEAR]) as trace:
        found = server_times(trace)
    assert [(each.op, each.calls) for each in found] == [("READ", 3)] * number


def test_a_lookup_that_found_nothing_did_not_fail() -> None:
    calls = [call(1, "LOOKUP", 8, status=2), call(2, "GETATTR", 8, status=2)]
    with trace_of(calls=calls, connections=[NEAR]) as trace:
        (look,) = server_times(trace)
    assert (look.op, look.calls) == ("LOOKUP", 1)


def test_the_way_of_the_reply_is_not_the_servers() -> None:
    read = call(1, "READ", 9, stability="read")
    first = int(str(read["call_time"])) + 3 * MILLISECOND
    with trace_of(calls=[{**read, "reply_first_time": first}], connections=[NEAR]) as trace:
        (found,) = server_times(trace)
    assert found.median_s == pytest.approx(0.003)


def test_the_round_trip_takes_nothing_of_the_clock_at_the_server() -> None:
    """At the client, 80 ms away: calls of 84 ms take the server 4 ms each."""
    calls = [call(10 * number, "LOOKUP", 84) for number in range(1, 11)]
    far = {**NEAR, "syn_rtt": 80 * MILLISECOND, "ack_rtt": 0}
    with trace_of(calls=calls, connections=[far]) as trace:
        (found,) = server_times(trace)
    assert found.mean_s == pytest.approx(0.004)
    assert found.time_s == pytest.approx(10 * 0.004)


@pytest.mark.parametrize("acked_first", [0, 39])
def test_where_nothing_tells_the_networks_part_nothing_tells_the_servers(acked_first: int) -> None:
    """Segments that were acknowledged before they came are of another clock: no round trip."""
    calls = [call(number, "LOOKUP", 5) for number in range(1, 41)]
    connection = {**NEAR, **ahead(40, acked_first, 0.2 if acked_first else None)}
    with trace_of(calls=calls, connections=[connection]) as trace:
        assert (round_trips(trace).pairs[0].server_side.rtt_s is None) == bool(acked_first)
        assert len(server_times(trace)) == (0 if acked_first else 1)


def test_by_a_clock_that_ticks_a_round_trip_that_takes_no_time_takes_a_tick_at_most() -> None:
    rows = [
        {**ticked, "op": "LOOKUP", "reply_first_time": ticked["reply_time"]}
        for ticked in ticking(every(10, 100), 30 * MILLISECOND)
    ]
    with trace_of(meta(packets=200), calls=rows, connections=[{**NEAR, "ack_rtt": 0}]) as trace:
        assert round_trips(trace).pairs[0].server_side.rtt_s is None
        (found,) = server_times(trace)
    assert found.median_s == pytest.approx(0.02)


@pytest.mark.parametrize("turns", [0, 40])
def test_what_may_be_the_networks_is_not_the_servers(turns: int) -> None:
    """Nothing but the replies tells the round trip: 5 ms at most, and one in four took 20 ms."""
    calls = [call(number, "LOOKUP", 5 if number % 4 else 20) for number in range(1, 41)]
    seen = {"server_turns": turns, "server_turn_min": 5 * MILLISECOND} if turns else {}
    late = {**NEAR, "handshake": False, "syn_rtt": None, **seen}
    late["server_turn_rtt"] = 5 * MILLISECOND if turns else None
    with trace_of(calls=calls, connections=[late]) as trace:
        (found,) = server_times(trace)
    assert found.median_s == pytest.approx(0)
    assert found.mean_s == pytest.approx(0.015 / 4)


def test_a_median_may_lie_further_above_the_usual_round_trip_than_that_above_the_shortest() -> None:
    """ACKs of the server take 8 ms at least and 10 ms usually, so that 13 ms may be a median."""
    calls = [call(number, "LOOKUP", 15) for number in range(1, 41)]
    acks = {"server_acks": 40, "server_ack_min": 8_000_000, "server_ack_rtt": 10_000_000}
    path = {**NEAR, "handshake": False, "syn_rtt": None, **acks}
    with trace_of(calls=calls, connections=[path]) as trace:
        (found,) = server_times(trace)
    assert found.median_s == pytest.approx(0.005)
    assert found.sure_s == pytest.approx(0.002)


def test_what_the_server_had_not_received_yet_did_not_take_it_time() -> None:
    """Of a WRITE of 20 ms an ACK left out some after 18 ms, or none did."""
    write = call(1, "WRITE", 20, stability="unstable_write")
    sent = int(str(write["call_time"]))
    for unreceived_ms, took_s in ((18, 0.002), (None, 0.02)):
        told = {"unreceived_time": unreceived_ms and sent + unreceived_ms * MILLISECOND}
        with trace_of(calls=[{**write, **told}], connections=[NEAR]) as trace:
            (found,) = server_times(trace)
        assert found.median_s == pytest.approx(took_s)


def test_what_stood_still_for_a_lost_segment_is_not_the_servers() -> None:
    with asked(at(11, 0.2, 211), syn_rtt=0) as trace:
        (found,) = server_times(trace)
    assert found.calls == 10
    assert found.mean_s == pytest.approx(0.001)
    assert found.time_s == pytest.approx(0.01)
    with asked(at(11, 0.2, 211), client_resent=0, server_resent=0) as trace:
        (found,) = server_times(trace)
    assert found.calls == 11


def test_what_was_under_way_while_the_path_was_longer_tells_nothing_of_the_server() -> None:
    calls = [
        *(call(number, "LOOKUP", 3) for number in range(1, 11)),
        *(call(number, "LOOKUP", 300 + number) for number in range(110, 150)),
    ]
    with trace_of(calls=calls, connections=[slow(200, soon=12)]) as trace:
        (found,) = server_times(trace)
    assert (found.calls, found.late) == (10, 40)
    assert found.mean_s == pytest.approx(0.002)
    with trace_of(calls=calls, connections=[slow(200)]) as trace:
        (found,) = server_times(trace)
    assert (found.calls, found.late) == (50, 0)
