"""How service times spread: a histogram for each operation, on one logarithmic scale.

A mean hides that half of the calls were answered from memory and the others waited for a disk. The
bins are the same for all operations, so that they can be held against one another; times below the
first bin are counted in it, times above the last in that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import order
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(calls="protocol op srt")
"""The columns that the queries here read."""

BINS_PER_DECADE = 5
"""Bins between a time and ten times as much: each is 1.58 times as long as the one before."""

LEAST_EXPONENT, MOST_EXPONENT = -6, 2
"""The scale at most: from 1 µs, what captures can tell apart, to 100 s."""


class OperationSpread(Record):
    """The service times of one operation."""

    version: str
    """Protocol: `3`, `4.0`, `4.1`, `4.2`, `nfsacl3`, `mount3` …"""
    op: str
    """Procedure; for NFSv4 the compound's main operation."""
    count: int
    """Calls with a reply: the sum of `bins`."""
    p50_s: float | None
    """Median, seconds, exact and interpolated; None without calls."""
    p95_s: float | None
    """95th percentile, seconds, exact and interpolated; None without calls."""
    bins: tuple[int, ...]
    """Calls in each bin of the scale."""


class Spreads(Record):
    """Service times by operation, on one scale."""

    edges_s: tuple[float, ...]
    """Where the bins begin and end, seconds: one more than there are bins; a bin holds its lower
    edge. Empty without answered calls."""
    operations: tuple[OperationSpread, ...]
    """The operations, longest sum of service times first."""
    hidden: int
    """Operations with answered calls that are not among them."""


def spreads(trace: Trace, *, top: int = 12) -> Spreads:
    """Spread the service times of each operation over bins.

    Args:
        trace: The trace.
        top: Operations to give, those that took longest; 0 for all.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("operations", top=top)
    rows = trace.rows(
        """
        select protocol, op, count(srt), quantile_cont(srt, 0.5), quantile_cont(srt, 0.95)
        from calls where srt is not null
        group by protocol, op order by sum(srt) desc, count(*) desc, protocol, op
        """
    )
    shown = rows[:top] if top else rows
    counts = _counts(trace)
    places = [place for row in shown for place in counts[row[0], row[1]]]
    if not places:
        return Spreads((), (), 0)
    first, last = min(places), max(places)
    return Spreads(
        edges_s=tuple(10 ** (place / BINS_PER_DECADE) for place in range(first, last + 2)),
        operations=tuple(
            OperationSpread(
                version=str(version),
                op=str(op),
                count=integer(count),
                p50_s=seconds(p50),
                p95_s=seconds(p95),
                bins=tuple(counts[version, op].get(place, 0) for place in range(first, last + 1)),
            )
            for version, op, count, p50, p95 in shown
        ),
        hidden=len(rows) - len(shown),
    )


def _counts(trace: Trace) -> Mapping[tuple[str, str], Mapping[int, int]]:
    """Calls by operation and bin, numbered by the power of ten at which the bin begins."""
    least = LEAST_EXPONENT * BINS_PER_DECADE
    most = MOST_EXPONENT * BINS_PER_DECADE - 1
    counts: dict[tuple[str, str], dict[int, int]] = {}
    # The logarithm of a power of ten may come out just below a whole number.
    rows = trace.rows(
        """
        select protocol, op,
               greatest($least, least($most, floor(
                   (log10(greatest(srt, 1)) - $digits) * $bins + 1e-9
               )))::integer,
               count(*)
        from calls where srt is not null group by all
        """,
        {"least": least, "most": most, "digits": math.log10(NANOSECONDS), "bins": BINS_PER_DECADE},
    )
    for version, op, place, calls in rows:
        counts.setdefault((str(version), str(op)), {})[integer(place)] = integer(calls)
    return counts
