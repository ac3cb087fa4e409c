"""Connections that answer later than the others of their client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pcapnfs.analyses.wire.uneven_connections import UnevenConnections, uneven_connections
from tests.unit.rows import Row, call, trace_of

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
