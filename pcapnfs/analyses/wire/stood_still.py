"""Which calls stood still until TCP sent again what was lost: SQL, and what it goes by.

A call that waited for a lost segment ends soon after that is sent again. Calls have no column for
when that was, but the next one on their connection tells when a segment was last sent again before
it (`resent_before_time`). So of a call that took longer than usual it is known whether that was
before the segment came, and whether no more than usual was left then: it stood still, however short
the sender's timer is. A disk that is slow is slow after that as well, and what is sent again at
once (a fast retransmission) comes at the beginning. Where other calls were under way on the
connection, that may be chance: nearly all that took longer must have ended so. The same holds for
pauses away from the client, where it was a reply that was lost behind the capture point.

What is usual is told by calls of the same kind and size during which nothing was sent again, since
of calls with many segments most meet a loss, and their own median is that of the loss. Where too
few are left, all of them tell, without what they are known to have waited; then other calls of
their stability, and what moves their bytes.

Where the moment is not known, or nothing in the capture came again, as where a reply was lost
before it came by, what is as long as a timer tells: that of most systems (`tcp_timeouts`), or that
of the connection, if it is known and many calls are as long. Where too few tell it, but one ended
so after the least timer of most systems, that is taken for it; but not at the server, where the
capture has a lost reply both times, nor where an end waits for late ACKs, which some delay for as
long. The rows are those of `tcp_stalls`.
"""

from __future__ import annotations

from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.wire.placed import PLACED

LARGE_BYTES = 16384
"""Smaller calls, with their replies, are of one size: what moves them is next to nothing."""

ENOUGH = 3
"""Calls of a kind and size for their median to tell what is usual: where segments are lost, few
calls of many segments meet no loss."""

SHORT_NS = 20_000_000
"""What a call took longer at least where a segment that was sent again ended it: for less a queue,
a path that reorders or a processor that is late may hold up what is then sent again for nothing …
"""

TIMES = 2
"""… and so many times as long as usual. What was left when the segment came took no more than so
many times as long as usual, either."""

MOST = 0.75
"""Of the calls that took so much longer while others were under way on their connection, so many
must have ended like that: of calls that wait for a disk, few do by chance."""

SEVERAL = 5
"""Calls that must have ended like that to tell of others: that these did, too, though they were not
alone, or how long the connection's timer is. Calls that took as long as it stood still for it,
whatever is in the capture of that, if they make a mode …"""

EARLY_NS, LATE_NS, SPIKE = 2_000_000, 6_000_000, 5
"""… from so many ns sooner to so many later, with so many times as many as in two windows beside it
that are half as wide: as of a delayed ACK (`held_segments`), whose ticks are as coarse."""

NARROW = 0.25
"""What a timer may vary: windows that are wider, by this part of what they end with, hold all sorts
of calls. A message of 1 MiB at 1 Gbit/s has its lost segment up to 8 ms before its end."""

OWN = f"first_arrived and not {TOLD_LATER}"
"""SQL: a condition on calls: nothing else makes them long."""

_ENDED = "greatest(coalesce(reply_time, call_time), call_time)"

# Parameters: clients, servers and vantages of pairs; `timeout` and `pause`, ns. To be filled in:
# which calls are asked about, and those whose replies had to wait. No call counts twice. There are
# no more of them than segments sent again, less what had arrived, as D-SACK says: for those that
# ended with one sooner than most timers run out all of that; for others only what came too soon for
# a timer itself, or is such that the loss of its answer would show. Where nothing tells when it
# was, less all that came too soon for a timer (`client_early`), and the stalls found already.
STALLS = f"""
    with {PLACED},
    lossy as (
        select connection, client, server,
               client_resent::bigint as client_resent, server_resent::bigint as server_resent,
               client_spurious::bigint as client_spurious,
               server_spurious::bigint as server_spurious,
               client_early::bigint as client_early, server_early::bigint as server_early,
               coalesce(client_ack_waits, 0)::bigint + coalesce(server_ack_waits, 0) as ack_waits
        from connections where transport = 'TCP' and client_resent + server_resent > 0
    ),
    suspects as (
        select connection, at_client, at_server, ack_waits,
               client_resent - greatest(client_early, if(at_server, client_spurious, 0))
                   + server_resent - greatest(server_early, if(at_client, server_spurious, 0))
                   as resent,
               client_resent
                   - if(at_server, client_spurious, least(client_early, client_spurious))
                   + server_resent
                   - if(at_client, server_spurious, least(server_early, server_spurious))
                   as missed,
               client_resent - client_spurious + server_resent - server_spurious as unarrived
        from (
            select lossy.*, coalesce(vantage = 'client', false) as at_client,
                   coalesce(vantage = 'server', false) as at_server
            from lossy left join placed using (client, server)
        )
    ),
    again as (
        select distinct connection, resent_before_time as resent_time
        from calls semi join suspects using (connection) where resent_before_time is not null
    ),
    ordered as (
        select call, connection, call_first_time, {_ENDED} as ended,
               coalesce(call_first_time > max({_ENDED}) over before, true)
                   and coalesce(lead(call_first_time) over following > {_ENDED}, true) as alone
        from calls semi join suspects using (connection)
        window following as (partition by connection order by call_first_time, call),
               before as (partition by connection order by call_first_time, call
                          rows between unbounded preceding and 1 preceding)
    ),
    ends as (
        select call, alone, ended,
               if(resent_time > call_first_time, resent_time, null) as resent_time
        from ordered asof left join again
             on ordered.connection = again.connection and ended >= resent_time
    ),
    asked as (
        select call, connection, client, server, op, stability, call_frame, status_name,
               first_arrived, tcp_resent, resent_before_time, call_first_time, call_time,
               reply_first_time, reply_time, coalesce(share, 0) as share,
               at_client, at_server, ack_waits, resent, missed, unarrived, alone, ended,
               resent_time,
               ended - call_first_time as took,
               call_time - call_first_time as sending,
               greatest(sending, coalesce(reply_time - reply_first_time, 0) + coalesce(queued, 0))
                   as moving,
               greatest(call_bytes::bigint + coalesce(reply_bytes, 0), {LARGE_BYTES}) as bytes,
               floor(log2(bytes)) as size,
               case when at_client then null
                    else call_first_time - max(coalesce(reply_time, call_time)) over (
                        partition by client, server order by call_first_time, call
                        rows between unbounded preceding and 1 preceding
                    ) end as pause,
               coalesce(resent_before_time > call_first_time - pause, false) as in_pause
        from calls join suspects using (connection) join ends using (call)
             left join (select call, share from shares) using (call)
             left join ({{queues}}) using (call)
        where {{asked}}
    ),
    quickest as (
        select client, server, op, size, min(moving / bytes) as per_byte
        from asked group by all
    ),
    parted as (
        select *, if(alone and tcp_resent and resent_time is not null,
                     greatest(resent_time - per_byte * bytes
                              - if(resent_time > reply_first_time, reply_first_time,
                                   call_first_time), 0),
                     null) as waiting,
               if(tcp_resent, took - waiting, took) as rest
        from asked join quickest using (client, server, op, size)
        where reply_time is not null
    ),
    like_it as (
        select client, server, op, stability, size,
               median(rest) filter (not tcp_resent) as usual,
               median(moving) filter (not tcp_resent) as usual_moving,
               count(*) filter (not tcp_resent) as clean,
               median(rest) as usual_rest
        from parted where rest is not null
        group by all having count(*) >= {ENOUGH}
    ),
    others as (
        select client, server, stability, median(took - moving) as usual_service
        from asked where not tcp_resent and reply_time is not null
        group by all having count(*) >= {ENOUGH}
    ),
    pauses as (
        select client, server, median(pause) as usual_pause
        from asked where pause > 0 and not in_pause group by all having count(*) >= {ENOUGH}
    ),
    compared as (
        select asked.*, usual_pause,
               if(clean >= {ENOUGH}, usual_moving, least(moving, per_byte * bytes)) as its_moving,
               coalesce(
                   if(clean >= {ENOUGH}, usual, usual_rest), usual_service + its_moving,
                   median(took) over (partition by client, server, op, stability)
               ) as its_usual
        from asked left join quickest using (client, server, op, size)
             left join like_it using (client, server, op, stability, size)
             left join others using (client, server, stability)
             left join pauses using (client, server)
    ),
    timed as (
        select *, (took - its_usual)::bigint as longer,
               reply_time is not null and tcp_resent and resent_time is not null
                   and longer >= {SHORT_NS} and took >= {TIMES} * its_usual as may_wait,
               may_wait and ended - resent_time <= {TIMES} * its_usual
                   and resent_time - call_first_time >= longer // 2 as at_its_end,
               coalesce(in_pause and call_first_time - resent_before_time <= {TIMES} * usual_pause
                        and pause - usual_pause >= {SHORT_NS} and pause >= {TIMES} * usual_pause
                        and pause <= $pause, false) as before_it
        from compared
    ),
    timers as (
        select connection, quantile_cont(longer, 0.1) - {EARLY_NS} as shortest,
               quantile_cont(longer, 0.9) + {LATE_NS} as longest, (longest - shortest) // 2 as half
        from timed where at_its_end and alone
        group by connection
        having count(*) >= {SEVERAL} and longest - shortest <= {NARROW} * longest
    ),
    usual_timers as (
        select distinct connection, $timeout as shortest,
               ($timeout / (1 - {NARROW}))::bigint as longest, (longest - shortest) // 2 as half
        from timed anti join timers using (connection)
        where not at_server and ack_waits < {SEVERAL}
            and at_its_end and alone and longer between shortest and longest
    ),
    modes as (
        select connection, shortest, longest
        from (from timers union all by name from usual_timers) join timed using (connection)
        where reply_time is not null and longer between shortest - half and longest + half
        group by all
        having count(*) filter (longer between shortest and longest)
               >= {SPIKE} * greatest(count(*) filter (longer < shortest or longer > longest), 1)
    ),
    together as (
        select connection,
               count(*) filter (at_its_end) >= greatest({MOST} * count(*), {SEVERAL}) as mostly
        from timed where may_wait and not alone group by connection
    ),
    told as (
        select *, at_its_end and coalesce(alone or mostly, false) as ended_it,
               coalesce(reply_time is not null and longer between shortest and longest, false)
                   as alike
        from timed left join modes using (connection) left join together using (connection)
    ),
    stalled as (
        select *, case when waited then least(longer, share)
                       when before_it then pause - usual_pause::bigint
                       else coalesce(unreached, pause) end as stall,
               tcp_resent or not waited and in_pause as shown,
               case when not if(waited, ended_it, before_it)
                    then if(waited and alike, 'alike', 'long')
                    when if(waited, longer, pause) < $timeout then 'soon' else 'ended' end as sign
        from (
            select *, reply_time is not null
                      and (ended_it or alike
                           or longer >= $timeout and (tcp_resent or longer <= $pause))
                      as waited,
                   case when at_server and pause > $pause
                        then resent_before_time - (call_first_time - pause) end as unreached
            from told
        )
        where waited or before_it or unreached >= $timeout
              or (pause between $timeout and $pause and (not at_server or shown))
    ),
    counted as (
        select *, row_number() over by_length as place,
               dense_rank() over (partition by connection, sign
                                  order by if(waited, resent_time, resent_before_time)) as segment,
               count(if(sign <> 'long' and stall >= $timeout, call, null))
                   over (partition by connection) as timed_out
        from stalled
        window by_length as (partition by connection, sign order by shown desc, stall desc, call)
    )
    select client, server,
           case when not waited then 'client'
                when 2 * (moving - its_moving) >= longer then 'transfer'
                else stability end as row,
           stall::bigint as stall, call_frame, call_first_time, call, waited, longer, pause,
           unreached,
           case when waited
                then greatest(longer - greatest(sending - its_moving, 0), 0)
                else 0 end::bigint as inside,
           {OWN} as own,
           false as rdma
    from counted
    where case sign when 'ended' then segment <= missed when 'soon' then segment <= unarrived
                    when 'alike' then place <= missed else place <= resent - timed_out end
"""
