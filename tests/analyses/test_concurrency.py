"""Calls under way at once: the mean while any was, the peak, the course over time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcapnfs.analyses.times.concurrency import LONGEST_NS, MOMENTS, concurrency, timeline
from tests.unit.rows import MILLISECOND, START_NS, Row, call, trace_of

PAIR = ("10.0.0.2", "10.0.0.1")


def under_way(sent_ms: int, lasted_ms: int, number: int, **columns: object) -> Row:
    start = START_NS + sent_ms * MILLISECOND
    times: dict[str, object] = {
        "call_first_time": start,
        "call_time": start,
        "reply_time": start + lasted_ms * MILLISECOND,
    }
    return call(number, "GETATTR", 1, **times, **columns)


def test_calls_one_after_the_other_are_one_at_a_time() -> None:
    """A reply and a call at one instant do not overlap."""
    with trace_of(calls=[under_way(0, 10, 1), under_way(10, 10, 2), under_way(30, 10, 3)]) as trace:
        found, by_pair = concurrency(trace)
    assert (found.mean, found.peak) == (1.0, 1)
    assert found.busy_s == pytest.approx(0.03)
    assert found.span_s == pytest.approx(0.04)
    assert by_pair == {PAIR: found}


def test_clients_are_counted_apart_and_together() -> None:
    """Ten ms of one, twenty of the other, together twenty; callbacks and the unanswered are out."""
    calls = [
        under_way(0, 10, 1),
        under_way(0, 20, 2, client="10.0.0.3", connection=1),
        under_way(0, 500, 3, callback=True),
        call(4, "GETATTR", None),
    ]
    with trace_of(calls=calls) as trace:
        found, by_pair = concurrency(trace)
    assert (found.mean, found.peak) == (1.5, 2)
    assert {pair: (each.mean, each.peak) for pair, each in by_pair.items()} == {
        PAIR: (1.0, 1),
        ("10.0.0.3", "10.0.0.1"): (1.0, 1),
    }


def test_the_course_over_time_is_in_equal_parts() -> None:
    """Two calls for the first half of 60 s, none, and one in the last second."""
    calls = [under_way(0, 30_000, 1), under_way(0, 30_000, 2), under_way(59_000, 1_000, 3)]
    with trace_of(calls=calls) as trace:
        moments = timeline(trace)
    assert len(moments) == MOMENTS
    assert [moment.calls for moment in (moments[0], moments[1], moments[-2])] == [2, 0, 1]
    assert moments[10].outstanding == pytest.approx(2.0)
    assert moments[45].outstanding == pytest.approx(0.0)
    assert moments[-1].outstanding == pytest.approx(1.0, rel=1e-6)
    assert moments[1].at_s == pytest.approx(1.0)


def test_without_answered_calls_there_is_nothing() -> None:
    with trace_of(calls=[call(1, "GETATTR", None)]) as trace:
        found, by_pair = concurrency(trace)
        assert timeline(trace) == ()
    assert (found.mean, found.peak, found.busy_s, by_pair) == (None, 0, 0.0, {})


def test_calls_that_took_no_time_have_no_mean() -> None:
    with trace_of(calls=[under_way(5, 0, 1)]) as trace:
        found, _ = concurrency(trace)
        moments = timeline(trace)
    assert (found.mean, found.peak, found.busy_s) == (None, 1, 0.0)
    assert [moment.outstanding for moment in moments] == [0.0]


def test_times_of_a_damaged_capture_do_no_harm() -> None:
    calls = [
        call(1, "GETATTR", 1, call_first_time=-(2**63), reply_time=-(2**63) + 10),
        call(2, "GETATTR", 1, call_first_time=2**63 - 5, reply_time=2**63 - 1),
    ]
    with trace_of(calls=calls) as trace:
        found, _ = concurrency(trace)
        moments = timeline(trace)
    assert found.span_s == pytest.approx(LONGEST_NS / 1e9)
    assert len(moments) <= MOMENTS + 1
    assert all(moment.outstanding >= 0 for moment in moments)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=20))
def test_mean_peak_and_course_are_those_of_counting_each_instant(
    given_calls: list[tuple[int, int]],
) -> None:
    calls = [under_way(sent, lasted, n) for n, (sent, lasted) in enumerate(given_calls, 1)]
    with trace_of(calls=calls) as trace:
        found, _ = concurrency(trace)
        moments = timeline(trace)
    instants = [sum(s <= at < s + d for s, d in given_calls) for at in range(80)]
    busy = [number for number in instants if number]
    assert found.busy_s == pytest.approx(len(busy) / 1000)
    assert found.mean == (pytest.approx(sum(busy) / len(busy)) if busy else None)
    assert found.peak >= max(instants)
    width_s = moments[1].at_s if len(moments) > 1 else 1e-9
    outstanding_s = sum(moment.outstanding for moment in moments) * width_s
    assert outstanding_s == pytest.approx(sum(d for _, d in given_calls) / 1000)
    assert sum(moment.calls for moment in moments) == len(calls)
