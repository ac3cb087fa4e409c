"""Whether the times of one operation moved from one capture to another, and by how much.

Takes two arrays of times in the order of the calls; gives a `Shift`. It is the test of Mann and
Whitney with its correction for ties, and the estimate of Hodges and Lehmann that goes with it: they
ask how all times lie to one another, so that a few long ones decide nothing.

The test takes calls for independent, which those of one client are not: what slows one call slows
its neighbours. So ranks are averaged over blocks of consecutive calls, and the variance of the test
grows by what blocks vary more than independent calls would. With as few blocks, what counts is
Student's distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BLOCKS = 10
"""Blocks of each side: fewer would leave no degrees of freedom, more would be shorter than what
slows a server for a while."""

QUANTILES = 1000
"""Times of each side that the estimate compares pair by pair; of more calls, so many quantiles."""


class Shift(Record):
    """How the times of one side lie to those of the other."""

    shift_s: float
    """Median of all differences of a time after and one before (Hodges and Lehmann), seconds."""
    superiority: float
    """Probability that a time after is longer than one before, 0…1; equal ones count half."""
    inflation: float
    """How many times as large the variance is as it were of independent calls, 1…"""
    p: float
    """Probability of ranks as far apart if nothing had changed, 0…1, of this test alone."""


def shift(before: Floats, after: Floats) -> Shift:
    """Compare two arrays of at least `2 * BLOCKS` times each, in the order of the calls."""
    count_before, count_after = len(before), len(after)
    both = count_before + count_after
    ranks, ties = _ranks(np.concatenate((before, after)))
    first, second = ranks[:count_before], ranks[count_before:]
    pairs = count_before * count_after
    above = float(second.sum()) - count_after * (count_after + 1) / 2
    variance = pairs / 12 * ((both + 1) - ties / (both * (both - 1)))
    inflation = max(
        1.0,
        (_inflation(first) / count_before + _inflation(second) / count_after)
        / (1 / count_before + 1 / count_after),
    )
    p = 1.0
    if variance > 0:
        distance = (above - pairs / 2) / math.sqrt(variance * inflation)
        p = two_sided(distance, 2 * BLOCKS - 2)
    return Shift(
        shift_s=float(np.median(np.subtract.outer(_thinned(after), _thinned(before)))),
        superiority=above / pairs,
        inflation=inflation,
        p=p,
    )


def corrected(values: Sequence[float]) -> list[float]:
    """Probabilities of several tests made together, so that one slip in all is as rare (Holm)."""
    order = sorted(range(len(values)), key=values.__getitem__)
    answer, reached = [1.0] * len(values), 0.0
    for place, index in enumerate(order):
        reached = max(reached, min(1.0, values[index] * (len(values) - place)))
        answer[index] = reached
    return answer


def two_sided(distance: float, freedom: int) -> float:
    """Probability of a value of Student's distribution as far from 0, for even degrees of freedom.

    With t² = freedom · tan² θ, the probability within is sin θ · Σ cos²ᵏ θ · (1·3···(2k-1)) /
    (2·4···2k), for k from 0 up to freedom / 2 - 1.
    """
    angle = math.atan2(abs(distance), math.sqrt(freedom))
    square, term, total = math.cos(angle) ** 2, 1.0, 0.0
    for step in range(freedom // 2):
        if step:
            term *= square * (2 * step - 1) / (2 * step)
        total += term
    return min(1.0, max(0.0, 1.0 - math.sin(angle) * total))


def _ranks(values: Floats) -> tuple[Floats, float]:
    """The rank of each value, equal ones sharing theirs; and Σ (t³ - t) over groups of equals."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    equal = counts.astype(np.float64)
    return ranks, float((equal**3 - equal).sum())


def _inflation(ranks: Floats) -> float:
    """How much more the means of blocks vary than those of independent ranks."""
    alone = float(ranks.var(ddof=1))
    if alone <= 0:
        return 1.0
    means = np.array([block.mean() for block in np.array_split(ranks, BLOCKS)])
    return float(means.var(ddof=1)) * (len(ranks) / BLOCKS) / alone


def _thinned(values: Floats) -> Floats:
    """The values, or quantiles at equal steps where there are many."""
    if len(values) <= QUANTILES:
        return values
    return np.quantile(values, (np.arange(QUANTILES) + 0.5) / QUANTILES)
