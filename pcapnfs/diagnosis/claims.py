"""What calls that could be left out claim of the time budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.diagnosis.finding import Claim

if TYPE_CHECKING:
    from pcapnfs.analyses.spared import Spared


def left_out(*calls: Spared, row: str = "unstable") -> tuple[Claim, ...]:
    """Their shares of the clock, in the row in which these are booked, and the client's pauses."""
    return (
        Claim(row, sum(each.time_s for each in calls)),
        Claim("client", sum(each.pause_s for each in calls)),
    )
