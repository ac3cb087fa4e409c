"""What the server had to persist before it could reply, and how long it took.

Every answered call of a client is in exactly one of five rows, so that calls and times add up to
the total. Callbacks, whose service time is the client's, are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback srt stability unlisted",
)
"""The columns that the queries here read."""


class StabilityRow(Record):
    """Calls of one kind."""

    calls: int
    """Calls with a reply."""
    sum_s: float
    """Sum of their service times, seconds."""
    mean_s: float | None
    """Mean service time, seconds; None without calls."""
    p50_s: float | None
    """Median service time, seconds, exact; None without calls."""
    calls_share: float | None
    """Share of all answered calls, 0…1; None when there are none."""
    time_share: float | None
    """Share of the service time of all answered calls, 0…1; None when there is none."""


class Stability(Record):
    """Answered calls by what they ask of the server's storage; the first six are disjoint."""

    stable: StabilityRow
    """Calls that succeeded and had to be on stable storage before the reply; a compound when one of
    its ops had to."""
    unstable: StabilityRow
    """All calls that are in no other row: nothing had to be persisted."""
    unstable_write: StabilityRow
    """WRITE answered UNSTABLE: the data may wait for a COMMIT."""
    read: StabilityRow
    """READ: data that may have to come from disk."""
    state: StabilityRow
    """Operations that record client state (EXCHANGE_ID, CREATE_SESSION, OPEN_CONFIRM …)."""
    unknown: StabilityRow
    """Calls whose level or outcome is not in the capture (cut, lost or encrypted), and cannot be
    told from the call either."""
    total: StabilityRow
    """All of the above."""
    unlisted: StabilityRow
    """The part of `stable` that is so only by SETATTR or SETACL, which RFC 1813's list does not
    name."""


def stability(trace: Trace) -> Stability:
    """Split the answered calls into stable, unstable, unstable writes, reads, state and unknown."""
    rows = trace.rows(
        """
        with answered as (
            select stability, unlisted, srt from calls where srt is not null and not callback
        ),
        kinds as (
            select stability as kind, srt from answered
            union all select 'total', srt from answered
            union all select 'unlisted', srt from answered where stability = 'stable' and unlisted
        )
        select kind, count(*), sum(srt), avg(srt), quantile_cont(srt, 0.5)
        from kinds group by kind
        """
    )
    found = {str(kind): values for kind, *values in rows}
    all_calls, all_time, *_ = found.get("total", (0, 0))

    def row(kind: str) -> StabilityRow:
        calls, total, mean, median = found.get(kind, (0, 0, None, None))
        return StabilityRow(
            calls=integer(calls),
            sum_s=seconds(total) or 0.0,
            mean_s=seconds(mean),
            p50_s=seconds(median),
            calls_share=calls / all_calls if all_calls else None,
            time_share=total / all_time if all_time else None,
        )

    return Stability(
        stable=row("stable"),
        unstable=row("unstable"),
        unstable_write=row("unstable_write"),
        read=row("read"),
        state=row("state"),
        unknown=row("unknown"),
        total=row("total"),
        unlisted=row("unlisted"),
    )
