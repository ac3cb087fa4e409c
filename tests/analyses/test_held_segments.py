"""Messages that came as late as a delayed ACK has it."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.wire.held_segments import (
    AckWaits,
    HeldSegments,
    ack_waits_by_client,
    held_segments,
)
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

CONNECTION: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
}


def at(number: int, srt_ms: float, sending_ms: float = 0, **columns: object) -> Row:
    """A call sent `number` seconds after the start, in a first segment and a last."""
    first = START_NS + number * 1000 * MILLISECOND
    sent = first + int(sending_ms * MILLISECOND)
    answered = sent + int(srt_ms * MILLISECOND)
    times = {
        "call_first_time": first,
        "call_time": sent,
        "reply_first_time": answered,
        "reply_time": answered,
    }
    return call(number, "WRITE", srt_ms, **(times | columns))


def test_a_mode_is_told_from_what_lies_beside_it() -> None:
    calls = [
        *(at(number, 1) for number in range(1, 6)),
        at(6, 41),
        at(7, 1, 40),
        at(8, 35),
        at(9, 1, 49),
        at(10, 100),
        at(11, 40, stability="stable"),
    ]
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        (pair,) = held_segments(trace)
    assert (pair.timer_s, pair.messages, pair.held, pair.beside) == (0.04, 22, 2, 2)
    assert pair.usual_s == 0.001
    assert pair.unstable_s == pytest.approx(0.04)
    assert pair.transfer_s == pytest.approx(0.04)
    assert pair.frames == (11, 13)


def large(number: int, sending_ms: float, size: int = 262_144) -> Row:
    """A WRITE whose segments come over so many milliseconds."""
    return at(number, 1, sending_ms, call_bytes=size, reply_bytes=160)


def test_a_link_that_takes_as_long_for_large_messages_is_no_timer() -> None:
    # 256 KiB at 50 Mbit/s; of half the size they take half as long, and are of another class.
    full = [large(number, 42) for number in range(1, 10)]
    small = [large(10, 40, 16_000), large(11, 21, 131_072)]
    with trace_of(calls=full, connections=[CONNECTION]) as trace:
        assert held_segments(trace) == ()
    with trace_of(calls=[*full, *small], connections=[CONNECTION]) as trace:
        assert [pair.held for pair in held_segments(trace)] == [1]
    # Others of the size move in 2 ms: those of 42 ms waited.
    quick = [large(number, 2) for number in range(20, 30)]
    with trace_of(calls=[*full, *quick], connections=[CONNECTION]) as trace:
        assert [pair.held for pair in held_segments(trace)] == [9]


def test_a_link_that_takes_as_long_for_large_replies_is_no_timer() -> None:
    def read(number: int) -> Row:
        row = at(number, 1)
        late = {"reply_time": int(str(row["reply_time"])) + 42 * MILLISECOND}
        return {**row, **late, "call_bytes": 160, "reply_bytes": 262_144}

    calls = [read(number) for number in range(1, 10)]
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        assert held_segments(trace) == ()


@pytest.mark.parametrize(
    ("half_ms", "waits", "acks", "held"),
    [
        # At the server its ACKs are in the capture: the client waited for none of them.
        ((0.01, 1), 0, 100, 0),
        ((0.01, 1), 9, 100, 20),
        # Too few ACKs to tell; elsewhere a sender's waits are not sure to be seen.
        ((0.01, 1), 0, 19, 20),
        ((1, 0.01), 0, 100, 20),
    ],
)
def test_a_gap_for_which_no_ack_was_waited_is_a_lost_end(
    half_ms: tuple[float, float], waits: int, acks: int, held: int
) -> None:
    calls = [large(number, 40 if number <= 20 else 2) for number in range(1, 61)]
    syn_rtt, ack_rtt = (int(half * MILLISECOND) for half in half_ms)
    connection = {
        **CONNECTION, "syn_rtt": syn_rtt, "ack_rtt": ack_rtt, "handshake": True,
        "server_acks": acks, "client_ack_waits": waits if waits < 9 else 10,
    }  # fmt: skip
    with trace_of(calls=calls, connections=[connection]) as trace:
        found = held_segments(trace)
    assert sum(pair.held for pair in found) == held


def test_the_other_timer() -> None:
    with trace_of(calls=[at(1, 1), at(2, 1), at(3, 201)], connections=[CONNECTION]) as trace:
        (pair,) = held_segments(trace)
    assert (pair.timer_s, pair.held) == (0.2, 1)


def test_a_long_way_is_no_timer() -> None:
    calls = [at(number, 40) for number in range(1, 9)]
    with trace_of(calls=calls, connections=[CONNECTION]) as trace:
        assert held_segments(trace) == ()


def test_udp_has_no_acks() -> None:
    udp = {**CONNECTION, "transport": "UDP"}
    with trace_of(calls=[at(1, 1), at(2, 1), at(3, 41)], connections=[udp]) as trace:
        assert held_segments(trace) == ()


def reads(waits: int, late: int = 6, **lacking: int) -> tuple[HeldSegments, ...]:
    """A usual call, READs that took 40 ms longer, an UNSTABLE WRITE and a stable one that did."""
    calls = [
        at(1, 1),
        *(at(2 + number, 41, stability="read") for number in range(late)),
        at(8, 42, stability="unstable_write"),
        at(9, 41, stability="stable"),
    ]
    connection = {**CONNECTION, "server_ack_waits": waits, **lacking}
    with trace_of(calls=calls, connections=[connection]) as trace:
        found = held_segments(trace)
        told = ack_waits_by_client(trace)
    expected = {pair.client: AckWaits(pair.held, 0.04, pair.serving_s) for pair in found}
    assert told == (expected if late == 6 else {})
    return found


def test_a_disk_may_take_as_long_unless_the_server_was_seen_to_wait() -> None:
    assert reads(9) == ()
    (pair,) = reads(10)
    assert (pair.held, pair.ack_waits, pair.unstable_s, pair.seen) == (7, 10, 0.0, True)
    assert pair.read_s == pytest.approx(6 * 0.04)
    assert pair.unstable_write_s == pytest.approx(0.04)
    # What does not stand out is no mode.
    (few,) = reads(10, late=3)
    assert (few.held, few.seen) == (4, False)


def test_where_the_capture_lacks_segments_fewer_waits_tell_as_much() -> None:
    # A fourth of the ACKs is timed, for two segments each.
    sees = {"server_segments": 800, "client_acks": 100}
    assert reads(4, **sees, missing_bytes=0) == ()
    (pair,) = reads(4, **sees, missing_bytes=1448)
    assert (pair.held, pair.ack_waits) == (7, 4)
    assert reads(3, **sees, missing_bytes=1448) == ()
    assert reads(4, server_segments=800, client_acks=200, missing_bytes=1448) == ()
    assert reads(9, server_segments=200, client_acks=800, missing_bytes=1448) == ()
