"""Which steps of single calls those calls bear out: a mean may have moved though no call has.

Takes steps and both sides; gives the steps, of which those are no longer clear that rest on a few
calls, on a round trip from other evidence on the other side, or on another mix of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.comparison.across_versions import stable, stable_changes
from pcapnfs.comparison.changed_storage import MOST, way_of
from pcapnfs.comparison.operations import RELEVANT, taken_s
from pcapnfs.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.side import Side
    from pcapnfs.comparison.waterfall import Step

AS_FAR = 0.5
"""Part of a step's way that other evidence of the same must have gone, in the same direction: means
are above medians, and the shortest round trip is below the usual one, but not by most of a
change."""

LONGEST = 0.05
"""Part of the small calls, the longest, without which their mean must have moved as well: one that
waited 200 ms for a lost segment doubles the mean of two hundred."""


def borne_out(steps: tuple[Step, ...], before: Side, after: Side) -> tuple[Step, ...]:
    """The steps; those that single calls do not bear out are not clear.

    Args:
        steps: The steps from one run time to the other.
        before: The side before.
        after: The side after.
    """
    return tuple(
        replace(step, clear=False) if step.clear and not _borne_out(step, before, after) else step
        for step in steps
    )


def _borne_out(step: Step, before: Side, after: Side) -> bool:
    if step.factor == "network_rtt_s":
        # A few answers that came late make a usual round trip, but no shortest one.
        return _as_far(step, before.way.floor_s, after.way.floor_s)
    if step.factor == "server_s":
        return _served(step, before, after, _small_s) and (
            not _behind_data(step, before, after) or _served(step, before, after, _median_s)
        )
    if step.factor == "rtt_s":
        return _as_far(step, _small_s(before), _small_s(after))
    return step.factor != "persist_s" or _stored(step, before, after)


def _as_far(step: Step, before_s: float | None, after_s: float | None) -> bool:
    """Whether other evidence moved as well; so it did where there is none."""
    if before_s is None or after_s is None:
        return True
    moved_s, other_s = step.after - step.before, after_s - before_s
    return moved_s * other_s > 0 and abs(other_s) >= AS_FAR * abs(moved_s)


def _served(step: Step, before: Side, after: Side, small_s: Callable[[Side], float | None]) -> bool:
    """Whether what small calls take beyond the network moved as well."""
    served = (
        None if took_s is None else took_s - (side.measured.network_rtt_s or 0.0)
        for side in (before, after)
        for took_s in (small_s(side),)
    )
    return _as_far(step, *served)


def _behind_data(step: Step, before: Side, after: Side) -> bool:
    """Whether data moved for half of the time of the side whose small calls took longer, or more.

    Those that are sent meanwhile wait behind it on the link, and make a mean that is no server's:
    more than the longest few of them, but not half.
    """
    return (after if step.after > step.before else before).measured.mostly_moving


def _median_s(side: Side) -> float | None:
    return side.measured.small_median_s


def _small_s(side: Side) -> float | None:
    """What small calls take, mean without the longest, seconds; None without any."""
    each = [of_one.seconds for (_, op), of_one in side.times.items() if op in SMALL_OPERATIONS]
    times = np.sort(np.concatenate(each)) if each else np.zeros(0)
    kept = times[: len(times) - int(np.ceil(LONGEST * len(times)))]
    return float(kept.mean()) if len(kept) else None


def _stored(step: Step, before: Side, after: Side) -> bool:
    """Whether stable calls moved that way beyond what network and server brought.

    Where those that are on both sides, often enough to say if they moved, make most of the stable
    time of both, half of that must have.
    """
    tested = [row for row in stable_changes(before, after) if row.shift_s is not None]
    for side, tested_s in (
        (before, sum(row.sum_before_s for row in tested)),
        (after, sum(row.sum_after_s for row in tested)),
    ):
        whole_s = sum(float(of_one.seconds.sum()) for of_one in stable(side.times).values())
        if tested_s < MOST * whole_s:
            return True
    longer = step.after > step.before
    added = _added(before, after)
    moved = [row for row in tested if all(_moved(row, each, longer=longer) for each in added)]
    return sum(map(taken_s, moved)) >= MOST * sum(map(taken_s, tested))


def _added(before: Side, after: Side) -> tuple[float, ...]:
    """What network and server brought, seconds: by the usual round trip, and by the shortest."""
    added_s = way_of(before, after).added_s
    first, second = before.way, after.way
    if first.rtt_s is None or second.rtt_s is None:
        return (added_s,)
    if first.floor_s is None or second.floor_s is None:
        return (added_s,)
    by_floor_s = (second.floor_s - first.floor_s) - (second.rtt_s - first.rtt_s)
    return added_s, added_s + by_floor_s


def _moved(row: OperationChange, added_s: float, *, longer: bool) -> bool:
    rest_s = (row.shift_s or 0.0) - added_s
    median_s = max(row.p50_before_s or 0.0, row.p50_after_s or 0.0)
    return (rest_s > 0) == longer and abs(rest_s) >= RELEVANT * median_s
