"""What the capture before would have foretold of the one after.

Takes what was measured on both sides; gives forecasts of the model made from the capture before
alone, with ever more of what was changed given to it, each with its error. How far the last is off
is what the change was not only the change.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.held_down import held_down, moved
from pcapnfs.analyses.forecasts.inputs import parts_of, shared_of
from pcapnfs.analyses.forecasts.resampling import resampled
from pcapnfs.analyses.forecasts.what_if import Base, Change
from pcapnfs.comparison.waterfall import comparable, waits
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.measurement import Measurement


OVERLAP_TIMES = 1.25
"""So many times as many calls under way at the same time, or as few, are another overlap: below,
what forecasts without it miss is less than what differs from run to run."""


class Foretold(Record):
    """A forecast of the run after, made from the one before."""

    given: str
    """What was given to it of the run after: `files` (their number), `set_up` (also the round trip
    of a call that needs no storage, and persistence), `calls` (also calls and stable calls for each
    file), or `overlap` (also how many calls were under way at the same time, where that changed:
    what a call waited for others goes with it)."""
    files: float | None
    """Files that it is for; None where neither capture tells of any, so that nothing is given of
    them."""
    forecast_s: float
    """The forecast, seconds."""
    low_s: float
    """Lower end of its range, seconds: what 90 % of resampled files give (with fewer than 10 files
    before, nothing is resampled), and what differs from run to run."""
    high_s: float
    """Upper end of it, seconds."""
    measured_s: float
    """What the run after took, from its first call to its last reply, without pauses of 30 s or
    more (`after.away_s`), as the forecast is, seconds."""
    error: float | None
    """Forecast by measured, less 1; negative: foretold too short. None when that took no time."""


def foretold(
    before: Measurement, after: Measurement, *, looked_at: bool = False
) -> tuple[Foretold, ...]:
    """Foretell the run after; empty where one side has no files or no round trip to go by.

    Where neither side tells of files, or those that one has more of were hardly more than looked
    at, each run is taken as one.

    Args:
        before: What was measured before.
        after: What was measured after.
        looked_at: The files that one side has more of were hardly more than looked at.
    """
    by_file = comparable(before, after)
    if before.rtt_s is None or not (by_file or _untold(before, after)):
        return ()
    by_file = by_file and not looked_at
    base = Base(
        before.costs(), resampled(before), absorbs=bool(before.absorbs), tick_s=before.tick_s
    )
    return tuple(
        _forecast(name, change, base, after, by_file=by_file)
        for name, change in _cases(before, after, by_file=by_file)
        if by_file or name != "files"
    )


def _untold(before: Measurement, after: Measurement) -> bool:
    """Whether neither side tells of files, but both tell of calls which of them were stable."""
    return all(
        side.files is None and side.calls and not side.outcomes_untold for side in (before, after)
    )


def _cases(
    before: Measurement, after: Measurement, *, by_file: bool
) -> tuple[tuple[str, Change], ...]:
    costs = after.costs()
    if not by_file:
        # All calls of AFTER are for as many files as BEFORE had.
        files = before.costs().files
        costs = replace(
            costs,
            files=files,
            rpcs_per_file=costs.rpcs_per_file * costs.files / files,
            syncops_per_file=costs.syncops_per_file * costs.files / files,
        )
    network = added = 0.0
    if before.path.rtt_s is not None and after.path.rtt_s is not None:
        network = added = after.path.rtt_s - before.path.rtt_s
    # Persistence is what is beyond it: with that of AFTER goes what its server took, too.
    if before.rtt_s is not None and after.rtt_s is not None:
        added = after.rtt_s - before.rtt_s
    # Without stable calls after, nothing is known of the storage, and it does not matter.
    persist = costs.persist_s if after.stable_calls else None
    # What stable calls wait for others is given with how many there were.
    alone = persist and _as_many_waiting(before, persist, waits(before, after))
    held = parts_of(held_down(moved(before), network))
    number = Change(files=costs.files)
    set_up = Change(rtt_added_s=added, persist_s=alone, **held)
    calls = Change(rpcs_per_file=costs.rpcs_per_file, syncops_per_file=costs.syncops_per_file)
    overlap = Change(
        overlap=after.concurrency,
        turns=costs.turns,
        stored_turns=costs.stored_turns,
        persist_s=persist,
        **shared_of(before),
    )
    cases = [("files", number), ("set_up", set_up), ("calls", calls)]
    if other_overlap(before.concurrency, after.concurrency):
        cases.append(("overlap", overlap))
    given = (change for _, change in cases)
    return tuple(zip((name for name, _ in cases), accumulate(given, Change.then), strict=True))


def _as_many_waiting(before: Measurement, persist_s: float, waited: tuple[float, float]) -> float:
    """Persistence after, had as many stable calls waited for one another as before, seconds.

    Those that wait for a disk wait less for a faster one. How much longer for a slower one is in no
    run of a fast one, which other things may have held up.
    """
    alone_s, first_s = persist_s - waited[1], (before.persist_s or 0.0) - waited[0]
    return alone_s + waited[0] * (min(1.0, alone_s / first_s) if first_s > 0 else 1.0)


def other_overlap(before: float, after: float) -> bool:
    """Whether so many more calls were under way at the same time, or fewer, that it matters."""
    return max(before, after) >= OVERLAP_TIMES * min(before, after)


def _forecast(
    name: str, change: Change, base: Base, after: Measurement, *, by_file: bool
) -> Foretold:
    forecast = change.of(base.costs).forecast_s
    low, high = base.of_runs(change)
    return Foretold(
        given=name,
        files=change.files if by_file else None,
        forecast_s=forecast,
        low_s=low,
        high_s=high,
        measured_s=after.worked_s,
        error=forecast / after.worked_s - 1 if after.worked_s > 0 else None,
    )
