"""Which calls stood still until RDMA sent again what was lost: SQL, and whether to ask for them.

An adapter that misses a packet takes nothing behind it: the sender goes back, and learns of the
loss by the next packet, or, where none follows, by a timer (InfiniBand volume 1, sections 9.7.5 and
9.7.6): some tens of milliseconds, or seconds. A call over RDMA stood still where it took much
longer than others of its operation while packets of its connection were sent again; or where it
came after a pause that a packet sent again ended: a reply that did not get through may be in the
capture all the same. The rows are those of `tcp_stalls`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.wire.stood_still import OWN

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

RESENT = "transport = 'RDMA' and client_resent + server_resent > 0"
"""SQL: a condition on connections: packets of RDMA were sent again."""

LONGER_NS = 5_000_000
"""What a call took longer than others at least, for it to have waited for what was sent again …"""

TIMES = 2
"""… and so many times as long as these."""

SOON = 10
"""A packet sent again ended a pause that was over within this part of it: a tenth."""


def any_resent(trace: Trace) -> bool:
    """Whether anything was: most captures have no RDMA."""
    ((found,),) = trace.rows(f"select exists (from connections where {RESENT})")
    return bool(found)


# A damaged capture may claim any times; the difference of two before 1970 need not fit.
STALLS = f"""
    with suspects as (
        select connection, client_resent + server_resent as resent from connections where {RESENT}
    ),
    asked as (
        select call, connection, client, server, op, stability, call_frame, status_name,
               first_arrived, tcp_resent, resent, reply_time is not null as answered,
               coalesce(share, 0) as share, greatest(call_first_time, 0) as begun,
               greatest(coalesce(reply_time, call_time), call_time, call_first_time, 0) as ended,
               greatest(resent_before_time, 0) as resent_before
        from calls join suspects using (connection) left join shares using (call)
        where {{asked}}
    ),
    timed as (
        select *, ended - begun as took,
               begun - max(ended) over (
                   partition by client, server order by begun, call
                   rows between unbounded preceding and 1 preceding
               ) as pause
        from asked
    ),
    compared as (
        select *, took - median(took) over (partition by client, server, op, stability) as longer
        from timed
    ),
    stalled as (
        select *, answered and tcp_resent and longer >= {LONGER_NS}
                  and took >= {TIMES} * (took - longer) as waited,
               case when begun - resent_before <= pause // {SOON}
                    then resent_before - (begun - pause) end as unreached
        from compared
    )
    select client, server, case when waited then stability else 'client' end as row,
           (case when waited then least(longer, share) else unreached end)::bigint as stall,
           call_frame, begun as call_first_time, call, waited, longer, pause, unreached,
           case when waited then longer else 0 end::bigint as inside,
           {OWN} as own, true as rdma
    from stalled
    where waited or unreached >= {LONGER_NS}
    qualify row_number() over (
                partition by connection order by waited desc, stall desc, call
            ) <= resent
"""
