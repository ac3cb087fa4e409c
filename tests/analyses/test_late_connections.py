"""Connections that began long before their first call."""

from __future__ import annotations

from pcapnfs.analyses.late_connections import LateConnections, late_connections
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
