"""What both ends of a capture cut off: calls without a reply yet, replies to earlier calls.

Takes calls, connections and notes; gives how many unanswered calls may have their reply behind the
end, and how many replies without a call have it before the begin. That is no loss: every capture
has ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY, any_orphan, directions

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _directions.READS,
    columns.of(
        calls="connection server op reply_frame call_first_time call_time reply_time srt",
        connections="connection transport handshake client_segments missing_bytes truncated_bytes",
        notes="reason time connection",
    ),
)
"""The columns that the queries here read."""

USUAL = 0.99
"""Quantile of what calls take: one beyond it in a hundred is no matter of the end."""

LONGER = 2.0
"""So many times as long as usual a call may take that is under way at an end: the longer a call
takes, the likelier it is that it is the one that an end meets."""

DESYNCHRONISED = "desynchronised"
"""Reason of bytes in which no message was found: calls may be among them."""


def cut_at_the_ends(trace: Trace) -> tuple[int, int]:
    """Unanswered calls at the end and replies without call at the start of the capture."""
    unanswered = orphans = 0
    if any_unanswered(trace):
        ((unanswered,),) = trace.rows(
            _UNANSWERED, {"end": trace.meta.end_ns, "usual": USUAL, "longer": LONGER}
        )
    if any_orphan(trace):
        told = {
            "start": trace.meta.start_ns,
            "usual": USUAL,
            "longer": LONGER,
            "orphan": ORPHAN_REPLY,
            "lost": DESYNCHRONISED,
            "alone": directions(trace).replies > 0,
        }
        ((orphans,),) = trace.rows(_ORPHANS, told)
    return integer(unanswered), integer(orphans)


def any_unanswered(trace: Trace) -> bool:
    """Whether any call has no reply."""
    return bool(trace.rows("select 1 from calls where reply_frame is null limit 1"))


_USUAL = """
    answered as (
        select connection, server, op, srt, reply_time - call_first_time as whole
        from calls where srt is not null
    ),
    of_connection as (
        select connection, quantile_cont(srt, $usual) as time, quantile_cont(whole, $usual) as whole
        from answered group by connection
    ),
    of_any as (
        select quantile_cont(srt, $usual) as time, quantile_cont(whole, $usual) as whole
        from answered
    )
"""

_UNANSWERED = f"""
    with {_USUAL},
    of_operation as (
        select server, op, quantile_cont(srt, $usual) as time from answered group by server, op
    )
    select count(*)
    from calls
    left join of_connection using (connection) left join of_operation using (server, op)
    cross join of_any
    where reply_frame is null and call_time + $longer * coalesce(
        greatest(of_connection.time, of_operation.time), of_any.time, 0) >= $end
"""

# Where TCP lacks nothing of a connection that was there before, and all of it was read, each call
# that was sent in the capture is known: the others were sent before, however long ago. A reply
# whose xid was damaged leaves its call waiting; where one direction is not there, nothing lacks.
_ORPHANS = f"""
    with {_USUAL},
    waiting as (
        select connection, min(call_time) as since
        from calls where reply_frame is null group by connection
    ),
    read_whole as (
        select connection
        from connections
        where transport = 'TCP' and not handshake and missing_bytes = 0 and truncated_bytes = 0
              and not exists (from notes where reason = $lost
                              and notes.connection = connections.connection)
              and not ($alone and not exists (from calls
                                              where calls.connection = connections.connection))
    )
    select count(*)
    from notes left join of_connection using (connection) left join waiting using (connection)
    cross join of_any
    where reason = $orphan
          and (notes.time - $longer * coalesce(of_connection.whole, of_any.whole, 0) <= $start
               or connection in (from read_whole)
                  and (waiting.since is null or waiting.since > notes.time))
"""
