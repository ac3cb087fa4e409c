"""How coarse the capture's clock is: what its times are multiples of.

Takes the times of calls and replies; gives the tick of a clock that tells no microseconds, and
says whether it tells any times. Hosts whose timer ticks every 10 ms, old analysers and converted
captures have such clocks: what is shorter than a tick takes no time there, or a whole one. Where
the tick is longer than all calls, or packets were written without their times, no call takes any;
where it is longer than nearly all, a few take a whole one, and which is chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(calls="call_time reply_time srt")
"""The columns that this reads."""

MILLISECOND = 1_000_000
"""Nanoseconds of the finest tick that is looked for: what takes less is a matter of few calls."""

TICKS_MS = (1000, 500, 250, 200, 100, 50, 40, 20, 16, 10, 8, 5, 4, 2, 1)
"""Ticks that clocks have, coarsest first."""

NEARLY_ALL = 0.99
"""Share of the times that are multiples of the tick; the others are damaged, or of another file."""

ENOUGH = 100
"""Times, and packets, from which on that is no chance, and no capture that was made by hand."""

STILL = 8
"""Calls with a reply of which not one took any time, from which on a clock stands, or half of the
packets that all have one time: none is so quick that a clock of microseconds would not move."""

CHANCE = 10**9
"""To one, against which different times of a clock of microseconds would all be multiples of a
tick: those of a second need two different times, those of a millisecond three."""

ALWAYS = 3
"""Different times that are enough for any tick."""

MICROSECONDS = 1000
"""In a millisecond."""

KNOWN = 0.1
"""A sum of what calls took is known where its standard error is no larger part of it."""

LITTLE = 0.05
"""Of the capture: where the error is no larger part, it changes little of what the time went into.
"""


class Clock(Record):
    """The capture's clock."""

    tick_s: float | None
    """Its tick, seconds; None where it is shorter than a millisecond, or there are too few times to
    tell."""
    stands: bool
    """Not one of the calls with a reply took any time by it: what calls took is not known."""
    untold: bool
    """What calls took in all is not known by it: none took any time, or so few took a tick that
    chance makes their sum."""


@once
def clock(trace: Trace) -> Clock:
    """Say what the times of the capture are multiples of."""
    if trace.meta.start_ns is None:
        return Clock(None, stands=False, untold=False)
    stands = _stands(trace)
    if _packets(trace) < ENOUGH:
        return Clock(None, stands=stands, untold=stands)
    ((times, coarse),) = trace.rows(f"select count(*), {_multiples(1)} from {_TIMES}")
    if times < ENOUGH:
        return Clock(None, stands=stands, untold=stands)
    if coarse < NEARLY_ALL * times:
        return Clock(None, stands=stands, untold=stands)
    counts = ", ".join(_multiples(tick) for tick in TICKS_MS)
    ((different, *found),) = trace.rows(f"select count(distinct time), {counts} from {_TIMES}")
    tick = next(
        (
            tick
            for tick, all_ in zip(TICKS_MS, found, strict=True)
            if all_ >= NEARLY_ALL * times
            and (tick * MICROSECONDS) ** min(different, ALWAYS) >= CHANCE
        ),
        None,
    )
    if tick is None:
        return Clock(None, stands=stands, untold=stands)
    return Clock(tick / 1000, stands=stands, untold=stands or _by_chance(trace, tick))


def _by_chance(trace: Trace, tick_ms: int) -> bool:
    """Whether the sum of what calls took is a matter of chance.

    A call that is shorter than a tick takes one where the clock ticks meanwhile, and none where it
    does not. How many do varies as that of heads among so many tosses; where all of them take one,
    it is no chance. A longer call is a tick too long or too short at most.
    """
    ((none, single, longer, ticks),) = trace.rows(_TICKS, {"tick": tick_ms * MILLISECOND})
    if not ticks:
        return False
    tossed = integer(single) * integer(none) / max(1, integer(single) + integer(none))
    span = ((trace.meta.end_ns or 0) - (trace.meta.start_ns or 0)) / (tick_ms * MILLISECOND)
    error = math.sqrt(tossed + integer(longer) / 4)
    return error > max(KNOWN * integer(ticks), LITTLE * span)


def _stands(trace: Trace) -> bool:
    if trace.rows("select 1 from calls where srt <> 0 limit 1"):
        return False
    ((answered,),) = trace.rows("select count(srt) from calls")
    at_once = _packets(trace) >= 2 * STILL and trace.meta.start_ns == trace.meta.end_ns
    return bool(answered >= (1 if at_once else STILL))


def _packets(trace: Trace) -> int:
    return sum(file.packets for file in trace.meta.files)


_TIMES = """(
    select call_time as time from calls
    union all select reply_time from calls where reply_time is not null
)"""


_TICKS = """
    select count(*) filter (ticks = 0), count(*) filter (ticks = 1), count(*) filter (ticks > 1),
           coalesce(sum(ticks), 0)::bigint
    from (select round(srt / $tick)::bigint as ticks from calls where srt >= 0)
"""


def _multiples(tick_ms: int) -> str:
    return f"count(*) filter (time % {tick_ms * MILLISECOND} = 0)"
