"""Calls with replies of a few segments that stood in the queue of a link.

Takes a trace; gives the calls whose reply came in a run of such replies in which next to nothing
but replies moved, on all connections between a client and a server, and since when. What a server
has ready leaves it in one piece: the segments of a reply that come one by one, each as long after
another as the first of the next reply after the last of the one before, come at the speed of a
link, and each reply waited there for those before it. A server that takes its time sends each reply
at once when it has it, and nothing moves in between. Longer replies, whose own segments tell more,
are in `queued_replies`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.arrays import distinct
from pcapnfs.analyses.wire.message_times import ANSWERED, ANSWERED_FROM, SENT
from pcapnfs.analyses.wire.segments import FULL_BYTES

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

    Columns = dict[str, NDArray[Any]]
    Times = NDArray[np.int64]

READS = columns.of(
    calls="call mount callback call_time reply_first_time reply_time reply_bytes first_arrived"
)
"""The columns that the query here reads."""

SEGMENTS = (3, 11)
"""Replies of so many segments are looked at: of two, one gap is all that there is."""

LEAST = 30
"""Replies of a run, below which it shows nothing."""

MOVING = 0.75
"""Part of a run in which replies moved, from which on it is the link that they waited for."""

SLOW_NS = 100_000
"""A reply that takes less from its first segment to its last shows nothing of a link."""

PAUSE_NS = 50_000_000
"""Longest time in which nothing moved within a run: a host that captures may stand still."""


def crowded_replies(trace: Trace) -> Columns:
    """Find them: `call`, `since` and `answering` (the reply's first byte), ns since 1970."""
    none = {name: np.zeros(0, np.int64) for name in ("call", "since", "answering")}
    # As a rule replies so short come in one piece, and the others need not be fetched.
    if trace.rows(_SLOW)[0][0] < LEAST:
        return none
    rows = parts.arrays(trace, _ASKED)
    order = np.lexsort((rows["answering"], rows["mount"]))
    rows = {name: column[order] for name, column in rows.items()}
    mounts = distinct(rows["mount"])
    bounds = np.append(np.searchsorted(rows["mount"], mounts), len(order))
    found = [
        _of_pair({name: column[begin:end] for name, column in rows.items()})
        for begin, end in pairwise(bounds)
        if end - begin >= LEAST
    ]
    return {
        name: np.concatenate([empty, *(each[name] for each in found)])
        for name, empty in none.items()
    }


def _of_pair(rows: Columns) -> Columns:
    """Those between one client and one server, whose replies are in order."""
    answering, answered = rows["answering"], np.maximum.accumulate(rows["answered"])
    took = rows["answered"] - answering
    more = np.maximum(-(-rows["bytes"] // FULL_BYTES) - 1, 1)
    # The first segment took as long as each of the others.
    begin = np.maximum(answering - took // more, rows["sent"])
    begin[1:] = np.clip(begin[1:], answered[:-1], None)
    begin = np.minimum(begin, answered)
    gap = np.append(0, begin[1:] - answered[:-1])
    anew = gap > PAUSE_NS
    # In a queue, each was asked for before the one before it had come.
    anew[1:] |= rows["sent"][1:] >= answered[:-1]
    anew[0] = True
    run = np.cumsum(anew) - 1
    moving = np.bincount(run, answered - begin)
    still = np.bincount(run, np.where(anew, 0, gap))
    full = (np.bincount(run) >= LEAST) & (moving >= MOVING * (moving + still))
    first = answering[anew][run]
    waited = full[run] & ~anew
    since = np.maximum(rows["sent"], first)
    waited &= since < answering
    return {
        "call": rows["call"][waited].astype(np.int64),
        "since": since[waited],
        "answering": answering[waited],
    }


_REPLIES = f"""
    from calls
    where not callback and first_arrived and reply_first_time is not null
          and reply_bytes > {(SEGMENTS[0] - 1) * FULL_BYTES}
          and reply_bytes <= {SEGMENTS[1] * FULL_BYTES}
"""

_SLOW = f"select count(*) {_REPLIES} and {ANSWERED} - {ANSWERED_FROM} >= {SLOW_NS}"

_ASKED = f"""
    select call, mount, {SENT} as sent, {ANSWERED_FROM} as answering, {ANSWERED} as answered,
           reply_bytes::bigint as bytes
    {_REPLIES}
"""
