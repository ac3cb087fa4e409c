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
from pcapnfs.analyses import shares, traffic
from pcapnfs.analyses.arrays import distinct, looked_up, quantiles
from pcapnfs.analyses.levels import open_at_begin
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.analyses.timeline import SMALL_OPERATIONS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount op stability call_frame call_first_time reply_time srt transmissions "
        "status"
    ),
)
"""The columns that the queries here read."""

FLOOR = 0.1
"""The quantile of the service times that is taken for the least: a minimum would be one call's."""

LATEST_NS = 2**62
"""Times beyond this, in nanoseconds since 1970, are taken for this."""

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
    calls: Counter[str] = Counter()
    for each in traffic.of_clients(trace):
        calls[each.server] += each.calls
    servers = sorted(calls, key=lambda server: (-calls[server], server))[:SERVERS]
    mounts = traffic.mounts(trace)
    # Without parameters: DuckDB takes far longer to hand over the rows of a query with them.
    rows = trace.arrays(
        f"""
        select mount, call_first_time as begin,
               greatest(reply_time, call_first_time) as end, greatest(srt, 0) as srt, share,
               call_frame as frame,
               stability = 'unstable' and op in {SMALL_OPERATIONS} and transmissions = 1
                   and coalesce(status = 0, false) as small
        from calls join shares using (call) where {shares.where("reply_time is not null")}
        """
    )
    columns_ = {name: np.asarray(values) for name, values in rows.items()}
    begin, end = (np.minimum(columns_[name], LATEST_NS) for name in ("begin", "end"))
    places = {server: place for place, server in enumerate(servers)}
    ranks = {mount: places.get(server, -1) for mount, (_, server) in mounts.items()}
    rank = looked_up(columns_["mount"], ranks).astype(np.int16)
    order = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[order], np.arange(len(servers) + 1))
    found = []
    for place, server in enumerate(servers):
        mine = order[bounds[place] : bounds[place + 1]]
        at_once = open_at_begin(begin[mine], end[mine])
        small = columns_["small"][mine]
        band = np.floor(np.log2(at_once[small])).astype(np.int64)
        srt, share, frame = (columns_[name][mine][small] for name in ("srt", "share", "frame"))
        bands = []
        for power in distinct(band).tolist():
            members = np.flatnonzero(band == power)
            floor, median = (each / NANOSECONDS for each in quantiles(srt[members], (FLOOR, 0.5)))
            longest = members[np.argsort(-srt[members], kind="stable")[:EXAMPLES]]
            bands.append(
                Band(
                    least=2**power,
                    calls=len(members),
                    floor_s=float(floor),
                    median_s=float(median),
                    time_s=int(share[members].sum()) / NANOSECONDS,
                    frames=tuple(int(each) for each in frame[longest]),
                )
            )
        found.append(Load(server=server, calls=len(mine), bands=tuple(bands)))
    return tuple(found)
