"""Calls that were never answered although the capture went on: a server that hangs, or is cut off.

Takes a trace; gives for each client and server the calls without a reply that were seen to wait
(`silent_calls`) for longer than any answered one.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares, silent_calls
from pcapnfs.analyses.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    silent_calls.READS,
    columns.of(calls="client server callback call_time reply_time", files="file path"),
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
    """Those of them that were sent after the first call without an answer and answered while any
    such call waited, or its connection was in use."""
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


def unanswered(trace: Trace) -> tuple[Unanswered, ...]:
    """Put together, for each client and server, what waited longest first."""
    if not silent_calls.any_silent(trace):
        return ()
    shares.register(trace)
    silent_calls.register(trace)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(_PAIRS, {"files": FILES_SHOWN, "examples": EXAMPLES}).fetchall()
    return tuple(
        Unanswered(
            client=client,
            server=server,
            calls=integer(calls),
            asked=integer(asked),
            answered=integer(answered),
            answered_later=integer(later),
            answered_again=integer(again),
            operations=tuple(operations),
            paths=tuple(dict.fromkeys(paths))[:FILES_SHOWN],
            large=integer(large),
            resent=integer(resent),
            repeated=integer(repeated),
            given_up=integer(given_up),
            cut_short=integer(cut_short),
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
            again,
            operations,
            paths,
            large,
            resent,
            repeated,
            given_up,
            cut_short,
            datagrams,
            lossy,
            longest,
            time,
            frames,
        ) in rows
    )


_PAIRS = """
    with first as (
        select client, server, min(call_time) as begun,
               max(case when transmissions > 1 then last_time
                        else greatest(last_time, call_time + waited) end) as ended
        from silent group by client, server
    ),
    others as (
        select client, server, count(*) as asked, count(reply_time) as answered,
               count(*) filter (call_time > begun and reply_time <= ended) as later,
               count(*) filter (reply_time > ended) as again
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
           any_value(later), any_value(again), any_value(operations),
           coalesce((list(path order by call_frame, path)
                filter (path is not null))[:10 * $files], []),
           count(*) filter (large), any_value(segments), sum(transmissions - 1),
           count(*) filter (given_up), count(*) filter (cut_short), bool_and(transport = 'UDP'),
           any_value(lossy), max(waited), sum(share),
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from named join others using (client, server) join of_connections using (client, server)
               join kinds using (client, server)
    group by client, server order by max(waited) desc, client, server
"""
