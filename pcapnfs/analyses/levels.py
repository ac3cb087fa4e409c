"""For how long how many intervals were open at once: arithmetic on arrays, knows no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

MOST = 4096
"""Levels that are told apart; more at once count as this many."""


def levels(begin: Times, end: Times) -> Times:
    """The time, in the unit given, in which 0, 1, 2 … intervals were open, up to `MOST`.

    Element 0 is the time between the first begin and the last end in which none was. Where one ends
    as another begins, they were not open at once. An interval that ends before it begins is empty.
    """
    if not len(begin):
        return np.zeros(1, np.int64)
    # Two sorted halves, nearly sorted already, are merged in a fraction of the time.
    ends, begins = (np.sort(each, kind="stable") for each in (np.maximum(end, begin), begin))
    times = np.concatenate((ends, begins))
    steps = np.concatenate((np.full(len(begin), -1, np.int32), np.ones(len(begin), np.int32)))
    # Stable: of equal times ends come first.
    order = np.argsort(times, kind="stable")
    times = times[order]
    opened = np.clip(np.cumsum(steps[order], dtype=np.int64)[:-1], 0, MOST)
    # Floats are exact up to 104 days in nanoseconds, and adding at places is far slower.
    return np.rint(np.bincount(opened, np.diff(times))).astype(np.int64)


def open_at_begin(begin: Times, end: Times) -> NDArray[np.int32]:
    """For each interval, how many were open when it began, itself included."""
    # One array of 64 bits at a time: captures hold millions of calls.
    begun = np.searchsorted(np.sort(begin), begin, side="right").astype(np.int32)
    ends = np.maximum(end, begin)
    ends.sort()
    begun -= np.searchsorted(ends, begin, side="right").astype(np.int32)
    return np.maximum(begun, 1, out=begun)
