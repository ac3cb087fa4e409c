"""Connections of one client and server of which one answers later than the others at the same time.

Takes the small calls that each connection carried; gives the connections on which even the quickest
of them took much longer than on the others meanwhile, and what the calls on these took longer for
it. Client and server are the same, and so is what they have to do: what differs is the way. Routers
and bonded links choose it by the ports of a flow, network cards by them the queue and the processor
that takes it. Calls that stood still for lost segments are left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.service_time import NANOSECONDS, integer, seconds
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Sized

    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call connection callback op stability call_frame call_first_time reply_time srt "
        "transmissions tcp_resent",
        connections="connection transport client_port",
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
    """Small calls on those that answer later."""
    floor_s: float
    """The tenth percentile of their service time, seconds: of the connection that answers latest.
    """
    usual_s: float
    """The same of the others meanwhile, seconds."""
    usual_calls: int
    """Small calls on the others meanwhile."""
    calls: int
    """Calls on the ones that answer later, small or not."""
    longer_s: float
    """What these took longer for it, added up, seconds."""
    time_s: Mapping[str, float]
    """What that took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: of the first of these calls."""


@once
def uneven_connections(trace: Trace) -> tuple[UnevenConnections, ...]:
    """Tell each client and server with such connections, most calls first."""
    several = _several(trace)
    if not any_found(several):
        return ()
    parameters = {
        "connections": [each for *_, connections in several for each in connections],
        "places": [place for place, (*_, each) in enumerate(several) for _ in each],
        "least": LEAST_CALLS,
        "times": TIMES_AS_LONG,
    }
    late: defaultdict[int, list[Late]] = defaultdict(list)
    for place, *values in trace.rows(_LATER, parameters):
        late[integer(place)].append(Late(*values))
    if not any_found(late):
        return ()
    costs = _costs(trace, [each for group in late.values() for each in group])
    return tuple(
        _told(
            *several[place][:2], sorted(group, key=lambda each: (-each.floor_ns, each.port)), costs
        )
        for place, group in sorted(late.items())
    )


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


def _several(trace: Trace) -> list[tuple[str, str, list[int]]]:
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


def _costs(trace: Trace, late: Sequence[Late]) -> Costs:
    """What calls on these took longer for it."""
    shares.register(trace)
    parameters = {
        "connections": [each.connection for each in late],
        "longer": [int(each.floor_ns - each.usual_ns) for each in late],
    }
    return list(trace.rows(_COST, parameters))


def _told(client: str, server: str, late: Sequence[Late], costs: Costs) -> UnevenConnections:
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
    )


_SMALL = f"""
    not callback and srt is not null and stability = 'unstable' and transmissions = 1
    and not tcp_resent and {among("op", SMALL_OPERATIONS)}
"""

# Those that answer as soon as the quickest are the others: a late one is no measure for another.
_LATER = f"""
    with asked as (
        select unnest($connections::uinteger[]) as connection, unnest($places::integer[]) as place
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
        select unnest($connections::uinteger[]) as connection, unnest($longer::bigint[]) as longer
    )
    select connection, stability, count(*), sum(inside)::bigint,
           sum((coalesce(share, 0)::double * inside
                / greatest(reply_time - call_first_time, inside, 1))::bigint)::bigint,
           min(call_frame, {EXAMPLES})
    from (
        select call, connection, stability, call_frame, call_first_time, reply_time,
               least(longer, greatest(srt, 0)) as inside
        from calls join late using (connection)
        where not callback and srt is not null and transmissions = 1
    ) left join shares using (call)
    group by connection, stability order by connection, stability
"""
