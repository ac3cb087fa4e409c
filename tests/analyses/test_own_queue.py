"""Whether calls arrived the later the more of their client's data was under way."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pcapnfs.analyses.wire.late_arrivals import late_arrivals
from pcapnfs.analyses.wire.slower_path import slower_paths
from tests.analyses.test_late_arrivals import CONNECTION, write
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

RATE = 2_400.0
"""Bytes that the link takes in a millisecond."""

SIZE = 65_636


def left_out(waits_ms: float) -> float | None:
    """For how long acknowledgements left a call out: one comes every half millisecond."""
    return 1 + waits_ms - 0.5 if waits_ms >= 1 else None


def bursts(
    rate: float = RATE, longer_ms: float = 0.0, *, first: int = 0, count: int = 12
) -> list[Row]:
    """One WRITE or two at once, every 200 ms; every third waits for a window while it is sent."""
    calls: list[Row] = []
    for number in range(first, first + count):
        at_ms, queue_ms = 200.0 * number, 0.0
        for place in range(1 + number % 2):
            sent_ms = at_ms + (15.0 if number % 3 == 2 and not place else 0.0)
            queue_ms = max(queue_ms + SIZE / rate - (sent_ms - at_ms), 0.0)
            answered = START_NS + round((sent_ms + queue_ms + longer_ms + 2) * MILLISECOND)
            times = {
                "call_first_time": START_NS + round(at_ms * MILLISECOND),
                "reply_first_time": answered, "reply_time": answered,
                "srt": round((queue_ms + longer_ms + 2) * MILLISECOND),
            }  # fmt: skip
            calls.append(
                write(2 * number + place + 1, sent_ms, left_out(queue_ms + longer_ms), **times)
            )
            at_ms = sent_ms
    return calls


def small(took_ms: float, first: int = 100, count: int = 12) -> list[Row]:
    """GETATTRs with nothing else under way, 100 ms behind each burst."""
    return [
        call(
            first + number,
            "GETATTR",
            took_ms,
            connection=0,
            call_bytes=120,
            call_first_time=START_NS + (200 * number + 100) * MILLISECOND,
            call_time=START_NS + (200 * number + 100) * MILLISECOND,
            reply_first_time=START_NS + round((200 * number + 100 + took_ms) * MILLISECOND),
            reply_time=START_NS + round((200 * number + 100 + took_ms) * MILLISECOND),
        )
        for number in range(count)
    ]


def rate_of(calls: Iterable[Row]) -> float | None:
    """How fast the link is told to take data."""
    with trace_of(calls=list(calls), connections=[CONNECTION]) as trace:
        (pair,) = late_arrivals(trace)
    assert pair.follows is (pair.bytes_per_s is not None)
    return pair.bytes_per_s


def test_what_was_late_by_the_bytes_under_way_tells_how_fast_the_link_is() -> None:
    assert rate_of([*bursts(), *small(1.5)]) == pytest.approx(1_000 * RATE, rel=0.15)
    assert rate_of(bursts()) == pytest.approx(1_000 * RATE, rel=0.15)


def test_then_the_link_was_full() -> None:
    with trace_of(calls=[*bursts(), *small(1.5)], connections=[CONNECTION]) as trace:
        (path,) = slower_paths(trace)
    assert (path.side, path.follows, path.filled, path.late_calls) == ("server", True, "server", 18)


def test_a_path_that_was_longer_is_so_whatever_is_under_way() -> None:
    longer = bursts(1e6, longer_ms=20.0)
    assert rate_of([*longer, *small(21.5)]) is None
    # Nor was it before, with as much under way.
    usual, later = bursts(1e6), bursts(1e6, longer_ms=20.0, first=12)
    assert rate_of([*usual, *later]) is None


def test_delays_that_vary_follow_nothing() -> None:
    varied = [
        row
        for number, longer_ms in enumerate((6.0, 30.0, 0.0, 14.0))
        for row in bursts(1e6, longer_ms, first=3 * number, count=3)
    ]
    assert rate_of(varied) is None


@pytest.mark.parametrize(("others", "told"), [(small(1.5), True), (small(1.5, count=9), False)])
def test_where_all_wait_as_long_others_must_not_need_to(others: list[Row], told: bool) -> None:
    alike = [write(number, 200 * number, left_out(SIZE / RATE)) for number in range(1, 13)]
    assert (rate_of([*others, *alike]) is not None) is told
