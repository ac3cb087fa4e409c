"""Links to clients on which what one reply brings takes its time, in captures not taken there.

Takes calls with the last acknowledgement that left out some of the reply before them
(`earlier_unreceived_time`, `earlier_unreceived_bytes`); gives, for each client and server, how fast
the bytes before that arrived, and the table of the calls that came later for it. It is what
`narrow_links` tells of calls, the other way: where a server sends a reply at once, the capture has
all of it long before the client does, and the call that follows comes as late as the link takes for
it. Only replies tell that were sent at once while no other data was on its way to the client: what
waits for a window, or in a queue, arrives as late on any link. No reply may have been quicker than
the link, and more bytes must take as much longer: a client that is busy, or a path that is longer
for a while, makes no difference between large replies and small ones. A capture taken at the client
has no link behind it.
"""

from __future__ import annotations

from collections.abc import Sized
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.narrow_links import (
    BEYOND,
    COSTS_NS,
    EDGE,
    LARGER,
    LEAST,
    SOON,
    NarrowLink,
    in_ns,
    rated,
    told,
)
from pcapnfs.analyses.wire.round_trip import round_trips

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    columns.of(
        calls="call client server connection callback stability call_frame call_first_time "
        "call_time reply_first_time reply_time reply_bytes first_arrived tcp_resent "
        "earlier_unreceived_time earlier_unreceived_bytes"
    ),
)
"""The columns that the queries here read."""

TABLE = "links_to_clients"
"""The table that `register` makes, with a row for each call that came later since replies before it
took their time on such a link: `call`, `client`, `server`, `call_frame`; `part`, what that took of
the time before it in which its client had none under way, ns, beside a usual round trip."""

_RATES_TABLE = "links_to_clients_rates"


@once
def links_to_clients(trace: Trace) -> tuple[NarrowLink, ...]:
    """Tell them, in order of time."""
    return told(trace, _RATES_TABLE) if register(trace) else ()


@once
def register(trace: Trace) -> bool:
    """Make the table `links_to_clients` of a trace, and say whether there is anything in it.

    Where no link is known to be narrow there is no table.
    """
    known = [
        (pair.client, pair.server, in_ns(pair.client_side.rtt_s))
        for pair in round_trips(trace).pairs
        if pair.vantage not in ("client", "unknown") and pair.client_side.rtt_s is not None
    ]
    if not any_behind(known):
        return False
    pairs = {
        "clients": given.text(client for client, _, _ in known),
        "servers": given.text(server for _, server, _ in known),
        "usual": given.text(rtt_ns for _, _, rtt_ns in known),
        "least": LEAST,
    }
    asked = trace.rows(_ASKED, pairs)
    if not any_left_out(asked):
        return False
    with closing(trace.cursor()) as cursor:
        found = rated(cursor, _RATES_TABLE, _RATES, asked)
        if found:
            cursor.execute(f"create table {TABLE} as {_CALLS}", {"costs": COSTS_NS})
    return found


def any_behind(pairs: Sized) -> bool:
    """Whether there is any to ask about: at the client, no link lies behind replies."""
    return len(pairs) > 0


def any_left_out(pairs: Sized) -> bool:
    """Whether enough replies of any were not acknowledged at once."""
    return len(pairs) > 0


_PAIRS = f"""
    select {given.rows("clients", "varchar")} as client,
           {given.rows("servers", "varchar")} as server,
           {given.rows("usual", "bigint")} as usual
"""

_ASKED = f"""
    with pairs as ({_PAIRS})
    select client, server, any_value(usual) as usual
    from calls join pairs using (client, server)
    where earlier_unreceived_time is not null and not callback
    group by client, server having count(*) >= $least
    order by client, server
"""

# A burst begins with a reply before which nothing was on its way when it was asked for; data of
# other servers shares the link. What begins to be sent later is behind in its queue.
_RATES = f"""
    with pairs as ({_PAIRS}),
    replies as (
        select call, client, server, connection, reply_first_time, reply_time,
               reply_bytes::bigint as reply_bytes, first_arrived and not tcp_resent as timely,
               call_first_time >= coalesce(max(reply_time) filter (reply_bytes >= $tells) over (
                   partition by client order by reply_time, call
                   rows between unbounded preceding and 1 preceding
               ), 0) and coalesce(earlier_unreceived_time < call_first_time, true) as begins,
               min(case when reply_bytes >= $tells then reply_first_time end) over (
                   partition by client order by reply_time, call
                   rows between 1 following and {SOON} following
               ) as behind
        from calls
        where not callback and reply_time is not null and client in (select client from pairs)
    ),
    numbered as (
        select *, sum(begins::integer) over (
                   partition by client order by reply_time, call
               ) as burst
        from replies
    ),
    sent as (
        select call, client, server, connection, reply_time, behind,
               min(reply_first_time) over so_far as begun, sum(reply_bytes) over so_far as bytes,
               bool_and(timely) over so_far
               and min(connection) over so_far = max(connection) over so_far as sure
        from numbered
        window so_far as (
            partition by client, burst order by reply_time, call
            rows between unbounded preceding and current row
        )
    ),
    followed as (
        select connection, call_time, earlier_unreceived_time as unreceived,
               earlier_unreceived_bytes as bytes
        from calls where earlier_unreceived_time is not null and not callback
    ),
    left_out as (
        select sent.call, max(unreceived) as unreceived, arg_max(followed.bytes, unreceived) as rest
        from followed asof join sent
             on followed.connection = sent.connection and followed.call_time >= sent.reply_time
        group by sent.call
    ),
    telling as (
        select client, server, connection, usual, begun, unreceived, bytes - rest as arrived,
               unreceived - begun as late, greatest(unreceived - begun - usual, 1) as took
        from sent join left_out using (call) join pairs using (client, server)
        where sure and bytes - rest >= $tells and coalesce(behind > unreceived, true)
              and reply_time - begun <= $at_once * (unreceived - reply_time)
    ),
    sized as (
        select *, arrived / took as rate,
               arrived >= {LARGER} * quantile_cont(arrived, 0.9)
                              over (partition by client, server)
               or row_number() over (
                      partition by client, server order by arrived desc, begun
                  ) <= $least as larger
        from telling
    ),
    told as (
        select client, server, count(*) as calls, count(distinct connection) as connections,
               min(begun) as begun, max(unreceived) as ended, median(late) as late,
               any_value(usual) as usual,
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
    -- Of calls one after the other, each has its reply before the next is sent, if not at once.
    in_turn as (
        select *
        from (
            select client, server, call_first_time, reply_first_time, reply_time, reply_bytes,
                   first_arrived and not tcp_resent as timely,
                   max(reply_time) over (
                       partition by client order by call_first_time, call
                       rows between unbounded preceding and 1 preceding
                   ) as before,
                   lead(call_first_time) over (
                       partition by client order by call_first_time, call
                   ) as next,
                   lead(stability = 'read') over (
                       partition by client order by call_first_time, call
                   ) as reads
            from calls where not callback and client in (select client from told)
        ) join told using (client, server)
        where timely and call_first_time >= coalesce(before, 0) and next > reply_time
    ),
    small as (
        select client, server, min(next - reply_time, {LEAST})[{LEAST}] as least
        from in_turn where reply_bytes < $tells
        group by client, server
    ),
    -- What reads ahead waits for no reply before it.
    denied as (
        select client, server
        from in_turn
        where reply_time between begun and ended and reply_bytes >= rate * $takes
              and next >= reply_time + usual and not reads
        group by client, server
        having avg((next - reply_first_time - usual < reply_bytes / rate / $times)::int) > $quicker
    )
    select client, server, calls, connections, begun, ended, late, usual, rate, sizes
    from told anti join denied using (client, server) left join small using (client, server)
    where case when sizes then off <= took / {BEYOND} else least - usual <= took / {BEYOND} end
"""

# What stands in the queue of the link is gone when all before it is, and so much later as its bytes
# take.
_CALLS = f"""
    with sent as (
        select client, server, reply_time, rate, reply_first_time as begun,
               sum(reply_bytes) over sent / rate as until,
               sum(reply_bytes) over sent / rate - reply_bytes / rate as since, call
        from calls join {_RATES_TABLE} using (client, server)
        where not callback and reply_time is not null
        window sent as (
            partition by client, server order by reply_first_time, call
            rows between unbounded preceding and current row
        )
    ),
    gone as (
        select client, server, reply_time,
               until + max(begun - since) over (
                   partition by client, server order by begun, call
                   rows between unbounded preceding and current row
               ) as gone
        from sent
    ),
    lasting as (
        select client, server, reply_time, max(gone) as gone from gone
        group by client, server, reply_time
    ),
    ordered as (
        select call, client, server, connection, call_frame, call_first_time,
               max(coalesce(reply_time, call_time)) over (
                   partition by client order by call_first_time, call
                   rows between unbounded preceding and 1 preceding
               ) as before
        from calls where client in (select client from {_RATES_TABLE}) and not callback
    ),
    late as (
        select call, client, server, call_frame,
               least(call_first_time - before - usual, gone - before)::bigint as part
        from ordered join {_RATES_TABLE} using (client, server)
             asof join lasting on ordered.client = lasting.client
                  and ordered.server = lasting.server
                  and ordered.call_first_time > lasting.reply_time
    )
    select call::ubigint as call, client, server, call_frame, part from late where part >= $costs
"""
