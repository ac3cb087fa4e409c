"""Times for which nothing of a client came to a capture point behind which its calls were lost.

Takes a trace; gives for each client and server, where the capture was not taken at the client, the
pauses that its own packets show to be none, since it had tried meanwhile:

- It came on a new connection, though neither end had ended the former one, and counted its xids on.
  A client that merely pauses keeps its connection, or ends it (FIN, RST); one that was started anew
  counts from another number. Where the server had also sent again what it did not acknowledge, all
  of the pause is sure.
- A call came several times at once, sooner after one another than any client's timer runs out: they
  had waited in its TCP.

When it began to wait is not seen: it may have made a pause of its own before. So of a pause the
longest other one of that client there is taken for its own, and what is left is its cost. A call
that TCP alone sent again, or of which no segment came, cannot be told from one that was sent late.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured.trust import LATE_RETRANSMISSION
from pcapnfs.analyses.wire import lost_replies, round_trip
from pcapnfs.analyses.wire.tcp_timeouts import TIMEOUT_NS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    lost_replies.READS,
    round_trip.READS,
    columns.of(
        calls="call client server connection callback xid call_frame call_first_time call_time "
        "reply_time transmissions resent_before_time rpc_status",
        connections="connection transport client server server_port first_frame first_time "
        "last_time syn_time attempted_time client_fin_time client_rst_time server_fin_time "
        "server_rst_time missing_bytes server_unacked server_resent",
        notes="reason call time",
    ),
)
"""The columns that the queries here read."""

PAUSE_NS = 1_000_000_000
"""Less is told of stalls (`tcp_stalls`), or not worth a word."""

TOGETHER_NS = 100_000_000
"""What comes again sooner was not sent again at that time: no client's timer is shorter, since
timeo is told in tenths of a second (nfs(5))."""

COUNTED_ON = 64
"""Calls by which the first xid of a connection is ahead of the last one of its predecessor, at
most: those that wait meanwhile are sent in any order. Two connections that count by themselves
come as near by a chance of one in thirty million."""


class CutOff(Record):
    """What one client could not send to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    times: int
    """How often."""
    moved: int
    """Those that ended with a new connection."""
    unacknowledged: int
    """Those of them meanwhile the server sent again what the client did not acknowledge."""
    together: int
    """Those that ended with a call that came several times at once."""
    longest_s: float
    """The longest pause, from the last reply to the first packet after it, seconds."""
    from_ns: int
    """When it began, nanoseconds since 1970."""
    own_s: float
    """The longest other pause between calls of this client to this server, seconds."""
    idle_s: float
    """What all of them cost: no call of the client to any server was under way, and this is longer
    than `own_s`, where that may be a part of it; seconds."""
    frames: tuple[int, ...]
    """The first frames after them, the longest first."""


def cut_off(trace: Trace) -> tuple[CutOff, ...]:
    """Put together, for each client and server, the longest first."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in _pauses(trace):
        found.setdefault((row["client"], row["server"]), []).append(row)
    return tuple(
        CutOff(
            client=client,
            server=server,
            times=len(rows),
            moved=sum(row["moved"] for row in rows),
            unacknowledged=sum(row["unacknowledged"] for row in rows),
            together=sum(not row["moved"] for row in rows),
            longest_s=seconds(rows[0]["pause"]) or 0.0,
            from_ns=integer(rows[0]["since"]),
            own_s=seconds(rows[0]["own"]) or 0.0,
            idle_s=seconds(sum(row["cost"] for row in rows)) or 0.0,
            frames=tuple(row["frame"] for row in rows[:EXAMPLES]),
        )
        for (client, server), rows in found.items()
    )


def cut_off_s(trace: Trace) -> dict[str, float]:
    """By client, for how long it had no call under way since it did not reach a server, seconds."""
    found: dict[str, float] = {}
    for row in _pauses(trace):
        if row["cost"]:
            client = row["client"]
            found[client] = found.get(client, 0.0) + (seconds(row["cost"]) or 0.0)
    return found


def stretches(trace: Trace) -> list[tuple[str, int, int]]:
    """When that was at the latest: client, begin and end, ns since 1970."""
    return [
        (row["client"], row["until"] - row["cost"], row["until"])
        for row in _pauses(trace)
        if row["cost"]
    ]


@once
def any_sign(trace: Trace) -> bool:
    """Whether there is any sign of such a pause: most captures have none."""
    if not any_second(trace):
        return False
    ((found,),) = trace.rows(_ANY)
    return bool(found)


def any_second(trace: Trace) -> bool:
    """Whether a connection came after another one, or a call came again: else there is no sign."""
    ((found,),) = trace.rows(_SECOND)
    return bool(found)


@once
def _pauses(trace: Trace) -> list[dict[str, Any]]:
    """Each of them, the longest first."""
    if not any_sign(trace):
        return []
    pairs = [pair for pair in round_trip.round_trips(trace).pairs if pair.vantage != "client"]
    if not pairs:
        return []
    values = {
        "clients": given.text(pair.client for pair in pairs),
        "servers": given.text(pair.server for pair in pairs),
    }
    with closing(trace.cursor()) as cursor:
        return list(by_name(cursor.execute(_PAUSES, values)))


def _swapped(xid: str) -> str:
    """SQL: an xid as a host of the other byte order counts it."""
    return f"""(({xid} & 255) * 16777216 + ({xid} // 256 & 255) * 65536
        + ({xid} // 65536 & 255) * 256 + {xid} // 16777216)"""


# Connections may take another's place where there was one before, with the same server and port.
_SEVERAL = f"""
    select client, server, server_port
    from connections where transport = 'TCP' and missing_bytes = 0
    group by client, server, server_port
    having max(syn_time) > min(first_time) + {PAUSE_NS}
"""

_CONNECTIONS = f"""
    select connection, client, server, server_port, min(call_first_time) as earliest,
           max(call_first_time) as latest, max(coalesce(reply_time, call_time)) as ended,
           arg_min(xid, call)::bigint as first_xid, arg_max(xid, call)::bigint as last_xid
    from calls join (
             select connection, client, server, server_port
             from connections
                  semi join ({_SEVERAL}) as several using (client, server, server_port)
             where transport = 'TCP' and missing_bytes = 0
         ) as tcp using (connection, client, server)
    where not callback group by all
"""

# A connection that takes the place of one that nobody had ended: its first call goes on with the
# numbers of the other's last one, which is not used any more. Those near one another are in the
# same row of numbers, or in neighbours; of several the latest counts.
_MOVED = f"""
    select moved.connection, first_frame, asked, former,
           coalesce(server_unacked > 0 and server_resent > 0
                    and last_time - ended >= {TIMEOUT_NS}, false) as unacknowledged
    from (
             with orders as (select unnest([false, true]) as swapped)
             select later.*, former.connection as former, former.ended, former.latest
             from (
                      select connection, client, server, server_port, first_frame, asked, swapped,
                             case when swapped then {_swapped("first_xid")} else first_xid
                             end as xid,
                             xid // {COUNTED_ON} as numbers
                      from (
                               select connection, first_frame,
                                      coalesce(attempted_time, syn_time) as asked
                               from connections where syn_time is not null
                           ) as opened join its using (connection) cross join orders
                      where earliest >= asked
                  ) as later
                  asof join (
                      select connection, client, server, server_port, ended, latest, swapped,
                             case when swapped then {_swapped("last_xid")} else last_xid
                             end as before,
                             before // {COUNTED_ON} + further as numbers
                      from its cross join orders
                           cross join (select unnest([0, 1]) as further) as rows_of_numbers
                  ) as former
                  on later.client = former.client and later.server = former.server
                     and later.server_port = former.server_port
                     and later.swapped = former.swapped and later.numbers = former.numbers
                     and later.asked > former.latest
             where xid - before between 1 and {COUNTED_ON}
         ) as moved join (
             select connection as former, last_time, server_unacked, server_resent,
                    least(client_fin_time, client_rst_time, server_fin_time, server_rst_time)
                        as given_up
             from connections
         ) as its_end using (former)
    where coalesce(given_up > asked, true)
    qualify row_number() over (
                partition by moved.connection order by latest desc, former
            ) = 1
"""

# Linux sends a call again at once that RPC refused (RFC 5531 section 9).
_TOGETHER = f"""
    select distinct call
    from (
        select call from notes join calls using (call)
        where reason = '{LATE_RETRANSMISSION}' and not callback
              and time - call_time <= {TOGETHER_NS}
              and coalesce(rpc_status, 'SUCCESS') = 'SUCCESS'
        union all
        select call from calls
        where transmissions > 1 and not callback and reply_time - call_time <= {TOGETHER_NS}
              and coalesce(rpc_status, 'SUCCESS') = 'SUCCESS'
    )
"""

_SECOND = f"""
    select exists ({_SEVERAL})
           or exists (select 1 from notes
                      where reason = '{LATE_RETRANSMISSION}' and call is not null)
           or exists (select 1 from calls where transmissions > 1 and not callback)
"""

_ANY = f"""
    with its as ({_CONNECTIONS})
    select exists ({_MOVED}) or exists ({_TOGETHER})
"""

_PAUSES = f"""
    with its as materialized ({_CONNECTIONS}),
    beyond as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server
    ),
    moved as materialized ({_MOVED}),
    together as materialized ({_TOGETHER}),
    signs as materialized (
        select client, server, call, moved.connection is not null as moved, former,
               coalesce(unacknowledged, false) as unacknowledged,
               coalesce(first_frame, call_frame) as frame, coalesce(asked, call_first_time) as until
        from calls left join moved using (connection)
             left join (select connection, earliest from its) as first using (connection)
             left join together using (call) semi join beyond using (client, server)
        where not callback
              and (moved.connection is not null and call_first_time = earliest
                   or together.call is not null)
        qualify row_number() over (partition by client, server, until order by call) = 1
    ),
    again as materialized ({lost_replies.ROWS}),
    ended as materialized (
        select client, server, call, call_first_time as began, resent_before_time as resent,
               greatest(coalesce(reply_time, call_time), coalesce(again, 0)) as ended
        from calls semi join (select client from signs) as those using (client)
             left join (select call, again from again) as late using (call)
        where not callback
    ),
    paused as materialized (
        select *, max(ended) over (
                   partition by client, server order by began, call
                   rows between unbounded preceding and 1 preceding
               ) as since
        from ended
    ),
    found as materialized (
        select signs.*, since, until - since as pause
        from signs join paused using (client, server, call)
        where until - since >= {PAUSE_NS}
              -- What TCP sent again meanwhile on the same connection tells itself (`tcp_stalls`).
              and (moved or coalesce(resent <= since, true))
    ),
    owns as (
        select client, server, max(began - paused.since) as own
        from paused anti join found using (client, server, call)
        where paused.since is not null group by client, server
    ),
    elsewhere as (
        select found.call, max(ended.ended) as latest, bool_or(began > since) as busy
        from found join ended using (client)
        where ended.server <> found.server and began < until
        group by found.call
    )
    select client, server, moved, unacknowledged, frame, since, pause, coalesce(own, 0) as own,
           until,
           case when busy then 0
                else greatest(0, until - greatest(since, coalesce(latest, 0))
                                 - case when unacknowledged then 0 else coalesce(own, 0) end)
               end::bigint as cost
    from found left join owns using (client, server) left join elsewhere using (call)
    order by pause desc, client, server, frame
"""
