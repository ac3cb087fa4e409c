"""Stretches of time, joined and held against others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.asking.stretches import by_owner, common, joined, of_any

STRETCHES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=8)


@given(STRETCHES, STRETCHES)
def test_what_is_common_is_what_both_cover(
    some: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
) -> None:
    def columns(told: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        begin = np.array([begin for begin, _ in told], np.int64)
        return joined(begin, begin + np.array([length for _, length in told], np.int64))

    def covered(begin: np.ndarray, end: np.ndarray) -> set[int]:
        return {
            each for pair in zip(begin.tolist(), end.tolist(), strict=True) for each in range(*pair)
        }

    told = columns(some), columns(others)
    for (begin, end), given_ in zip(told, (some, others), strict=True):
        assert covered(begin, end) == {
            each for first, length in given_ for each in range(first, first + length)
        }
        assert (begin[1:] > end[:-1]).all()
    assert covered(*common(*told)) == covered(*told[0]) & covered(*told[1])
    begin, end = of_any(told)
    assert covered(begin, end) == covered(*told[0]) | covered(*told[1])
    assert (begin[1:] > end[:-1]).all()


def test_each_owner_has_those_of_its_own() -> None:
    found = by_owner([("a", 5, 7), ("b", 0, 9), ("a", 1, 2), ("a", 6, 8)])
    assert {owner: [each.tolist() for each in theirs] for owner, theirs in found.items()} == {
        "a": [[1, 5], [2, 8]],
        "b": [[0], [9]],
    }
    assert by_owner([]) == {}
