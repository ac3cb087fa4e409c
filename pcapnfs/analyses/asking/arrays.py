"""What numpy would import masked arrays for, and what of many values takes little memory.

That import takes 8 ms, more than most questions take of a small capture: median, quantiles and
distinct values. Sums, counts and the places of groups are worked out of some values at a time.
Arithmetic, knows no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from numpy.typing import NDArray

    Kind = TypeVar("Kind", bound=np.generic)


PIECE = 1 << 18
"""Values of an array that are looked at together."""


def median(values: NDArray[Any]) -> float:
    """The value in the middle, the mean of the two in the middle of an even number.

    Args:
        values: Numbers, none of which is NaN.

    Raises:
        ValueError: There are none.
    """
    if not len(values):
        raise ValueError("nothing has no median")
    half, odd = divmod(len(values), 2)
    if odd:
        return float(np.partition(values, half)[half])
    return float(np.partition(values, (half - 1, half))[half - 1 : half + 1].mean())


def quantiles(values: NDArray[Any], shares: Sequence[float]) -> list[float]:
    """For each share, 0…1, the value that this share of the values is not above.

    Between two values they are interpolated, as `numpy.quantile` does it and in the same steps, so
    that the last digits are the same.

    Args:
        values: Numbers, none of which is NaN.
        shares: The shares.

    Raises:
        ValueError: There are no values.
    """
    if not len(values):
        raise ValueError("nothing has no quantiles")
    ordered = np.sort(values)
    found = []
    for share in shares:
        place = (len(ordered) - 1) * share
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        part, step = place - below, ordered[above] - ordered[below]
        near = ordered[below] + step * part if part < 0.5 else ordered[above] - step * (1 - part)
        found.append(float(near))
    return found


def distinct(values: NDArray[Kind]) -> NDArray[Kind]:
    """Each value once, in ascending order."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def pieces(length: int) -> Iterator[slice]:
    """The places of an array, some at a time.

    What is worked out of a million calls on the way to a result takes as much memory as they do; of
    one piece after the other it does not grow with them.
    """
    for begin in range(0, length, PIECE):
        yield slice(begin, min(begin + PIECE, length))


def added(
    groups: NDArray[Any],
    values: NDArray[np.float64],
    number: int,
    which: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The sum of the values of each group, 0.0 for one without any.

    Args:
        groups: The group of each value, from 0.
        values: The values.
        number: How many groups there are.
        which: The values that count; None: all.
    """
    found = np.zeros(number)
    for piece in pieces(len(groups)):
        of, some = groups[piece], values[piece]
        if which is not None:
            of, some = of[which[piece]], some[which[piece]]
        np.add.at(found, of, some)
    return found


def counted(
    groups: NDArray[Any], number: int, which: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """How many are in each group.

    Args:
        groups: The group of each, from 0.
        number: How many groups there are.
        which: Those that count; None: all.
    """
    found = np.zeros(number, np.int64)
    for piece in pieces(len(groups)):
        of = groups[piece] if which is None else groups[piece][which[piece]]
        found += np.bincount(of, minlength=number)
    return found


def looked_up(values: NDArray[Any], known: Mapping[int, int]) -> NDArray[np.int32]:
    """What is known of each value.

    Args:
        values: Whole numbers, each of which is known.
        known: What stands for each, below 2^31.
    """
    keys = np.array(sorted(known), values.dtype)
    told = np.array([known[key] for key in sorted(known)], np.int32)
    found = np.empty(len(values), np.int32)
    for piece in pieces(len(values)):
        found[piece] = told[np.searchsorted(keys, values[piece])]
    return found


def find(values: NDArray[Kind], some: NDArray[Any]) -> NDArray[np.int64]:
    """The places of some values among others in ascending order."""
    # Numbers of another type would have all of them copied.
    return np.searchsorted(values, some.astype(values.dtype))


def largest(values: NDArray[Any], number: int) -> NDArray[np.int64]:
    """The places of so many of the largest values, from the largest down; of equal ones the first.

    Args:
        values: Numbers, none of which is NaN.
        number: How many at most.
    """
    places = np.arange(len(values))
    if number < len(values):
        least = np.partition(values, len(values) - number)[len(values) - number]
        places = np.flatnonzero(values >= least)
    # Backwards, so that what is stable puts the first of equal ones last.
    order = np.argsort(values[places[::-1]], kind="stable")[::-1][:number]
    return places[::-1][order]


def by_group(groups: NDArray[Any], number: int) -> list[NDArray[np.int32]]:
    """The places of each group's values, in order.

    Args:
        groups: The group of each value, from 0; values of one below, or beyond `number`, are left
            out.
        number: How many groups there are.
    """
    counts = np.zeros(number + 1, np.int64)
    for piece in pieces(len(groups)):
        counts[1:] += np.bincount(_inside(groups[piece], number), minlength=number + 1)[:number]
    ends = np.cumsum(counts)
    found = np.empty(int(ends[-1]), np.int32)
    begins = ends[:-1].copy()
    for piece in pieces(len(groups)):
        of = _inside(groups[piece], number)
        order = np.argsort(of, kind="stable")[: int((of < number).sum())]
        here = np.bincount(of, minlength=number + 1)[:number]
        # Each goes behind those of its group that came before it, in this piece and earlier.
        before = np.repeat(begins - (np.cumsum(here) - here), here)
        found[before + np.arange(len(order))] = order + piece.start
        begins += here
    return np.split(found, ends[1:-1])[:number]


def _inside(groups: NDArray[Any], number: int) -> NDArray[Any]:
    """Groups with one number behind the last for all that are none.

    In as few bits as they need: up to 16, numpy puts them in order by their digits, and
    `by_group` takes half the time.
    """
    inside = np.where((groups >= 0) & (groups < number), groups, number)
    return inside.astype(np.min_scalar_type(number))
