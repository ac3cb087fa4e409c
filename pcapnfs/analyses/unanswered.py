"""Calls that were never answered although the capture went on: a server that hangs, or is cut off.

Takes a trace; gives for each client and server the calls without a reply that had waited for longer
than any answered one, and for a second at least, when the last packet of either came by. Calls
whose reply the capture may merely lack are left out: on connections of which packets were cut or
are missing, or of which nothing that the server sent was captured though the client did not repeat
itself.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server connection callback op call_frame call_time call_bytes "
        "reply_time srt transmissions file directory",
        connections="connection client server last_time segment_size client_resent server_segments "
        "server_acks syn_rtt missing_bytes truncated_bytes sealed_bytes",
        files="file path",
    ),
)
"""The columns that the queries here read."""

WAIT_NS = 1_000_000_000
"""What a call has waited at least. Clients wait for a minute (timeo), users complain after less."""

SEGMENT_BYTES = 1448
"""What one segment carries where the handshake was not captured: Ethernet's, with time stamps."""

FILES_SHOWN = 3
"""Files that are told."""

EXAMPLES = 5
"""Frames that are told."""


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
    """Segments that the client sent again on their connections, and calls that it repeated."""
    longest_s: float
    """How long the first of them had waited when the last packet of either side came by,
    seconds."""
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
        cursor.execute(_SILENT, {"wait": WAIT_NS, "segment": SEGMENT_BYTES})
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


# NLM's procedures of this kind are answered by another call, if at all (X/Open XNFS chapter 10).
_SILENT = r"""
    create temp table silent as
    with waiting as (
        select call, client, server, connection, op, call_frame, call_time, call_bytes,
               transmissions, file, directory
        from calls
        where reply_time is null and not callback and not regexp_matches(op, '_(MSG|RES)$')
    ),
    pairs as (select distinct client, server from waiting),
    of_clients as (select client, max(last_time) as ended from connections group by client),
    of_servers as (select server, max(last_time) as ended from connections group by server),
    seen as (
        select client, server, greatest(of_clients.ended, of_servers.ended) as ended
        from pairs left join of_clients using (client) left join of_servers using (server)
    ),
    slowest as (
        select client, server, max(srt) as srt
        from calls semi join pairs using (client, server)
        where not callback and srt is not null group by client, server
    )
    select waiting.*, ended - call_time as waited,
           call_bytes > coalesce(segment_size, $segment) as large,
           client_resent
    from waiting join seen using (client, server)
                 join (
                     select connection, segment_size, client_resent, server_segments, server_acks,
                            syn_rtt, missing_bytes, truncated_bytes, sealed_bytes
                     from connections
                 ) as its using (connection)
                 left join slowest using (client, server)
    where ended - call_time >= greatest($wait, coalesce(slowest.srt, 0))
          and missing_bytes = 0 and truncated_bytes = 0 and sealed_bytes = 0
          and (server_segments > 0 or server_acks > 0 or syn_rtt is not null or client_resent > 0
               or transmissions > 1)
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
    repeated as (
        select client, server, sum(client_resent) as segments
        from (select distinct client, server, connection, client_resent from silent)
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
           count(*) filter (large), any_value(segments) + sum(transmissions - 1), max(waited),
           sum(share),
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from named join others using (client, server) join repeated using (client, server)
               join kinds using (client, server)
    group by client, server order by max(waited) desc, client, server
"""
