"""What another round trip makes of transfers that lost segments or full windows hold down.

Takes what moved, of all clients together or of one, and what is added to the network's round trip;
gives which part of the time beyond round trips and persistence it saves. Where a receiver's window
is full, what is in it moves in each round trip, however long that is (`full_windows`). And TCP
comes to a rate that goes with the round trip where segments are lost (`loss_rate`): it sends more
from round trip to round trip until the next loss. Where it waits for its timer instead, which is as
long on any path, less is saved. That comes seldom where the receiver says what it has (SACK, RFC
6675) and the sender asks for what is missing at the end (RACK-TLP, RFC 8985), as all systems of
today do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pcapnfs.analyses.wire.loss_rate import TIMERS, allowed, holding
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.times.client_clocks import ClientClock
    from pcapnfs.analyses.wire.full_windows import FullWindow
    from pcapnfs.analyses.wire.loss_rate import LossRate

DEVIATIONS = 1.64
"""Standard deviations that 90 % of values lie within: of two runs each loses other segments."""

OFTEN = 0.5
"""How often it runs out at most."""

UNLIKE = 0.2
"""Part of what full windows save that another run may save more, or less. From 40 to 20 ms and back
Linux took a tenth more and 4 % less than is foretold."""

SHORTEST_S = 1e-6
"""No path is shorter."""


class Held(Record):
    """Parts of the time beyond round trips and persistence; negative: what is added to it."""

    saved: float = 0.0
    """What is saved."""
    least: float = 0.0
    """What is saved at least: other segments are lost, and TCP waits for its timer as often."""
    most: float = 0.0
    """What is saved at most: it never waits for it, and what calls stood still goes as well."""


NOTHING = Held()
"""Where the round trip stays, or something else sets the pace."""


class MovedTime(Record):
    """What moved between clients and servers, of the clock of a forecast, seconds."""

    rates: Sequence[LossRate] = ()
    """Transfers that lost segments hold down."""
    windows: Sequence[FullWindow] = ()
    """Those that a receiver's TCP window holds down."""
    transfer_s: float = 0.0
    """What all transfers took, with what they stood still for lost segments."""
    stood_s: float = 0.0
    """What calls stood still for them."""
    beyond_s: float = 0.0
    """What calls took beyond round trips and persistence."""

    @property
    def held_s(self) -> float:
        """What moved at the pace that lost segments allow."""
        if holding(self.rates, self.transfer_s) is None:
            return 0.0
        return min(sum(each.time_s for each in self.rates), self.transfer_s)

    @property
    def full_s(self) -> float:
        """What moved, or began later, as full windows allow; lost segments come first."""
        if self.held_s:
            return 0.0
        return min(sum(each.cost_s for each in self.windows), max(0.0, self.beyond_s))


NOTHING_MOVED = MovedTime()
"""Where nothing was measured."""


def moved(measured: Measurement | None) -> MovedTime:
    """What moved, all clients together."""
    if measured is None:
        return NOTHING_MOVED
    return MovedTime(
        rates=measured.loss_rates,
        windows=measured.full_windows,
        transfer_s=measured.clocked.transfer_s,
        stood_s=measured.clocked.lost_s,
        beyond_s=measured.costs().beyond_s,
    )


def moved_by(clock: ClientClock, beyond_s: float) -> MovedTime:
    """What moved of one client.

    Args:
        clock: The client's.
        beyond_s: What its calls took beyond round trips and persistence, seconds.
    """
    return MovedTime(
        rates=clock.loss_rates,
        windows=clock.full_windows,
        transfer_s=clock.budget.transfer_s,
        stood_s=sum(clock.lost_of(row) for row in clock.lost_s if row != "client"),
        beyond_s=beyond_s,
    )


def held_down(what: MovedTime, added_s: float, before_s: float = 0.0) -> Held:
    """What a round trip that is longer by `added_s` saves, or adds.

    Args:
        what: What moved.
        added_s: What is added to the round trip as measured, seconds; negative: a shorter one.
        before_s: What was added to that with which this is compared, seconds.
    """
    whole_s = what.held_s
    if added_s == before_s or what.beyond_s <= 0:
        return NOTHING
    if not whole_s:
        return _by_windows(what, added_s, before_s)
    part = min(1.0, whole_s / what.beyond_s)
    told = sum(each.time_s for each in what.rates)
    least = most = saved = 0.0
    for each in what.rates:
        weight = part * each.time_s / told if told else 0.0
        chance = DEVIATIONS / math.sqrt(2 * each.lost)
        ends = []
        for timers in (0.0, OFTEN):
            after = _pace(each, added_s, timers)
            change = after - _pace(each, before_s, timers)
            ends += [change - chance * after, change + chance * after]
        saved -= weight * (_pace(each, added_s, TIMERS) - _pace(each, before_s, TIMERS))
        least -= weight * max(ends)
        most -= weight * min(ends)
    if added_s < before_s:
        # On a short path a loss is seen before the timer runs out.
        longest = max(what.rates, key=lambda each: each.time_s)
        ratio = _rtt_s(longest, added_s) / _rtt_s(longest, before_s)
        most += min(what.stood_s / what.beyond_s, 1.0 - part) * (1.0 - ratio)
    return Held(saved=saved, least=least, most=min(most, 1.0))


def _by_windows(what: MovedTime, added_s: float, before_s: float) -> Held:
    """The same where it is full windows that hold transfers down, if anything does."""
    cost_s = sum(each.cost_s for each in what.windows)
    if not what.full_s or cost_s <= 0:
        return NOTHING
    part = what.full_s / what.beyond_s
    saved = sum(
        part * each.cost_s / cost_s * (_turns(each, before_s) - _turns(each, added_s))
        for each in what.windows
    )
    less, more = sorted((saved * (1 - UNLIKE), saved * (1 + UNLIKE)))
    return Held(saved=saved, least=less, most=min(more, 1.0))


def _turns(window: FullWindow, added_s: float) -> float:
    """How many times as long a window takes to go round."""
    return max(0.0, 1.0 + added_s / max(SHORTEST_S, window.turn_s))


def _pace(rate: LossRate, added_s: float, timers: float) -> float:
    """How many times as long data moves with another round trip."""
    before, after = (
        allowed(rate.lost_share, rtt_s, rate.segment_bytes, timers)
        for rtt_s in (rate.rtt_s, _rtt_s(rate, added_s))
    )
    return before / after


def _rtt_s(rate: LossRate, added_s: float) -> float:
    return max(SHORTEST_S, rate.rtt_s + added_s)
