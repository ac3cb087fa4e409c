"""Calls with short replies that stood in the queue of a link."""

from __future__ import annotations

import pytest

from pcapnfs.analyses.servers.server_times import server_times
from pcapnfs.analyses.times.time_budget import time_budget
from pcapnfs.analyses.wire.queued_replies import queued_replies
from tests.analyses.test_queued_replies import AT_THE_SERVER, read
from tests.unit.rows import MILLISECOND, Row, trace_of

AT_ONCE = 16
"""READs under way."""


def link(
    replies: int, took_ms: float = 1.5, every_ms: float = 2.25, connections: int = 1, late: int = 0
) -> list[Row]:
    """READs of which as many are always under way, and are answered one after the other.

    A reply has three segments; of a link that is full each takes a third of `every_ms`. One reply
    is late by 60 ms, and all after it with it, if `late` is its number.
    """
    ends = [
        (place + 1) * every_ms + (60 if 0 < late <= place + 1 else 0) for place in range(replies)
    ]
    return [
        read(
            place + 1,
            (ends[place - AT_ONCE] if place >= AT_ONCE else place * 0.01, end - took_ms, end),
            connection=1 + place % connections, reply_bytes=4200,
        )
        for place, end in enumerate(ends)
    ]  # fmt: skip


def waits(calls: list[Row]) -> dict[int, float]:
    """For how long each call that waited did so, ms."""
    with trace_of(calls=calls) as trace:
        found = queued_replies(trace)
    return {
        int(number): int(length) / MILLISECOND
        for number, length in zip(found.call, found.queued_ns, strict=True)
    }


@pytest.mark.parametrize("connections", [1, 4])
def test_what_is_asked_for_at_once_waits_for_the_link(connections: int) -> None:
    found = waits(link(60, connections=connections))
    assert list(found) == list(range(2, 61))
    # All but the two segments that the reply takes itself.
    assert found[40] == pytest.approx(AT_ONCE * 2.25 - 1.5)
    # Until the first reply came, the server may have had none.
    assert found[3] == pytest.approx(2 * 2.25)


def test_a_server_that_takes_its_time_sends_each_reply_at_once() -> None:
    assert waits(link(60, took_ms=0.12)) == {}


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(link(29), id="too few"),
        pytest.param([{**row, "reply_bytes": 2800} for row in link(60)], id="of two segments"),
        pytest.param([{**row, "callback": True} for row in link(60)], id="callbacks"),
        pytest.param([{**row, "first_arrived": False} for row in link(60)], id="sent again"),
        pytest.param(link(60, every_ms=4.5), id="the link is idle for half of the time"),
    ],
)
def test_what_shows_nothing(calls: list[Row]) -> None:
    assert waits(calls) == {}


def test_one_after_the_other_none_waits() -> None:
    calls = [
        read(number, (3 * number, 3 * number + 0.7, 3 * number + 2.2), reply_bytes=4200)
        for number in range(1, 60)
    ]
    assert waits(calls) == {}


def test_after_a_pause_the_queue_begins_anew() -> None:
    found = waits(link(80, late=41))
    assert 41 not in found
    assert found[42] == pytest.approx(2.25)


def test_the_wait_is_transfer_and_not_the_servers() -> None:
    with trace_of(calls=link(60), connections=[AT_THE_SERVER]) as trace:
        (found,) = server_times(trace)
        budget = time_budget(trace).total
    assert found.median_s < 0.001
    assert budget.transfer_s == pytest.approx(59 * 0.00225 + 0.0015, rel=0.02)
