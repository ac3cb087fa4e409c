"""Time shared equally among the intervals that are open at each instant.

Takes intervals in whole nanoseconds, each of a group (a client), and parts of them; gives the share
of each. With F(t) the integral of dt / n(t) over the instants at which n(t) > 0 intervals of the
group are open, the share of an interval is F(end) - F(begin): one sort and one cumulative sum.
Promises that whole shares add up, group by group, to the time in which any interval was open, to
the nanosecond. Knows nothing of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    """Group of each, from 0."""
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


def equal_shares(intervals: Intervals) -> Shares:
    """Share every instant equally among the open intervals of each group."""
    count = len(intervals.begin)
    times = np.concatenate(
        (intervals.begin, intervals.end, intervals.part_begin, intervals.part_end)
    )
    # Calls come nearly in order of time, which a merge sort makes use of.
    order = np.argsort(times, kind="stable")
    group = np.zeros(0, np.int8)
    if intervals.groups > 1:
        # Few groups have narrow numbers, which are sorted by radix.
        narrow = intervals.group.astype(np.min_scalar_type(intervals.groups))
        of_part = narrow[intervals.part_of]
        group = np.concatenate((narrow, narrow, of_part, of_part))[order]
        by_group = np.argsort(group, kind="stable")
        order, group = order[by_group], group[by_group]
    # Captures hold millions of calls: what is not needed any more goes at once.
    times = times[order]
    # What lies between two groups is nobody's: there, nothing is open.
    piece = np.diff(times)
    del times
    # Begins open an interval, ends close one; between begin and end of parts nothing changes.
    change = np.zeros(len(order), np.int8)
    change[:count], change[count : 2 * count] = 1, -1
    is_open = np.cumsum(change[order], dtype=np.int32)[:-1]
    del change
    shared = is_open > 0
    open_ns = np.zeros(intervals.groups, np.int64)
    if intervals.groups > 1:
        np.add.at(open_ns, group[:-1][shared], piece[shared])
    else:
        open_ns[:] = piece.sum(where=shared)
    booked = np.zeros(len(order))
    np.divide(piece, is_open, out=booked[1:], where=shared)
    del piece, group, is_open, shared
    np.cumsum(booked, out=booked)
    at = np.empty(len(booked))
    at[order] = booked
    split = np.split(at, (count, 2 * count, 2 * count + len(intervals.part_of)))
    return Shares(whole=split[1] - split[0], parts=split[3] - split[2], open_ns=open_ns)


def whole_nanoseconds(shares: Floats, group: Numbers, totals: Times) -> Times:
    """Round shares so that those of each group add up to its total exactly.

    Running sums are rounded, not the shares, so that each share is off by less than a nanosecond
    but for what the arithmetic of floats has lost.
    """
    order = np.argsort(group.astype(np.min_scalar_type(len(totals))), kind="stable")
    running = np.cumsum(shares[order])
    last = np.flatnonzero(np.diff(group[order], append=-1))
    members = np.diff(last, prepend=-1)
    reached = np.cumsum(totals[group[order[last]]])
    start = reached - totals[group[order[last]]]
    earlier = np.concatenate(([0.0], running[last]))[:-1]
    running -= np.repeat(earlier, members)
    steps = np.rint(running, out=running).astype(np.int64)
    del running
    steps += np.repeat(start, members)
    np.minimum(steps, np.repeat(reached, members), out=steps)
    steps[last] = reached
    rounded = np.empty(len(shares), np.int64)
    rounded[order] = np.diff(steps, prepend=0)
    return rounded
