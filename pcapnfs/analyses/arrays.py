"""What numpy would import masked arrays for, and what of many values takes little memory.

That import takes 8 ms, more than most questions take of a small capture: median, quantiles and
distinct values. Sums, counts and gaps are worked out of some values at a time. Arithmetic, knows no
trace.
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
    found: NDArray[np.int32] = told[np.searchsorted(keys, values)]
    return found


def gaps(
    begin: NDArray[np.int64], end: NDArray[np.int64], order: NDArray[np.int32]
) -> NDArray[np.int64]:
    """What lies between the ends of all before and the begin of each but the first.

    Less than 0 where one of them was still open.

    Args:
        begin: Begins of intervals.
        end: Their ends, not before 0.
        order: Some of them, in order of their begin.
    """
    found = np.empty(max(len(order) - 1, 0), np.int64)
    reached = np.int64(0)
    for piece in pieces(len(found)):
        until = np.maximum.accumulate(end[order[piece]])
        np.maximum(until, reached, out=until)
        reached = until[-1]
        begins = begin[order[piece.start + 1 : piece.stop + 1]]
        np.subtract(begins, until, out=found[piece])
    return found
