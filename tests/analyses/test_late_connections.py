"""Connections that began long before their first call."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.late_connections import LateConnections, late_connections, unreached_s
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of


def connection(number: int, asked_ms: int, opened_ms: int, **columns: object) -> Row:
    """A TCP connection whose handshake was captured; the last of two SYNs was answered."""
    row: Row = {
        "connection": number,
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "first_frame": number,
        "syns": 2,
        "syn_time": START_NS + asked_ms * MILLISECOND,
        "syn_acks": 1,
        "syn_ack_time": START_NS + opened_ms * MILLISECOND - 100_000,
        "syn_rtt": 200_000,
        "ack_rtt": 100_000,
    }
    return {**row, **columns}


FORMER: Row = {
    "connection": 1,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "first_time": START_NS,
    "server_segments": 3,
}
"""A connection that was there before."""


def test_late_ones_are_told_and_those_beside_which_nothing_went_on_cost() -> None:
    """Calls are sent `number` × 10 ms after the start."""
    calls = [
        call(10, "GETATTR", 1, connection=1),
        call(250, "GETATTR", 1, connection=2),
        call(251, "GETATTR", 1, connection=2),
        call(400, "GETATTR", 1, connection=3),
    ]
    connections = [
        connection(1, 90, 100),
        connection(2, 500, 2_500, syns=3, challenge_acks=1),
        connection(3, 2_000, 4_000, syn_acks=2),
    ]
    with trace_of(calls=calls, connections=connections) as trace:
        assert late_connections(trace) == (
            LateConnections(
                client="10.0.0.2",
                server="10.0.0.1",
                connections=2,
                longest_s=2.0,
                idle_s=2.0,
                resent=3,
                attempts=0,
                refusals=0,
                challenges=1,
                resent_answers=1,
                syn_s=0.0002,
                lossy=False,
                frames=(2, 3),
            ),
        )


@pytest.mark.parametrize(
    ("columns", "lossy"),
    [
        ({}, True),
        ({"syns": 1, "syn_acks": 2}, True),
        ({"client_resent": 0}, False),
        ({"client_spurious": 1}, False),
        ({"syns": 3}, False),
        ({"attempts": 1}, False),
        ({"challenge_acks": 1}, False),
    ],
)
def test_a_path_that_loses_a_packet_of_the_handshake_like_others(
    columns: dict[str, object], lossy: bool
) -> None:
    calls = [call(800, "GETATTR", 1, connection=2)]
    late = connection(2, 0, 1_100, **({"client_resent": 1} | columns))
    with trace_of(calls=calls, connections=[late]) as trace:
        (pair,) = late_connections(trace)
    assert pair.lossy is lossy


def test_udp_and_connections_that_ran_already_are_none() -> None:
    unknown = {"syns": 0, "syn_time": None, "syn_acks": 0, "syn_ack_time": None}
    calls = [call(200, "GETATTR", 1, connection=1), call(300, "GETATTR", 1, connection=2)]
    connections = [
        connection(1, 0, 0, transport="UDP", syn_rtt=None, ack_rtt=None, **unknown),
        connection(2, 0, 0, transport="TCP", syn_rtt=None, ack_rtt=None, **unknown),
    ]
    with trace_of(calls=calls, connections=connections) as trace:
        assert late_connections(trace) == ()


def idle_of(*rows: Row, **columns: object) -> list[float]:
    """What a connection costs that was asked for after 2 s and came about after 3 s more."""
    calls = [*rows, call(500, "GETATTR", 1, connection=2)]
    late = connection(2, 2_000, 4_999, **columns)
    with trace_of(calls=calls, connections=[late]) as trace:
        return [pair.idle_s for pair in late_connections(trace)]


def test_attempts_that_came_to_nothing_cost_who_had_a_connection_before() -> None:
    """Else it is a mount that begins, of which each attempt may be another program's."""
    attempts = {"syns": 1, "attempts": 3, "attempted_time": START_NS + 500 * MILLISECOND}
    former = call(1, "GETATTR", 1, connection=1)
    assert idle_of(**attempts) == [2.999]
    assert idle_of(former, **attempts) == [4.499]
    assert idle_of(syn_ack_time=START_NS + 2_100 * MILLISECOND, **attempts) == [0.0]


@pytest.mark.parametrize(
    ("opened_ms", "columns", "told"),
    [
        (999, {}, False),
        (1_000, {}, True),
        (1_000, {"syns": 1}, False),
        (1_100, {"syns": 1}, True),
        # The SYN+ACK came at once, and what completed the handshake was seen late.
        (7_000, {"syns": 1, "syn_ack_time": START_NS, "ack_rtt": 7_000_000_000}, False),
        (7_000, {"syns": 2, "syn_ack_time": START_NS, "ack_rtt": 7_000_000_000}, True),
        (7_000, {"syn_acks": 2, "syn_ack_time": START_NS, "ack_rtt": 7_000_000_000}, True),
    ],
)
def test_packets_that_were_late_or_came_again_tell(
    opened_ms: int, columns: dict[str, object], told: bool
) -> None:
    calls = [call(800, "GETATTR", 1, connection=2)]
    with trace_of(calls=calls, connections=[connection(2, 0, opened_ms, **columns)]) as trace:
        assert bool(late_connections(trace)) is told


def test_one_that_is_not_used_at_once_costs_nothing() -> None:
    for wait_ms, cost_s in ((100, 1.0), (110, 0.0)):
        calls = [call(100 + wait_ms // 10, "GETATTR", 1, connection=2)]
        with trace_of(calls=calls, connections=[connection(2, 0, 1_000)]) as trace:
            assert [pair.idle_s for pair in late_connections(trace)] == [cost_s]


def test_one_of_a_client_that_had_made_calls_costs_whenever_the_next_call_comes() -> None:
    """On a soft mount the call that waited failed meanwhile; until the next one is the client's."""
    former = call(1, "GETATTR", 1, connection=1)
    for later in (call(500, "GETATTR", 1, connection=2), call(900, "GETATTR", 1, connection=2)):
        with trace_of(
            calls=[former, later], connections=[FORMER, connection(2, 2_000, 4_999)]
        ) as trace:
            assert [pair.idle_s for pair in late_connections(trace)] == [2.999]
            assert unreached_s(trace) == {"10.0.0.2": 2.999}


def test_a_call_without_reply_is_under_way_until_a_later_one_is_answered() -> None:
    hanging = call(100, "READ", None, connection=1)
    assert idle_of(hanging) == [0.0]
    assert idle_of(hanging, call(110, "GETATTR", 1, connection=1)) == [2.999]
    other = call(110, "GETATTR", 1, connection=1, server="10.0.0.9")
    assert idle_of(hanging, other) == [0.0]


def test_a_call_whose_connection_the_server_ended_is_not_under_way() -> None:
    """The client then waits for the next connection, and not for the call."""
    sent = START_NS + 300 * MILLISECOND
    former = {
        **FORMER,
        "last_time": sent + 5 * MILLISECOND,
        "server_rst_time": sent + 5 * MILLISECOND,
    }
    calls = [
        call(10, "GETATTR", 1, connection=1),
        call(30, "WRITE", None, connection=1),
        call(450, "GETATTR", 1, connection=2),
    ]
    late = {
        **connection(2, 4_400, 4_490, syns=1, attempts=3),
        "attempted_time": START_NS + 400 * MILLISECOND,
        "transport": "TCP",
        "first_time": START_NS + 4_400 * MILLISECOND,
        "last_time": START_NS + 4_600 * MILLISECOND,
        "server_segments": 1,
    }
    with trace_of(calls=calls, connections=[former, late]) as trace:
        (pair,) = late_connections(trace)
        assert pair.idle_s == pytest.approx(4.09)
    open_still = {**former, "server_rst_time": None}
    with trace_of(calls=calls, connections=[open_still, late]) as trace:
        (pair,) = late_connections(trace)
        assert pair.idle_s == 0.0


@pytest.mark.parametrize("answer_ms", [None, 1])
def test_a_call_whose_answer_does_not_arrive_is_under_way(answer_ms: float | None) -> None:
    """As one without any, until its client hangs up."""
    former = {
        **FORMER,
        "last_time": START_NS + 6_020 * MILLISECOND,
        "client_unacked": 0,
        "client_rst_time": START_NS + 5_000 * MILLISECOND,
    }
    if answer_ms is None:
        former |= {"server_lost": 8_000}
    else:
        since = START_NS + 16 * MILLISECOND
        former |= {"server_unacked": 8_000, "server_unacked_time": since}
        former |= {"server_resent": 7, "client_resent": 3}
    calls = [
        call(1, "GETATTR", 5, connection=1),
        call(2, "READ", answer_ms, connection=1),
        call(560, "GETATTR", 1, connection=2),
    ]
    late = {
        **connection(2, 3_000, 5_500, syns=3),
        "transport": "TCP",
        "first_time": START_NS + 3_000 * MILLISECOND,
        "last_time": START_NS + 5_700 * MILLISECOND,
        "server_segments": 1,
    }
    with trace_of(calls=calls, connections=[former, late]) as trace:
        (pair,) = late_connections(trace)
        assert pair.idle_s == 0.0


def test_time_without_connection_is_counted_once_and_between_calls() -> None:
    """The first connection is there before any call; two others come about together."""
    calls = [
        call(200, "GETATTR", 1, connection=1),
        call(400, "GETATTR", 1, connection=2),
        call(401, "GETATTR", 1, connection=3),
    ]
    connections = [
        connection(1, 900, 2_000),
        connection(2, 2_990, 3_995),
        connection(3, 2_995, 4_000),
    ]
    with trace_of(calls=calls, connections=connections) as trace:
        (pair,) = late_connections(trace)
        assert pair.connections == 3
        assert pair.idle_s == pytest.approx(2.11)
        assert unreached_s(trace) == {"10.0.0.2": pytest.approx(1.01)}
