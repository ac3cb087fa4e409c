"""Replies that had to wait for those before them on their connection."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.server_times import server_times
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire.queued_replies import queued_replies
from tests.analyses.test_server_times import NEAR
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

Times = tuple[float, float, float]
"""When a call was sent, and when its reply began and ended, ms since the start."""


def read(number: int, times: Times, **columns: object) -> Row:
    """A READ, or another call, at these times."""
    sent, begun, ended = (START_NS + int(time * MILLISECOND) for time in times)
    moments = {
        "call_first_time": sent,
        "call_time": sent,
        "reply_first_time": begun,
        "reply_time": ended,
        "srt": ended - sent,
        "connection": 1,
    }
    return call(number, "READ", times[2] - times[0], stability="read", **(moments | columns))


AHEAD = [
    read(1, (10, 11, 91)),
    read(2, (10, 91, 171)),
    read(3, (20, 175, 255)),
    read(4, (92, 255, 335)),
]
"""READs on a full link: each reply begins where the one before it ends, or a little later."""


AT_THE_SERVER: Row = {**NEAR, "connection": 1}
"""Their connection, captured where no round trip is in between."""


def queued(*calls: Row) -> list[tuple[int, float, float]]:
    """Calls that waited, since when, and for how long, ms."""
    with trace_of(calls=calls) as trace:
        found = queued_replies(trace)
    return [
        (int(number), (int(since) - START_NS) / MILLISECOND, int(length) / MILLISECOND)
        for number, since, length in zip(found.call, found.since_ns, found.queued_ns, strict=True)
    ]


def test_a_reply_waits_while_others_are_sent() -> None:
    assert queued(*AHEAD) == [(2, 11, 80), (3, 20, 155), (4, 92, 163)]
    # Calls are numbered as their replies came, or any other way.
    assert queued(*reversed(AHEAD)) == queued(*AHEAD)


def test_a_small_reply_waits_as_well() -> None:
    small = read(5, (60, 335, 335))
    assert queued(*AHEAD, small)[-1] == (5, 60, 275)


@pytest.mark.parametrize(
    "second",
    [
        pytest.param((10, 102, 180), id="the connection was idle: the server was not ready"),
        pytest.param((91, 95, 180), id="no reply was on its way when it was asked"),
        pytest.param((12, 12.05, 180), id="no wait"),
    ],
)
def test_what_waits_for_no_reply(second: Times) -> None:
    assert queued(AHEAD[0], read(2, second)) == []


@pytest.mark.parametrize(
    "columns", [{"connection": 2}, {"callback": True}, {"first_arrived": False}, {"connection": 0}]
)
def test_what_is_sent_elsewhere_or_again_is_left_out(columns: dict[str, object]) -> None:
    assert queued(AHEAD[0], read(2, (10, 91, 171), **columns)) == []


def test_connections_are_told_apart() -> None:
    others = [
        read(5, (10, 31, 91), connection=7),
        read(6, (15, 91, 100), connection=7),
        read(7, (15, 91, 100), connection=3),
    ]
    assert queued(*AHEAD, *others) == [(2, 11, 80), (3, 20, 155), (4, 92, 163), (6, 31, 60)]


def test_the_wait_is_transfer_and_not_the_servers() -> None:
    with trace_of(calls=AHEAD, connections=[AT_THE_SERVER]) as trace:
        (found,) = server_times(trace)
        budget = time_budget(trace).total
    # 1 ms, 1 ms until the connection was busy, and nothing twice.
    assert found.mean_s == pytest.approx(0.0005)
    assert budget.transfer_s == pytest.approx(0.324)
    assert budget.read_s == pytest.approx(0.001)


def test_where_the_server_takes_longer_than_the_network_it_is_waited_for() -> None:
    slow = [read(1, (10, 60, 70)), read(2, (10, 110, 120)), read(3, (20, 160, 170))]
    with trace_of(calls=slow, connections=[AT_THE_SERVER]) as trace:
        (found,) = server_times(trace)
    assert found.median_s == pytest.approx(0.1)
