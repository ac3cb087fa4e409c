"""Stretches of time, as two arrays of their begins and ends: joined, and held against others.

Takes and gives nanoseconds; whose stretches they are, and of what, is no matter here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    Times = NDArray[np.int64]
    Stretches = tuple[Times, Times]
    """Begins and ends of stretches of time in order, none of which touches the next."""


def joined(begin: Times, end: Times) -> Stretches:
    """What any of some stretches covers, in order.

    Args:
        begin: Their begins.
        end: Their ends.
    """
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order])
    first = np.ones(len(begin), np.bool_)
    np.greater(begin[1:], reached[:-1], out=first[1:])
    # The last of each stretch stands before the first of the next one.
    return begin[first], reached[np.roll(first, -1)]


def of_any(every: Collection[Stretches]) -> Stretches:
    """What the stretches of any of several cover, in order; of one at least."""
    begins, ends = zip(*every, strict=True)
    return joined(np.concatenate(begins), np.concatenate(ends))


def by_owner(rows: Iterable[tuple[str, int, int]]) -> dict[str, Stretches]:
    """What those of each owner cover, in order.

    Args:
        rows: Owner, begin and end.
    """
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for owner, begin, end in rows:
        found[owner].append((begin, end))
    return {owner: joined(*np.array(some, np.int64).transpose()) for owner, some in found.items()}


def common(some: Stretches, others: Stretches) -> Stretches:
    """What is in both, piece by piece.

    Args:
        some: Stretches in order.
        others: Others, likewise.
    """
    first = np.searchsorted(others[1], some[0], "right")
    number = np.maximum(np.searchsorted(others[0], some[1], "left") - first, 0)
    of = np.repeat(np.arange(len(number)), number)
    which = np.arange(len(of)) - np.repeat(np.cumsum(number) - number, number) + first[of]
    return np.maximum(some[0][of], others[0][which]), np.minimum(some[1][of], others[1][which])
