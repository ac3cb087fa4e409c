"""Whether the capture tells what calls took.

Takes the calls; it does not where the directions have clocks that are too far apart, or stand one
behind the other, or where the clock is so coarse that no call took any time by it, or so few that
it is chance which did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.captured import clock_ticks, clocks_apart, put_behind

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(clock_ticks.READS, clocks_apart.READS, put_behind.READS)
"""The columns that this reads."""


def times_untold(trace: Trace) -> bool:
    """Say whether what calls took is not known."""
    return (
        put_behind.put_behind(trace) is not None
        or clocks_apart.clocks_apart(trace).untold
        or clock_ticks.clock(trace).untold
    )
