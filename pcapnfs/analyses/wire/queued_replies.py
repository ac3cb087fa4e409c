"""Calls whose replies had to wait until those before them on their connection had been sent.

Takes a trace; gives the calls whose reply began where a longer one ended, and since when, while
they were outstanding, the connection had nothing but replies to move. TCP brings the replies of a
connection one after the other: however soon the server has one ready, it begins when the last byte
of the one before it is gone. So that time is the network's. Where the connection had nothing to
move in between, the reply was not ready before, and the server took all of the time. Replies of a
few segments are shorter than what a busy host is late for: whether they stood in the queue of a
link, many of them together tell (`crowded_replies`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import by_call, parts
from pcapnfs.analyses.asking.arrays import distinct
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.wire import crowded_replies as _crowded_replies
from pcapnfs.analyses.wire.crowded_replies import crowded_replies
from pcapnfs.analyses.wire.message_times import ANSWERED, ANSWERED_FROM, SENT
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    _crowded_replies.READS,
    columns.of(
        calls="call callback connection call_time reply_first_time reply_time first_arrived"
    ),
)
"""The columns that the queries here read."""

LEAST_NS = 100_000
"""Replies that take less, and waits of less, show nothing: 128 KiB at 10 Gbit/s take so long."""

GAP_SHARE = 0.125
"""A reply follows another one if the connection was idle for no more than so much of the time that
the other one took: what it takes the server's TCP to begin, and the first of its segments to come.
A server that takes longer for each reply than the network is not waited for by the network."""

TABLE = "queued_replies"
"""The table with the calls, where there are any."""


class QueuedReplies(Record):
    """Calls whose replies had to wait."""

    call: NDArray[np.unsignedinteger[Any]]
    """Number of each (table calls), ascending."""
    since_ns: NDArray[np.int64]
    """Since when, nanoseconds since 1970: the call, or the first byte of the reply with which the
    connection began to be busy, whichever was later."""
    queued_ns: NDArray[np.int64]
    """From then on to the first byte of the reply, ns."""


@once
def queued_replies(trace: Trace) -> QueuedReplies:
    """Find them."""
    large = trace.arrays(_LARGE)
    if not len(large["begin"]):
        return _of([])
    crowded = crowded_replies(trace)
    asked = parts.arrays(trace, _ASKED)
    by = np.argsort(large["connection"], kind="stable")
    large = {name: column[by] for name, column in large.items()}
    connections = distinct(large["connection"])
    known = np.zeros(int(connections[-1]) + 1, np.bool_)
    known[connections] = True
    within = asked["connection"] < len(known)
    within[within] = known[asked["connection"][within]]
    asked = {name: column[within] for name, column in asked.items()}
    by = np.argsort(asked["connection"], kind="stable")
    replying, asking = (
        (np.searchsorted(each, connections), np.searchsorted(each, connections, "right"))
        for each in (large["connection"], asked["connection"][by])
    )
    return _of(
        [
            _queued(
                {name: column[begin:end] for name, column in large.items()},
                {name: column[by[first:last]] for name, column in asked.items()},
            )
            for begin, end, first, last in zip(*replying, *asking, strict=True)
        ]
        + [crowded]
    )


def rows(trace: Trace) -> str:
    """SQL: `call`, as in the table calls, and `queued`, for how long its reply had to wait, ns."""
    return f"select call, queued from {TABLE}" if _register(trace) else _NOTHING


@once
def _register(trace: Trace) -> bool:
    """Make the table, and say whether there is anything in it; else there is no table."""
    found = queued_replies(trace)
    if not len(found.call):
        return False
    by_call.create(trace, TABLE, found.call, queued=found.queued_ns)
    return True


Columns = dict[str, "NDArray[Any]"]


def _queued(large: Columns, asked: Columns) -> Columns:
    """Of one connection, the calls whose replies had to wait, and since when."""
    by = np.argsort(large["begin"], kind="stable")
    begin, end = large["begin"][by], np.maximum.accumulate(large["end"][by])
    gap = ((end - begin) * GAP_SHARE).astype(np.int64)
    anew = np.ones(len(begin), np.bool_)
    np.greater(begin[1:] - end[:-1], gap[:-1], out=anew[1:])
    busy = np.maximum.accumulate(np.where(anew, begin, begin[0]))
    before = np.searchsorted(end, asked["answering"], "right") - 1
    follows = before >= 0
    follows &= asked["sent"] < end[before]
    follows &= asked["answering"] - end[before] <= gap[before]
    asked = {name: column[follows] for name, column in asked.items()}
    return asked | {"since": np.maximum(asked["sent"], busy[before[follows]])}


def _of(found: list[Columns]) -> QueuedReplies:
    """Those of all connections, in order of number."""
    nothing = {"call": np.zeros(0, np.uint32)} | dict.fromkeys(
        ("since", "answering"), np.zeros(0, np.int64)
    )
    call, since, answering = (
        np.concatenate([each[name] for each in found or [nothing]])
        for name in ("call", "since", "answering")
    )
    order = np.lexsort((since, call))
    # What is found both ways waited since the earlier moment.
    order = order[np.append(True, call[order][1:] != call[order][:-1])] if len(order) else order
    return QueuedReplies(call[order], since[order], (answering - since)[order])


_NOTHING = "select null::ubigint as call, 0 as queued where false"

_LARGE = f"""
    select connection, {ANSWERED_FROM} as begin, {ANSWERED} as "end"
    from calls where not callback and reply_first_time is not null
          and {ANSWERED} - {ANSWERED_FROM} >= {LEAST_NS}
"""

# The others were answered on another connection, or nothing tells which transmission was.
_ASKED = f"""
    select call, connection, {SENT} as sent, {ANSWERED_FROM} as answering
    from calls where not callback and first_arrived and {ANSWERED_FROM} - {SENT} >= {LEAST_NS}
"""
