"""What RDMA had to send again, and the calls that stood still while it did.

Takes a trace; gives for each client and server with such packets how many there were, the calls
over RDMA that took much longer than others of their operation while packets of their connection
were sent again, and those that came late since one had to be (`rdma_stalls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.wire import rdma_stalls, tcp_stalls
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    tcp_stalls.STALLED_READS,
    columns.of(connections="client server transport client_segments server_segments"),
)
"""The columns that the queries here read."""


class RdmaLosses(Record):
    """What a client and a server sent again over RDMA."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    messages: int
    """Messages over RDMA, both ways."""
    client_resent: int
    """Packets that the client sent again."""
    server_resent: int
    """Packets that the server sent again."""
    held: int
    """Calls that took much longer than others of their operation while that happened."""
    longest_s: float
    """What the longest of them took beyond that, seconds; 0 without any."""
    longer_s: float
    """What all of them did, seconds."""
    late: int
    """Calls that came after a pause which such a packet ended."""
    late_s: float
    """How long these pauses were until then, all together, seconds."""
    time_s: Mapping[str, float]
    """What both took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: the first of these calls."""


def rdma_losses(trace: Trace) -> tuple[RdmaLosses, ...]:
    """Count them, those with the most packets first; nothing where nothing was sent again."""
    if not rdma_stalls.any_resent(trace):
        return ()
    pairs = trace.rows(_PAIRS)
    tcp_stalls.register(trace)
    stood: dict[tuple[str, str], list[Stood]] = {}
    for client, server, *row in trace.rows(_STOOD_STILL):
        stood.setdefault((client, server), []).append(Stood(*row))
    return tuple(_of_pair(pair, stood.get((pair[0], pair[1]), [])) for pair in pairs)


class Stood(NamedTuple):
    """The calls of a client and server that stood still, by row of the time budget."""

    row: str
    held: int
    longest_ns: int | None
    longer_ns: int | None
    late: int
    late_ns: int | None
    time_ns: int
    frames: list[int]


def _of_pair(pair: tuple[object, ...], rows: list[Stood]) -> RdmaLosses:
    client, server, messages, client_resent, server_resent = pair
    return RdmaLosses(
        client=str(client),
        server=str(server),
        messages=integer(messages),
        client_resent=integer(client_resent),
        server_resent=integer(server_resent),
        held=sum(each.held for each in rows),
        longest_s=max((seconds(each.longest_ns) or 0.0 for each in rows), default=0.0),
        longer_s=sum(seconds(each.longer_ns) or 0.0 for each in rows),
        late=sum(each.late for each in rows),
        late_s=sum(seconds(each.late_ns) or 0.0 for each in rows),
        time_s={each.row: seconds(each.time_ns) or 0.0 for each in rows},
        frames=tuple(sorted(frame for each in rows for frame in each.frames)[:EXAMPLES]),
    )


_PAIRS = """
    select client, server, sum(client_segments + server_segments)::bigint,
           sum(client_resent)::bigint, sum(server_resent)::bigint
    from connections where transport = 'RDMA' group by client, server
    having sum(client_resent + server_resent) > 0
    order by sum(client_resent + server_resent) desc, client, server
"""

_STOOD_STILL = f"""
    select client, server, row, count(*) filter (waited), max(longer) filter (waited)::bigint,
           sum(longer) filter (waited)::bigint, count(*) filter (not waited),
           sum(stall) filter (not waited)::bigint, sum(stall)::bigint, min(call_frame, {EXAMPLES})
    from {tcp_stalls.TABLE} where rdma
    group by client, server, row order by client, server, row
"""
