"""Calls that were sent more than once, what came back, and what it took.

Takes a trace; gives for each client and server the calls that the client sent again with the same
xid, and the replies that came again. A call that was answered twice had arrived the first time:
the server was slow, if the answer came later than the call was sent again. One that was answered
once may have been lost, or its reply. NFSv4 sends a call again only after the connection broke (RFC
7530 section 3.1.1, RFC 8881 section 2.9.2). Calls that were sent again because the server restarted
are left out: `restarts` has them; and those that Linux sends again because RPC refused them (RFC
5531 section 9), in case it had garbled their credentials: `failures` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.captured.trust import DUPLICATE_REPLY, LATE_RETRANSMISSION
from pcapnfs.analyses.servers import restarts
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import lost_replies, round_trip
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    _directions.READS,
    lost_replies.READS,
    restarts.RECONNECTED_READS,
    round_trip.READS,
    columns.of(
        calls="call client server connection callback program op stability call_frame call_time "
        "srt reply_time transmissions first_arrived rpc_status",
        connections="connection transport first_time",
        notes="reason call frame time",
    ),
)
"""The columns that the queries here read."""

SHORTEST_TIMER_NS = 100_000_000
"""No client's timer is shorter: timeo is told in tenths of a second (nfs(5))."""

LEAST_OTHERS = 20
"""Answered calls, one after the other, that show a client with a single program."""


class ResentCalls(Record):
    """What one client sent again to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    transports: tuple[str, ...]
    """Over what these calls went: `TCP`, `UDP`."""
    calls: int
    """All its calls there."""
    resent: int
    """Calls that were sent more than once."""
    moved: int
    """Those of them that were answered on a connection begun after them: the old one had broken."""
    idle_s: float | None
    """For how long the client had sent nothing there, and got nothing, before connections broke on
    calls that moved: the least of them, each by the first of its calls; seconds. None where none
    moved, or nothing came before."""
    repeated: int
    """Times that they were sent, beyond the first, as far as that was before their reply."""
    duplicate_replies: int
    """Replies that came again."""
    answered_twice: int
    """Calls with such a reply: the first transmission had arrived."""
    answered_late: int
    """Those of them whose answer the client's timer did not wait for. Not those that it had before
    they were sent again, nor, at the client, those that took no tenth of a second: they waited in
    the client itself until the connection took them."""
    lost: int
    """Those of them whose answer came by the capture on its way to the client and never reached it:
    they came again long after it."""
    lost_s: float | None
    """How long after it, at most, seconds; None without any."""
    usual_s: float | None
    """Median service time of those of the others that were sent once, seconds; None without any."""
    resent_s: float | None
    """Median service time of those that were sent again and answered, from the first transmission,
    seconds; None without any."""
    time_s: Mapping[str, float]
    """What those of them that were answered once, and not late alone (`first_arrived`), took of the
    clock beyond the median of their kind, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: of calls, and of replies that came again."""
    given_up: int = 0
    """Calls that it sent again on the same TCP connection, and then others before these were
    answered, though it otherwise never had two calls under way: it had given them up."""
    given_up_frames: tuple[int, ...] = ()
    """Example frames of them."""
    alone: bool = False
    """What the server sent is not in the capture: whether it had answered is not known."""


@once
def resent_calls(trace: Trace) -> tuple[ResentCalls, ...]:
    """Count, for each client and server where a call was sent again."""
    reasons = {"late": LATE_RETRANSMISSION, "duplicate": DUPLICATE_REPLY}
    (anything,) = trace.rows(_ANYTHING, reasons)
    if not anything[0]:
        return ()
    shares.register(trace)
    paths = round_trip.round_trips(trace).pairs
    known = {
        "clients": given.text(path.client for path in paths),
        "servers": given.text(path.server for path in paths),
        "halves": given.text(
            round((path.client_side.rtt_s or 0.0) * NANOSECONDS) for path in paths
        ),
        "at_client": given.text(path.vantage == "client" for path in paths),
        "beyond": given.text(path.vantage in {"server", "between"} for path in paths),
        "shortest": SHORTEST_TIMER_NS,
    }
    with closing(trace.cursor()) as cursor:
        restarts.reconnected(trace, cursor)
        cursor.execute(_RESENT, reasons | known)
        pairs = by_name(cursor.execute(_PAIRS, {"examples": EXAMPLES}))
        rows = cursor.execute(_ROWS).fetchall()
        given_up = {
            (client, server): (integer(number), tuple(frames))
            for client, server, number, frames in cursor.execute(
                _GIVEN_UP, {"others": LEAST_OTHERS, "examples": EXAMPLES}
            ).fetchall()
        }
        idle = {
            (client, server): seconds(idle_ns)
            for client, server, idle_ns in cursor.execute(_IDLE).fetchall()
        }
    times: dict[tuple[str, str], dict[str, float]] = {}
    for client, server, row, time in rows:
        times.setdefault((client, server), {})[row] = seconds(time) or 0.0
    return tuple(
        ResentCalls(
            client=row["client"],
            server=row["server"],
            transports=tuple(row["transports"]),
            calls=integer(row["calls"]),
            resent=integer(row["resent"]),
            moved=integer(row["moved"]),
            idle_s=idle.get((row["client"], row["server"])),
            repeated=integer(row["repeated"]),
            duplicate_replies=integer(row["duplicate_replies"]),
            answered_twice=integer(row["answered_twice"]),
            answered_late=integer(row["answered_late"]),
            lost=integer(row["lost"]),
            lost_s=seconds(row["lost_ns"]),
            usual_s=seconds(row["usual"]),
            resent_s=seconds(row["slow"]),
            time_s=times.get((row["client"], row["server"]), {}),
            frames=tuple(sorted([*row["frames"], *row["replies"]])[:EXAMPLES]),
            given_up=gone_on[0],
            given_up_frames=gone_on[1],
            alone=(row["client"], row["server"]) in directions(trace).pairs,
        )
        for row in pairs
        for gone_on in (given_up.get((row["client"], row["server"]), (0, ())),)
    )


def again_by_client(trace: Trace) -> dict[str, dict[str, float]]:
    """By client and row of the time budget, what calls took longer since they were sent again, s.

    Without the row `waiting`: what of it is a wait for a connection is booked there already.
    """
    found: dict[str, dict[str, float]] = {}
    for pair in resent_calls(trace):
        rows = found.setdefault(pair.client, {})
        for row, time_s in pair.time_s.items():
            if row != "waiting":
                rows[row] = rows.get(row, 0.0) + time_s
    return found


_ANYTHING = """
    select exists (select 1 from calls where transmissions > 1 and not callback)
        or exists (select 1 from notes where reason in ($late, $duplicate))
"""

_RESENT = f"""
    create temp table resent as
    with later as (
        select call, count(*) filter (reason = $late) as late,
               min(time) filter (reason = $late) as again,
               count(*) filter (reason = $duplicate) as duplicates,
               min(frame) filter (reason = $duplicate) as duplicate
        from notes where reason in ($late, $duplicate) and call is not null group by call
    ),
    paths as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("halves", "bigint")} as half,
               {given.rows("at_client", "boolean")} as at_client,
               {given.rows("beyond", "boolean")} as beyond
    ),
    sent_again as (
        select calls.call, client, server, connection, op, stability, call_frame, call_time, srt,
               reply_time, transport,
               transmissions - 1 as repeated, coalesce(duplicates, 0) as duplicates, duplicate,
               first_time > call_time as moved, coalesce(share, 0) as share,
               transmissions > 1 and first_arrived as arrived,
               case when transmissions = 1 and later.again is not null
                    then later.again - reply_time > coalesce(half, 0) else false end as had_answer,
               coalesce(at_client and srt < $shortest, false) as soon,
               coalesce(rpc_status <> 'SUCCESS', false) as refused,
               case when beyond then lost.again - answered end as lost
        from calls
             join (select connection, transport, first_time from connections) using (connection)
             left join later using (call) left join shares using (call)
             left join ({lost_replies.ROWS}) as lost using (call)
             left join paths using (client, server)
        where not callback and (transmissions > 1 or late > 0 or duplicates > 0)
              and not (first_time > call_time
                       and calls.connection in (select connection from reconnected))
    )
    select * from sent_again where not (refused and had_answer)
"""

_PAIRS = """
    with usual as (
        select client, server, count(*) as calls,
               median(srt) filter (
                   transmissions = 1 and call not in (select call from resent)
               ) as usual
        from calls semi join resent using (client, server) where not callback
        group by client, server
    )
    select client, server, list_sort(list(distinct transport)) as transports,
           any_value(calls) as calls, count(*) as resent, count(*) filter (moved) as moved,
           sum(repeated) as repeated, sum(duplicates) as duplicate_replies,
           count(*) filter (duplicates > 0) as answered_twice,
           count(*) filter (duplicates > 0 and not had_answer and not soon) as answered_late,
           count(lost) as lost, max(lost) as lost_ns,
           any_value(usual) as usual, median(srt) as slow,
           list(call_frame order by call_frame)[:$examples] as frames,
           coalesce((list(duplicate order by duplicate) filter (duplicate is not null))[:2], [])
               as replies
    from resent as again join usual using (client, server)
    group by client, server order by count(*) desc, client, server
"""

# The calls of a connection that broke at once are sent again on one and the same.
_IDLE = """
    with sent as (
        select call, client, server, call_time - max(greatest(call_time, coalesce(reply_time, 0)))
                   over (partition by client, server order by call_time, call
                         rows between unbounded preceding and 1 preceding) as idle
        from calls semi join (
                 select client, server from resent where moved
             ) as pairs using (client, server)
        where not callback
    ),
    broken as (
        select resent.client, resent.server, max(idle) as idle
        from resent join sent using (call) where moved
        group by resent.client, resent.server, connection
    )
    select client, server, greatest(min(idle), 0)::bigint from broken
    group by client, server having min(idle) is not null order by client, server
"""

# A call that only the client's kernel waits for (a page that it writes back) would show as another
# one under way.
_GIVEN_UP = f"""
    with suspects as (
        select call, client, server, call_frame, call_time, reply_time
        from resent where not moved and repeated > 0 and transport = 'TCP'
    ),
    others as (
        select client, server, call_time, reply_time
        from calls semi join suspects using (client, server) anti join suspects using (call)
        where not callback and program in {NFS_PROGRAMS} and reply_time is not null
    ),
    one_by_one as (
        select client, server
        from (
            select *, call_time < max(reply_time) over (
                       partition by client, server order by call_time, reply_time
                       rows between unbounded preceding and 1 preceding
                   ) as beside
            from others
        )
        group by client, server
        having count(*) >= $others and not coalesce(bool_or(beside), false)
    ),
    sent as (
        select call, lead(call_time) over (
                   partition by client, server order by call_time, call_frame, call
               ) as went_on
        from calls semi join one_by_one using (client, server)
        where not callback and program in {NFS_PROGRAMS}
    )
    select client, server, count(*),
           list(call_frame order by call_frame)[:$examples]
    from suspects join sent using (call) where went_on < reply_time group by client, server
"""

# What was sent again after the connection broke waited until the server could be reached; what had
# an answer that was lost, until it came again. Over UDP, a server answers each transmission of what
# changes nothing (its cache of replies has no such call), so that of one answer another message was
# lost, and the call waited for the timer: also where none of its kind was sent once.
_ROWS = """
    with usual as (
        select client, server, op, stability, median(srt) as usual
        from calls semi join resent using (client, server, op, stability)
        where not callback and transmissions = 1 and call not in (select call from resent)
        group by all
    )
    select client, server, case when moved or lost > 0 then 'waiting' else stability end as row,
           sum(greatest(share - coalesce(
               usual,
               case when moved or lost > 0 then 0
                    when transport = 'UDP' and repeated > 0 and stability in ('unstable', 'read')
                    then 0 else share end
           ), 0))::bigint as longer
    from resent left join usual using (client, server, op, stability)
    where (duplicates = 0 and not arrived or lost > 0) and reply_time is not null
    group by all having longer > 0
"""
