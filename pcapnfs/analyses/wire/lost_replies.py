"""Answers that were lost behind the capture point, as calls show that came again after them.

A client sends a call again only where it has no answer (RFC 7530 section 3.1.1, RFC 8881 section
2.9.2). Where the answer had come by a capture that was not taken at the client, long before, it was
lost between there and the client: the client waited all the time, though the capture shows a server
that answered at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.captured.trust import LATE_RETRANSMISSION

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(calls="call callback reply_time", notes="reason call time")
"""The columns that the queries here read."""

LATE_NS = 200_000_000
"""What comes again sooner may have crossed its answer, or been sent since that refused it."""

LATEST_NS = 900_000_000_000
"""What comes again later is taken for another call with the same number: TCP, which sends segments
again for as long, ends the connection by then (RFC 1122 section 4.2.3.5)."""

ROWS = f"""
    select call, max(time) as again, any_value(reply_time) as answered
    from notes join calls using (call)
    where reason = '{LATE_RETRANSMISSION}' and not callback
          and time - reply_time between {LATE_NS} and {LATEST_NS}
    group by call
"""
"""SQL: each call that came again so late after its answer, and when it did for the last time; where
the capture was taken at the client, it had its answer."""


def any_again(trace: Trace) -> bool:
    """Whether any call came again after its answer; most captures have none to ask about."""
    ((found,),) = trace.rows(_ANY)
    return bool(found)


_ANY = f"""
    select exists (select 1 from notes where reason = '{LATE_RETRANSMISSION}' and call is not null)
"""
