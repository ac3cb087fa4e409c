"""What was matched, what is missing, and why."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.captured.trust import trust
from tests.unit.rows import MILLISECOND, START_NS, Row, call, meta, trace_of


def note(reason: str, at_ms: int, **columns: object) -> Row:
    return {
        "reason": reason,
        "layer": "rpc",
        "frame": 1,
        "time": START_NS + at_ms * MILLISECOND,
        "connection": 0,
    } | columns


def test_a_perfect_capture_is_complete() -> None:
    with trace_of(
        calls=[call(1, "GETATTR", 1)], connections=[{"connection": 0, "transport": "TCP"}]
    ) as trace:
        result = trust(trace)
    assert result.complete
    assert (result.rpc_calls, result.rpc_replies, result.matched, result.matched_share) == (
        1,
        1,
        1,
        1.0,
    )
    assert dict(result.undecoded_reasons) == {}


def test_calls_are_matched_or_unanswered_and_replies_matched_or_orphans() -> None:
    with trace_of(
        calls=[
            call(1, "GETATTR", 20),
            call(2, "GETATTR", None),
            call(999, "GETATTR", None),  # 9 990 ms after the start; the capture ends at 10 000 ms
            call(4, "READ", -1, transmissions=2),
            call(5, "READ", 20),
        ],
        notes=[
            note("reply_without_call", 5),
            note("reply_without_call", 5000),
            note("duplicate_reply", 60, call=1),
            note("retransmitted_call", 70, call=5),
            note("encrypted", 80),
            note("encrypted", 81),
            note("truncated", 82, frame=9),
            note("truncated", 83, frame=4),
        ],
        connections=[
            {"connection": 0, "missing_bytes": 100},
            {"connection": 1, "missing_bytes": 20, "truncated_bytes": 7},
        ],
    ) as trace:
        result = trust(trace)
    assert (result.rpc_calls, result.matched, result.unanswered) == (5, 3, 2)
    assert (result.rpc_replies, result.orphan_replies) == (5, 2)
    assert (result.unanswered_at_end, result.orphan_replies_at_start) == (1, 1)
    assert (result.retransmitted_calls, result.duplicate_replies, result.negative_times) == (
        2,
        1,
        1,
    )
    assert (result.undecoded, dict(result.undecoded_reasons)) == (
        4,
        {"encrypted": 2, "truncated": 2},
    )
    assert dict(result.undecoded_frames) == {"encrypted": (1,), "truncated": (4, 9)}
    assert (result.missing_bytes, result.truncated_bytes) == (120, 7)
    assert not result.complete


@pytest.mark.parametrize(("ms", "cut"), [(75, True), (85, False)])
def test_a_call_that_was_under_way_as_the_capture_began_takes_its_transfer_as_well(
    ms: int, *, cut: bool
) -> None:
    """WRITEs whose bytes take 30 ms, and whose replies come 10 ms later: twice that is believed."""
    first = {"call_first_time": START_NS + 970 * MILLISECOND}
    written = call(100, "WRITE", 10, **first)
    orphan = note("reply_without_call", ms)
    with trace_of(calls=[written], notes=[orphan], connections=[{"connection": 0}]) as trace:
        result = trust(trace)
    assert (result.orphan_replies, result.orphan_replies_at_start) == (1, int(cut))
    assert result.lacks_much is not cut


@pytest.mark.parametrize(
    ("lost", "unanswered_ms", "begun_before"),
    [
        ({}, None, True),
        ({}, 6000, True),
        ({}, 2000, False),
        ({"missing_bytes": 1}, None, False),
        ({"truncated_bytes": 1}, None, False),
        ({"handshake": True}, None, False),
        ({"transport": "UDP"}, None, False),
    ],
)
def test_a_reply_is_to_a_call_before_the_begin_where_tcp_lacks_nothing(
    lost: Row, unanswered_ms: int | None, *, begun_before: bool
) -> None:
    """After 5 s, where calls take 1 ms: unless the call is there, and its xid was damaged."""
    calls = [call(1, "GETATTR", 1)]
    if unanswered_ms is not None:
        at_ns = START_NS + unanswered_ms * MILLISECOND
        calls.append(call(2, "GETATTR", None, call_first_time=at_ns, call_time=at_ns))
    with trace_of(
        calls=calls,
        notes=[note("reply_without_call", 5000)],
        connections=[{"connection": 0, "transport": "TCP", "handshake": False, **lost}],
    ) as trace:
        result = trust(trace)
    assert (result.orphan_replies, result.orphan_replies_at_start) == (1, int(begun_before))


@pytest.mark.parametrize(
    ("op", "connection", "before_end_ms", "cut"),
    [
        ("WRITE", 0, 75, True),
        ("WRITE", 0, 85, False),
        ("GETATTR", 0, 3, False),
        ("NULL", 1, 75, True),
    ],
)
def test_a_call_as_the_capture_ended_may_take_as_long_as_its_operation_does_elsewhere(
    op: str, connection: int, before_end_ms: int, *, cut: bool
) -> None:
    """A WRITE of another connection took 40 ms; on this one all but it took 1 ms."""
    at_ns = START_NS + (10_000 - before_end_ms) * MILLISECOND
    sent = {"call_first_time": at_ns, "call_time": at_ns, "connection": connection}
    with trace_of(
        calls=[
            call(1, "WRITE", 40, connection=2),
            call(2, "GETATTR", 1),
            call(3, op, None, **sent),
        ],
        connections=[{"connection": each, "transport": "TCP"} for each in (0, 1, 2)],
    ) as trace:
        result = trust(trace)
    assert (result.unanswered, result.unanswered_at_end) == (1, int(cut))


def test_each_misfortune_alone_makes_a_capture_incomplete() -> None:
    fine = call(1, "GETATTR", 1)
    with trace_of(meta(damage="breaks off"), calls=[fine]) as damaged:
        assert (trust(damaged).damaged_files, trust(damaged).complete) == (1, False)
    with trace_of(meta(dropped_packets=3), calls=[fine]) as lossy:
        assert (trust(lossy).dropped_packets, trust(lossy).complete) == (3, False)
    with trace_of(meta(dropped_packets=0), calls=[fine]) as clean:
        assert (trust(clean).dropped_packets, trust(clean).complete) == (0, True)
    with trace_of(meta(untimed_packets=1), calls=[fine]) as untimed:
        assert (trust(untimed).untimed_packets, trust(untimed).complete) == (1, False)
    with trace_of(calls=[fine], connections=[{"connection": 0, "missing_bytes": 1}]) as gaps:
        assert not trust(gaps).complete


def test_without_calls_the_share_is_unknown_and_times_may_be_too() -> None:
    with trace_of(meta(start_ns=None, end_ns=None)) as trace:
        result = trust(trace)
    assert (result.rpc_calls, result.matched_share, result.unanswered_at_end) == (0, None, 0)


def alone(number: int, **columns: object) -> Row:
    """A TCP connection with what its client sent."""
    return {"connection": number, "transport": "TCP", "client_segments": 6} | columns


def test_a_connection_without_any_segment_of_its_server_has_one_direction() -> None:
    calls = [call(number, "GETATTR", None, connection=0) for number in range(1, 7)]
    connections = [alone(0, missing_bytes=700), {"connection": 1, "missing_bytes": 30}]
    with trace_of(calls=calls, connections=connections) as trace:
        result = trust(trace)
    assert (result.calls_alone, result.replies_alone, result.one_way) == (6, 0, "replies")
    assert (result.missing_bytes, result.bytes_alone, result.lost_bytes) == (730, 700, 30)
    with trace_of(calls=calls[:4], connections=connections) as trace:
        assert trust(trace).lost_bytes == 730


@pytest.mark.parametrize(
    "columns",
    [
        {"server_segments": 1},
        {"server_acks": 1},
        {"syn_ack_time": 1000},
        {"client_resent": 4},  # Its server is down.
    ],
)
def test_a_server_that_was_seen_or_is_down_does_not_answer(columns: dict[str, object]) -> None:
    calls = [call(number, "GETATTR", None, connection=0) for number in range(1, 7)]
    with trace_of(calls=calls, connections=[alone(0, **columns)]) as trace:
        assert (trust(trace).calls_alone, trust(trace).one_way) == (0, None)


def test_a_call_that_is_sent_again_over_udp_has_no_answer() -> None:
    calls = [call(number, "NULL", None, connection=0, transmissions=3) for number in range(1, 7)]
    with trace_of(calls=calls, connections=[alone(0, transport="UDP")]) as trace:
        assert trust(trace).calls_alone == 0


def test_replies_on_connections_without_calls_have_one_direction() -> None:
    notes = [note("reply_without_call", number, connection=7) for number in range(5)]
    connections = [{"connection": 7, "server_segments": 5, "missing_bytes": 700}]
    with trace_of(notes=notes, connections=connections) as trace:
        result = trust(trace)
    assert (result.replies_alone, result.one_way) == (5, "calls")
    assert (result.missing_bytes, result.lost_bytes) == (700, 0)
    with trace_of(notes=notes[:4]) as trace:
        assert trust(trace).one_way is None
    with trace_of(meta(truncated_packets=1), notes=notes) as trace:
        assert trust(trace).one_way is None
    with trace_of(calls=[call(1, "GETATTR", 1)], notes=notes) as trace:
        assert (trust(trace).replies_alone, trust(trace).one_way) == (5, None)


def test_callbacks_do_not_make_a_second_direction() -> None:
    """What servers ask goes over the same connection, the other way (RFC 8881 section 2.10.3.1)."""
    calls = [call(number, "GETATTR", None, connection=0) for number in range(1, 7)]
    answer = note("reply_without_call", 4, connection=0)
    with trace_of(calls=calls, notes=[answer], connections=[alone(0)]) as trace:
        result = trust(trace)
    assert (result.answers_alone, result.orphan_replies, result.one_way) == (1, 1, "replies")
    assert result.lacking_share == 0
    recall = call(1, "CB_RECALL", None, connection=7, callback=True)
    notes = [note("reply_without_call", number, connection=7) for number in range(5)]
    server = {"connection": 7, "server_segments": 6}
    with trace_of(calls=[recall], notes=notes, connections=[server]) as trace:
        result = trust(trace)
    assert (result.callbacks_alone, result.replies_alone, result.one_way) == (1, 5, "calls")
    recalls = [recall, call(2, "CB_RECALL", 1, connection=7, callback=True)]
    with trace_of(calls=recalls, notes=notes, connections=[server]) as trace:
        assert trust(trace).one_way is None


def test_what_is_kept_of_a_segment_that_was_cut() -> None:
    connections = [
        {"connection": 0, "client_segments": 3, "server_segments": 1, "client_bytes": 1000,
         "server_bytes": 200, "truncated_bytes": 1100},
        {"connection": 1, "client_segments": 9, "client_bytes": 9000},
    ]  # fmt: skip
    with trace_of(connections=connections) as trace:
        assert trust(trace).kept_bytes == 25.0
    with trace_of(connections=connections[1:]) as trace:
        assert trust(trace).kept_bytes is None
