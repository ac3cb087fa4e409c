"""What the rules judge by: the results of the analyses, gathered once.

Takes a trace; gives a `Material`. A rule reads it and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import cache as _cache
from pcapnfs.analyses import not_found as _not_found
from pcapnfs.analyses import time_budget as _time_budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.trace import Trace

READS = columns.together(_cache.READS, _not_found.READS, _time_budget.READS)
"""The columns that all of these read."""


@dataclass(frozen=True, slots=True)
class Material:
    """Results of analyses, by the name of their analysis."""

    time_budget: _time_budget.TimeBudget
    cache: _cache.Cache
    not_found: tuple[_not_found.NotFound, ...]

    def budget_rows(self) -> Mapping[str, float]:
        """What can be claimed: the rows of the time budget of all clients, in seconds."""
        return {name: time_s for name, time_s, _ in self.time_budget.total.shares()}


def gather(trace: Trace) -> Material:
    """Ask the analyses."""
    return Material(
        time_budget=_time_budget.time_budget(trace),
        cache=_cache.cache(trace),
        not_found=_not_found.not_found(trace),
    )
