"""How far a forecast can be trusted: an interval from resampled files, and an error from halves.

Takes the sums by file; gives what the model's inputs would have been with other files. Directories
and calls on no file belong to no file in particular: every half, and every resample, carries its
share of them. So it does of a file that takes longer than all others together, since there is no
other one like it. The generator's seed is an argument, so that the same trace gives the same
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import quantiles
from pcapnfs.analyses.asking.chance import Chance
from pcapnfs.analyses.forecasts.formula import Costs, stored_turns_of, times_of
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.forecasts.measurement import Measurement, Sums

    Floats = NDArray[np.float64]

LEAST_FILES = 10
"""Files that resampling needs: with fewer, the spread of what was not seen is not in it."""

RESAMPLES = 1000
"""Resamples: the ends of a 90 % interval then rest on 50 each."""

GROUPS = 1000
"""Files that were called one after the other are put into so many groups at most, which are
resampled as wholes: what disturbed one often disturbed its neighbours, too."""

HALVES = 32
"""Ways to halve the files that the error is the mean of: in one of them, the halves may differ by
chance."""

COVERAGE = 0.9
"""Share of the resamples that lie in the interval."""

SEED = 1813
"""Of the resamples."""

_COLUMNS = (
    "calls", "locks", "stable", "timed", "timed_s", "small", "small_s", "waited_s", "share_s",
    "client_s", "unsure", "unsure_s", "unseen_s", "turns", "stable_turns", "stable_waited_s",
    "stable_share_s",
)  # fmt: skip


class Seen(Record):
    """Sums over some of the files, with their part of what belongs to none; one, or many at once.

    The columns of `Sums` as arrays, whose last dimension is the resample.
    """

    files: Floats
    """Files."""
    total: dict[str, Floats]
    """Sums by column."""

    def costs(self, measured: Measurement, network_s: Floats) -> Costs[Floats]:
        """The inputs that these files show, with the round trip that is not from calls."""
        total = self.total
        rtt = network_s
        if measured.rtt_source == "calls":
            rtt = _mean(total["small_s"], total["small"], rtt)
        persist = np.full(self.files.shape, measured.costs().persist_s)
        if measured.persist_s is not None:
            persist = np.maximum(_mean(total["timed_s"], total["timed"], rtt + persist) - rtt, 0.0)
        slow = np.zeros(self.files.shape)
        if measured.usual_s is not None:
            slow = np.maximum(rtt - measured.usual_s, 0.0) * (total["small"] + total["stable"])
        concurrency = _mean(total["waited_s"], total["share_s"], np.ones(self.files.shape))
        rpcs = total["calls"] + total["locks"]
        other = total["waited_s"] - rpcs * rtt - total["stable"] * persist
        return Costs(
            files=self.files,
            rpcs_per_file=total["calls"] / self.files,
            rtt_s=rtt,
            syncops_per_file=total["stable"] / self.files,
            persist_s=persist,
            other_s=other / self.files,
            client_s=_mean(total["client_s"], total["calls"], np.zeros(self.files.shape)),
            pauses_s=np.full(self.files.shape, measured.paused_s),
            concurrency=concurrency,
            unsure_s=total["unsure_s"] / self.files,
            unsure_calls=total["unsure"] / self.files,
            unseen_s=total["unseen_s"] / self.files,
            locks_per_file=total["locks"] / self.files,
            slow_s=slow / self.files,
            queue_s=rtt * (measured.queue_s / measured.rtt_s if measured.rtt_s else 0.0),
            turns=times_of(total["turns"], rpcs / concurrency),
            stored_turns=stored_turns_of(
                total["stable_share_s"],
                total["stable_turns"],
                total["stable_waited_s"],
                total["stable"],
                rtt_s=rtt,
                concurrency=concurrency,
            ),
            **measured.serial_by_file(),
        )

    @property
    def measured_s(self) -> Floats:
        """What they took of the clock, pauses apart."""
        return self.total["share_s"] + self.total["client_s"]


def resampled(
    measured: Measurement, *, seed: int = SEED, most: int = GROUPS
) -> Costs[Floats] | None:
    """The inputs of many resamples of the files, scaled to all files; None with too few files.

    Args:
        measured: What was measured.
        seed: Of the resamples.
        most: Groups of neighbouring files; few of them also show what lasted longer than a file.
    """
    which = sampled(measured.sums)
    if not which.any():
        return None
    groups = min(int(which.sum()), most)
    chance = Chance(seed)
    seen = _seen(measured.sums, which, _draws(chance, groups))
    # A round trip from TCP may be as long as the median of the few calls that show it.
    rtt, few = measured.rtt_s or 0.0, measured.small_median_s
    more = max(0.0, few - rtt) if few is not None else 0.0
    costs = seen.costs(measured, rtt + more * chance.parts(RESAMPLES))
    return replace(costs, files=np.full(RESAMPLES, float(measured.sums.files.sum())))


def grouped(sums: Sums) -> Sums:
    """The same with what is never told apart as one, where it is more: 140 bytes for each file.

    A group for neighbouring files that are drawn, one for the files that are not, and one for what
    is no file.
    """
    if len(sums.files) <= GROUPS:
        return sums
    which = sampled(sums)
    groups = min(int(which.sum()), GROUPS)
    place = np.where(sums.files > 0, groups, groups + 1)
    place[which] = _group(sums, which, groups)
    together: dict[str, Floats] = {
        name: np.bincount(place, getattr(sums, name), groups + 2).astype(np.float64)
        for name in ("files", *_COLUMNS)
    }
    return replace(sums, **together, drawn=np.arange(groups + 2) < groups)


def sampled(sums: Sums) -> NDArray[np.bool_]:
    """Which units are drawn: the files, without one that takes longer than all others together.

    None are, where they are fewer than `LEAST_FILES`.
    """
    if sums.drawn is not None:
        return sums.drawn
    is_file = sums.files > 0
    time_s = np.where(is_file, sums.share_s + sums.client_s, 0.0)
    chosen = is_file & (time_s <= time_s.sum() / 2)
    few = int(chosen.sum()) < LEAST_FILES
    return np.zeros_like(chosen) if few else chosen


def single_s(sums: Sums) -> float | None:
    """What the file took that is not drawn; None where all are, or none."""
    which = sampled(sums)
    left = (sums.files > 0) & ~which
    if not which.any() or not left.any():
        return None
    return float((sums.share_s + sums.client_s)[left].sum())


def _seen(sums: Sums, which: NDArray[np.bool_], counts: Floats) -> Seen:
    """What draws of groups of neighbouring files hold: a row for each draw, a column for a group.

    A file that is not drawn stands for itself in their number, and its sums are among the rest.
    """
    groups, files = counts.shape[1], sums.files[which]
    group = _group(sums, which, groups)
    part = counts @ np.bincount(group, files, groups) / files.sum()
    total = {
        name: counts @ np.bincount(group, values[which], groups)
        + float(values[~which].sum()) * part
        for name in _COLUMNS
        for values in (getattr(sums, name),)
    }
    return Seen(part * float(sums.files.sum()), total)


def _group(sums: Sums, which: NDArray[np.bool_], groups: int) -> NDArray[np.intp]:
    """Which group of neighbouring files each of these units is in.

    By its first file, so that the groups of groups are those of single files, where their number
    goes into `GROUPS`.
    """
    files = sums.files[which]
    found: NDArray[np.intp] = ((np.cumsum(files) - files) * groups // files.sum()).astype(np.intp)
    return found


def _draws(chance: Chance, groups: int) -> Floats:
    """How often each group is drawn: a row for each resample, of as many draws as groups."""
    resample = np.repeat(np.arange(RESAMPLES), groups)
    place = resample * groups + chance.whole(groups, RESAMPLES * groups)
    counts = np.bincount(place, minlength=RESAMPLES * groups).astype(np.float64)
    return counts.reshape(RESAMPLES, groups)


def holdout_error(measured: Measurement) -> float | None:
    """How wrong one half of the files foretells the other, 0…; None with too few files.

    Halves are drawn by chance, several times: where files come in turn, as a new one and the one
    that it takes the place of, every second file is no half like the other. The mean of all, and of
    both directions.
    """
    which = sampled(measured.sums)
    if not which.any():
        return None
    groups = min(int(which.sum()), GROUPS)
    place = Chance(SEED).parts(HALVES * groups).reshape(HALVES, groups).argsort(axis=1)
    first = place < groups // 2
    halves = _seen(measured.sums, which, np.concatenate([first, ~first]).astype(np.float64))
    costs = halves.costs(measured, np.full(2 * HALVES, measured.rtt_s or 0.0))
    each = (costs.forecast_s - costs.pauses_s) / costs.files
    # A half foretells what the other one of the same pair took.
    forecast, took = each * np.roll(halves.files, HALVES), np.roll(halves.measured_s, HALVES)
    if not (took > 0).all():
        return None
    return round(float(np.abs(forecast / took - 1).mean()), 9)


def interval(values: Floats) -> tuple[float, float]:
    """The ends of the interval that holds `COVERAGE` of the values."""
    low, high = quantiles(values, ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2))
    return float(low), float(high)


def _mean(total: Floats, count: Floats, otherwise: Floats) -> Floats:
    """Total by count, or what else is known where the count is 0."""
    return np.divide(total, count, out=otherwise.copy(), where=count > 0)
