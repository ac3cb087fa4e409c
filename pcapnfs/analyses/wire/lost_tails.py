"""Which messages waited for their own end, which was lost before it came by: SQL, and when to ask.

Where the last segments of a message are lost nothing comes behind them, and the receiver does not
ask for them: they come again when the sender's timer runs out. At the receiver, where they come by
once, nothing tells but the gap, which is as long each time as the timer is. A sender that waits for
a delayed ACK makes such gaps as well (`held_segments`), but it sends nothing until that comes, and
goes on at once: at the receiver the ACKs show it. Elsewhere gaps are not taken for losses: there
what was lost is in the capture, or may be. A window that is closed, and a path with round trips
that are nearly as long, where a sender begins slowly, are left out. The rows are those of
`tcp_stalls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.wire.message_times import ANSWERED, ANSWERED_FROM, SENT, SENT_FROM
from pcapnfs.analyses.wire.placed import PLACED
from pcapnfs.analyses.wire.stood_still import EARLY_NS, LATE_NS, NARROW, OWN, SPIKE

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

GAP_NS = 20_000_000
"""What such a message takes longer than others of its size at least …"""

TIMES = 4
"""… and so many times as long as these, and as a round trip: a link that is full, or a sender that
waits for its window to grow, takes a few times as long."""

LEAST = 10
"""Messages of a connection that took as much longer: fewer are chance, as for a delayed ACK."""

WAITING = 0.5
"""Of such messages, so many at least must the sender have held back until an ACK came that was
late, to be what waits for delayed ACKs."""


def any_late(trace: Trace) -> bool:
    """Whether there are as many messages that took so long: most captures have none."""
    ((found,),) = trace.rows(_ANY_LATE)
    return bool(found)


_SENDING, _REPLYING = f"{SENT} - {SENT_FROM}", f"{ANSWERED} - {ANSWERED_FROM}"

_ANY_LATE = f"""
    select count(*) >= {LEAST} from (
        select 1 from calls
        where not callback and reply_time is not null
              and greatest({_SENDING}, {_REPLYING}) >= {GAP_NS}
        limit {LEAST}
    )
"""

# Parameters: clients, servers and vantages of pairs; `pause`, ns. To be filled in: which calls are
# asked about, and the table of rows so far.
TAILS = f"""
    with {PLACED},
    acked as (
        select connection, client_acks, server_acks, client_ack_waits, server_ack_waits,
               client_zero_window, server_zero_window,
               coalesce(syn_rtt + ack_rtt, client_ack_min + server_ack_min) as rtt
        from connections where transport = 'TCP'
    ),
    asked as (
        select call, connection, vantage, client, server, call_frame, call_first_time,
               first_arrived, status_name, call_bytes, reply_bytes, {_SENDING} as sending,
               {_REPLYING} as replying
        from calls semi join acked using (connection) join placed using (client, server)
        where {{asked}} and reply_time is not null
    ),
    messages as (
        select *, false as coming, call_bytes as bytes, sending as moving from asked
        where sending > 0 and vantage = 'server'
        union all
        select *, true, reply_bytes, replying from asked where replying > 0 and vantage = 'client'
    ),
    paces as (
        select client, server, coming, floor(log2(bytes)) as size, median(moving / bytes) as pace
        from messages where bytes > 0 group by all
    ),
    late as (
        select messages.*, (moving - pace * bytes)::bigint as longer
        from messages join paces using (client, server, coming)
        where bytes > 0 and size = floor(log2(bytes))
              and longer between {GAP_NS} and $pause and moving >= {TIMES} * pace * bytes
    ),
    timers as (
        select connection, coming, count(*) as messages, sum(longer) as waited,
               quantile_cont(longer, 0.1) - {EARLY_NS} as shortest,
               quantile_cont(longer, 0.9) + {LATE_NS} as longest, (longest - shortest) // 2 as half
        from late group by connection, coming
        having count(*) >= {LEAST} and longest - shortest <= {NARROW} * longest
    ),
    modes as (
        select connection, coming, shortest, longest
        from timers join acked using (connection) join late using (connection, coming)
        where shortest >= {TIMES}::double * rtt
              and longer between shortest - half and longest + half
              and if(coming, client_acks, server_acks) >= messages
              and if(coming, server_ack_waits, client_ack_waits) < {WAITING} * messages
              and 2 * if(coming, client_zero_window, server_zero_window) < waited
        group by all
        having count(*) filter (longer between shortest and longest)
               >= {SPIKE} * greatest(count(*) filter (longer < shortest or longer > longest), 1)
    )
    select client, server, 'transfer' as row,
           least(longer, coalesce(share, 0))::bigint as stall, call_frame, call_first_time, call,
           true as waited, longer, null::bigint as pause, null::bigint as unreached,
           if(coming, longer, 0)::bigint as inside,
           {OWN} as own, false as rdma
    from late join modes using (connection, coming) left join shares using (call)
         anti join {{table}} using (call)
    where longer between shortest and longest
    qualify row_number() over (partition by call order by longer desc) = 1
"""
