"""What much of a forecast is made of that the plain formula leaves out.

Takes the costs of a run by what its calls held up the clock for; gives the parts that are told.
Promises that what they are of the clock is what verdict and time budget have of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.formula import Costs
    from pcapnfs.analyses.times.timeline import BetweenCalls

LEFT_OUT = 0.05
"""Part of the forecast from which on it is told what the plain formula leaves out."""


OVERLAPPING = 1.05
"""Calls under way on average from which on their overlap is told."""


class LeftOut(Record):
    """A part of the forecast that the plain formula leaves out."""

    part: str
    """`pauses`, `client` (its time between calls else), `locked` (what of both it waited for
    locks), `unreached` (and for what of both it had no connection to a server), `transfer`,
    `waiting` (of calls, for a server that was not ready or not reached), `locks` (round trips of
    the lock manager), `other` (what calls took beyond), or `overlap`."""
    time_s: float
    """What it adds to the formula, seconds of the clock; negative: what it spares."""


def left_out(
    costs: Costs[float],
    *,
    transfer_s: float,
    waiting_s: float,
    locked: BetweenCalls,
    unreached: BetweenCalls,
) -> tuple[LeftOut, ...]:
    """The parts of a forecast, largest first.

    Args:
        costs: The costs, with what round trips and persistence hold up the clock for.
        transfer_s: What of the clock bytes were on their way.
        waiting_s: What of it calls waited for a server that was not ready or not reached.
        locked: What of the client's own time it waited for locks.
        unreached: What of it it waited for a connection.
    """
    trips_s, pauses_s = costs.round_trips_s, costs.pauses_s
    of_locks = costs.locks_per_file / costs.all_rpcs_per_file if costs.all_rpcs_per_file else 0.0
    overlapped_s = trips_s * (1.0 - of_locks) + costs.persistence_s
    beyond_s = costs.beyond_s
    moving_s = max(0.0, min(transfer_s, beyond_s))
    held_s = max(0.0, min(waiting_s, beyond_s - moving_s))
    other_s, overlap_s = beyond_s - moving_s - held_s, overlapped_s - costs.first_order_s
    if costs.concurrency < OVERLAPPING:
        # So few at a time spare too little to be told: the calls were other than the mean.
        other_s, overlap_s = other_s + overlap_s, 0.0
    parts = (
        LeftOut("pauses", pauses_s - locked.pauses_s - unreached.pauses_s),
        LeftOut("client", costs.client_time_s - pauses_s - locked.gaps_s - unreached.gaps_s),
        LeftOut("locked", locked.whole_s),
        LeftOut("transfer", moving_s),
        LeftOut("waiting", held_s),
        LeftOut("unreached", unreached.whole_s),
        LeftOut("locks", trips_s * of_locks),
        LeftOut("other", other_s),
        LeftOut("overlap", overlap_s),
    )
    told = (each for each in parts if abs(each.time_s) > LEFT_OUT * costs.forecast_s)
    return tuple(sorted(told, key=lambda each: -abs(each.time_s)))
