"""Connections of one client and server of which one answers later than the others at the same time.

Takes the small calls that each connection carried; gives the connections on which even the quickest
of them took much longer than on the others meanwhile, and what the calls on these took longer for
it. Client and server are the same, and so is what they have to do: what differs is the way. Routers
and bonded links choose it by the ports of a flow, network cards by them the queue and the processor
that takes it. Calls that stood still for lost segments are left out.

Captured away from the client, the way to it is in no service time. There it is the client's ACKs
that tell: how long each connection's took from the server's data. An end may delay an ACK, by 40 ms
or more in practice and by 200 ms at most, so that what is 30 ms longer or more counts only with an
answer that is never delayed: the ACK that completes the handshake, or ACKs that came soon after
another. A queue that is the connection's own, as fair queueing gives it, makes a way longer for
what it carries; so the others must have carried as much.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.late_answers import NOT_DELAYED_S, UNDELAYED
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Sized

    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call client connection callback op stability call_frame call_first_time reply_time "
        "srt first_arrived tcp_resent",
        connections="connection transport client_port first_time last_time ack_rtt client_acks "
        "client_ack_rtt client_slow_rtt client_slow_acks client_slow_turns client_slow_soon "
        "server_segments",
    ),
)
"""The columns that the queries here read."""

FLOOR = 0.1
"""The quantile of the service times that is taken for the least: a minimum would be one call's."""

TIMES_AS_LONG = 2.0
"""The least on a connection is at least so many times that of the others."""

PAIRS = 100
"""Clients and servers that are looked at, most calls first."""

MOST = 64
"""Connections of each that are compared: nconnect allows 16."""


AS_MUCH = 0.5
"""The part of what a connection that is later carried that the others carried each, at least."""

ShownBy = Literal["calls", "acks"]
"""What shows it: `calls`, by their service time; `acks`, those of the client, where the capture was
taken away from it."""


class UnevenConnections(Record):
    """Connections of one client and server, some of which answer later than the others."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    ports: tuple[int, ...]
    """The client's ports of those that answer later, latest first."""
    others: int
    """The others, which were in use meanwhile."""
    small_calls: int
    """Small calls on those that answer later; by ACKs, those."""
    floor_s: float
    """The tenth percentile of their service time, seconds: of the connection that answers latest.
    By ACKs, what these usually took, or the shortest while they took longer than before."""
    usual_s: float
    """The same of the others meanwhile, seconds."""
    usual_calls: int
    """Small calls on the others meanwhile; by ACKs, those."""
    calls: int
    """Calls on the ones that answer later, small or not."""
    longer_s: float
    """What these took longer for it, added up, seconds."""
    time_s: Mapping[str, float]
    """What that took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: of the first of these calls."""
    shown_by: ShownBy = "calls"
    """What shows it."""


@once
def uneven_connections(trace: Trace) -> tuple[UnevenConnections, ...]:
    """Tell each client and server with such connections, by what their calls took longer for it."""
    several = _several(trace)
    if not any_found(several):
        return ()
    far = {
        (pair.client, pair.server)
        for pair in round_trips(trace).pairs
        if pair.vantage in ("server", "between")
    }
    found = [
        *_shown(trace, several, _LATER, _COST, "calls"),
        *_shown(trace, [each for each in several if each[:2] in far], _LATER_ACKS, _AFTER, "acks"),
    ]
    return tuple(sorted(found, key=lambda each: -each.longer_s))


def _shown(
    trace: Trace, several: Sequence[Pair], later: str, cost: str, by: ShownBy
) -> Iterator[UnevenConnections]:
    """What calls, or ACKs, show of these clients and servers."""
    if not any_found(several):
        return
    parameters = {
        "connections": given.text(each for *_, connections in several for each in connections),
        "places": given.text(place for place, (*_, each) in enumerate(several) for _ in each),
        "least": LEAST_CALLS,
        "times": TIMES_AS_LONG,
    }
    late: defaultdict[int, list[Late]] = defaultdict(list)
    for place, *values in trace.rows(later, parameters):
        late[integer(place)].append(Late(*values))
    if not any_found(late):
        return
    costs = _costs(trace, [each for group in late.values() for each in group], cost)
    for place, group in sorted(late.items()):
        group.sort(key=lambda each: (-each.floor_ns, each.port))
        yield _told(*several[place][:2], group, costs, by)


Pair = tuple[str, str, list[int]]
"""Addresses of client and server, and their connections."""


class Late(Record):
    """A connection that answers later than the others."""

    connection: int
    """Its number (table connections)."""
    port: int
    """The client's."""
    calls: int
    """Small calls on it."""
    floor_ns: float
    """The tenth percentile of their service time."""
    others: int
    """Connections that it is compared with."""
    other_calls: int
    """Small calls on them meanwhile."""
    usual_ns: float
    """The tenth percentile of their service time."""


Costs = list[tuple[int, str, int, int, int, list[int]]]
"""By connection and row of the time budget: calls, what they took longer and what of the clock that
was, ns, and frames."""


def any_found(found: Sized) -> bool:
    """Whether there is anything to ask about."""
    return len(found) > 0


def _several(trace: Trace) -> list[Pair]:
    """Clients and servers with several connections of NFS, with these."""
    lines = traffic.of_clients(trace)
    numbers = lines.numbers
    lines = lines.where((numbers["program"] == NFS) & (numbers["answered"] >= LEAST_CALLS))
    found: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for line in lines:
        if line.client != traffic.OTHERS:
            found[line.client, line.server][line.connection] = line.answered
    most = sorted(
        (pair for pair, calls in found.items() if len(calls) > 1),
        key=lambda pair: (-sum(found[pair].values()), pair),
    )[:PAIRS]
    return [
        (*pair, sorted(sorted(found[pair], key=lambda each: -found[pair][each])[:MOST]))
        for pair in most
    ]


def _costs(trace: Trace, late: Sequence[Late], cost: str) -> Costs:
    """What calls on these took longer for it."""
    shares.register(trace)
    parameters = {
        "connections": given.text(each.connection for each in late),
        "longer": given.text(int(each.floor_ns - each.usual_ns) for each in late),
    }
    return list(trace.rows(cost, parameters))


def _told(
    client: str, server: str, late: Sequence[Late], costs: Costs, by: ShownBy
) -> UnevenConnections:
    """What the late connections of one client and server come to, latest first."""
    mine = {each.connection for each in late}
    costs = [cost for cost in costs if cost[0] in mine]
    time_s: defaultdict[str, float] = defaultdict(float)
    for _, row, _, _, part, _ in costs:
        time_s[row] += seconds(part) or 0.0
    latest = late[0]
    return UnevenConnections(
        client=client,
        server=server,
        ports=tuple(each.port for each in late),
        others=latest.others,
        small_calls=sum(each.calls for each in late),
        floor_s=latest.floor_ns / NANOSECONDS,
        usual_s=latest.usual_ns / NANOSECONDS,
        usual_calls=latest.other_calls,
        calls=sum(integer(calls) for _, _, calls, *_ in costs),
        longer_s=sum(integer(longer) for *_, longer, _, _ in costs) / NANOSECONDS,
        time_s=dict(time_s),
        frames=tuple(sorted(frame for *_, frames in costs for frame in frames)[:EXAMPLES]),
        shown_by=by,
    )


_SMALL = f"""
    not callback and srt is not null and stability = 'unstable' and first_arrived
    and not tcp_resent and {among("op", SMALL_OPERATIONS)}
"""

# Those that answer as soon as the quickest are the others: a late one is no measure for another.
_LATER = f"""
    with asked as (
        select {given.rows("connections", "uinteger")} as connection,
               {given.rows("places", "integer")} as place
    ),
    small as materialized (
        select place, connection, call_first_time as sent, greatest(srt, 0) as took
        from calls join asked using (connection) where {_SMALL}
    ),
    floors as (
        select place, connection, count(*) as own, min(sent) as since, max(sent) as until,
               quantile_cont(took, {FLOOR}) as floor
        from small group by place, connection having count(*) >= $least
    ),
    quick as (
        select place, connection from floors
        qualify floor < $times * greatest(min(floor) over (partition by place), 1)
    ),
    late as (
        select * from floors anti join quick using (place, connection)
    )
    select late.place, late.connection, any_value(client_port), any_value(late.own),
           any_value(late.floor), count(distinct small.connection), count(*),
           quantile_cont(small.took, {FLOOR}) as usual
    from late join connections on connections.connection = late.connection
         join small on small.place = late.place and small.sent between late.since and late.until
         semi join quick on quick.connection = small.connection
    where transport = 'TCP'
    group by late.place, late.connection
    having count(*) >= $least and any_value(late.floor) >= $times * usual
    order by late.place, late.connection
"""

_COST = f"""
    with late as (
        select {given.rows("connections", "uinteger")} as connection,
               {given.rows("longer", "bigint")} as longer
    )
    select connection, stability, count(*), sum(inside)::bigint,
           sum((coalesce(share, 0)::double * inside
                / greatest(reply_time - call_first_time, inside, 1))::bigint)::bigint,
           min(call_frame, {EXAMPLES})
    from (
        select call, connection, stability, call_frame, call_first_time, reply_time,
               least(longer, greatest(srt, 0)) as inside
        from calls join late using (connection)
        where not callback and srt is not null and first_arrived
    ) left join shares using (call)
    group by connection, stability order by connection, stability
"""

# Where the way of a connection became longer only later, the usual time of its ACKs may be that of
# before: while it was longer, even the quickest of all answers tells.
_LATER_ACKS = f"""
    with asked as (
        select {given.rows("connections", "uinteger")} as connection,
               {given.rows("places", "integer")} as place
    ),
    told as (
        select place, connection, client_port, first_time, last_time, server_segments, ack_rtt,
               client_acks, client_ack_rtt, client_slow_soon,
               client_slow_rtt is not null
                   and client_slow_acks + client_slow_turns >= $least as slow,
               if(slow, greatest(client_slow_rtt, client_ack_rtt), client_ack_rtt) as floor,
               if(slow, client_slow_acks + client_slow_turns, client_acks) as answers
        from connections join asked using (connection)
        where transport = 'TCP' and client_acks >= $least and client_ack_rtt > 0
    ),
    quick as (
        select * from told qualify floor < $times * min(floor) over (partition by place)
    )
    select late.place, late.connection, any_value(late.client_port), any_value(late.answers),
           any_value(late.floor)::double, count(*), sum(quick.client_acks)::bigint,
           min(quick.floor)::double as usual
    from told as late join quick using (place)
    where late.floor >= $times * quick.floor
          and quick.first_time < late.last_time and quick.last_time > late.first_time
          and quick.server_segments >= {AS_MUCH} * late.server_segments
    group by late.place, late.connection
    having any_value(late.floor) - usual < {round(NOT_DELAYED_S * NANOSECONDS)}
           or coalesce(any_value(late.client_slow_soon), 0) >= {UNDELAYED[1]}
           or coalesce(any_value(late.ack_rtt), 0) >= (any_value(late.floor) + usual) / 2
    order by late.place, late.connection
"""

# The client gets each reply later by that, and its next call comes as much later where it sent none
# meanwhile. Nothing of it is in a service time.
_AFTER = f"""
    with late as (
        select {given.rows("connections", "uinteger")} as connection,
               {given.rows("longer", "bigint")} as longer
    ),
    ordered as (
        select call, connection, call_frame, first_arrived, reply_time,
               greatest(lead(call_first_time) over sent, 0) - greatest(reply_time, 0) as pause,
               max(reply_time) over (
                   partition by client order by call_first_time, call
                   rows between unbounded preceding and current row
               ) as latest
        from calls semi join (
                 select client from calls semi join late using (connection)
             ) using (client)
        where not callback and reply_time is not null
        window sent as (partition by client order by call_first_time, call)
    )
    select connection, 'client', count(*), sum(longer)::bigint,
           sum(if(reply_time = latest, least(greatest(coalesce(pause, 0), 0), longer), 0))::bigint,
           min(call_frame, {EXAMPLES})
    from ordered join late using (connection)
    where first_arrived
    group by connection order by connection
"""
