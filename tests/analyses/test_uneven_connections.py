"""Connections that answer later than the others of their client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pcapnfs.analyses.wire.uneven_connections import UnevenConnections, uneven_connections
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

PORTS = {1: 700, 2: 701, 3: 702}


def connections() -> list[Row]:
    return [
        {
            "connection": number, "transport": "TCP", "client": "10.0.0.2", "server": "10.0.0.1",
            "client_port": port, "server_port": 2049,
        }
        for number, port in PORTS.items()
    ]  # fmt: skip


def turns(took_ms: dict[int, float], *, of: int = 40, **columns: object) -> Iterator[Row]:
    """GETATTRs on these connections by turns, `of` on each."""
    number = 0
    for _ in range(of):
        for connection, milliseconds in took_ms.items():
            number += 1
            yield call(number, "GETATTR", milliseconds, connection=connection, **columns)


def found(*calls: Row) -> tuple[UnevenConnections, ...]:
    with trace_of(calls=list(calls), connections=connections()) as trace:
        return uneven_connections(trace)


def test_the_one_that_answers_later_is_told_with_what_its_calls_took_longer() -> None:
    data = [
        call(200, "READ", 8, connection=2, stability="read"),
        call(201, "READ", 3, connection=2, stability="read"),
        call(202, "READ", 8, connection=1, stability="read"),
    ]
    (told,) = found(*turns({1: 1, 2: 6, 3: 1.5}), *data)
    assert (told.ports, told.others, told.small_calls, told.usual_calls) == ((701,), 2, 40, 78)
    assert (told.floor_s, told.usual_s) == (0.006, 0.001)
    # No call is told to have waited for longer than it took.
    assert told.calls == 42
    assert told.longer_s == pytest.approx(40 * 0.005 + 0.005 + 0.003)
    assert told.time_s == {"unstable": pytest.approx(0.2), "read": pytest.approx(0.008)}
    assert told.frames == (3, 9, 15, 21, 27)


def test_several_may_be_late_and_the_latest_comes_first() -> None:
    (told,) = found(*turns({1: 4, 2: 6, 3: 1.5}))
    assert (told.ports, told.others, told.floor_s, told.usual_s) == ((701, 700), 1, 0.006, 0.0015)


def test_those_whose_calls_took_longest_for_it_come_first() -> None:
    """The other client has more calls, and they waited for less."""
    other = {"client": "10.0.0.3"}
    more = [
        {**row, "connection": row["connection"] + 10, **other}  # type: ignore[operator]
        for row in connections()
    ]
    calls = [
        *turns({1: 1, 2: 6, 3: 1}),
        *(
            {**row, "call": row["call"] + 1000}  # type: ignore[operator]
            for row in turns({11: 1, 12: 2.5, 13: 1}, of=60, **other)
        ),
    ]
    with trace_of(calls=calls, connections=[*connections(), *more]) as trace:
        told = uneven_connections(trace)
    assert [(each.client, each.calls) for each in told] == [("10.0.0.2", 40), ("10.0.0.3", 60)]


@pytest.mark.parametrize(
    "took",
    [
        pytest.param({1: 1, 2: 1.9, 3: 1}, id="not twice as long"),
        pytest.param({2: 6}, id="alone"),
    ],
)
def test_what_is_like_the_others_or_alone_is_not(took: dict[int, float]) -> None:
    assert found(*turns(took)) == ()


def test_few_calls_show_nothing() -> None:
    assert found(*turns({1: 1, 2: 6}, of=29)) == ()
    assert len(found(*turns({1: 1, 2: 6}, of=31))) == 1


def test_one_after_the_other_is_no_comparison() -> None:
    """The path may have changed in between."""
    before = list(turns({1: 1}))
    after = [call(number, "GETATTR", 6, connection=2) for number in range(100, 140)]
    assert found(*before, *after) == ()


def test_calls_that_waited_for_something_else_show_no_way() -> None:
    slow = [*turns({1: 1, 2: 1})]
    again = [
        {**row, "tcp_resent": True, "srt": 200_000_000} if row["connection"] == 2 else row
        for row in slow
    ]
    assert found(*again) == ()
    stable = [
        {**row, "stability": "stable", "srt": 20_000_000} if row["connection"] == 2 else row
        for row in slow
    ]
    assert found(*stable) == ()


def acked(rtt_ms: float, acks: int = 100, **columns: object) -> Row:
    """A connection captured at the server, whose client's ACKs usually take so long."""
    rtt = round(rtt_ms * MILLISECOND)
    return {
        "transport": "TCP", "client": "10.0.0.2", "server": "10.0.0.1", "server_port": 2049,
        "first_time": START_NS, "last_time": START_NS + 2000 * MILLISECOND,
        "syn_rtt": 5_000, "ack_rtt": MILLISECOND, "server_segments": 500,
        "client_acks": acks, "client_ack_min": rtt, "client_ack_rtt": rtt,
    } | columns  # fmt: skip


def at_server(*rows: Row, took_ms: float = 1, pause: bool = True) -> tuple[UnevenConnections, ...]:
    """Of connections from port 700 on, with 40 calls on each by turns: 10 ms apart, or at once."""
    numbered = [
        {**row, "connection": number, "client_port": 699 + number}
        for number, row in enumerate(rows, 1)
    ]
    calls = list(turns(dict.fromkeys(range(1, len(rows) + 1), took_ms)))
    if not pause:
        calls = [{**row, "call_first_time": START_NS, "call_time": START_NS} for row in calls]
    with trace_of(calls=calls, connections=numbered) as trace:
        return uneven_connections(trace)


def test_where_no_service_time_has_the_way_the_acks_of_the_client_tell() -> None:
    (told,) = at_server(acked(1), acked(6.5), acked(1.5))
    assert (told.shown_by, told.ports, told.others) == ("acks", (701,), 2)
    assert (told.floor_s, told.usual_s) == (0.0065, 0.001)
    assert (told.small_calls, told.usual_calls, told.calls) == (100, 200, 40)
    # The next call comes 9 ms after each reply, and would have come 5.5 ms sooner.
    assert told.longer_s == pytest.approx(40 * 0.0055)
    assert told.time_s == {"client": pytest.approx(0.22)}
    assert told.frames == (3, 9, 15, 21, 27)


def test_what_the_client_sent_meanwhile_did_not_wait_for_it() -> None:
    (told,) = at_server(acked(1), acked(6.5), pause=False)
    assert told.longer_s == pytest.approx(40 * 0.0055)
    assert told.time_s == {"client": 0.0}


SLOW = {"client_slow_rtt": 40 * MILLISECOND, "client_slow_acks": 20, "client_slow_turns": 10}


@pytest.mark.parametrize(
    ("late", "told"),
    [
        pytest.param(acked(2.1), True, id="twice as long"),
        pytest.param(acked(1.9), False, id="not twice as long"),
        pytest.param(acked(6, acks=29), False, id="few ACKs"),
        pytest.param(acked(30), True, id="sooner than any delayed ACK"),
        pytest.param(acked(40), False, id="as delayed ACKs take"),
        pytest.param(acked(40, ack_rtt=40 * MILLISECOND), True, id="no handshake is delayed"),
        pytest.param(acked(1, **SLOW), False, id="longer later, as delayed ACKs take"),
        pytest.param(acked(1, **SLOW, client_slow_soon=9), False, id="few of them soon"),
        pytest.param(acked(1, **SLOW, client_slow_soon=10), True, id="soon after another"),
        pytest.param(
            acked(1, **{**SLOW, "client_slow_acks": 19}, client_slow_soon=10), False, id="few"
        ),
        pytest.param(acked(6, server_segments=1000), True, id="twice as much data"),
        pytest.param(acked(6, server_segments=1001), False, id="a queue of its own"),
        pytest.param(acked(6, first_time=START_NS + 2000 * MILLISECOND), False, id="later"),
    ],
)
def test_acks_show_it_only_where_nothing_else_delays_them(late: Row, told: bool) -> None:
    found = at_server(acked(1), late)
    assert [each.ports for each in found] == ([(701,)] if told else [])


def test_at_the_client_its_acks_show_nothing() -> None:
    near = {"syn_rtt": 5 * MILLISECOND, "ack_rtt": 5_000}
    assert at_server(acked(0.01, **near), acked(0.5, **near)) == ()
