"""Connections that began long before their first call, since no SYN was answered at first.

Takes a trace; gives for each client and server the TCP connections whose handshake was captured and
whose first call came a second or more after their first packet, when a client sends its SYN again.
A client connects because a call waits for it.

The table does not tell how many SYNs there were. They come at known times, and each takes a frame:
a connection whose first call came at another time, or so soon that there are not as many frames,
was open and not used. One of which the capture may lack calls is left out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.examples import EXAMPLES
from pcapnfs.analyses.once import once
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="client server connection callback call_first_frame call_first_time call_time reply_time",
    connections="connection transport client server first_frame first_time handshake syn_rtt "
    "ack_rtt missing_bytes",
    notes="reason connection time",
)
"""The columns that the queries here read."""

LATE_NS = 1_000_000_000
"""The first SYN that nobody answers is sent again after so long (RFC 6298 section 2)."""

SENT_AGAIN = (
    (1, 1), (2, 2), (3, 2), (4, 4), (5, 5), (7, 3), (11, 7), (15, 4), (19, 8), (31, 5), (35, 9),
    (63, 6), (67, 10), (127, 7), (131, 11),
)  # fmt: skip
"""After how many seconds a SYN is sent again, and how often it has been by then at least: each time
after twice as long as before (RFC 6298 section 5), or, as Linux does since 6.5, at first four times
after as long (`tcp_syn_linear_timeouts`)."""

TIMER = 1 / 8
"""The part of its time by which a timer may run out later: that of Linux's timer wheel."""

SOON_NS = 100_000_000
"""In which a client sends the call for which it connected."""

HANDSHAKE_FRAMES = 3
"""What a handshake takes without any SYN that is sent again."""

HELD_AGAINST_CALLS = 50
"""Connections, the latest, that are held against the other calls of their client; more that are
late cost nothing. Each is compared with all of these."""


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
    """What these times cover together, of connections beside which no call of the client was under
    way, those of the fifty latest in the capture, seconds. What those to several servers share is
    that of the one which began first."""
    syn_s: float | None
    """The longest time from the last SYN to the server's answer, seconds; None when the capture
    does not tell."""
    frames: tuple[int, ...]
    """Their first frames, the longest first."""


def late_connections(trace: Trace) -> tuple[LateConnections, ...]:
    """Put together, for each client and server, the longest first."""
    idle = _idle(_stretches(trace))
    return tuple(
        LateConnections(
            client=client,
            server=server,
            connections=integer(many),
            longest_s=seconds(longest) or 0.0,
            idle_s=seconds(idle[client, server]) or 0.0,
            syn_s=seconds(syn),
            frames=tuple(frames),
        )
        for client, server, many, longest, syn, frames in _late(trace)
    )


def unreached_s(trace: Trace) -> dict[str, float]:
    """By client, for how long it had no call under way since it had no connection, seconds.

    Only between its calls, so that it is a part of its time from its first to its last.
    """
    found: dict[str, float] = {}
    for (client, _), idle_ns in _idle([row for row in _stretches(trace) if row[-1]]).items():
        found[client] = found.get(client, 0.0) + (seconds(idle_ns) or 0.0)
    return found


@once
def any_late(trace: Trace) -> bool:
    """Whether a first call came so late: most captures have none to ask further about."""
    ((found,),) = trace.rows(_ANY, {"late": LATE_NS})
    return bool(found)


@once
def _late(trace: Trace) -> list[tuple[Any, ...]]:
    """Late connections by client and server."""
    if not any_late(trace):
        return []
    with closing(trace.cursor()) as cursor:
        return cursor.execute(_LATE, _LIMITS | {"examples": EXAMPLES}).fetchall()


@once
def _stretches(trace: Trace) -> list[tuple[str, str, int, int, bool]]:
    """From when to when each had nothing else under way, and whether between its calls."""
    if not any_late(trace):
        return []
    with closing(trace.cursor()) as cursor:
        return cursor.execute(_IDLE, _LIMITS).fetchall()


def _idle(rows: list[tuple[str, str, int, int, bool]]) -> Counter[tuple[str, str]]:
    """What idle stretches of time cover, ns, by client and server; they come by client in order."""
    found: Counter[tuple[str, str]] = Counter()
    reached: dict[str, int] = {}
    for client, server, begin, end, _ in rows:
        # Several connections may be late at once.
        known = max(begin, reached.get(client, begin))
        found[client, server] += max(0, end - known)
        reached[client] = max(known, end)
    return found


_LIMITS = {
    "late": LATE_NS,
    "most": HELD_AGAINST_CALLS,
    "timer": TIMER,
    "soon": SOON_NS,
    "handshake": HANDSHAKE_FRAMES,
}

_CONNECTIONS = f"""
    with resends(after, least) as (values {", ".join(map(str, SENT_AGAIN))}),
    begun as (
        select connection, min(call_first_time) as called, min(call_first_frame) as call_frame
        from calls where not callback group by connection
    ),
    slow as (
        select connection, client, server, first_frame, first_time, called, syn_rtt,
               call_frame - first_frame as frames,
               called - first_time - syn_rtt - ack_rtt as until_syn
        from begun join (
                 select connections.connection, client, server, first_frame, first_time, syn_rtt,
                        ack_rtt
                 from connections
                 where transport = 'TCP' and handshake and missing_bytes = 0
             ) as each using (connection)
        where called - first_time >= $late and call_frame > first_frame
    ),
    late as materialized (
        select client, server, first_frame, first_time, called, syn_rtt
        from slow
        where exists (
                  from resends
                  where until_syn between after * 1e9 * 0.99 and after * 1e9 * (1 + $timer) + $soon
                        and frames >= $handshake + least
              )
              and not exists (
                  from notes
                  where reason = 'reply_without_call' and notes.connection = slow.connection
                        and notes.time <= called
              )
    ),
    latest as (
        from late order by called - first_time desc, first_frame limit $most
    ),
    others as (
        select distinct first_frame
        from (
            select first_frame
            from latest join (
                     select calls.client, calls.server as asked, calls.call_time, calls.reply_time
                     from calls where not callback
                 ) as busy using (client)
            where call_time < called
            group by first_frame, first_time, asked
            -- Without reply a call is under way until one that was sent later is answered.
            having bool_or(reply_time > first_time)
                   or max(call_time) filter (reply_time is null)
                      > coalesce(max(call_time) filter (reply_time <= first_time), -1)
        )
    )
"""

_ANY = """
    select exists (
        select 1 from (
            select connection, min(call_first_time) as called
            from calls where not callback group by connection
        ) join (select connection, first_time from connections) as each using (connection)
        where called - first_time >= $late
    )
"""

_LATE = f"""
    {_CONNECTIONS}
    select client, server, count(*), max(called - first_time),
           max(syn_rtt),
           (list(first_frame order by called - first_time desc, first_frame))[:$examples]
    from late group by client, server order by 4 desc, client, server
"""

_IDLE = f"""
    {_CONNECTIONS}
    select client, server, first_time, called, begun < first_time
    from latest join (
             select calls.client, min(call_first_time) as begun
             from calls where not callback group by calls.client
         ) as clients using (client)
    where first_frame not in (from others)
    order by client, first_time, server
"""
