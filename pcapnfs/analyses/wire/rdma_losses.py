"""What RDMA had to send again, and the calls that took longer while it did.

Takes a trace; gives for each client and server with such packets how many there were, and the calls
over RDMA that took much longer than others of their operation while packets of their connection
were sent again. An adapter sends everything again from the packet on that was lost, and learns of a
loss by the next packet, or, where none follows, by a timer (InfiniBand volume 1, sections 9.7.5
and 9.7.6): some tens of milliseconds or more.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.service_time import integer, seconds
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server connection callback op stability call_first_time call_frame "
        "reply_time srt tcp_resent",
        connections="connection client server transport client_resent server_resent "
        "client_segments server_segments",
    ),
)
"""The columns that the queries here read."""

LONGER_NS = 5_000_000
"""What a call took longer than others at least, for it to have waited for what was sent again …"""

TIMES = 2
"""… and so many times as long as these."""


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
    time_s: Mapping[str, float]
    """What that took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: the first of these calls."""


def rdma_losses(trace: Trace) -> tuple[RdmaLosses, ...]:
    """Count them, those with the most packets first; nothing where nothing was sent again."""
    if not any_resent(trace):
        return ()
    pairs = trace.rows(_PAIRS)
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        held: dict[tuple[str, str], list[tuple[object, ...]]] = {}
        for client, server, *row in cursor.execute(_HELD).fetchall():
            held.setdefault((client, server), []).append(tuple(row))
    return tuple(_of_pair(pair, held.get((pair[0], pair[1]), [])) for pair in pairs)


def any_resent(trace: Trace) -> bool:
    """Whether anything was: most captures have no RDMA."""
    ((found,),) = trace.rows(f"select exists (from connections where {_RESENT})")
    return bool(found)


def _of_pair(pair: tuple[object, ...], rows: list[tuple[object, ...]]) -> RdmaLosses:
    client, server, messages, client_resent, server_resent = pair
    frames = sorted(integer(frame) for *_, examples in rows for frame in _listed(examples))
    return RdmaLosses(
        client=str(client),
        server=str(server),
        messages=integer(messages),
        client_resent=integer(client_resent),
        server_resent=integer(server_resent),
        held=sum(integer(number) for _, number, *_ in rows),
        longest_s=max((seconds(longest) or 0.0 for _, _, longest, *_ in rows), default=0.0),
        longer_s=sum(seconds(longer) or 0.0 for _, _, _, longer, *_ in rows),
        time_s={str(row): seconds(time) or 0.0 for row, _, _, _, time, _ in rows},
        frames=tuple(frames[:EXAMPLES]),
    )


def _listed(examples: object) -> list[object]:
    return list(examples) if isinstance(examples, list) else []


_RESENT = "transport = 'RDMA' and client_resent + server_resent > 0"

_PAIRS = """
    select client, server, sum(client_segments + server_segments)::bigint,
           sum(client_resent)::bigint, sum(server_resent)::bigint
    from connections where transport = 'RDMA' group by client, server
    having sum(client_resent + server_resent) > 0
    order by sum(client_resent + server_resent) desc, client, server
"""

# A damaged capture may claim any times; the difference of two before 1970 need not fit.
_HELD = f"""
    with timed as (
        select call, client, server, op, stability, call_frame, tcp_resent,
               greatest(greatest(reply_time, 0) - greatest(call_first_time, 0), srt, 0) as took
        from calls semi join (from connections where {_RESENT}) as resent using (connection)
        where not callback and srt is not null
    ),
    others as (
        select client, server, op, median(took)::bigint as usual
        from timed where not tcp_resent group by client, server, op
    ),
    held as (
        select timed.*, took - usual as longer
        from timed join others using (client, server, op)
        where tcp_resent and took - usual >= {LONGER_NS} and took >= {TIMES} * usual
    )
    select client, server, stability, count(*), max(longer)::bigint, sum(longer)::bigint,
           sum((coalesce(share, 0) * (longer::double / greatest(took, 1)))::bigint)::bigint,
           min(call_frame, {EXAMPLES})
    from held left join shares using (call)
    group by client, server, stability order by client, server, stability
"""
