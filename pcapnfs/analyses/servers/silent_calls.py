"""Calls of which the capture shows for how long nobody answered them.

Takes a trace; makes a table of the calls without a reply that were seen to wait for longer than any
answered one, and for a second at least, and of those whose connection the server ended before,
though they were sent once: nobody answers them any more. A call waits until a side ends its
connection (a client that gave up, a server that stopped), else until the last packet of it; one
that was sent again, until the last packet of either side; one whose client then asked in vain for
another connection to that port, before TCP was due to send again on the old one, until it began to:
it had not given up meanwhile. Where the server acknowledged all that was sent on a connection that
is still open, the last packet between the two counts, which shows that the capture went on; and
where it sent what never came, as the sequence number of its last ACK says or a hole that the client
never acknowledged, the last packet of the capture: TCP sends that again for minutes. So it does
where bytes came since that no record mark explains, which nobody can read. A reply that the server
sent, and went on sending again since the client never acknowledged it (undelivered.py), is none
either: its call waits until a side ends the connection, or until the last packet of it. Over TCP
what is not sent again was acknowledged, if its connection went on; over UDP only calls that were
sent again count. Calls whose reply the capture may merely lack are left out: on connections of
which packets were cut or are missing, or of which nothing that the server sent was captured though
the client did not repeat itself; and where the capture lacks packets of client and server, all that
were not sent again. It lacks some, too, where what a client sent was neither acknowledged nor sent
again, though the connection was not ended and others went on: TCP is not silent then.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY
from pcapnfs.analyses.wire import undelivered
from pcapnfs.analyses.wire.segments import FULL_BYTES
from pcapnfs.analyses.wire.tcp_timeouts import SLOW_TIMEOUT_NS, TIMEOUT_NS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    undelivered.READS,
    columns.of(
        calls="call client server connection callback program op xid call_frame call_time "
        "call_bytes reply_time srt transmissions file directory",
        connections="connection transport client server server_port first_time last_time "
        "segment_size client_resent server_segments server_acks syn_ack_time missing_bytes "
        "truncated_bytes sealed_bytes client_fin_time client_rst_time server_fin_time "
        "server_rst_time client_unacked server_lost",
        notes="reason connection xid time",
    ),
)
"""The columns that this reads."""

TABLE = "silent"
"""The table that `register` makes: columns of the table calls; `transport`; `lossy`: the capture
lacks packets between the two; `large`: the call does not fit one segment; `last_time`: the last
packet of its connection; `waited`: for how long, ns; `given_up`, `cut_short`: the client or the
server ended the connection meanwhile; `at_once`: the server did, before the call had waited for
long; `resent`: TCP segments that the client sent again since;
`unreceived`: bytes that the server sent there since and that never came; `undelivered`: bytes that
it sent there and that the client never acknowledged, though the server sent them again and again;
`misframed`: bytes came there since that no record mark explains."""

STRAY = "desynchronised"
"""The reason of such bytes in the table notes."""

WAIT_NS = 1_000_000_000
"""What a call has waited at least. Clients wait for a minute (timeo), users complain after less."""

DUE_NS = 4_000_000_000
"""How late TCP may be with what it is to send again, beyond what the call had waited: its timer
doubles, so that the next time comes after about as long as all before took."""


@once
def any_silent(trace: Trace) -> bool:
    """Whether any call of a client has no reply: most captures have none to ask further about."""
    ((found,),) = trace.rows(
        "select exists (select 1 from calls where reply_time is null and not callback)"
    )
    return bool(found)


@once
def any_waited(trace: Trace) -> bool:
    """Whether any of them is on a connection of which the capture lacks nothing.

    No other call was seen to wait, but for those whose reply the client never got.
    """
    if undelivered.register(trace):
        return True
    if not any_silent(trace):
        return False
    ((found,),) = trace.rows(_WAITED)
    return bool(found)


@once
def register(trace: Trace) -> None:
    """Make the table `silent` of a trace, unless it is there."""
    undelivered.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            _SILENT,
            {
                "wait": WAIT_NS,
                "segment": FULL_BYTES,
                "timeout": TIMEOUT_NS,
                "slow_timeout": SLOW_TIMEOUT_NS,
                "orphan": ORPHAN_REPLY,
                "stray": STRAY,
                "due": DUE_NS,
                "clients": given.text(vain.client for vain in trace.meta.vain),
                "servers": given.text(vain.server for vain in trace.meta.vain),
                "ports": given.text(vain.port for vain in trace.meta.vain),
                "first": given.text(vain.first_ns for vain in trace.meta.vain),
                "start": trace.meta.start_ns,
                "end": trace.meta.end_ns,
                "dropped": any(file.dropped_packets for file in trace.meta.files),
            },
        )


@once
def any_found(trace: Trace) -> bool:
    """Whether any call is in the table."""
    register(trace)
    ((found,),) = trace.rows(f"select exists (select 1 from {TABLE})")
    return bool(found)


def certain(trace: Trace) -> dict[str, NDArray[Any]]:
    """Calls that waited for certain, `call`, and until when, `until`, nanoseconds since 1970.

    Not those that were merely sent again where the capture lacks packets.
    """
    register(trace)
    return trace.arrays(f"select call, call_time + waited as until from {TABLE} where not lossy")


_WHOLE = "missing_bytes = 0 and truncated_bytes = 0 and sealed_bytes = 0"
"""SQL: the capture lacks nothing of a connection."""

_WAITED = f"""
    select exists (
        select 1 from calls
        where reply_time is null and not callback
              and connection in (select k.connection from connections k where {_WHOLE})
    )
"""

# NLM's procedures of this kind are answered by another call, if at all (X/Open XNFS chapter 10);
# CALLIT only where it succeeds (RFC 1833 section 3); nor need anybody answer what is sent
# to many.
_SILENT = rf"""
    create table {TABLE} as
    with waiting as (
        select call, client, server, connection, program, op, xid, call_frame, call_time,
               call_bytes, transmissions, file, directory,
               coalesce(server_unacked, 0) as undelivered
        from calls left join {undelivered.TABLE} using (connection)
        where (reply_time is null or reply_time >= lost_time) and not callback
              and not regexp_matches(op, '_(MSG|RES)$|^CALLIT$')
    ),
    pairs as (select distinct client, server from waiting),
    asked as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("ports", "uinteger")} as server_port,
               {given.rows("first", "bigint")} as first
    ),
    reconnected as (
        select connection, min(first) as again
        from connections join asked using (client, server, server_port)
        where client_unacked > 0 and first > last_time
              and coalesce(client_fin_time, client_rst_time, server_fin_time, server_rst_time)
                  is null
        group by connection
    ),
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
    strays as (
        select connection, max(time) as strayed from notes where reason = $stray
        group by connection
    ),
    of_pairs as (
        select client, server, max(first_time) as newest, max(last_time) as seen,
               $dropped or coalesce(sum(missing_bytes), 0) > 0
               or coalesce(bool_or(lonely > $start + coalesce(srt, 0)), false)
               or coalesce(bool_or(left_off), false) as lossy
        from (
                 select connection, client, server, first_time, last_time, missing_bytes,
                        transport = 'TCP' and client_unacked > 0 and client_resent = 0
                        and coalesce(client_fin_time, client_rst_time, server_fin_time,
                                     server_rst_time) is null
                        and max(last_time) over (partition by client, server) - last_time
                            > $slow_timeout as left_off
                 from connections
             )
             semi join pairs using (client, server)
             left join (
                 select connection, max(time) as lonely from orphans group by connection
             ) as late using (connection)
             left join slowest using (client, server)
        group by client, server
    ),
    answers as (
        select connection, max(call_time) as latest
        from calls left join {undelivered.TABLE} using (connection)
        where not callback
              and (reply_time < lost_time or lost_time is null and reply_time is not null)
        group by connection
    ),
    judged as (
        select waiting.*, transport, lossy, client_resent, server_lost,
               call_bytes > coalesce(segment_size, $segment) as large,
               coalesce(latest > call_time, false) as overtaken,
               coalesce(strayed >= call_time, false) and not overtaken as misframed,
               transmissions > 1 and newest <= call_time as repeated_here,
               last_time, last_time - greatest(call_time, first_time) as lasted,
               coalesce(srt, 0) as slowest,
               coalesce(client_ended > call_time
                        and client_ended <= coalesce(server_ended, client_ended), false)
                   as given_up,
               coalesce(server_ended > call_time
                        and server_ended < coalesce(client_ended, server_ended + 1), false)
                   as cut_short,
               case when undelivered > 0 and not overtaken
                        then case when least(client_ended, server_ended) > call_time
                                  then least(client_ended, server_ended)
                                  else last_time end
                    when transmissions > 1 then greatest(of_clients.ended, of_servers.ended)
                    when least(client_ended, server_ended) > call_time
                        then least(client_ended, server_ended)
                    when client_unacked = 0 and coalesce(client_ended, server_ended) is null
                        then greatest(
                            last_time, seen,
                            case when server_lost > 0 and not overtaken or misframed
                                 then $end end
                        )
                    when again - last_time <= last_time - call_time + $due then again
                    else last_time
               end - call_time as waited
        from waiting join of_pairs using (client, server)
                     join (
                         select connection, transport, first_time, last_time, segment_size,
                                client_resent,
                                server_segments, server_acks, syn_ack_time, missing_bytes,
                                truncated_bytes, sealed_bytes, client_unacked, server_lost,
                                least(client_fin_time, client_rst_time) as client_ended,
                                least(server_fin_time, server_rst_time) as server_ended
                         from connections
                     ) as its using (connection)
                     left join of_clients using (client) left join of_servers using (server)
                     left join slowest using (client, server)
                     left join answers using (connection) left join strays using (connection)
                     left join reconnected using (connection)
        where {_WHOLE}
              and (server_segments > 0 or server_acks > 0 or syn_ack_time is not null
                   or client_resent > 0 or transmissions > 1)
              and not (transport = 'UDP' and server_segments = 0
                       and regexp_matches(server, '^2(2[4-9]|3[0-9])\.|\.255$|^[fF][fF]'))
    )
    select call, client, server, connection, program, op, call_frame, call_time, transmissions,
           file, directory, transport, lossy, large, last_time, waited, given_up, cut_short,
           waited < greatest($wait, slowest) as at_once,
           case when transport = 'TCP' and not overtaken and not repeated_here
                     and lasted between $timeout and $slow_timeout * power(2, client_resent)
               then client_resent else 0
           end as resent,
           case when overtaken then 0 else server_lost end as unreceived,
           case when overtaken then 0 else undelivered end as undelivered, misframed
    from judged anti join orphans using (connection, xid)
    where (waited >= greatest($wait, slowest) or (cut_short and transmissions = 1))
          and (transmissions > 1 or (transport = 'TCP' and not lossy))
"""
