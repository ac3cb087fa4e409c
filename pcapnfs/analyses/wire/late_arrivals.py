"""Calls that took long to reach the server, as its acknowledgements show.

Takes calls with the last acknowledgement that left out some of them after they were sent
(`unreceived_time`); gives, for each client and server, how many had not arrived for much longer
than a round trip takes, and the table of these. By the time that a receiver acknowledges less than
a call, it does not have it, however long it delays the next acknowledgement and however slow the
server behind it is. What is sent behind a call that has not arrived has not arrived either.
But what stood in a queue arrives bit by bit: where one acknowledgement leaves out all calls of a
burst, and the next is for all of them, an end stood still, and the path was no longer. A link that
was full takes them at one speed, and later the more of them is under way (`own_queue`). A capture
taken at the server has no path before it. Only calls that bring some data tell: those of READs are
late to be acknowledged where the acknowledgements wait behind replies. Calls that waited for a lost
segment are those of `tcp_stalls`, unless most came late without.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.wire import left_out as _left_out
from pcapnfs.analyses.wire import own_queue, round_trip
from pcapnfs.analyses.wire.left_out import BRINGS_BYTES, left_out
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    _left_out.READS,
    own_queue.READS,
    columns.of(
        calls="call client server connection callback call_frame call_first_time call_time "
        "unreceived_time reply_time call_bytes tcp_resent"
    ),
)
"""The columns that the queries here read."""

TIMES_AS_LONG = 2
"""A call that arrived late took at least so many times the usual round trip …"""

LATER_NS = 5_000_000
"""… and so much longer: less shows nothing where a path varies."""

LEAST = 10
"""Calls of a client and a server below which nothing is told; those that one acknowledgement left
out are one of them, …"""

TOGETHER = 2
"""… and there are no more than so many times as many in all."""

LARGE_BYTES = 16384
"""Messages that bring at least so much tell how fast data moves."""

EVENLY = (8, 1.5)
"""Of at least so many such messages, each sent before the one before it was through, the upper
quartile of the rates at which they followed one another is at most so many times the lower: a link
takes them at its speed."""

QUEUE_GROWS = 2.0
"""Messages larger than a window are not sent as a whole before that, but begun: then the upper
quartile of how long they were on their way must be at least so many times the lower, too. Where a
window goes through at a time, data comes the more slowly the longer the path is; only a link that
is full takes it at one speed, however long its queue."""

TABLE = "late_arrivals"
"""The table that `register` makes, with a row for each call that arrived late: `call`; `inside`,
how much later than usual, ns, and no more than its service time holds."""


class LateArrivals(Record):
    """Calls of one client that took long to reach one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """How many."""
    connections: int
    """Connections that carried them."""
    from_ns: int
    """When the first of them was sent, nanoseconds since 1970."""
    until_ns: int
    """When the last of them had not arrived yet, nanoseconds since 1970."""
    median_s: float
    """For how long they had not arrived, and the acknowledgement that shows it was on its way back:
    the median, seconds."""
    usual_s: float
    """The usual round trip to the server, seconds."""
    bytes_per_s: float | None
    """How fast large ones arrived, bytes a second, where they did so evenly, or where calls were
    the later the more data was under way (`follows`), how fast that went; None where neither."""
    meanwhile: int
    """Calls of so many bytes that were sent meanwhile, from the first of them to the last, these
    included: `BRINGS_BYTES`."""
    follows: bool = False
    """They were late by what the client's data that was under way takes at that rate, and others
    with little under way were not."""


@once
def late_arrivals(trace: Trace) -> tuple[LateArrivals, ...]:
    """Tell each client and server, in order of time."""
    if not register(trace):
        return ()
    rates = {(client, server): rate for client, server, rate in trace.rows(_RATES)}
    rows = trace.rows(_TOLD)
    following = own_queue.rates(
        trace,
        [
            own_queue.Late(client=client, server=server, usual_ns=usual, until_ns=integer(end))
            for client, server, _, _, _, end, _, usual, _ in rows
            if (client, server) not in rates
        ],
    )
    return tuple(
        LateArrivals(
            client=str(client),
            server=str(server),
            calls=integer(calls),
            connections=integer(connections),
            from_ns=integer(begin),
            until_ns=integer(end),
            median_s=median / NANOSECONDS,
            usual_s=usual / NANOSECONDS,
            bytes_per_s=rates.get((client, server), following.get((client, server))),
            follows=(client, server) in following,
            meanwhile=integer(meanwhile),
        )
        for client, server, calls, connections, begin, end, median, usual, meanwhile in rows
    )


@once
def register(trace: Trace) -> bool:
    """Make the table `late_arrivals` of a trace, and say whether there is anything in it.

    Where no call arrived late there is no table.
    """
    pairs = {
        (each.client, each.server)
        for each in left_out(trace)
        if each.longest_ns is not None and each.longest_ns > LATER_NS
    }
    if not pairs:
        return False
    known = [
        pair
        for pair in round_trips(trace).pairs
        if (pair.client, pair.server) in pairs
        and pair.vantage != "server"
        and pair.server_side.rtt_s is not None
    ]
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            f"create table {TABLE} as {_LATE}",
            {
                "clients": given.text(pair.client for pair in known),
                "servers": given.text(pair.server for pair in known),
                "usual": given.text(
                    round((pair.server_side.rtt_s or 0.0) * NANOSECONDS) for pair in known
                ),
                "later": LATER_NS,
                "times": TIMES_AS_LONG,
                "brings": BRINGS_BYTES,
                "least": LEAST,
                "together": TOGETHER,
            },
        )
        cursor.execute(f"select exists (from {TABLE})")
        ((found,),) = cursor.fetchall()
    return bool(found)


# The stream brings calls in the order of the frames that complete them.
_LATE = f"""
    with pairs as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("usual", "bigint")} as usual
    ),
    sent as (
        select call, client, server, connection, call_frame, call_first_time, call_time,
               unreceived_time, call_bytes, usual, reply_time, tcp_resent,
               max(unreceived_time) filter (call_bytes >= $brings) over (
                   partition by connection order by call_frame, call_time, call
               ) as until
        from calls join pairs using (client, server)
        where not callback
    ),
    late as (
        select *, least(until, reply_time) - call_time as took,
               call_bytes >= $brings and unreceived_time is not null as tells
        from sent where reply_time is not null and until > call_time
    ),
    later as (
        select *, tells and row_number() over (
                   partition by connection, tells, unreceived_time order by call
               ) = 1 as by_itself
        from late where took >= $times * usual and took - usual >= $later
    )
    select call, client, server, connection, call_frame, call_first_time, call_time, call_bytes,
           unreceived_time, usual, took, took - usual as inside
    from later
    window pair as (partition by client, server)
    qualify count(call) filter (not tcp_resent) over pair
            >= greatest($least, count(*) over pair / 2)
        and count(call) filter (by_itself) over pair
            >= greatest($least, count(call) filter (tells) over pair / $together)
"""

_TOLD = f"""
    with told as (
        select client, server, count(*) as late, count(distinct connection) as connections,
               min(call_time) as begun, max(call_time) as last,
               max(call_time + took) as ended, median(took) as took, any_value(usual) as usual
        from {TABLE} group by client, server
    ),
    sent as (
        select client, server, count(*) as meanwhile
        from calls join told using (client, server)
        where not callback and reply_time is not null and call_bytes >= {BRINGS_BYTES}
              and call_time between begun and last
        group by client, server
    )
    select client, server, late, connections, begun, ended, took, usual, coalesce(meanwhile, 0)
    from told left join sent using (client, server) order by begun, client, server
"""


def _measured(which: str) -> str:
    """SQL: the rate of some large calls, by client and server, where they arrived evenly."""
    return f"""
        select client, server, sum(call_bytes) * 1e9 / sum(apart) as rate
        from rates where {which} group by client, server
        having count(*) >= {EVENLY[0]}
           and quantile_cont(rate, 0.75) <= {EVENLY[1]} * quantile_cont(rate, 0.25)
    """


_RATES = f"""
    with arrived as (
        select client, server, call_bytes, call_first_time, call_time, took, unreceived_time,
               lag(unreceived_time) over (
                   partition by connection order by call_frame, call_time, call
               ) as before
        from {TABLE} where call_bytes >= {LARGE_BYTES} and unreceived_time is not null
    ),
    rates as (
        select client, server, call_bytes, took, unreceived_time - before as apart,
               call_bytes / (unreceived_time - before) as rate, call_time < before as whole
        from arrived where unreceived_time > before and call_first_time < before
    ),
    measured as (
        {_measured("whole")} union all {_measured("true")}
        and quantile_cont(took, 0.75) >= {QUEUE_GROWS} * quantile_cont(took, 0.25)
    )
    select client, server, first(rate order by rate) from measured group by client, server
"""
