"""Calls that were never answered although the capture went on: a server that hangs, or is cut off.

Takes a trace; gives for each client and server the calls without a reply that were seen to wait
(`silent_calls`) for longer than any answered one, or whose connection the server ended.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers import silent_calls
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    silent_calls.READS,
    columns.of(
        calls="call client server connection callback program op xid call_time reply_time "
        "call_bytes session slot file directory",
        files="file path",
    ),
)
"""The columns that the queries here read."""


class Unanswered(Record):
    """What one server never answered one client."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls without an answer."""
    asked: int
    """All its calls there."""
    answered: int
    """Those of them that were answered."""
    answered_later: int
    """Those of them, of the same programs, that were sent after the first call without an answer
    and answered while any such call waited, or its connection was in use."""
    answered_elsewhere: int
    """Those of other programs, which other services answer on the same host."""
    answered_again: int
    """Those of them that were answered after that."""
    operations: tuple[str, ...]
    """Main operations of the calls without an answer, the most frequent first."""
    paths: tuple[str, ...]
    """Their objects, the first first; not escaped."""
    large: int
    """Those of them that do not fit one segment."""
    resent: int
    """TCP segments that the client sent again on their connections, where the server did not get
    what came before: it answered nothing later there."""
    unreceived: int
    """Those of them on whose connections the server sent what never came."""
    unreceived_bytes: int
    """What that was, bytes."""
    repeated: int
    """How often the client sent calls of them again (RPC)."""
    given_up: int
    """Those whose connection the client ended while they waited."""
    cut_short: int
    """Those whose connection the server ended."""
    datagrams: bool
    """All of them went over UDP, where nothing acknowledges them."""
    lossy: bool
    """The capture lacks packets of theirs: bytes on any connection, calls of replies, or some that
    were dropped. Then only calls that were sent again are counted."""
    longest_s: float
    """How long the one that waited longest was seen to wait: until its connection was ended, or its
    last packet; that of any connection of the pair, where the server got all of it; where it was
    sent again, that of either side; seconds."""
    time_s: float
    """What they took of the clock, seconds."""
    frames: tuple[int, ...]
    """Frames of the first of them."""
    ended_at_once: int = 0
    """Those whose connection the server ended before they had waited for long."""
    same_xid: int = 0
    """Those with the xid of another call on their connection that was answered before."""
    same_xid_answered: int = 0
    """Calls with these xids, on these connections, that were answered though another one had been
    before they were sent: the server does not go by the xid alone."""
    misframed: int = 0
    """Those on whose connections bytes came since that no record mark explains."""
    undelivered: int = 0
    """Those of them on whose connections the client never acknowledged what the server sent again
    and again."""
    undelivered_bytes: int = 0
    """What that was, bytes."""
    replayed: int = 0
    """Those of a session of NFSv4.1 whose slot the client used next for the same main operation, on
    the same file and as long, on another connection with another xid, where that was answered: it
    was the same call."""
    as_large_answered: int = 0
    """Calls at least as long as the shortest of those without an answer that were answered."""


def unanswered(trace: Trace) -> tuple[Unanswered, ...]:
    """Put together, for each client and server, what waited longest first."""
    if not silent_calls.any_waited(trace):
        return ()
    shares.register(trace)
    if not silent_calls.any_found(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        asked = {"files": FILES_SHOWN, "examples": EXAMPLES}
        rows = list(by_name(cursor.execute(_PAIRS, asked)))
        told = paths.told(cursor, (row["files"] for row in rows), FILES_SHOWN)
    return tuple(
        Unanswered(
            client=row["client"],
            server=row["server"],
            calls=integer(row["calls"]),
            asked=integer(row["asked"]),
            answered=integer(row["answered"]),
            answered_later=integer(row["answered_later"]),
            answered_elsewhere=integer(row["answered_elsewhere"]),
            answered_again=integer(row["answered_again"]),
            operations=tuple(row["operations"]),
            paths=of_row,
            large=integer(row["large"]),
            resent=integer(row["resent"]),
            unreceived=integer(row["unreceived"]),
            unreceived_bytes=integer(row["unreceived_bytes"]),
            repeated=integer(row["repeated"]),
            given_up=integer(row["given_up"]),
            cut_short=integer(row["cut_short"]),
            datagrams=row["datagrams"],
            lossy=row["lossy"],
            longest_s=seconds(row["longest"]) or 0.0,
            time_s=seconds(row["share"]) or 0.0,
            frames=tuple(row["frames"]),
            ended_at_once=integer(row["ended_at_once"]),
            same_xid=integer(row["same_xid"]),
            same_xid_answered=integer(row["same_xid_answered"]),
            misframed=integer(row["misframed"]),
            undelivered=integer(row["undelivered"]),
            undelivered_bytes=integer(row["undelivered_bytes"]),
            replayed=integer(row["replayed"]),
            as_large_answered=integer(row["as_large_answered"]),
        )
        for row, of_row in zip(rows, told, strict=True)
    )


_PAIRS = """
    with first as (
        select client, server, min(call_time) as begun,
               max(case when transmissions > 1 then last_time
                        else greatest(last_time, call_time + waited) end) as ended,
               list_distinct(list(program)) as programs, min(call_bytes) as shortest
        from silent join (select call, call_bytes from calls) using (call)
        group by client, server
    ),
    others as (
        select client, server, count(*) as asked, count(replied) as answered,
               count(*) filter (call_time > begun and replied <= ended
                                and list_contains(programs, program)) as answered_later,
               count(*) filter (call_time > begun and replied <= ended
                                and not list_contains(programs, program)) as answered_elsewhere,
               count(*) filter (replied > ended) as answered_again,
               count(*) filter (replied is not null and call_bytes >= shortest)
                   as as_large_answered
        from (
                 select client, server, program, call_time, call_bytes,
                        case when silent.call is null then reply_time end as replied
                 from calls left join (select call from silent) as silent using (call)
                 where not callback
             )
             join first using (client, server)
        group by client, server
    ),
    of_connections as (
        select client, server, sum(resent) as resent, sum(unreceived) as unreceived_bytes,
               sum(undelivered) as undelivered_bytes
        from (
            select client, server, connection, min(resent) as resent,
                   max(unreceived) as unreceived, max(undelivered) as undelivered
            from silent group by all
        )
        group by client, server
    ),
    numbered as (
        select calls.call, calls.connection, calls.xid, call_time
        from calls semi join silent using (call)
    ),
    taken as (
        select numbered.call, numbered.connection, xid, min(calls.reply_time) as answered
        from numbered join calls using (connection, xid)
        where calls.reply_time < numbered.call_time and not callback
        group by all
    ),
    others_taken as (
        select client, server, count(*) as answered
        from calls join (
                 select connection, xid, min(answered) as first from taken group by all
             ) as taken using (connection, xid)
        where not callback and reply_time is not null and call_time > first
        group by client, server
    ),
    in_slots as (
        select distinct session, slot from calls semi join silent using (call)
        where slot is not null
    ),
    next_in_slots as (
        select call, lead(op) over following = op and lead(reply_time) over following is not null
                     and lead(connection) over following <> connection
                     and lead(xid) over following <> xid
                     and lead(call_bytes) over following = call_bytes
                     and coalesce(lead(file) over following = file,
                                  lead(directory) over following = directory, true) as same
        from calls semi join in_slots using (session, slot)
        where not callback
        window following as (partition by session, slot order by call_time, call)
    ),
    named as (
        select silent.*, call in (select call from next_in_slots where same) as replayed,
               call in (select call from taken) as same_xid, coalesce(share, 0) as share,
               coalesce(file, directory) as shown
        from silent left join shares using (call)
    ),
    kinds as (
        select client, server, list(op order by calls desc, op)[:10] as operations
        from (select client, server, op, count(*) as calls from silent group by all)
        group by client, server
    )
    select client, server, count(*) as calls, any_value(asked) as asked,
           any_value(others.answered) as answered, any_value(answered_later) as answered_later,
           any_value(answered_elsewhere) as answered_elsewhere,
           any_value(answered_again) as answered_again, any_value(operations) as operations,
           any_value(as_large_answered) as as_large_answered,
           coalesce((list(shown order by call_frame, shown)
                filter (shown is not null))[:10 * $files], []) as files,
           count(*) filter (large) as large, any_value(of_connections.resent) as resent,
           count(*) filter (named.unreceived > 0) as unreceived,
           any_value(of_connections.unreceived_bytes) as unreceived_bytes,
           count(*) filter (named.undelivered > 0) as undelivered,
           any_value(of_connections.undelivered_bytes) as undelivered_bytes,
           sum(transmissions - 1) as repeated, count(*) filter (given_up) as given_up,
           count(*) filter (cut_short) as cut_short,
           count(*) filter (at_once) as ended_at_once,
           count(*) filter (replayed) as replayed,
           count(*) filter (same_xid) as same_xid, count(*) filter (misframed) as misframed,
           coalesce(any_value(others_taken.answered), 0) as same_xid_answered,
           bool_and(transport = 'UDP') as datagrams,
           any_value(lossy) as lossy, max(waited) as longest, sum(share) as share,
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples] as frames
    from named join others using (client, server) join of_connections using (client, server)
               join kinds using (client, server)
               left join others_taken using (client, server)
    group by client, server order by longest desc, client, server
"""
