"""How fast data moved each way: what the rate of a link can be held against.

Takes a trace; gives for each client what its large calls and the large replies to it brought, and
in how much time: that in which any of them was on its way. Shares of the clock are no such time:
while one message moves, others that are outstanding have theirs, and data that stands in the queue
of a link is counted with the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.wire.late_arrivals import LARGE_BYTES
from pcapnfs.analyses.wire.message_times import (
    ANSWERED,
    ANSWERED_FROM,
    LARGE_CALL,
    LARGE_REPLY,
    SENT,
    SENT_FROM,
)
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.late_answers import Side
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback client call_first_time call_time reply_first_time reply_time first_arrived "
    "call_bytes reply_bytes"
)
"""The columns that the queries here read."""


class DataRate(Record):
    """What moved from a client to its servers, or from them to it."""

    client: str
    """Address of the client."""
    sender: Side
    """Who sent the data: `client` (WRITEs), `server` (READs)."""
    moved_bytes: int
    """Bytes of the large messages of more than one packet."""
    moving_s: float
    """Time in which any of them was on its way, from its first packet to its last, seconds; more
    than 0."""

    @property
    def bytes_per_s(self) -> float:
        """Their rate, bytes a second."""
        return self.moved_bytes / self.moving_s


def data_rates(trace: Trace) -> tuple[DataRate, ...]:
    """Tell them, by client and direction, the one in which data moved longer first."""
    return tuple(
        DataRate(client, sender, integer(moved), seconds(moving) or 0.0)
        for client, sender, moved, moving in trace.rows(_MOVED, {"large": LARGE_BYTES})
    )


_MOVED = f"""
    with messages as (
        select client, 'client' as sender, {SENT_FROM} as begin, {SENT} as "end",
               call_bytes as bytes
        from calls where {LARGE_CALL}
        union all
        select client, 'server', {ANSWERED_FROM}, {ANSWERED}, reply_bytes
        from calls where {LARGE_REPLY}
    ),
    in_order as (
        select *, max("end") over (
                   partition by client, sender order by begin
                   rows between unbounded preceding and 1 preceding
               ) as before
        from messages
    )
    select client, sender, sum(bytes) as moved,
           sum(greatest("end" - greatest(begin, coalesce(before, begin)), 0)) as moving
    from in_order group by client, sender having moving > 0
    order by client, moving desc, sender
"""
