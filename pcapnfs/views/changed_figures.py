"""Figures of what changed between two runs, with their unit or their sign.

Takes numbers of a `Comparison`; gives cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units

if TYPE_CHECKING:
    from pcapnfs.comparison.waterfall import Step

CLOCK_S = 0.5e-9
"""Times are whole nanoseconds: what is less is what adding floats has left."""

EXACT = 1e-9
"""Forecasts are no further off than this where adding floats makes all of it."""


def signed(seconds: float | None) -> str:
    """A difference of times with its sign."""
    if seconds is None:
        return units.UNKNOWN
    if abs(seconds) < CLOCK_S:
        return units.duration(0.0)
    return f"+{units.duration(seconds)}" if seconds > 0 else units.duration(seconds)


def interval(step: Step) -> str:
    """What most resamples give for a step."""
    if step.low_s is None or step.high_s is None:
        return ""
    return f"{signed(step.low_s)} to {signed(step.high_s)}"


def error(part: float | None) -> str:
    """How far a forecast was off, with its sign."""
    if part is None:
        return units.UNKNOWN
    if abs(part) < EXACT:
        return units.share(0.0)
    # Beyond once as much again, a tenth of a per cent is no news.
    told = units.share(abs(part)) if abs(part) < 1 else f"{units.count(round(abs(part) * 100))} %"
    if told.startswith("<"):
        return told  # Less than what is shown, either way.
    return f"{'+' if part > 0 else '-'}{told}"
