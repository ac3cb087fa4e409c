"""Time shared equally among the intervals that are open at each instant.

Takes intervals in whole nanoseconds, each of a group (a client), and parts of them; gives what each
gets of every instant at which it is open. Promises that whole shares add up, group by group, to the
time in which any interval was open, to the nanosecond. Knows nothing of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import walks
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]
    Numbers = NDArray[np.int32]
    Floats = NDArray[np.float64]


class Intervals(Record):
    """Half-open intervals, and parts of them, as columns."""

    begin: Times
    """Begin of each, ns."""
    end: Times
    """End of each, ns; not before its begin."""
    group: Numbers
    """Group of each, from 0; one of -1 shares with nobody, and gets nothing."""
    groups: int
    """Number of groups."""
    part_of: Numbers
    """For each part, the interval that it lies in."""
    part_begin: Times
    """Begin of each part, ns."""
    part_end: Times
    """End of each part, ns."""


class Shares(Record):
    """What each interval and each part was given, and what there was to give."""

    whole: Floats
    """Share of each interval, ns."""
    parts: Floats
    """Share of each part, ns; that of its interval holds it."""
    open_ns: Times
    """By group: time in which at least one interval was open, ns, exact."""


def turns(share_ns: Floats, lasted_ns: Times) -> Floats:
    """The share of each of some intervals by how long it lasted: 1 where it was alone.

    One that takes no time counts whole.
    """
    taken: Floats = np.where(lasted_ns > 0, share_ns, 1.0) / np.maximum(lasted_ns, 1)
    return taken


def equal_shares(intervals: Intervals) -> Shares:
    """Share every instant equally among the open intervals of each group.

    The core goes over the intervals (`core/src/intervals/sharing.rs`), in a quarter of the memory
    that sorting and summing up whole arrays takes.
    """
    whole, parts = (np.zeros(len(each)) for each in (intervals.begin, intervals.part_begin))
    open_ns = np.zeros(intervals.groups, np.int64)
    walks.share(
        (intervals.begin, intervals.end, intervals.group),
        (intervals.part_begin, intervals.part_end, intervals.part_of),
        (whole, parts, open_ns),
    )
    return Shares(whole, parts, open_ns)


def whole_nanoseconds(shares: Floats, group: Numbers, totals: Times) -> Times:
    """Round shares so that those of each group add up to its total exactly.

    Running sums are rounded, not the shares, so that each share is off by less than a nanosecond
    but for what the arithmetic of floats has lost.
    """
    rounded = np.zeros(len(shares), np.int64)
    walks.round_shares(shares, group, totals, rounded)
    return rounded
