"""What a capture has of the beginning."""

from __future__ import annotations

from pcapnfs.analyses.captured.beginnings import beginnings
from tests.unit.rows import Row, call, file, operation, trace_of


def tcp(number: int, *, handshake: bool, frame: int, **columns: object) -> Row:
    """A connection."""
    return {
        "connection": number,
        "transport": "TCP",
        "client": "10.0.0.2",
        "server": "10.0.0.1",
        "handshake": handshake,
        "first_frame": frame,
    } | columns


def test_connections_that_ran_and_what_is_not_known_of_files() -> None:
    calls = [
        call(1, "GETATTR", 1, connection=0),
        call(2, "GETATTR", 1, connection=0),
        call(3, "READ", 1, connection=1),
        call(4, "MNT", 1, connection=2, program=100005),
        call(5, "GETATTR", 1, connection=3, client="10.0.0.3"),
    ]
    connections = [
        tcp(0, handshake=False, frame=1),
        tcp(1, handshake=True, frame=5),
        tcp(2, handshake=False, frame=7),
        tcp(3, handshake=True, frame=9, client="10.0.0.3"),
    ]
    files = [
        file(1, "a"),
        file(2, "[0102]/b"),
        file(3, "[0102]", "directory"),
        file(4, "[0102]/c", listed_only=True),
    ]
    with trace_of(
        calls=calls, connections=connections, files=files, operations=[operation(4, "MNT")]
    ) as trace:
        first, second = beginnings(trace)
    assert (first.client, first.connections, first.running) == ("10.0.0.2", 2, 1)
    assert (first.calls, first.versions, first.mounted) == (2, (3,), True)
    assert (first.files, first.unrooted, first.frames) == (3, 2, (1,))
    assert (second.client, second.running, second.calls) == ("10.0.0.3", 0, 0)
    assert (second.versions, second.mounted, second.frames) == ((), False, ())


def test_a_connection_whose_first_call_begins_it_did_not_run() -> None:
    calls = [
        call(1, "NULL", 1, connection=0),
        call(2, "EXCHANGE_ID", 1, connection=0),
        call(3, "GETATTR", 1, connection=1),
        call(4, "NULL", 1, connection=1),
    ]
    connections = [tcp(0, handshake=False, frame=1), tcp(1, handshake=False, frame=5)]
    with trace_of(calls=calls, connections=connections) as trace:
        (found,) = beginnings(trace)
    assert (found.connections, found.running, found.headless) == (2, 1, 1)
    assert (found.calls, found.frames) == (2, (5,))


def test_rdma_begins_with_its_connection_manager() -> None:
    """Which tells the port of the service; without it that of RoCE stands there."""
    calls = [
        call(1, "ACCESS", 1, connection=0),
        call(2, "ACCESS", 1, connection=1),
        call(3, "NULL", 1, connection=2),
        call(4, "ACCESS", 1, connection=3),
    ]
    connections = [
        tcp(0, handshake=False, frame=1, transport="RDMA", server_port=4791),
        tcp(1, handshake=False, frame=3, transport="RDMA", server_port=20049),
        tcp(2, handshake=False, frame=5, transport="RDMA", server_port=4791),
        tcp(3, handshake=False, frame=7),
    ]
    with trace_of(calls=calls, connections=connections) as trace:
        (found,) = beginnings(trace)
    assert (found.connections, found.running, found.rdma_running) == (4, 2, 1)
    assert (found.headless, found.rdma_headless) == (1, 1)
    assert (found.calls, found.frames) == (2, (1, 7))


def test_udp_has_no_beginning() -> None:
    udp = tcp(0, handshake=False, frame=1, transport="UDP")
    with trace_of(calls=[call(1, "GETATTR", 1)], connections=[udp]) as trace:
        assert beginnings(trace) == ()


def test_of_one_direction_syn_shows_the_beginning() -> None:
    began = tcp(0, handshake=False, frame=1, segment_size=1460)
    with trace_of(calls=[call(1, "GETATTR", None)], connections=[began]) as trace:
        (found,) = beginnings(trace)
    assert (found.connections, found.running) == (1, 0)
