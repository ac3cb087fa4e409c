"""Links on which what one call brings takes its time, though no other data is under way.

Takes calls with the last acknowledgement that left out some of them after they were sent
(`unreceived_time`, `unreceived_bytes`); gives, for each client and server, how fast the bytes
before that arrived, and the table of the calls that took time for it. An acknowledgement says what
had arrived when it was sent, however slow the storage is that the call then waits for: behind a
fast link it comes after a round trip, behind a narrow one after as much more as the bytes take
there. So only calls tell that were sent at once while no other data was under way: what waits for a
window, or in a queue, arrives as late on any link. What comes even later waited for something else;
but no call may have been quicker than the link, whose bytes must take long on it by themselves, and
more bytes must take as much longer: an end that gets to its work late is not late with all of them,
nor by more for more bytes, and a path that varies is as quick for some as without data. A capture
taken at the server has no link before it.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.wire import left_out as _left_out
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.late_arrivals import EVENLY
from pcapnfs.analyses.wire.left_out import LONG_NS, left_out
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    _left_out.READS,
    columns.of(
        calls="call client server connection callback call_frame call_first_time call_time "
        "unreceived_time unreceived_bytes reply_time srt call_bytes first_arrived tcp_resent"
    ),
)
"""The columns that the queries here read."""

LEAST = 10
"""Calls of a client and server that tell; fewer show nothing."""

TELLS_BYTES = 1024
"""At least so many bytes of a call must have arrived: fewer are in the usual round trip as well, as
small calls are. Those that bring so many are the data that others wait behind."""

AT_ONCE = 0.25
"""What a call's bytes took to be sent, by what they took to arrive after that, at most: what is
sent bit by bit arrives so."""

EDGE = 0.75
"""The quantile of the rates that is the link's: what comes later waited for something else, too."""

LARGER = 0.7
"""Calls tell of which so much had come, by what had come of the larger ones (ninth decile): what
the usual round trip is off by is as much of any, and makes a difference to small ones."""

BEYOND = 4
"""Of what these took, at most one part in so many may be another wait than that for their bytes. It
shows in the other calls, where twice as many bytes take twice as long; where all had brought about
as many, so many small calls as tell (`LEAST`) must have waited for no more than that."""

QUICKER = 0.05
"""Part of the calls, at most, that were quicker than the link by more than evenly (`EVENLY`)."""

SOON = 8
"""Among so many calls that follow is the one that was sent at the same moment, if any was."""

COSTS_NS = 1_000_000
"""Calls whose bytes take less on the link are left as they are, and so are those that bring too few
to tell: these are in the usual round trip."""

TABLE = "narrow_links"
"""The table that `register` makes, with a row for each call that such a link took time of: `call`;
`inside`, how much, ns, and no more than its service time holds beyond the usual round trip;
`alone`: it was sent while no other data was under way, and waited for no more than its bytes."""

_RATES_TABLE = "narrow_link_rates"


class NarrowLink(Record):
    """One on the way from one client to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls that tell."""
    connections: int
    """Connections that carried them."""
    from_ns: int
    """When the first of them was sent, nanoseconds since 1970 UTC."""
    until_ns: int
    """When the last of them had not arrived yet, likewise."""
    median_s: float
    """For how long they had not arrived, and the acknowledgement that shows it was on its way back:
    the median, seconds."""
    usual_s: float
    """The usual round trip to the server, seconds."""
    bytes_per_s: float
    """How fast they arrived: the upper quartile, bytes a second."""
    sizes: bool
    """More bytes took as much longer: some of these calls had brought twice as many as others."""


@once
def narrow_links(trace: Trace) -> tuple[NarrowLink, ...]:
    """Tell them, in order of time."""
    return told(trace, _RATES_TABLE) if register(trace) else ()


def told(trace: Trace, rates: str) -> tuple[NarrowLink, ...]:
    """Links of a table that `rated` made, in order of time."""
    rows = trace.rows(f"from {rates} order by begun, client, server")
    return tuple(
        NarrowLink(
            client=str(client),
            server=str(server),
            calls=integer(calls),
            connections=integer(connections),
            from_ns=integer(begun),
            until_ns=integer(ended),
            median_s=late / NANOSECONDS,
            usual_s=usual / NANOSECONDS,
            bytes_per_s=rate * NANOSECONDS,
            sizes=bool(sizes),
        )
        for client, server, calls, connections, begun, ended, late, usual, rate, sizes in rows
    )


@once
def register(trace: Trace) -> bool:
    """Make the table `narrow_links` of a trace, and say whether there is anything in it.

    Where no link is known to be narrow there is no table.
    """
    pairs = {(each.client, each.server) for each in left_out(trace) if each.partly >= LEAST}
    if not pairs:
        return False
    known = [
        (pair.client, pair.server, in_ns(pair.server_side.rtt_s))
        for pair in round_trips(trace).pairs
        if (pair.client, pair.server) in pairs
        and pair.vantage != "server"
        and pair.server_side.rtt_s is not None
    ]
    with closing(trace.cursor()) as cursor:
        found = rated(cursor, _RATES_TABLE, _RATES, known)
        if found:
            cursor.execute(
                f"create table {TABLE} as {_CALLS}", {"costs": COSTS_NS, "tells": TELLS_BYTES}
            )
    return found


def in_ns(rtt_s: float | None) -> int:
    """A round trip that is known, ns."""
    return round((rtt_s or 0.0) * NANOSECONDS)


def rated(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    query: str,
    usual: Collection[tuple[str, str, int]],
) -> bool:
    """Make a table of the links that a query finds, and say whether there is any.

    Args:
        cursor: Where to make it.
        table: Its name.
        query: Gives the links of these pairs.
        usual: Client, server and usual round trip, ns.
    """
    _, times = EVENLY
    cursor.execute(
        f"create table {table} as {query}",
        {
            "clients": given.text(client for client, _, _ in usual),
            "servers": given.text(server for _, server, _ in usual),
            "usual": given.text(rtt_ns for _, _, rtt_ns in usual),
            "takes": LONG_NS,
            "least": LEAST,
            "tells": TELLS_BYTES,
            "at_once": AT_ONCE,
            "quicker": QUICKER,
            "times": times,
        },
    )
    cursor.execute(f"select exists (from {table})")
    ((found,),) = cursor.fetchall()
    return bool(found)


# The stream brings calls in the order of the frames that complete them; it is looked through only
# where half of those that tell may have taken long enough.
_RATES = f"""
    with pairs as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("usual", "bigint")} as usual
    ),
    asked as (
        select client, server, any_value(usual) as usual
        from calls join pairs using (client, server)
        where unreceived_bytes < call_bytes
              and unreceived_time - call_first_time - usual >= $takes and not callback
        group by client, server having count(*) >= $least / 2
    ),
    -- Data to other servers shares the link. What begins to be sent later is behind in its queue.
    beside as (
        select call, client, server, connection, call_first_time, call_time, call_bytes,
               unreceived_time, unreceived_bytes, reply_time, first_arrived, tcp_resent,
               max(reply_time) filter (call_bytes >= $tells) over (
                   partition by client order by call_frame, call_time, call
                   rows between unbounded preceding and 1 preceding
               ) as before,
               min(case when call_bytes >= $tells then call_first_time end) over (
                   partition by client order by call_first_time, call
                   rows between 1 following and {SOON} following
               ) as behind
        from calls
        where not callback and reply_time is not null and client in (select client from asked)
    ),
    sent as (
        select client, server, connection, usual, call_first_time, call_time, call_bytes,
               unreceived_time, call_bytes::bigint - unreceived_bytes as arrived, reply_time,
               first_arrived and not tcp_resent as timely, before, behind
        from beside join asked using (client, server)
    ),
    telling as (
        select *, unreceived_time - call_first_time as late,
               greatest(unreceived_time - call_first_time - usual, 1) as took
        from sent
        where timely and arrived >= $tells and call_first_time >= coalesce(before, 0)
              and coalesce(behind > call_time, true)
              and call_time - call_first_time <= $at_once * (unreceived_time - call_time)
    ),
    sized as (
        select *, arrived / took as rate,
               arrived >= {LARGER} * quantile_cont(arrived, 0.9)
                   over (partition by client, server) as larger
        from telling
    ),
    told as (
        select client, server, count(*) as calls, count(distinct connection) as connections,
               min(call_first_time) as begun, max(call_first_time) as last,
               max(unreceived_time) as ended, median(late) as late, any_value(usual) as usual,
               quantile_cont(rate, {EDGE}) filter (larger) as rate,
               median(took) filter (larger) as took,
               quantile_cont(arrived, 0.9) >= 2 * quantile_cont(arrived, 0.1) as sizes,
               abs(quantile_cont(took, 1 - {EDGE}) filter (not larger)
                   - median(arrived) filter (not larger)
                     / quantile_cont(rate, {EDGE}) filter (larger)) as off
        from sized group by client, server
        having count(*) filter (larger) >= $least
           -- Where a part came much sooner, it was no link that the others waited for.
           and median(arrived) filter (larger)
               >= $takes * quantile_cont(rate, {EDGE}) filter (larger)
           and quantile_cont(rate, 1 - $quicker) filter (larger)
               <= $times * quantile_cont(rate, {EDGE}) filter (larger)
    ),
    small as (
        select client, server, min(reply_time - call_first_time, {LEAST})[{LEAST}] as least
        from sent join told using (client, server)
        where timely and call_bytes < $tells
        group by client, server
    ),
    denied as (
        select client, server
        from sent join told using (client, server)
        where timely and call_first_time between begun and last
              and call_bytes >= rate * $takes
        group by client, server
        having avg((reply_time - call_first_time - sent.usual < call_bytes / rate / $times)::int)
            > $quicker
    )
    select client, server, calls, connections, begun, ended, late, usual, rate, sizes
    from told anti join denied using (client, server) left join small using (client, server)
    where case when sizes then off <= took / {BEYOND} else least - usual <= took / {BEYOND} end
"""

# What was sent bit by bit was on its way meanwhile: that is its transfer.
_CALLS = f"""
    with sent as (
        select call, client, server, call_first_time, call_time, call_bytes, srt,
               call_first_time >= coalesce(max(reply_time) over (
                   partition by client order by call_frame, call_time, call
                   rows between unbounded preceding and 1 preceding
               ), 0) as alone
        from calls
        where not callback and call_bytes >= $tells
              and client in (select client from {_RATES_TABLE})
    )
    select call, alone,
           least(call_bytes / rate - (call_time - call_first_time), srt - usual)::bigint as inside
    from sent join {_RATES_TABLE} using (client, server)
    where call_first_time between begun and ended and call_bytes >= rate * $costs
          and call_bytes / rate - (call_time - call_first_time) >= 1 and srt - usual >= 1
"""
