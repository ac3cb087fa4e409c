"""How coarse the capture's clock is: what its times are multiples of.

Takes the times of calls and replies; gives the tick of a clock that tells no microseconds, and
says whether it tells any times. Hosts whose timer ticks every 10 ms, old analysers and converted
captures have such clocks: what is shorter than a tick takes no time there, or a whole one. Where
the tick is longer than all calls, or packets were written without their times, no call takes any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
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

DIFFERENT = 10
"""Different times below which all may be of the same few moments."""


class Clock(Record):
    """The capture's clock."""

    tick_s: float | None
    """Its tick, seconds; None where it is shorter than a millisecond, or there are too few times to
    tell."""
    stands: bool
    """Not one of the calls with a reply took any time by it: what calls took is not known."""


@once
def clock(trace: Trace) -> Clock:
    """Say what the times of the capture are multiples of."""
    if trace.meta.start_ns is None or sum(file.packets for file in trace.meta.files) < ENOUGH:
        return Clock(None, stands=False)
    ((times, coarse),) = trace.rows(f"select count(*), {_multiples(1)} from {_TIMES}")
    if times < ENOUGH:
        return Clock(None, stands=False)
    stands = _stands(trace)
    if coarse < NEARLY_ALL * times:
        return Clock(None, stands=stands)
    counts = ", ".join(_multiples(tick) for tick in TICKS_MS)
    ((different, *found),) = trace.rows(f"select count(distinct time), {counts} from {_TIMES}")
    if different < DIFFERENT:
        return Clock(None, stands=stands)
    tick = next(
        tick for tick, all_ in zip(TICKS_MS, found, strict=True) if all_ >= NEARLY_ALL * times
    )
    return Clock(tick / 1000, stands=stands)


def _stands(trace: Trace) -> bool:
    if trace.rows("select 1 from calls where srt <> 0 limit 1"):
        return False
    ((answered,),) = trace.rows("select count(srt) from calls")
    return bool(answered >= ENOUGH // 2)


_TIMES = """(
    select call_time as time from calls
    union all select reply_time from calls where reply_time is not null
)"""


def _multiples(tick_ms: int) -> str:
    return f"count(*) filter (time % {tick_ms * MILLISECOND} = 0)"
