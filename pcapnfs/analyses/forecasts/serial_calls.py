"""Calls of which a client sends one after the other, however many programs it runs.

The kernel of a client changes a directory for one program at a time (`directory_order`), moves one
name at a time from a directory into another one of a file system (`move_order`), and NFSv4.0
numbers the OPENs and CLOSEs of a user (`open_order`). More streams that make files in one
directory, move them, or open them, wait for one another there: no run takes less than such calls
do. Takes a trace; gives those calls that take longest, of one directory, of one file system or of
one user.

Where two of them overlap, their client knows no such order, and they are none. That none do proves
little where one program did one thing after the other; but the kernels that mount NFS have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.arrays import find
from pcapnfs.analyses.asking.stretches import joined
from pcapnfs.analyses.locks import open_order
from pcapnfs.analyses.namespace import directory_order, exclusive_creates, move_order
from pcapnfs.analyses.namespace.directory_order import CHANGES, CHANGING, LEAST
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.analyses.times.timeline import Timeline
    from pcapnfs.trace import Trace

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.int64]

READS = columns.together(
    population.OPERATIONS_READS,
    population.CALLS_READS,
    directory_order.CHANGING_READS,
    move_order.MOVED_READS,
    open_order.OPENED_READS,
    exclusive_creates.READS,
    columns.of(
        calls="call client server mount callback protocol op uid stability call_first_time "
        "reply_time",
        files="file fsid_major fsid_minor",
    ),
)
"""The columns that the queries here read."""

NOTICED = 0.05
"""Part of the time in which any call was under way below which nobody looks which directories were
changed: fewer than twenty streams take longer."""


class SerialCalls(Record):
    """Calls that come one after the other."""

    of: str
    """What they are of: `directory` (files that are made, renamed or removed in one), `moves`
    (RENAMEs from one directory into another of a file system), `owner` (OPENs and CLOSEs of a user
    of NFSv4.0), or `none`."""
    calls: int
    """How many."""
    stable_calls: int
    """Those of them that were stable."""
    time_s: float
    """How long any of them was under way, seconds."""


NONE = SerialCalls(of="none", calls=0, stable_calls=0, time_s=0.0)
"""Without any."""


def serial_calls(trace: Trace, found: Outstanding, calls: Timeline) -> SerialCalls:
    """Those of the directory, file system or user for which they were under way longest.

    Args:
        trace: The trace.
        found: When calls were outstanding.
        calls: They on one line of time.
    """
    kinds = []
    if directory_order.NEEDS.met(trace) and any_long(calls):
        exclusive_creates.register(trace)
        kinds.append(_longest(trace, found, "directory", _IN_DIRECTORIES))
        if move_order.NEEDS.met(trace):
            kinds.append(_longest(trace, found, "moves", _MOVES))
    if open_order.NEEDS.met(trace) and open_order.any_opened(trace):
        kinds.append(_longest(trace, found, "owner", _OF_OWNERS))
    return max(kinds, key=lambda each: each.time_s, default=NONE)


def any_long(calls: Timeline) -> bool:
    """Whether changes of directories took a part of the time in which any call was under way."""
    places = [place for place, op in enumerate(calls.operations) if op in CHANGES]
    changing = np.isin(calls.operation, places)
    return float(calls.service_s[changing].sum()) >= NOTICED * calls.busy_s > 0


def _longest(trace: Trace, found: Outstanding, of: str, query: str) -> SerialCalls:
    """The calls that were under way longest, of those that have one key and do not overlap."""
    rows = trace.arrays(query)
    first, last, later = rows["first"], rows["last"], rows["later"]
    order = np.lexsort((rows["call"], first, rows["key"]))
    key = rows["key"][order].astype(np.int64)
    # A client that changes the directory before the later call is done does not wait for that.
    held = ~_overlapping(key, first[order], last[order])
    only = held | ~later[order]
    key, order = key[only], order[only]
    serial = ~_overlapping(key, first[order], last[order])
    key, order = key[serial], order[serial]
    if not len(key):
        return NONE
    places = find(found.call, rows["call"][order])
    begin, end = found.intervals.begin[places], found.intervals.end[places]
    _, groups = np.unique(key, return_inverse=True)
    longest = groups == int(np.bincount(groups, end - begin).argmax())
    # Others may come while one that was put off, or lost, is outstanding still; and away from the
    # client they may meet, since what is added to them is a mean.
    begin, end = joined(begin[longest], end[longest])
    return SerialCalls(
        of=of,
        calls=int(longest.sum()),
        stable_calls=int(rows["stable"][order][longest].sum()),
        time_s=float((end - begin).sum()) / NANOSECONDS,
    )


def _overlapping(key: Keys, first: Keys, last: Keys) -> Flags:
    """Of calls by key and time, whether any two with the key of each overlap."""
    beside = np.flatnonzero((key[1:] == key[:-1]) & (first[1:] < last[:-1]))
    return np.isin(key, key[beside])


_ROWS = "stability = 'stable' as stable, call_first_time as first, calls.reply_time as last"

_IN_DIRECTORIES = f"""
    with changed as (
        select call, min(operations.directory) as changed_directory
        from operations where {CHANGING} group by call
    ),
    held as (
        select call, mount, changed_directory, false as later, {_ROWS}
        from calls join changed using (call) where not callback and reply_time is not null
        union all
        select calls.call, mount, changed_directory, true, {_ROWS}
        from calls join {exclusive_creates.TABLE} as completing using (call)
             join changed on changed.call = completing.made
    ),
    often as (
        select mount, changed_directory, row_number() over () as key from held
        group by mount, changed_directory having count(*) >= {LEAST}
    )
    select call, key, later, stable, first, last
    from held join often using (mount, changed_directory)
"""
"""Changes of directories, and the SETATTRs that complete those that are exclusive creates."""

_MOVES = f"""
    with moved as ({move_order.MOVED}),
    held as (
        select call, mount, fsid_major, fsid_minor, {_ROWS}
        from moved join calls using (call) left join files on files.file = moved.source
        where not callback and reply_time is not null
    ),
    often as (
        select mount, fsid_major, fsid_minor, row_number() over () as key from held
        group by all having count(*) >= {LEAST}
    )
    select call, key, false as later, stable, first, last
    from held join often on held.mount = often.mount
         and held.fsid_major is not distinct from often.fsid_major
         and held.fsid_minor is not distinct from often.fsid_minor
"""
"""RENAMEs from one directory into another, by the file system, which is that of both: the kernel
holds the tree still meanwhile, lest a directory becomes its own child."""

_OF_OWNERS = f"""
    with owned as (
        select call, client, server, uid, {_ROWS} from calls
        where {open_order.NUMBERED}
    ),
    often as (
        select client, server, uid, row_number() over () as key from owned
        group by client, server, uid having count(*) >= {LEAST}
    )
    select call, key, false as later, stable, first, last
    from owned join often using (client, server, uid)
"""
"""What each user of NFSv4.0 sent one after the other. A user whom calls do not name (NULL) equals
none: nobody knows whether these are several."""
