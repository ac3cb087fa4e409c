"""Replies that bear an earlier time than the calls before them: the clock was set back between.

Takes the calls and the notes; counts the replies without call that stand behind a call without
reply of the same connection and xid, and bear a time before it. The capturing host's clock was set
back between the two by less than a second: what goes back further is counted on (`set_back`). What
the call took is not known, but nothing is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY, any_orphan

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="connection callback xid call_frame call_time reply_frame",
    notes="reason connection xid frame time",
)
"""The columns that this reads."""


@once
def earlier_replies(trace: Trace) -> int:
    """Count them."""
    if not any_orphan(trace):
        return 0
    ((earlier,),) = trace.rows(_EARLIER, {"orphan": ORPHAN_REPLY})
    return integer(earlier)


# Of the calls before it, which may have one xid, the one with the latest time decides.
_EARLIER = """
    with unanswered as (
        select connection, xid, call_frame, max(call_time) over (
                   partition by connection, xid order by call_frame
               ) as latest
        from calls where reply_frame is null and not callback
    )
    select count(*)
    from (select * from notes where reason = $orphan) as orphans
         asof join unanswered
             on orphans.connection = unanswered.connection and orphans.xid = unanswered.xid
                and orphans.frame > unanswered.call_frame
    where latest > orphans.time
"""
