"""Connections that began long before their first call: the client stood still meanwhile.

Takes a trace; gives for each client and server the TCP connections whose handshake was captured and
whose first call came a second or more after their first packet. A client connects because a call
waits for it.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="client connection callback call_first_time call_time reply_time",
    connections="connection transport client server first_frame first_time handshake syn_rtt",
)
"""The columns that the queries here read."""

LATE_NS = 1_000_000_000
"""The first SYN that nobody answers is sent again after so long (RFC 6298 section 2)."""

HELD_AGAINST_CALLS = 50
"""Connections, the latest, that are held against the other calls of their client; more that are
late cost nothing. Each is compared with all of these."""

EXAMPLES = 5
"""Frames that are told."""


class LateConnections(Record):
    """Those of one client to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """Connections that were late."""
    longest_s: float
    """The longest time from the first packet of one to its first call, seconds."""
    idle_s: float
    """Those times added up, of connections beside which no call of the client was under way, those
    of the fifty latest in the capture, seconds."""
    syn_s: float | None
    """The longest time from the last SYN to the server's answer, seconds; None when the capture
    does not tell."""
    frames: tuple[int, ...]
    """Their first frames, the longest first."""


def late_connections(trace: Trace) -> tuple[LateConnections, ...]:
    """Put together, for each client and server, the longest first."""
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(
            _LATE, {"late": LATE_NS, "most": HELD_AGAINST_CALLS, "examples": EXAMPLES}
        ).fetchall()
    return tuple(
        LateConnections(
            client=client,
            server=server,
            connections=integer(many),
            longest_s=seconds(longest) or 0.0,
            idle_s=seconds(idle) or 0.0,
            syn_s=seconds(syn),
            frames=tuple(frames),
        )
        for client, server, many, longest, idle, syn, frames in rows
    )


_LATE = """
    with begun as (
        select connection, min(call_first_time) as called
        from calls where not callback group by connection
    ),
    late as materialized (
        select client, server, first_frame, first_time, called, syn_rtt
        from begun join (
                 select connections.connection, client, server, first_frame, first_time, syn_rtt
                 from connections where transport = 'TCP' and handshake
             ) as each using (connection)
        where called - first_time >= $late
    ),
    latest as (
        from late order by called - first_time desc, first_frame limit $most
    ),
    others as (
        select client, first_time, called
        from latest join (
                 select calls.client, calls.call_time, calls.reply_time from calls
                 where not callback and reply_time is not null
             ) as busy using (client)
        where call_time < called and reply_time > first_time
    )
    select client, server, count(*), max(called - first_time),
           sum(called - first_time) filter (
               first_frame in (select first_frame from latest)
               and (client, first_time, called)
                   not in (select (client, first_time, called) from others)
           ),
           max(syn_rtt),
           (list(first_frame order by called - first_time desc, first_frame))[:$examples]
    from late group by client, server order by 4 desc, client, server
"""
