"""Calls that took long to reach the server, by what it acknowledged meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from pcapnfs.analyses.wire.late_arrivals import LateArrivals, late_arrivals
from pcapnfs.analyses.wire.slower_path import slower_paths
from pcapnfs.trace import Trace
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

CONNECTION: Row = {
    "connection": 0,
    "transport": "TCP",
    "client": "10.0.0.2",
    "server": "10.0.0.1",
    "client_acks": 100,
    "client_ack_min": 10_000,
    "client_ack_rtt": 20_000,
    "server_acks": 100,
    "server_ack_min": MILLISECOND,
    "server_ack_rtt": MILLISECOND,
    "handshake": True,
    "syn_rtt": MILLISECOND,
    "ack_rtt": 10_000,
}
"""Captured at the client, 1 ms away from the server."""


def write(number: int, sent_ms: float, left_out_ms: float | None, **columns: object) -> Row:
    """A WRITE of 64 KiB, left out by an acknowledgement so long after it was sent, and answered
    1 ms after that."""
    sent = START_NS + int(sent_ms * MILLISECOND)
    took_ms = 1 + (left_out_ms or 0)
    known: Row = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": sent + int(took_ms * MILLISECOND),
        "reply_time": sent + int(took_ms * MILLISECOND),
        "connection": 0,
        "call_bytes": 65_636,
        "stability": "unstable_write",
        "unreceived_time": None if left_out_ms is None else sent + int(left_out_ms * MILLISECOND),
    }
    return call(number, "WRITE", took_ms, **{**known, **columns})


def found(calls: Iterable[Row], **connection: object) -> Sequence[LateArrivals]:
    with trace_of(calls=list(calls), connections=[{**CONNECTION, **connection}]) as trace:
        return late_arrivals(trace)


def full(files: int = 4) -> list[Row]:
    """Files of eight calls each, sent at once; the link takes one every 10 ms, then is still."""
    return [
        write(1 + file * 8 + place, file * 200 + place * 0.1, (place + 1) * 10 - place * 0.1)
        for file in range(files)
        for place in range(8)
    ]


def test_a_link_that_was_full_again_and_again() -> None:
    (pair,) = found(full())
    assert (pair.client, pair.server, pair.calls, pair.connections) == (
        "10.0.0.2", "10.0.0.1", 32, 1
    )  # fmt: skip
    assert pair.usual_s == 0.001
    assert pair.median_s == pytest.approx(0.04465, abs=1e-4)
    assert (pair.from_ns, pair.until_ns) == (START_NS, START_NS + 680 * MILLISECOND)
    assert pair.bytes_per_s == pytest.approx(6_563_600)


def test_what_they_took_longer_is_the_path_s() -> None:
    with trace_of(calls=full(), connections=[CONNECTION]) as trace:
        (path,) = slower_paths(trace)
    assert (path.side, path.confidence, path.late_calls, path.calls) == (
        "server", "certain", 32, 32
    )  # fmt: skip
    # All but the round trip and what the server took.
    assert path.longer_s == pytest.approx(
        sum(4 * (10 * place - 1) for place in range(1, 9)) / 1e3, rel=0.02
    )
    assert path.full_bytes_per_s == pytest.approx(6_563_600)


@pytest.mark.parametrize(("quick", "confidence"), [(0, "certain"), (12, "certain"), (13, "likely")])
def test_some_that_are_late_among_others_may_be_a_machine_that_stood_still(
    quick: int, confidence: str
) -> None:
    late = [write(1 + number, 100 * number, 30 + 7 * (number % 3)) for number in range(12)]
    others = [write(20 + number, 50 + 80 * number, 1) for number in range(quick)]
    beyond = [write(50, 2000, 1)]
    with trace_of(calls=[*late, *others, *beyond], connections=[CONNECTION]) as trace:
        ((pair,), (path,)) = late_arrivals(trace), slower_paths(trace)
    assert (pair.calls, pair.meanwhile, pair.bytes_per_s) == (12, 12 + quick, None)
    assert (path.confidence, path.late_calls) == (confidence, 12)


def test_small_calls_behind_them_had_not_arrived_either() -> None:
    calls = full(2)
    calls.append(write(17, 201, 80, call_bytes=120, unreceived_time=None))
    (pair,) = found(calls)
    assert pair.calls == 17


@pytest.mark.parametrize(
    ("columns", "connection"),
    [
        ({"call_bytes": 120}, {}),
        ({"tcp_resent": True}, {}),
        ({"callback": True}, {}),
        ({}, {"syn_rtt": 5_000, "ack_rtt": MILLISECOND, "server_ack_rtt": 9_000,
              "server_ack_min": 5_000, "client_ack_rtt": MILLISECOND,
              "client_ack_min": MILLISECOND}),
    ],
    ids=["small calls", "behind a lost segment", "callbacks", "captured at the server"],
)  # fmt: skip
def test_others_tell_nothing(columns: Row, connection: Row) -> None:
    assert found([{**row, **columns} for row in full()], **connection) == ()


def test_few_calls_and_a_little_time_tell_nothing() -> None:
    assert found(full()[:9]) == ()
    assert found(write(number, number * 10, 4) for number in range(1, 40)) == ()


def test_what_arrives_unevenly_stood_in_no_queue() -> None:
    arrived_ms = [30 + number // 2 * 26 + number % 2 for number in range(1, 40)]
    (pair,) = found(write(number, 0, ms) for number, ms in enumerate(arrived_ms, start=1))
    assert pair.bytes_per_s is None


@pytest.mark.parametrize(
    ("queues_ms", "rate"),
    [
        # The link takes one every 100 ms, however much is under way.
        ([15 + 5 * number for number in range(20)], 656_360),
        # A window goes through at a time: as evenly on a path that stays as long as it is.
        ([60] * 20, None),
    ],
    ids=["a link", "a path"],
)
def test_calls_larger_than_a_window_tell_a_full_link_where_its_queue_grows(
    queues_ms: list[float], rate: int | None
) -> None:
    calls = []
    for number, queue_ms in enumerate(queues_ms, start=1):
        first = START_NS + number * 100 * MILLISECOND
        calls.append(write(number, (number + 1) * 100, queue_ms, call_first_time=first))
    (pair,) = found(calls)
    assert pair.bytes_per_s == (None if rate is None else pytest.approx(rate, rel=0.06))


@pytest.mark.parametrize("bursts", [3, 40])
def test_bursts_that_one_acknowledgement_leaves_out_show_no_path(bursts: int) -> None:
    """The next is for all of a burst: what is in a queue does not arrive at once."""
    burst_of = [
        write(1 + burst * 6 + place, burst * 25 + place / 32, 6.5 - place / 32, call_bytes=131_276)
        for burst in range(bursts)
        for place in range(6)
    ]
    assert found(burst_of) == ()


def test_a_trace_without_any_has_no_table() -> None:
    trace: Trace
    with trace_of(calls=[write(1, 0, None)], connections=[CONNECTION]) as trace:
        assert late_arrivals(trace) == ()
