"""How many intervals were open at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcapnfs.analyses.asking.levels import (
    Levels,
    levels,
    most_at_once,
    often_at_once,
    open_at_begin,
)
from tests.unit.rows import trace_of

Interval = tuple[int, int]

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30)


def arrays(intervals: Sequence[Interval]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begin = np.array([each for each, _ in intervals], np.int64)
    return begin, begin + np.array([length for _, length in intervals], np.int64)


def open_at(intervals: Sequence[Interval], instant: int) -> int:
    return sum(begin <= instant < begin + length for begin, length in intervals)


@given(INTERVALS)
def test_an_interval_counts_itself_and_what_is_open(intervals: list[Interval]) -> None:
    begin, end = arrays(intervals)
    for place, at in enumerate(begin.tolist()):
        found = open_at_begin(begin, end, np.zeros(len(begin), np.int32), 1)
        assert found[place] == max(1, open_at(intervals, at))


@given(INTERVALS)
def test_the_most_at_once_is_that_of_some_instant(intervals: list[Interval]) -> None:
    begin, end = arrays(intervals)
    expected = max((open_at(intervals, instant) for instant in range(80)), default=0)
    assert most_at_once(begin, end) == expected


@given(INTERVALS)
def test_those_that_touch_may_count_as_open_at_once(intervals: list[Interval]) -> None:
    begin, end = arrays(intervals)
    longer = [(begin, length + 1) for begin, length in intervals]
    expected = max((open_at(longer, instant) for instant in range(80)), default=0)
    assert most_at_once(begin, end, touching=True) == expected


def test_groups_have_levels_of_their_own() -> None:
    rows = "(0, 10, 1), (5, 8, 1), (8, 12, 2), (7, 7, 2), (20, 19, 3), (0, 99, 4)"
    with trace_of() as trace:
        query = f'from (values {rows}) as rows(begin, "end", key)'
        typed = f'select begin::bigint as begin, "end"::bigint as end, key::uinteger as key {query}'
        found = levels(trace.cursor().sql(typed), {1: 0, 2: 0, 3: 5})
    assert found == {0: Levels((0, 7, 5)), 5: Levels((0,))}


def test_levels_have_a_mean_and_a_peak() -> None:
    found = Levels((7, 10, 0, 5))
    assert (found.busy_ns, found.peak, found.at_least_ns(2)) == (15, 3, 5)
    assert found.mean == pytest.approx(25 / 15)
    assert (Levels((9,)).busy_ns, Levels((9,)).peak, Levels((9,)).mean) == (0, 0, 0.0)


@given(INTERVALS, st.sampled_from((0.05, 0.25, 0.5, 1.0)))
def test_what_was_often_open_at_once_was_so_for_its_share(
    intervals: list[Interval], share: float
) -> None:
    begin, end = arrays(intervals)
    open_then = [open_at(intervals, instant) for instant in range(90)]
    busy = sum(number > 0 for number in open_then)
    most = max(
        (
            level
            for level in range(1, len(intervals) + 1)
            if busy and sum(number >= level for number in open_then) >= share * busy
        ),
        default=0,
    )
    assert often_at_once(begin, end, share) == most
