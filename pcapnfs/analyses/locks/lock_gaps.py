"""When no call of a client was outstanding because one of its programs waited for a lock.

Takes the waits for locks and lock files, and when calls were outstanding; gives the gaps between
calls that lie within a wait. Promises that the gaps of a client lie one after the other, within the
time in which it had no call outstanding: they are a part of what a time budget books to the client
itself.

Other programs of the client may have worked meanwhile. So a gap between their calls is left out if
it is as short as what a client spends on a call (`PAUSE_LIMIT_NS`): only longer ones count, and
those before or after a LOCK of the wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import by_group, distinct, looked_up
from pcapnfs.analyses.asking.stretches import common, joined
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.locks import lock_files
from pcapnfs.analyses.locks.lock_waits import WAITS_READS, Waits, waits
from pcapnfs.analyses.times.shares import PAUSE_LIMIT_NS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.stretches import Stretches
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

READS = columns.together(WAITS_READS, lock_files.READS, traffic.READS)
"""The columns that this reads."""


class LockGaps(Record):
    """The time in which no call of a client was outstanding and a program waited for a lock."""

    client: str
    """Address of the client."""
    time_s: float
    """How long that was, seconds; a part of the row `client` of its time budget."""


def lock_gaps(trace: Trace, calls: Outstanding) -> tuple[LockGaps, ...]:
    """How long that was, for each client that waited for locks, the longest first.

    Args:
        trace: The trace.
        calls: When its calls were outstanding.
    """
    return added_up(stretches(trace, calls))


def added_up(gaps: Mapping[str, Stretches]) -> tuple[LockGaps, ...]:
    """How long the gaps of each client were, the longest first.

    Args:
        gaps: By client, in nanoseconds.
    """
    told = [
        LockGaps(client, float((end - begin).sum()) / NANOSECONDS)
        for client, (begin, end) in gaps.items()
    ]
    return tuple(sorted(told, key=lambda each: (-each.time_s, each.client)))


def stretches(trace: Trace, calls: Outstanding) -> dict[str, Stretches]:
    """By client that waited, the gaps in nanoseconds since the capture's start.

    Args:
        trace: The trace.
        calls: When its calls were outstanding.
    """
    waited = _waited(trace)
    if waited is None:
        return {}
    start_ns = trace.meta.start_ns or 0
    number = {client: place for place, client in enumerate(calls.clients)}
    # Calls beside NFS are in no clock.
    known = {mount: number.get(client, -1) for mount, (client, _) in traffic.mounts(trace).items()}
    whose = looked_up(waited.mount, known)
    of_clients = by_group(calls.intervals.group, calls.intervals.groups)
    # Group 0 are those beside NFS.
    waits_of = by_group(whose + 1, len(calls.clients) + 1)[1:]
    locking = np.isin(calls.call, waited.locks)
    found = {}
    for place in distinct(whose[whose >= 0]).tolist():
        mine = waits_of[place]
        of_client = waited.begin_ns[mine] - start_ns, waited.end_ns[mine] - start_ns
        gaps = common(_gaps(calls, of_clients[place], locking), joined(*of_client))
        if len(gaps[0]):
            found[calls.clients[place]] = gaps
    return found


def _waited(trace: Trace) -> Waits | None:
    """The waits for locks, and those for lock files."""
    both = [found for found in (waits(trace), lock_files.waits(trace)) if found is not None]
    if len(both) < 2:
        return both[0] if both else None
    first, second = both
    return Waits(
        np.concatenate([first.mount, second.mount]),
        np.concatenate([first.begin_ns, second.begin_ns]),
        np.concatenate([first.end_ns, second.end_ns]),
        np.union1d(first.locks, second.locks),
    )


def _gaps(calls: Outstanding, mine: NDArray[np.int32], locking: NDArray[np.bool_]) -> Stretches:
    """The gaps between some calls, and behind the last, that may belong to a wait.

    Args:
        calls: All calls.
        mine: Places of some.
        locking: Of all, whether they belong to a wait.
    """
    intervals = calls.intervals
    mine = mine[np.argsort(intervals.begin[mine], kind="stable")]
    begin = np.maximum.accumulate(intervals.end[mine])
    end = np.append(intervals.begin[mine][1:], calls.span_ns)
    steps = mine[locking[mine]]
    own = np.isin(begin, intervals.end[steps]) | np.isin(end, intervals.begin[steps])
    kept = (end > begin) & (own | (end - begin > PAUSE_LIMIT_NS))
    return begin[kept], end[kept]
