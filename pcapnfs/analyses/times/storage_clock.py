"""Whether stable calls end on a clock of the storage, which absorbs what comes before them.

A write to a rotating disk ends when its sector comes by, one to a timer-driven device at the next
tick: if the client, or the network, takes a millisecond longer before the call, the call takes a
millisecond less. Persistence then does not add to the round trip, and a forecast for another round
trip is uncertain by as much.

Takes the calls; tells the two apart by the slope of a stable call's service time over the gap
before it: 0 where persistence adds up, -1 where it ends on a clock. The slope is Theil and Sen's,
the median over pairs of calls of one kind, which outliers do not move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import median, quantiles
from pcapnfs.analyses.asking.chance import Chance
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.analyses.times.timeline import Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAIRS = 20_000
"""Pairs that a slope is the median of: its error then is far below what matters here."""

GAP_SHARE = 0.25
"""Gaps longer than this part of the call may pass over whole ticks, and are left out."""

STEEP = -0.5
"""Halfway between the two slopes."""

STEEPEST = -1.5
"""Beyond it lies no clock: calls after longer gaps are faster for another reason."""

SEED = 7862
"""Of the pairs: the same trace gives the same answer."""


def absorbs(calls: Timeline) -> bool | None:
    """Whether most of the time of stable calls ends on a clock; None when the calls do not tell.

    They do not where calls overlap, where there are few of a kind, or where the gaps before them
    are all alike.
    """
    usable = calls.timed & calls.alone & (calls.idle_s > 0)
    times = {True: 0.0, False: 0.0}
    for operation in range(len(calls.operations)):
        chosen = usable & (calls.operation == operation)
        if (slope := _slope(calls.idle_s[chosen], calls.service_s[chosen])) is not None:
            times[STEEPEST < slope < STEEP] += float(calls.service_s[chosen].sum())
    return times[True] > times[False] if any(times.values()) else None


def _slope(gaps: Floats, times: Floats) -> float | None:
    """Median slope of times over gaps, of pairs whose gaps differ well; None: it says nothing."""
    if len(gaps) < LEAST_CALLS:
        return None
    short = gaps < GAP_SHARE * median(times)
    gaps, times = gaps[short], times[short]
    if len(gaps) < LEAST_CALLS:
        return None
    high, low = quantiles(gaps, (0.75, 0.25))
    apart = high - low
    # Equal gaps, as a program without any work of its own has, say nothing.
    if apart <= CLOCK_RESOLUTION_S:
        return None
    one, other = Chance(SEED).whole(len(gaps), 2 * PAIRS).reshape(2, PAIRS)
    differ = np.abs(gaps[one] - gaps[other]) > apart
    if differ.sum() < LEAST_CALLS:
        return None
    one, other = one[differ], other[differ]
    return median((times[one] - times[other]) / (gaps[one] - gaps[other]))


CLOCK_RESOLUTION_S = 2e-6
"""Time stamps of captures come in microseconds: gaps that differ by less are alike."""
