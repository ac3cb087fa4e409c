"""For how long how many intervals were open at once.

Takes rows of intervals, or arrays; gives times in whole nanoseconds, and numbers of intervals.
Knows nothing of calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import walks
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

MOST = 4096
"""Levels that are told apart; more at once count as this many."""

LATEST_NS = 2**62
"""Times beyond this, in nanoseconds since 1970, are taken for this."""


class Levels(Record):
    """How many intervals were open at once."""

    times_ns: tuple[int, ...]
    """The time in which 0, 1, 2 … were, up to `MOST`, nanoseconds. The first is that between the
    first begin and the last end."""

    @property
    def busy_ns(self) -> int:
        """Time in which at least one was open, nanoseconds."""
        return sum(self.times_ns[1:])

    @property
    def mean(self) -> float:
        """How many were open in that time, on average; 0 without any."""
        busy_ns = self.busy_ns
        lengths_ns = sum(level * time_ns for level, time_ns in enumerate(self.times_ns))
        return lengths_ns / busy_ns if busy_ns else 0.0

    @property
    def peak(self) -> int:
        """The most at once."""
        return len(self.times_ns) - 1

    def at_least_ns(self, level: int) -> int:
        """Time in which so many were open, or more, nanoseconds."""
        return sum(self.times_ns[level:])


NONE_OPEN = Levels((0,))
"""Without intervals."""


def levels(rows: duckdb.DuckDBPyRelation, groups: Mapping[int, int]) -> dict[int, Levels]:
    """How many intervals of each group were open at once (`walks.levels`).

    Args:
        rows: `begin` and `end` in nanoseconds, `key`.
        groups: The group of each key; rows of others are left out.

    Raises:
        duckdb.Error: The database could not give the rows.
    """
    found = walks.levels(rows, groups, most=MOST, latest_ns=LATEST_NS)
    return {group: Levels(tuple(times_ns)) for group, times_ns in found.items()}


def most_at_once(begin: Times, end: Times, *, touching: bool = False) -> int:
    """The most intervals that were open at once.

    One of no length, or that ends before it begins, is never open.

    Args:
        begin: Begins of intervals, nanoseconds.
        end: Their ends.
        touching: Also count one that ends as another begins, and those of no length.
    """
    kept = begin <= end if touching else begin < end
    begins, ends = np.sort(begin[kept]), np.sort(end[kept])
    over = np.searchsorted(ends, begins, side="left" if touching else "right")
    return int((np.arange(1, len(begins) + 1) - over).max(initial=0))


def often_at_once(begin: Times, end: Times, share: float) -> int:
    """So many intervals, or more, were open for a share of the time in which any was.

    0 where none was.

    Args:
        begin: Begins of intervals, nanoseconds.
        end: Their ends, not before their begins.
        share: The share of the time, above 0, up to 1.
    """
    begins, ends = np.sort(begin), np.sort(end)
    busy_ns = _at_least_ns(begins, ends, 1)
    if not busy_ns:
        return 0

    def often(level: int) -> bool:
        return _at_least_ns(begins, ends, level) >= share * busy_ns

    most = 2
    while most <= len(begins) and often(most):
        most *= 2
    # The lower of these two was open often enough, the upper was not.
    least = most // 2
    while most - least > 1:
        level = (least + most) // 2
        least, most = (level, most) if level <= len(begins) and often(level) else (least, level)
    return least


def _at_least_ns(begins: Times, ends: Times, level: int) -> int:
    """Time in which so many were open, or more.

    In order of time, the begin j + level - 1 reaches the level and the end j leaves it, unless the
    end j - 1 came after that begin: then it is the one that was left last.
    """
    opened, closed = begins[level - 1 :], ends[: len(ends) - level + 1]
    since = opened.copy()
    np.maximum(opened[1:], closed[:-1], out=since[1:])
    np.subtract(closed, since, out=since)
    return int(np.maximum(since, 0).sum())


def open_at_begin(
    begin: Times, end: Times, group: NDArray[np.int32], groups: int
) -> NDArray[np.int32]:
    """For each interval, how many of its group were open when it began, itself included.

    Args:
        begin: Begins of intervals, nanoseconds.
        end: Their ends; where one lies before the begin, its interval is of no length.
        group: The group of each, from 0; one below that counts nothing, and gets 1.
        groups: How many groups there are.
    """
    found = np.zeros(len(begin), np.int32)
    walks.open_at_begin((begin, end, group), groups, found)
    return np.maximum(found, 1, out=found)
