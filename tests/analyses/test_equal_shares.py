"""Time shared equally, against fractions that are added up piece by piece."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapnfs.analyses.asking.equal_shares import Intervals, equal_shares, whole_nanoseconds
from pcapnfs.record import replace

Row = tuple[int, int, int]
"""Begin, end, group."""

Part = tuple[int, int, int]
"""Interval, begin, end."""


def intervals(rows: list[Row], parts: list[Part] | None = None, groups: int = 1) -> Intervals:
    """Columns of rows."""

    def column(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    parts = parts or []
    return Intervals(
        begin=column([begin for begin, _, _ in rows]),
        end=column([end for _, end, _ in rows]),
        group=column([group for _, _, group in rows]).astype(np.int32),
        groups=groups,
        part_of=column([owner for owner, _, _ in parts]).astype(np.int32),
        part_begin=column([begin for _, begin, _ in parts]),
        part_end=column([end for _, _, end in parts]),
    )


def naive(rows: list[Row], begin: int, end: int, group: int) -> Fraction:
    """What an interval is given between two instants, nanosecond by nanosecond."""
    mine = [(start, stop) for start, stop, of in rows if of == group]
    total = Fraction(0)
    for instant in range(begin, end):
        total += Fraction(1, sum(start <= instant < stop for start, stop in mine))
    return total


def test_two_that_overlap_share_what_they_have_in_common() -> None:
    shares = equal_shares(intervals([(0, 10, 0), (6, 16, 0), (20, 23, 0)], [(1, 8, 12)]))
    assert shares.whole.tolist() == [8, 8, 3]
    assert shares.parts.tolist() == [3]
    assert shares.open_ns.tolist() == [19]


def test_groups_do_not_share() -> None:
    shares = equal_shares(intervals([(0, 10, 1), (0, 10, 0), (5, 10, 1)], groups=3))
    assert shares.whole.tolist() == [7.5, 10, 2.5]
    assert shares.open_ns.tolist() == [10, 10, 0]


def test_what_is_of_no_group_takes_no_part() -> None:
    shares = equal_shares(intervals([(0, 10, 0), (5, 15, -1)], [(1, 5, 8)]))
    assert shares.whole.tolist() == [10, 0]
    assert shares.parts.tolist() == [0]
    assert shares.open_ns.tolist() == [10]


def test_columns_that_do_not_fit_together_are_refused() -> None:
    given = intervals([(0, 10, 0), (5, 15, 0)])
    with pytest.raises(ValueError, match="different length"):
        equal_shares(replace(given, group=given.group[:1]))
    with pytest.raises(BufferError, match="side by side"):
        equal_shares(replace(given, begin=np.zeros((2, 2), np.int64)[:, 0]))


def test_nothing_is_shared_among_nobody() -> None:
    shares = equal_shares(intervals([], groups=0))
    assert shares.whole.tolist() == shares.open_ns.tolist() == []
    rounded = whole_nanoseconds(shares.whole, np.zeros(0, np.int32), shares.open_ns)
    assert rounded.tolist() == []


@st.composite
def rows_and_parts(draw: st.DrawFn) -> tuple[list[Row], list[Part]]:
    """Few instants and groups, so that ends and begins meet, and some intervals have no length."""
    instant = st.integers(0, 30)
    rows = draw(
        st.lists(
            st.tuples(instant, instant, st.integers(0, 2)).map(
                lambda row: (min(row[:2]), max(row[:2]), row[2])
            ),
            min_size=1,
            max_size=12,
        )
    )
    parts: list[Part] = []
    for owner, (begin, end, _) in enumerate(rows):
        inside = st.integers(begin, end)
        if draw(st.booleans()):
            one, other = draw(inside), draw(inside)
            parts.append((owner, min(one, other), max(one, other)))
    return rows, parts


@given(rows_and_parts())
def test_shares_are_those_of_the_definition(drawn: tuple[list[Row], list[Part]]) -> None:
    rows, parts = drawn
    shares = equal_shares(intervals(rows, parts, groups=4))
    for (begin, end, group), share in zip(rows, shares.whole, strict=True):
        assert abs(share - naive(rows, begin, end, group)) < 1e-9
    for (owner, begin, end), share in zip(parts, shares.parts, strict=True):
        assert abs(share - naive(rows, begin, end, rows[owner][2])) < 1e-9
    for group, open_ns in enumerate(shares.open_ns):
        mine = [range(begin, end) for begin, end, of in rows if of == group]
        assert open_ns == len(set().union(*mine))


@given(
    st.lists(
        st.tuples(st.integers(0, 10**17), st.integers(0, 10**13), st.integers(0, 3)), max_size=60
    )
)
def test_whole_shares_add_up_exactly(drawn: list[Row]) -> None:
    """Also after 10^17 ns (three years), where a float no longer tells neighbouring nanoseconds."""
    rows = [(begin, begin + length, group) for begin, length, group in drawn]
    given = intervals(rows, groups=4)
    shares = equal_shares(given)
    rounded = whole_nanoseconds(shares.whole, given.group, shares.open_ns)
    assert all(share >= 0 for share in rounded)
    for group in range(4):
        assert rounded[given.group == group].sum() == shares.open_ns[group]
    assert np.abs(rounded - shares.whole).max(initial=0) < 2 + 60 * 10**15 / 2**52


@given(rows_and_parts(), st.randoms())
def test_the_order_of_rows_changes_nothing(
    drawn: tuple[list[Row], list[Part]], random: object
) -> None:
    rows, _ = drawn
    mixed = list(enumerate(rows))
    random.shuffle(mixed)  # type: ignore[attr-defined]
    straight = equal_shares(intervals(rows, groups=3)).whole
    shuffled = equal_shares(intervals([row for _, row in mixed], groups=3)).whole
    assert np.allclose(straight[[place for place, _ in mixed]], shuffled, rtol=0, atol=1e-9)
