"""Connections that began long before their first call."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.late_connections import LateConnections, late_connections, unreached_s
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of


def connection(number: int, began_ms: int, **columns: object) -> Row:
    """A TCP connection whose handshake was captured."""
    row: Row = {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_frame": number,
        "first_time": START_NS + began_ms * MILLISECOND,
        "handshake": True,
        "syn_rtt": 200_000,
        "ack_rtt": 100_000,
    }
    return {**row, **columns}


def test_late_ones_are_told_and_those_beside_which_nothing_went_on_cost() -> None:
    """Calls are sent `number` × 10 ms after the start."""
    calls = [
        call(10, "GETATTR", 1, connection=1),
        call(250, "GETATTR", 1, connection=2),
        call(251, "GETATTR", 1, connection=2),
        call(400, "GETATTR", 1, connection=3),
    ]
    connections = [connection(1, 90), connection(2, 500), connection(3, 2_000)]
    with trace_of(calls=calls, connections=connections) as trace:
        assert late_connections(trace) == (
            LateConnections(
                client="10.0.0.2",
                server="10.0.0.1",
                connections=2,
                longest_s=2.0,
                idle_s=2.0,
                syn_s=0.0002,
                frames=(2, 3),
            ),
        )


def test_udp_and_connections_that_ran_already_are_none() -> None:
    calls = [call(200, "GETATTR", 1, connection=1), call(300, "GETATTR", 1, connection=2)]
    connections = [connection(1, 0, transport="UDP"), connection(2, 0, handshake=False)]
    with trace_of(calls=calls, connections=connections) as trace:
        assert late_connections(trace) == ()


def idle_of(*rows: Row, **columns: object) -> list[float]:
    """What a connection costs that began after 2 s and had its first call after 3 s more."""
    calls = [*rows, call(500, "GETATTR", 1, connection=2)]
    with trace_of(calls=calls, connections=[connection(2, 1_999, **columns)]) as trace:
        return [pair.idle_s for pair in late_connections(trace)]


def test_one_of_which_bytes_are_missing_is_none() -> None:
    """They may be those of its first call."""
    assert idle_of() == [3.001]
    assert idle_of(missing_bytes=44) == []


def test_a_reply_without_call_may_be_that_of_the_first() -> None:
    calls, connections = [call(500, "GETATTR", 1, connection=2)], [connection(2, 1_990)]
    for late_ms, told in ((2_500, 0), (6_000, 1)):
        note = {
            "reason": "reply_without_call",
            "connection": 2,
            "time": START_NS + late_ms * MILLISECOND,
        }
        with trace_of(calls=calls, connections=connections, notes=[note]) as trace:
            assert len(late_connections(trace)) == told


@pytest.mark.parametrize(
    ("took_ms", "frames", "told"),
    [
        (1_000, 4, True),
        (1_000, 3, False),
        (3_050, 5, True),
        (3_050, 4, False),
        (6_500, 100, False),
        (7_300, 6, True),
        (31_500, 100, True),
        (30_000, 100, False),
        (190_000, 100, False),
    ],
)
def test_a_syn_that_is_sent_again_takes_its_time_and_a_frame(
    took_ms: int, frames: int, told: bool
) -> None:
    late = connection(2, 0, first_frame=100)
    first = START_NS + took_ms * MILLISECOND
    calls = [
        call(1, "GETATTR", 1, connection=2, call_first_time=first, call_first_frame=100 + frames)
    ]
    with trace_of(calls=calls, connections=[late]) as trace:
        assert bool(late_connections(trace)) is told


def test_a_call_without_reply_is_under_way_until_a_later_one_is_answered() -> None:
    hanging = call(100, "READ", None, connection=1)
    assert idle_of(hanging) == [0.0]
    assert idle_of(hanging, call(110, "GETATTR", 1, connection=1)) == [3.001]
    other = call(110, "GETATTR", 1, connection=1, server="10.0.0.9")
    assert idle_of(hanging, other) == [0.0]


def test_time_without_connection_is_counted_once_and_between_calls() -> None:
    """The first connection is there before any call; two others come about together."""
    calls = [
        call(200, "GETATTR", 1, connection=1),
        call(400, "GETATTR", 1, connection=2),
        call(401, "GETATTR", 1, connection=3),
    ]
    connections = [connection(1, 900), connection(2, 2_990), connection(3, 2_995)]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = late_connections(trace)
        assert pair.connections == 3
        assert pair.idle_s == pytest.approx(2.11)
        assert unreached_s(trace) == {"10.0.0.2": pytest.approx(1.01)}
