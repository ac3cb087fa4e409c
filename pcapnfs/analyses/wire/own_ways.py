"""Connections whose way to the server is longer than that of others of the same client and server.

Takes what TCP shows of each connection, and the round trip of client and server; gives the
connections on which the network takes much longer, each with its own round trip. Addresses are not
ways: behind one of a client there may be several hosts (NAT), links of equal length on paper (ECMP,
bonds) are not equally long, and routes change from one mount to the next. The round trip of client
and server is that of the shorter way, and what the longer one takes would be the server's.

What counts is no single time: a handshake or ACKs without data tell the longer way, and none of
thirty answers or more was quicker. On a path that varies, and at a server that is busy, some are.
Connections of which that is told alike are taken together: a client that opens several has few
answers on each. Of a connection that was captured without either, as in the middle, small calls
tell it: none of thirty or more was quicker than nearly all of them. READs and stable calls may wait
for a disk.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence, Sized

    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    columns.of(
        calls="connection client server callback op stability srt first_arrived",
        connections="connection transport client client_port server syn_rtt server_acks "
        "server_ack_rtt server_turns server_turn_min server_turn_rtt",
    ),
)
"""The columns that the queries here read."""

TIMES_AS_LONG, LONGER_NS = 2, 1_000_000
"""The way of a connection is told where it is so many times that of client and server, and so much
longer: more than a way through one building takes."""

AGREED = 0.8
"""Not even the quickest answer took less than this part of it."""

QUICK = 0.05
"""The quantile of small calls that is a connection's round trip where nothing else tells it: that
by which a half is bounded where TCP shows nothing."""


class OwnWay(Record):
    """A connection whose way is longer."""

    connection: int
    """Its number (table connections)."""
    port: int
    """The client's port."""
    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    rtt_ns: int
    """Its round trip between the capture point and the server, ns."""
    longer_ns: int
    """What that is longer than that of client and server, ns."""


@once
def own_ways(trace: Trace) -> tuple[OwnWay, ...]:
    """Tell each such connection, by its number."""
    usual = {
        (pair.client, pair.server): round(pair.server_side.rtt_s * NANOSECONDS)
        for pair in round_trips(trace).pairs
        if pair.connections > 1 and pair.server_side.rtt_s is not None
    }
    if not any_of(usual):
        return ()
    found, untold = list[OwnWay](), {}
    told_of = defaultdict[tuple[str, str], list[_Told]](list)
    for connection, port, client, server, syn, *values in trace.each(_CONNECTIONS):
        acks, ack, turns, least, turn = values
        network = usual.get((client, server))
        if network is None or not _longer(least / AGREED, network):
            continue
        told = [time for time in (syn, ack if acks else None) if time is not None]
        if not told:
            if turns >= LEAST_CALLS:
                untold[connection] = port, client, server, network
        elif _longer(own := min(told), network) and least >= AGREED * own:
            rtt = min(own, integer(turn))
            way = OwnWay(connection, port, client, server, rtt, rtt - network)
            told_of[client, server].append(_Told(own, turns, way))
    for connections in told_of.values():
        found += _of_enough(connections)
    for connection, least, own in _by_calls(trace, untold):
        port, client, server, network = untold[connection]
        if _longer(own, network) and least >= AGREED * own:
            found.append(OwnWay(connection, port, client, server, own, own - network))
    return tuple(sorted(found, key=lambda way: way.connection))


class _Told(NamedTuple):
    """A connection of which handshake or ACKs tell a longer way, and no answer was quicker."""

    own_ns: int
    """What they tell, ns."""
    answers: int
    """How many there were."""
    way: OwnWay
    """The connection."""


def _of_enough(connections: Iterable[_Told]) -> Iterator[OwnWay]:
    """Those of one client and server that have answers enough, with those that tell the same."""
    alike: list[_Told] = []
    for each in sorted(connections, key=lambda told: (told.own_ns, told.way.connection)):
        if alike and AGREED * each.own_ns > alike[0].own_ns:
            yield from _enough(alike)
            alike = []
        alike.append(each)
    yield from _enough(alike)


def _enough(alike: Sequence[_Told]) -> Iterator[OwnWay]:
    if sum(each.answers for each in alike) >= LEAST_CALLS:
        yield from (each.way for each in alike)


def _longer(own: float, network: int) -> bool:
    """Whether a round trip is so much longer than that of client and server."""
    return own >= max(TIMES_AS_LONG * network, network + LONGER_NS)


def _by_calls(trace: Trace, connections: Collection[int]) -> Iterable[tuple[int, int, int]]:
    """Those with small calls enough, the least that one took, and what few took less than, ns."""
    if not any_of(connections):
        return ()
    parameters = {"connections": given.text(connections), "least": LEAST_CALLS}
    return trace.rows(_SMALL_CALLS, parameters)


def any_of(found: Sized) -> bool:
    """Whether there is anything to ask about."""
    return len(found) > 0


@once
def longer_ns(trace: Trace) -> dict[tuple[str, str], int]:
    """What the network takes longer than the round trip of client and server, by these.

    That is the mean over the small calls, which show the round trip, or over all where there are
    none: of what is no longer for any, nothing is told.
    """
    ways = own_ways(trace)
    if not any_of(ways):
        return {}
    parameters: dict[str, object] = {
        "connections": given.text(way.connection for way in ways),
        "longer": given.text(way.longer_ns for way in ways),
        "clients": given.text(way.client for way in ways),
        "servers": given.text(way.server for way in ways),
    }
    return {
        (client, server): integer(longer)
        for client, server, longer in trace.rows(_MEANS, parameters)
    }


_CONNECTIONS = """
    select connection, client_port, client, server, syn_rtt, server_acks, server_ack_rtt,
           server_turns, server_turn_min, server_turn_rtt
    from connections
    where transport = 'TCP' and server_turn_min is not null
    order by connection
"""

_SMALL_CALLS = f"""
    select connection, min(srt), quantile_disc(srt, {QUICK})
    from calls
    semi join (select {given.rows("connections", "uinteger")} as connection) using (connection)
    where not callback and srt > 0 and stability = 'unstable' and first_arrived
          and {among("op", SMALL_OPERATIONS)}
    group by connection having count(*) >= $least order by connection
"""

_MEANS = f"""
    with ways as (
        select {given.rows("connections", "uinteger")} as connection,
               {given.rows("longer", "bigint")} as longer
    ),
    pairs as (
        select distinct {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server
    ),
    answered as (
        select client, server, coalesce(longer, 0) as longer,
               stability = 'unstable' and {among("op", SMALL_OPERATIONS)} as small
        from calls semi join pairs using (client, server) left join ways using (connection)
        where not callback and srt is not null
    )
    select client, server,
           coalesce(avg(longer) filter (small), avg(longer))::bigint
    from answered group by client, server order by client, server
"""
