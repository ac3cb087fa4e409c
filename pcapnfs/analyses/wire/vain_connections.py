"""Connections that were asked for in vain to the end of the capture: nobody answered, or refused.

Takes a trace; gives for each client and port of a server how often the client asked, from when to
when, and for how long it could do nothing else. Most wait when the capture ends. One that sent no
further SYN when that was due has given up: nothing tells that it waited after its last one. Nor
does it wait any more from the SYN on, from another port, to which it got a connection.

The time is the client's cost where it had made calls before: as a mount begins, attempts may be
other programs', or the user tried again. Asking the portmapper for the port again, before each
attempt, is a part of the attempt and no work; its own calls are left out of the time. Of a call
that waited until its connection ended, and got no reply (`silent_calls`), the time before is; what
follows is that for which nobody answers here. A server that cannot call its client back stands
still for nothing that it asks elsewhere as a client.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.mounts.preliminaries import FINDING
from pcapnfs.analyses.servers import silent_calls
from pcapnfs.programs import MOUNT, NFS_PORT, NFS_PROGRAMS, PORTMAPPER
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.meta import Vain
    from pcapnfs.trace import Trace

TIMES_READS = columns.together(
    silent_calls.READS,
    traffic.READS,
    columns.of(
        calls="call client server callback program op call_first_time call_time reply_time",
        connections="client_address server_address server_port first_time last_time",
        operations="call op text",
    ),
)
"""The columns that `asked_in_vain_s` reads."""

READS = columns.together(TIMES_READS, _directions.READS)
"""The columns that the queries here read."""

DUE_NS = 4_000_000_000
"""The longest time after which a first SYN is sent again (RFC 1122 section 4.2.3.1), and something
for a timer that is late. As the timer doubles, the next SYN, or the next attempt, takes about as
long as all before took."""

PAUSE_NS = 300_000_000_000
"""What Linux's NFS client waits at most between two attempts (`XS_TCP_MAX_REEST_TO`)."""


class VainConnections(Record):
    """Those of one client to one port of a server."""

    asked: Vain
    """What it asked for, and how often."""
    program: int | None
    """The RPC program that listens on that port, as the portmapper told this client; None where it
    told none."""
    since_s: float
    """When the first SYN was sent, seconds after the capture's first packet."""
    lasted_s: float
    """How long nobody answered otherwise: from then to the capture's end where the client still
    waited, to the connection that it got, else to the last SYN, seconds."""
    waits: bool
    """It still waited when the capture ended: no further SYN was due."""
    connected: bool
    """It got a connection when the next SYN was due, or before."""
    idle_s: float
    """That time where the client had made calls before and sent none meanwhile, without what
    calls were under way at its begin, seconds; else 0, as for a server that asked its client. What
    several share is that of the one which began first."""
    alone: bool = False
    """What this server sent to this client is not in the capture, nor would its answers be."""
    from_ns: int | None = None
    """When the first SYN was sent, nanoseconds since 1970; None where that is not known."""
    back: bool = False
    """A server asked its client: that host has NFS from it, and it has none from that host."""


def vain_connections(trace: Trace) -> tuple[VainConnections, ...]:
    """Put together, for each client and port of a server, the longest first."""
    cost = {each.place: each.idle_ns for each in _costs(trace)}
    start = trace.meta.start_ns or 0
    programs, back = _programs(trace), _back(trace)
    spans = sorted(
        enumerate(_spans(trace)),
        key=lambda each: (each[1].since - each[1].until, each[1].vain.frame),
    )
    return tuple(
        VainConnections(
            asked=span.vain,
            program=program,
            since_s=(span.since - start) / NANOSECONDS,
            lasted_s=(span.until - span.since) / NANOSECONDS,
            waits=span.waits,
            connected=span.connected,
            idle_s=cost.get(place, 0) / NANOSECONDS,
            alone=(span.vain.client, span.vain.server) in directions(trace).pairs,
            from_ns=span.since,
            back=span.vain in back,
        )
        for place, span in spans
        for program in (programs.get(_asked(span.vain)),)
    )


def asked_in_vain_s(trace: Trace, *, after_all: bool) -> dict[str, float]:
    """By client, for how long it had no call under way since it had no connection, seconds.

    Args:
        trace: The trace.
        after_all: After all of its calls, or else between them.
    """
    found: dict[str, float] = {}
    spans = _spans(trace)
    for cost in _costs(trace):
        client = spans[cost.place].vain.client
        if cost.last is after_all:
            found[client] = found.get(client, 0.0) + cost.idle_ns / NANOSECONDS
    return found


def between_calls(trace: Trace) -> list[tuple[str, int, int]]:
    """When that was between its calls: client, begin and end, ns since 1970.

    The portmapper may have been asked meanwhile.
    """
    spans = _spans(trace)
    return [
        (spans[cost.place].vain.client, cost.begin, spans[cost.place].until)
        for cost in _costs(trace)
        if cost.idle_ns and not cost.last
    ]


def _back(trace: Trace) -> frozenset[Vain]:
    """Those in which a server asked its client, and not for NFS: who does wants to mount something.

    Nor for MOUNT, on which port that is, as the portmapper told.
    """
    served, programs = _served(trace), _programs(trace)
    return frozenset(
        vain
        for vain in trace.meta.vain
        if (vain.server, vain.client) in served
        and (vain.client, vain.server) not in served
        and vain.port != NFS_PORT
        and programs.get(_asked(vain)) not in (MOUNT, *NFS_PROGRAMS)
    )


def _asked(vain: Vain) -> tuple[str, str, int]:
    """Who asked whom for which port."""
    return vain.client, vain.server, vain.port


def _served(trace: Trace) -> set[tuple[str, str]]:
    """Clients that made calls of NFS, each with its server."""
    if not trace.meta.vain:
        return set()
    lines = traffic.of_clients(trace)
    return set(lines.where(np.isin(lines.numbers["program"], NFS_PROGRAMS)).mounts().values())


@once
def _programs(trace: Trace) -> Mapping[tuple[str, str, int], int]:
    """By client, server and port: the program that the portmapper told last."""
    if not trace.meta.vain:
        return {}
    rows = trace.rows(_TOLD)
    return {
        (client, server, integer(port)): integer(program)
        for client, server, port, program in rows
        if program is not None and port is not None
    }


class _Span(NamedTuple):
    """From when to when one was asked for, ns since 1970, and what it came to."""

    vain: Vain
    since: int
    until: int
    waits: bool
    connected: bool


@once
def _spans(trace: Trace) -> tuple[_Span, ...]:
    """Each pair's, in the order of the decoder."""
    asked, end = trace.meta.vain, trace.meta.end_ns or 0
    if not asked:
        return ()
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(
            _CONNECTED,
            {
                "clients": given.text(vain.client for vain in asked),
                "servers": given.text(vain.server for vain in asked),
                "ports": given.text(vain.port for vain in asked),
                "first": given.text(vain.first_ns for vain in asked),
                "last": given.text(vain.last_ns for vain in asked),
            },
        ).fetchall()
    found = []
    for vain, (_, before, next_ns) in zip(asked, rows, strict=True):
        since = max(vain.first_ns, before or vain.first_ns)
        due = vain.last_ns + min(vain.last_ns - since, PAUSE_NS) + DUE_NS
        connected = next_ns is not None and integer(next_ns) <= due
        waits = not connected and end <= due
        until = integer(next_ns) if connected else max(vain.last_ns, end if waits else 0)
        found.append(_Span(vain, since, until, waits, connected))
    return tuple(found)


class _Cost(NamedTuple):
    """What one costs its client."""

    place: int
    """Where it is among the spans."""
    begin: int
    """When its client could do nothing else from, ns since 1970."""
    idle_ns: int
    """For how long, ns."""
    last: bool
    """After all of its calls."""


@once
def _costs(trace: Trace) -> tuple[_Cost, ...]:
    """Those that cost their client something."""
    back = _back(trace)
    spans = [each for each in enumerate(_spans(trace)) if each[1].vain not in back]
    if not spans:
        return ()
    silent_calls.register(trace)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(
            _IDLE,
            {
                "clients": given.text(span.vain.client for _, span in spans),
                "since": given.text(span.since for _, span in spans),
                "until": given.text(span.until for _, span in spans),
            },
        ).fetchall()
    found = []
    reached: dict[str, int] = {}
    for chosen, begun, last, looked_up in rows:
        place, span = spans[integer(chosen)]
        known = max(integer(begun), reached.get(span.vain.client, 0))
        reached[span.vain.client] = max(known, span.until)
        idle_ns = max(0, span.until - known - integer(looked_up))
        found.append(_Cost(place, known, idle_ns, bool(last)))
    return tuple(found)


# A connection that was there between two attempts parts them.
_CONNECTED = f"""
    with asked as materialized (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("ports", "uinteger")} as port,
               {given.rows("first", "bigint")} as first, {given.rows("last", "bigint")} as last,
               {given.places("clients")} as place
    )
    select place, max(last_time) filter (first_time > first and last_time < last),
           min(first_time) filter (first_time > last)
    from asked left join connections on client_address = asked.client
              and server_address = asked.server and server_port = port
    group by place order by place
"""

_TOLD = f"""
    select client, server,
           try_cast(regexp_extract(operations.text, ' port ([0-9]+)', 1) as integer) as port,
           arg_max(try_cast(split_part(operations.text, ' ', 1) as integer), call_time)
    from operations join calls using (call)
    where {among("operations.op", FINDING)} and not callback
    group by client, server, port order by client, server, port
"""

_IDLE = f"""
    with asked as materialized (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("since", "bigint")} as since, {given.rows("until", "bigint")} as until,
               {given.places("clients")} as place
    ),
    ended as (
        select calls.client, calls.server as other, call_first_time, call_time,
               given_up is null and reply_time is not null as answered,
               coalesce(given_up, reply_time) as ended
        from calls left join (
                 select call, call_time + waited as given_up
                 from {silent_calls.TABLE} where not lossy
             ) as waiting using (call)
        where not callback and program <> {PORTMAPPER}
    ),
    looked_up as (
        select place, sum(least(reply_time, until) - greatest(call_time, since)) as looked_up
        from asked join calls using (client)
        where not callback and program = {PORTMAPPER}
              and call_time < until and reply_time > since
        group by place
    ),
    servers as (
        select place, any_value(since) as since, max(ended) as ended,
               coalesce(bool_or(call_time > since), false)
               -- Without reply a call is under way until one that was sent later is answered.
               or coalesce(max(call_time) filter (ended is null), -1)
                  > coalesce(max(call_time) filter (answered), -1) as busy,
               min(call_first_time) < any_value(since) as before
        from asked join ended using (client)
        where call_time < until
        group by place, other
    ),
    latest as (
        select client, max(call_time) as latest from ended group by client
    )
    select place, greatest(any_value(servers.since), coalesce(max(ended), 0)) as begun,
           any_value(latest < until) as last,
           coalesce(any_value(looked_up), 0)::bigint as looked_up
    from servers join asked using (place) join latest using (client)
         left join looked_up using (place)
    group by place having bool_or(before) and not bool_or(busy)
    order by begun, place
"""
