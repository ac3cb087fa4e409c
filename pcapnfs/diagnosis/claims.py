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
