"""Whether a server answers more slowly the more calls it has to do at once.

Takes the answered calls of all clients at a server; gives the service times of small calls, which
need neither data nor storage, by the number of calls under way when they were sent. What is the
network's is in all of them alike, so that what grows is the server's, or the link's before it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses import parts, shares, traffic
from pcapnfs.analyses.arrays import distinct, looked_up, quantiles
from pcapnfs.analyses.levels import LATEST_NS, open_at_begin
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.analyses.timeline import SMALL_OPERATIONS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback op stability call_frame call_first_time reply_time srt "
        "transmissions status"
    ),
)
"""The columns that the queries here read."""

FLOOR = 0.1
"""The quantile of the service times that is taken for the least: a minimum would be one call's."""

SERVERS = 100
"""Servers that are looked at, most calls first: a hostile capture may have one for each call."""

EXAMPLES = 5
"""Frames that are told."""


class Band(Record):
    """Small calls that were sent while about so many calls were under way, themselves included."""

    least: int
    """The fewest: a power of two."""
    calls: int
    """Small calls."""
    floor_s: float
    """The tenth percentile of their service time, seconds."""
    median_s: float
    """Their median, seconds."""
    time_s: float
    """What they took of the clock (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of the calls that took longest."""


class Load(Record):
    """One server."""

    server: str
    """Address of the server."""
    calls: int
    """Calls answered."""
    bands: tuple[Band, ...]
    """From few calls under way to many; up to twice `least` each."""


def load(trace: Trace) -> tuple[Load, ...]:
    """Measure each server, most calls first."""
    shares.register(trace)
    answered: Counter[str] = Counter()
    for each in traffic.of_clients(trace):
        answered[each.server] += each.calls
    servers = sorted(answered, key=lambda server: (-answered[server], server))[:SERVERS]
    call, rank, at_once = _at_once(trace, servers)
    numbers = np.bincount(rank[rank >= 0], minlength=len(servers)).tolist()
    # Without parameters: DuckDB takes far longer to hand over the rows of a query with them.
    rows = parts.arrays(
        trace,
        f"""
        select call, greatest(srt, 0) as srt, share, call_frame as frame
        from calls join shares using (call) where {shares.where(_SMALL)}
        """,
    )
    places = np.searchsorted(call, rows["call"])
    rank, band = rank[places], np.log2(at_once[places]).astype(np.int8)
    del call, at_once, places
    srt, share, frame = (np.asarray(rows[name]) for name in ("srt", "share", "frame"))
    found = []
    for server, number, mine in zip(servers, numbers, _members(rank, len(servers)), strict=True):
        bands = []
        own = band[mine]
        for power in distinct(own).tolist():
            members = own == power
            took = srt[mine][members]
            floor, median = (each / NANOSECONDS for each in quantiles(took, (FLOOR, 0.5)))
            longest = np.argsort(-took, kind="stable")[:EXAMPLES]
            bands.append(
                Band(
                    least=2**power,
                    calls=len(took),
                    floor_s=float(floor),
                    median_s=float(median),
                    time_s=int(share[mine][members].sum()) / NANOSECONDS,
                    frames=tuple(int(each) for each in frame[mine][members][longest]),
                )
            )
        found.append(Load(server=server, calls=number, bands=tuple(bands)))
    return tuple(found)


_SMALL = f"""
    reply_time is not null and stability = 'unstable' and op in {SMALL_OPERATIONS}
    and transmissions = 1 and coalesce(status = 0, false)
"""


def _at_once(
    trace: Trace, servers: Sequence[str]
) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.int32]]:
    """The answered calls in ascending order of number: their servers, and how many were under way.

    Of each the place of its server, -1 where that is none of these, and the calls under way at its
    server when it was sent, itself included.
    """
    rows = parts.arrays(
        trace,
        f"""
        select call, mount, least(call_first_time, {LATEST_NS}) as begin,
               least(greatest(reply_time, call_first_time), {LATEST_NS}) as end
        from calls where not callback and reply_time is not null
        """,
    )
    places = {server: place for place, server in enumerate(servers)}
    ranks = {mount: places.get(server, -1) for mount, (_, server) in traffic.mounts(trace).items()}
    rank = looked_up(rows.pop("mount"), ranks).astype(np.int8)
    call, begin, end = (np.asarray(rows.pop(name)) for name in ("call", "begin", "end"))
    at_once = np.ones(len(rank), np.int32)
    for mine in _members(rank, len(servers)):
        at_once[mine] = open_at_begin(begin[mine], end[mine])
    if np.any(call[1:] < call[:-1]):
        order = np.argsort(call, kind="stable")
        return call[order], rank[order], at_once[order]
    return call, rank, at_once


def _members(rank: NDArray[np.int8], count: int) -> Iterator[NDArray[np.int64] | slice]:
    """Where each rank below `count` is, one after the other, in order of place."""
    if count == 1 and not rank.any():
        yield slice(None)  # The usual single server: no copies of all its calls.
        return
    order = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[order], np.arange(count + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield order[first:last]
