"""How many intervals were open at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcapnfs.analyses.levels import levels, open_at_begin

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=30)


def arrays(intervals: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begin = np.array([each for each, _ in intervals], np.int64)
    return begin, begin + np.array([length for _, length in intervals], np.int64)


@given(INTERVALS)
def test_each_instant_is_counted_once(intervals: list[tuple[int, int]]) -> None:
    begin, end = arrays(intervals)
    counts = [
        sum(b <= instant < e for b, e in zip(begin.tolist(), end.tolist(), strict=True))
        for instant in range(int(begin.min(initial=10**6)), int(end.max(initial=0)))
    ]
    expected = np.bincount(counts, minlength=1) if counts else np.zeros(1, np.int64)
    found = levels(begin, end)
    assert found.tolist()[: len(expected)] == expected.tolist()
    assert not found[len(expected) :].any()


@given(INTERVALS)
def test_an_interval_counts_itself_and_what_is_open(intervals: list[tuple[int, int]]) -> None:
    begin, end = arrays(intervals)
    for place, at in enumerate(begin.tolist()):
        others = int(((begin <= at) & (end > at)).sum())
        assert open_at_begin(begin, end)[place] == max(1, others)


def test_an_interval_that_ends_before_it_begins_is_empty() -> None:
    assert levels(np.array([5, 9]), np.array([3, 10])).tolist() == [4, 1]
