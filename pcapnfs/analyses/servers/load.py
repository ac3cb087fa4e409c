"""Whether a server answers more slowly the more calls it has to do at once.

Takes the answered calls of all clients at a server; gives the service times of small calls, which
need neither data nor storage, by the number of calls under way when they were sent. What is the
network's is in all of them alike, so that what grows is the server's, or the link's before it;
calls that stood still for lost segments, or took longer since the path was longer or a link full,
are left out: there TCP's acknowledgements are as late as they. Where it grows, also how many of
them waited until the server was done with another call (`server_queue`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.arrays import (
    by_group,
    counted,
    distinct,
    find,
    largest,
    looked_up,
    pieces,
    quantiles,
)
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.levels import LATEST_NS, open_at_begin
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.servers import server_queue
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.analyses.wire import slower_path, tcp_stalls
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pcapnfs.analyses.times.outstanding import Calls
    from pcapnfs.trace import Trace

READS = columns.together(
    server_queue.READS,
    shares.READS,
    slower_path.READS,
    tcp_stalls.STALLED_READS,
    traffic.READS,
    columns.of(
        calls="call mount callback op stability call_frame call_first_time reply_time srt "
        "first_arrived status"
    ),
)
"""The columns that the queries here read."""

FLOOR = 0.1
"""The quantile of the service times that is taken for the least: a minimum would be one call's."""

GROWS = 3.0
"""Times as long as with the fewest calls under way: from there on the service time grows."""


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
    queued: server_queue.ServerQueue | None
    """Those that waited for another call; None where service times do not grow with the load."""


def load(trace: Trace) -> tuple[Load, ...]:
    """Measure each server, most calls first."""
    shares.register(trace)
    servers = traffic.busiest_servers(trace)
    call, rank, band = _at_once(trace, servers)
    numbers = counted(rank[rank >= 0], len(servers)).tolist()
    # Without parameters: DuckDB takes far longer to hand over the rows of a query with them.
    rows = parts.arrays(
        trace,
        f"""
        select call, greatest(srt, 0) as srt, share
        from calls join shares using (call) {tcp_stalls.left_out(trace)}
             {slower_path.left_out(trace)}
        where {shares.where(_SMALL)}
        """,
    )
    small, srt, share = (rows.pop(name) for name in ("call", "srt", "share"))
    rank, band = _of(small, call, (rank, band))
    del call
    found = []
    for server, number, mine in zip(servers, numbers, by_group(rank, len(servers)), strict=True):
        own = band[mine]
        bands: list[tuple[Band, list[int]]] = []
        for power in distinct(own).tolist():
            members = mine[own == power]
            took = srt[members]
            floor, median = (each / NANOSECONDS for each in quantiles(took, (FLOOR, 0.5)))
            told = Band(
                least=2**power,
                calls=len(took),
                floor_s=float(floor),
                median_s=float(median),
                time_s=int(share[members].sum()) / NANOSECONDS,
                frames=(),
            )
            bands.append((told, small[members[largest(took, EXAMPLES)]].tolist()))
        found.append((server, number, bands))
    slowed = [server for server, _, bands in found if _grows(bands)]
    queues = server_queue.server_queues(trace, slowed)
    frames = _frames(
        trace, [call for *_, bands in found for _, longest in bands for call in longest]
    )
    return tuple(
        Load(
            server=server,
            calls=number,
            bands=tuple(
                replace(told, frames=tuple(frames[call] for call in longest))
                for told, longest in bands
            ),
            queued=queues.get(server),
        )
        for server, number, bands in found
    )


def _grows(bands: Sequence[tuple[Band, list[int]]]) -> bool:
    floors = [band.floor_s for band, _ in bands]
    return bool(floors) and max(floors) >= GROWS * floors[0]


_SMALL = f"""
    reply_time is not null and stability = 'unstable' and {among("op", SMALL_OPERATIONS)}
    and first_arrived and coalesce(status = 0, false)
"""


def _at_once(
    trace: Trace, servers: Sequence[str]
) -> tuple[Calls, NDArray[np.int8], NDArray[np.int8]]:
    """The answered calls in ascending order of number: their servers, and what was under way.

    Of each the place of its server, -1 where that is none of these, and the power of two up to the
    number of calls under way at its server when it was sent, itself included.
    """
    rows = parts.by_call(
        trace,
        f"""
        select call, mount, least(call_first_time, {LATEST_NS}) as begin,
               least(reply_time, {LATEST_NS}) as end
        from calls where not callback and reply_time is not null
        """,
    )
    places = {server: place for place, server in enumerate(servers)}
    ranks = {mount: places.get(server, -1) for mount, (_, server) in traffic.mounts(trace).items()}
    rank = looked_up(rows.pop("mount"), ranks)
    at_once = open_at_begin(rows.pop("begin"), rows.pop("end"), rank, len(servers))
    band = np.empty(len(at_once), np.int8)
    for piece in pieces(len(at_once)):
        band[piece] = np.log2(at_once[piece])
    return rows["call"], rank.astype(np.int8), band


def _of(
    some: Calls, calls: Calls, told: tuple[NDArray[np.int8], NDArray[np.int8]]
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """What is told of calls in ascending order, for some of them in any."""
    first, second = (np.empty(len(some), np.int8) for _ in told)
    for piece in pieces(len(some)):
        places = find(calls, some[piece])
        first[piece], second[piece] = told[0][places], told[1][places]
    return first, second


def _frames(trace: Trace, calls: Sequence[int]) -> dict[int, int]:
    """The frames of these calls."""
    if not calls:
        return {}
    listed = ", ".join(map(str, calls))
    return dict(trace.rows(f"select call, call_frame from calls where call in ({listed})"))
