"""Calls that were never answered although the capture went on: a server that hangs, or is cut off.

Takes a trace; gives for each client and server the calls without a reply that were seen to wait for
longer than any answered one, and for a second at least. A call waits until the last packet of its
connection, which may be closed by a client that gave up; one that was sent again, until the last
packet of either side. Over TCP what is not sent again was acknowledged, if its connection went on;
over UDP only calls that were sent again count. Calls whose reply the capture may merely lack are
left out: on connections of which packets were cut or are missing, or of which nothing that the
server sent was captured though the client did not repeat itself; and where the capture lacks
packets of client and server, all that were not sent again.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares
from pcapnfs.analyses.directions import ORPHAN_REPLY
from pcapnfs.analyses.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.analyses.tcp_stalls import TIMEOUT_NS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server connection callback op xid call_frame call_time call_bytes "
        "reply_time srt transmissions file directory",
        connections="connection transport client server first_time last_time segment_size "
        "client_resent server_segments server_acks syn_rtt missing_bytes truncated_bytes "
        "sealed_bytes",
        notes="reason connection xid time",
        files="file path",
    ),
)
"""The columns that the queries here read."""

WAIT_NS = 1_000_000_000
"""What a call has waited at least. Clients wait for a minute (timeo), users complain after less."""

SLOW_TIMEOUT_NS = 1_000_000_000
"""The first retransmission time-out, at most on a path in use (RFC 6298 section 2). It doubles each
time: where fewer segments were sent again than that has come by, those were others."""

SEGMENT_BYTES = 1448
"""What one segment carries where the handshake was not captured: Ethernet's, with time stamps."""


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
    """Those of them that were sent after the first call without an answer."""
    operations: tuple[str, ...]
    """Main operations of the calls without an answer, the most frequent first."""
    paths: tuple[str, ...]
    """Their objects, the first first; not escaped."""
    large: int
    """Those of them that do not fit one segment."""
    resent: int
    """TCP segments that the client sent again on their connections, where the server did not get
    what came before: it answered nothing later there."""
    repeated: int
    """How often the client sent calls of them again (RPC)."""
    datagrams: bool
    """All of them went over UDP, where nothing acknowledges them."""
    lossy: bool
    """The capture lacks packets of theirs: bytes on any connection, calls of replies, or some that
    were dropped. Then only calls that were sent again are counted."""
    longest_s: float
    """How long the one that waited longest was seen to wait: until the last packet of its
    connection; where it was sent again, until the last of either side; seconds."""
    time_s: float
    """What they took of the clock, seconds."""
    frames: tuple[int, ...]
    """Frames of the first of them."""


def unanswered(trace: Trace) -> tuple[Unanswered, ...]:
    """Put together, for each client and server, what waited longest first."""
    if not any_silent(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            _SILENT,
            {
                "wait": WAIT_NS,
                "segment": SEGMENT_BYTES,
                "timeout": TIMEOUT_NS,
                "slow_timeout": SLOW_TIMEOUT_NS,
                "orphan": ORPHAN_REPLY,
                "start": trace.meta.start_ns,
                "dropped": any(file.dropped_packets for file in trace.meta.files),
            },
        )
        rows = cursor.execute(_PAIRS, {"files": FILES_SHOWN, "examples": EXAMPLES}).fetchall()
    return tuple(
        Unanswered(
            client=client,
            server=server,
            calls=integer(calls),
            asked=integer(asked),
            answered=integer(answered),
            answered_later=integer(later),
            operations=tuple(operations),
            paths=tuple(dict.fromkeys(paths))[:FILES_SHOWN],
            large=integer(large),
            resent=integer(resent),
            repeated=integer(repeated),
            datagrams=datagrams,
            lossy=lossy,
            longest_s=seconds(longest) or 0.0,
            time_s=seconds(time) or 0.0,
            frames=tuple(frames),
        )
        for (
            client,
            server,
            calls,
            asked,
            answered,
            later,
            operations,
            paths,
            large,
            resent,
            repeated,
            datagrams,
            lossy,
            longest,
            time,
            frames,
        ) in rows
    )


def any_silent(trace: Trace) -> bool:
    """Whether any call of a client has no reply: most captures have none to ask further about."""
    ((found,),) = trace.rows(
        "select exists (select 1 from calls where reply_time is null and not callback)"
    )
    return bool(found)


# NLM's procedures of this kind are answered by another call, if at all (X/Open XNFS chapter 10);
# CALLIT only where it succeeds (RFC 1833 section 3); nor need anybody answer what is sent
# to many.
_SILENT = r"""
    create temp table silent as
    with waiting as (
        select call, client, server, connection, op, xid, call_frame, call_time, call_bytes,
               transmissions, file, directory
        from calls
        where reply_time is null and not callback
              and not regexp_matches(op, '_(MSG|RES)$|^CALLIT$')
    ),
    pairs as (select distinct client, server from waiting),
    of_clients as (select client, max(last_time) as ended from connections group by client),
    of_servers as (select server, max(last_time) as ended from connections group by server),
    slowest as (
        select client, server, max(srt) as srt
        from calls semi join pairs using (client, server)
        where not callback and srt is not null group by client, server
    ),
    orphans as (
        select connection, xid, time from notes where reason = $orphan
    ),
    of_pairs as (
        select client, server, max(first_time) as newest,
               $dropped or coalesce(sum(missing_bytes), 0) > 0
               or coalesce(bool_or(lonely > $start + coalesce(srt, 0)), false) as lossy
        from (select connection, client, server, first_time, missing_bytes from connections)
             semi join pairs using (client, server)
             left join (
                 select connection, max(time) as lonely from orphans group by connection
             ) as late using (connection)
             left join slowest using (client, server)
        group by client, server
    ),
    answers as (
        select connection, max(call_time) as latest
        from calls where reply_time is not null and not callback group by connection
    ),
    judged as (
        select waiting.*, transport, lossy, client_resent,
               call_bytes > coalesce(segment_size, $segment) as large,
               coalesce(latest > call_time, false) as overtaken,
               transmissions > 1 and newest <= call_time as repeated_here,
               last_time - call_time as lasted,
               coalesce(srt, 0) as slowest,
               case when transmissions > 1
                   then greatest(of_clients.ended, of_servers.ended) else last_time
               end - call_time as waited
        from waiting join of_pairs using (client, server)
                     join (
                         select connection, transport, last_time, segment_size, client_resent,
                                server_segments, server_acks, syn_rtt, missing_bytes,
                                truncated_bytes, sealed_bytes
                         from connections
                     ) as its using (connection)
                     left join of_clients using (client) left join of_servers using (server)
                     left join slowest using (client, server)
                     left join answers using (connection)
        where missing_bytes = 0 and truncated_bytes = 0 and sealed_bytes = 0
              and (server_segments > 0 or server_acks > 0 or syn_rtt is not null
                   or client_resent > 0 or transmissions > 1)
              and not (transport = 'UDP' and server_segments = 0
                       and regexp_matches(server, '^2(2[4-9]|3[0-9])\.|\.255$|^[fF][fF]'))
    )
    select call, client, server, connection, op, call_frame, call_time, transmissions, file,
           directory, transport, lossy, large, waited,
           case when transport = 'TCP' and not overtaken and not repeated_here
                     and lasted between $timeout and $slow_timeout * power(2, client_resent)
               then client_resent else 0
           end as resent
    from judged anti join orphans using (connection, xid)
    where waited >= greatest($wait, slowest)
          and (transmissions > 1 or (transport = 'TCP' and not lossy))
"""

_PAIRS = """
    with first as (
        select client, server, min(call_time) as begun from silent group by client, server
    ),
    others as (
        select client, server, count(*) as asked, count(reply_time) as answered,
               count(reply_time) filter (call_time > begun) as later
        from calls join first using (client, server)
        where not callback group by client, server
    ),
    of_connections as (
        select client, server, sum(resent) as segments
        from (
            select client, server, connection, min(resent) as resent from silent group by all
        )
        group by client, server
    ),
    named as (
        select silent.*, coalesce(share, 0) as share, coalesce(objects.path, above.path) as path
        from silent left join shares using (call)
             left join (select file, path from files) as objects on objects.file = silent.file
             left join (select file, path from files) as above on above.file = silent.directory
    ),
    kinds as (
        select client, server, list(op order by calls desc, op)[:10] as operations
        from (select client, server, op, count(*) as calls from silent group by all)
        group by client, server
    )
    select client, server, count(*) as calls, any_value(asked), any_value(answered),
           any_value(later), any_value(operations),
           coalesce((list(path order by call_frame, path)
                filter (path is not null))[:10 * $files], []),
           count(*) filter (large), any_value(segments), sum(transmissions - 1),
           bool_and(transport = 'UDP'), any_value(lossy), max(waited), sum(share),
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from named join others using (client, server) join of_connections using (client, server)
               join kinds using (client, server)
    group by client, server order by max(waited) desc, client, server
"""
