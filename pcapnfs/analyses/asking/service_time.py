"""Service times: the statistics that several analyses give.

Takes the column `srt` of the table calls in whatever grouping a query has; gives a `ServiceTime`.
The definition is Wireshark's: frame time that completes the reply minus frame time that completes
the call, for a retransmitted call from its first transmission.
"""

from __future__ import annotations

from collections.abc import Sequence

from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.record import Record

COLUMNS = """
    count(srt), min(srt), avg(srt), quantile_cont(srt, [0.5, 0.95, 0.99]), max(srt), sum(srt)
"""
"""What a query selects for `of_row`, in its order; calls without reply have no srt and do not
count."""

FAILED = "(coalesce(status, 0) <> 0 or coalesce(rpc_status, 'SUCCESS') <> 'SUCCESS')"
"""Whether a row of the table calls failed: refused by RPC, or answered with a status other than
0."""


class ServiceTime(Record):
    """Statistics of service times.

    Retransmitted calls are in, counted from their first transmission as Wireshark does; their
    number stands beside every such statistic. Negative times, which a capture with disordered
    packets can hold, are kept as they are.
    """

    count: int
    """Calls with a reply."""
    min_s: float | None
    """Shortest, seconds; None when count is 0."""
    mean_s: float | None
    """Arithmetic mean, seconds; None when count is 0."""
    p50_s: float | None
    """Median, seconds, exact and interpolated between neighbours; None when count is 0."""
    p95_s: float | None
    """95th percentile, seconds, exact and interpolated; None when count is 0."""
    p99_s: float | None
    """99th percentile, seconds, exact and interpolated; None when count is 0."""
    max_s: float | None
    """Longest, seconds; None when count is 0."""
    sum_s: float
    """Sum, seconds; 0 when count is 0."""

    def spread(self) -> tuple[float | None, ...]:
        """Sum, mean, shortest, median, 95th and 99th percentile, longest; None if all are 0.

        Then nothing was measured: no call has its reply, or no packet has a time.
        """
        times = self.sum_s, self.mean_s, self.min_s, self.p50_s, self.p95_s, self.p99_s, self.max_s
        return times if any(times) else (None,) * len(times)


LONGEST_NS = 2**62
"""Beyond it a sum of times is taken for this, 146 years: damaged times add up to anything."""

SUM = f"least(greatest(coalesce(sum(srt), 0), -{LONGEST_NS}), {LONGEST_NS})::bigint"
"""SQL: the service time of calls, nanoseconds; 0 where none is known."""


def of_row(row: Sequence[object]) -> ServiceTime:
    """Read the six values of `COLUMNS`."""
    count, least, mean, quantiles, most, total = row
    p50, p95, p99 = quantiles if isinstance(quantiles, list) else (None,) * 3
    return ServiceTime(
        count=integer(count),
        min_s=seconds(least),
        mean_s=seconds(mean),
        p50_s=seconds(p50),
        p95_s=seconds(p95),
        p99_s=seconds(p99),
        max_s=seconds(most),
        sum_s=seconds(total) or 0.0,
    )
