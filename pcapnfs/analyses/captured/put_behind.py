"""Files of one direction each that were put one behind the other.

Takes the calls, the notes and where the file's times went back; says whether what clients sent
stands before that place, and what servers did behind it, or the other way about: what `cat` and
`mergecap -a` make of two files, instead of one in order of time. No clock was set back then, and
what calls seem to take is the length of the capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback call_frame reply_frame",
    notes="reason frame",
)
"""The columns that this reads."""

FEW = 8
"""Messages of each direction below which nothing is said: a clock may be set back between the last
call and its reply."""

MOST = 0.99
"""Share of the messages of a direction that must stand on its side: calls of side programs may go
by another way."""


@once
def put_behind(trace: Trace) -> str | None:
    """Say which direction comes first: `calls` or `replies`; None where they are not put so."""
    if not any_place(trace):
        return None
    given = {"orphan": ORPHAN_REPLY, "place": trace.meta.files[0].set_back_frame}
    ((calls, calls_before, replies, replies_before),) = trace.rows(_FRAMES, given)
    if min(calls, replies) < FEW:
        return None
    before = calls_before / calls, replies_before / replies
    if before[0] >= MOST and before[1] <= 1 - MOST:
        return "calls"
    return "replies" if before[1] >= MOST and before[0] <= 1 - MOST else None


def any_place(trace: Trace) -> bool:
    """Whether times go back in one place: those of most captures do not."""
    files = trace.meta.files
    return len(files) == 1 and files[0].set_back == 1 and files[0].set_back_frame is not None


_FRAMES = """
    with messages as (
        select call_frame as call, reply_frame as reply from calls where not callback
        union all select null, frame from notes where reason = $orphan
    )
    select count(call), count(*) filter (call < $place),
           count(reply), count(*) filter (reply < $place)
    from messages
"""
