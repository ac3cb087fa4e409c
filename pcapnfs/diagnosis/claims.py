"""What rules claim of the time budget, from what analyses say that it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import Claim

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.spared import Spared


def left_out(*calls: Spared, row: str = "unstable") -> tuple[Claim, ...]:
    """Their shares of the clock, in the row in which these are booked, and the client's pauses."""
    return (
        Claim(row, sum(each.time_s for each in calls)),
        Claim("client", sum(each.pause_s for each in calls)),
    )


def by_row(time_s: Mapping[str, float]) -> tuple[Claim, ...]:
    """A claim for each row of the time budget with any time, in order of name."""
    return tuple(Claim(row, seconds) for row, seconds in sorted(time_s.items()) if seconds > 0)


TWO = 2
"""Programs that wait for one another, at least."""

AS_IF_TWO = " What it costs is told as if two programs waited; with more it is more."
"""What is said of what calls that wait for one another cost, where nothing tells how many do."""


def of_waiting(
    time_s: Mapping[str, float], part: float = 1.0, programs: int = TWO
) -> tuple[Claim, ...]:
    """What calls that went one after the other cost, by row of the time budget.

    Side by side, each program would do without what it waits for all others.

    Args:
        time_s: What they took of the clock, seconds.
        part: The part of them that waited.
        programs: How many programs are known to have waited for one another.
    """
    saved = part * (1 - 1 / programs)
    return by_row({row: saved * seconds for row, seconds in time_s.items()})
