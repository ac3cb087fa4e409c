"""Where a capture was taken, and how long the network's round trip is.

Takes what TCP shows of each connection; gives for each client and server the two halves of the
round trip, between capture point and client and between capture point and server, each with its
source (half.py), and the vantage point that they tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import clock_ticks as _clock_ticks
from pcapnfs.analyses.captured import clocks_apart as _clocks_apart
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.clocks_apart import clocks_apart
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.analyses.wire.half import (
    FEW_HANDSHAKES,
    SCATTER_NS,
    SCATTERED,
    Half,
    HalfTimes,
    Source,
    weighted_median,
)
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from typing import Any

    from pcapnfs.trace import Trace

READS = columns.together(
    _clock_ticks.READS,
    _clocks_apart.READS,
    traffic.READS,
    columns.of(
        calls="call client server callback op stability call_first_time reply_time srt "
        "first_arrived",
        connections="connection client client_address server server_address transport syn_rtt "
        "ack_rtt client_resent server_resent "
        "client_acks client_ack_min client_ack_rtt client_turns client_turn_min client_turn_rtt "
        "server_acks server_ack_min server_ack_rtt server_turns server_turn_min server_turn_rtt",
    ),
)
"""The columns that the queries here read."""

Vantage = Literal["client", "server", "between", "unknown"]
"""Where the capture was taken."""

NEGLIGIBLE = 2.5
"""One half is negligible when the other is at least this many times as long.

At an end, a capture on a slow machine still had 2.8, on a usual one 30 and more; in the middle 1.2.
"""

COMPARABLE = 2.0
"""Between two machines, the longer half is at most this many times the shorter; what lies in
between these two is left open."""

CLOCK_S = 1e-6
"""What most captures' clocks can tell apart."""

LOCAL_S = 50e-6
"""Below this, both halves together are no network but what processors take: nothing tells where
the capture was taken."""

WEAK_ACKS = 10
"""With fewer ACKs without data, and as few handshakes, it is not known well that a capture was
taken between client and server."""

ALIKE = 2
"""Clients that show that the capture was taken at their server, from which on one that shows less
is taken to have been captured there as well."""

SURE_TURNS = 5
"""Gaps from which a vantage point may be told where TCP shows neither handshake nor clean ACKs: the
client may have thought before each of a few calls."""

GAP_LIMIT_NS = 500_000_000
"""Longer gaps between a reply and the next call are pauses of the client."""

AGREED = 0.9
"""Share of the calls that must have been captured at one vantage point for the whole capture to
have one."""


class AddressPair(Record):
    """One of several pairs of addresses that a client and a server use together (trunking)."""

    client_address: str
    """Address of the client."""
    server_address: str
    """Address of the server."""
    connections: int
    """Connections between them that carried RPC."""
    calls: int
    """Calls of the client on them."""
    client_rtt_s: float | None
    """Between the capture point and the client, as TCP shows it, seconds; None when it does not."""
    server_rtt_s: float | None
    """Between the capture point and the server, likewise."""
    resent: int
    """Segments, of RDMA packets, that either side sent again."""


class RoundTrip(Record):
    """What lies between a client and a server; of several pairs of addresses, the busiest."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls of the client."""
    connections: int
    """Connections between them that carried RPC."""
    client_side: Half
    """Between the capture point and the client."""
    server_side: Half
    """Between the capture point and the server."""
    path_s: float | None
    """Round trip of the whole path, seconds: both halves; None when one is not known."""
    vantage: Vantage
    """Where the capture was taken; `unknown` where TCP does not show it. Of a client that shows it
    weakly, what others of its server show."""
    ratio: float | None
    """The longer half divided by the shorter, by their least times (of one whose handshake was a
    lucky one, by the 5th percentile of its turns); None when one is not known."""
    addition_s: float | None
    """What the client waited longer than the service time, seconds: 0 at the client, else the
    client's half; None when that is not known."""
    address_pairs: tuple[AddressPair, ...] = ()
    """The pairs of addresses that they use together (trunking), most calls first; empty where it
    is one."""


class RoundTrips(Record):
    """All round trips of a capture, and what they have in common."""

    pairs: tuple[RoundTrip, ...]
    """Each client and server, most calls first; not what is beside NFS (`traffic.beside`)."""
    path_s: float | None
    """Round trip of the path, seconds: the median over all calls; None when none is known."""
    vantage: Vantage
    """Where the capture was taken, if nine tenths of the calls agree."""
    source: Source
    """What the longer half of the pair with most calls rests on."""


@once
def round_trips(trace: Trace) -> RoundTrips:
    """Say how long the round trip is, and where the capture was taken."""
    beside = _beside(trace)
    pairs = tuple(trip for pair, trip in _pairs(trace).items() if pair not in beside)
    longest = max(_halves(pairs[0]), key=lambda half: half.rtt_s or 0.0) if pairs else None
    return RoundTrips(
        pairs=pairs,
        path_s=weighted_median((pair.path_s, pair.calls) for pair in pairs),
        vantage=_common_vantage(pairs),
        source=longest.source if longest else "none",
    )


def _beside(trace: Trace) -> set[tuple[str, str]]:
    """Hosts that are no clients of NFS, and whom they called."""
    mounts, beside = traffic.mounts(trace), traffic.beside(trace)
    others = {pair for mount, pair in mounts.items() if mount not in beside}
    return {mounts[mount] for mount in beside} - others


_CONNECTIONS = """
    select connection, client, server, client_address, server_address, syn_rtt, ack_rtt,
           client_acks, client_ack_min, client_ack_rtt,
           client_turns, client_turn_min, client_turn_rtt,
           server_acks, server_ack_min, server_ack_rtt,
           server_turns, server_turn_min, server_turn_rtt, transport = 'RDMA'
    from connections order by connection
"""

_TRUNKED = "client <> client_address or server <> server_address"

_TRUNKS = f"""
    with several as (select distinct client, server from connections where {_TRUNKED}),
    carried as (
        select connection, count(*) as calls from calls where not callback group by connection
    )
    select client, server, client_address, server_address, count(*),
           coalesce(sum(calls), 0)::bigint as calls, sum(client_resent + server_resent)::bigint
    from connections semi join several using (client, server)
         left join carried using (connection)
    group by client, server, client_address, server_address
    order by calls desc, client_address, server_address
"""

_CALLS = """
    with counted as (
        select client, server, count(*) as calls, count(srt) as replies,
               quantile_disc(srt, [0.05, 0.25]) filter (srt > 0) as low
        from calls where not callback group by client, server
    )
    select client, server, calls, replies, low[1], low[2]
    from counted order by calls desc, client, server
"""

# An operation that mostly takes as long shows a path that does not vary. Those of which there are
# few are looked at together.
_SPREAD = f"""
    with answered as (
        select client, server, op, srt
        from calls
        semi join (
            select {given.rows("clients", "varchar")} as client,
                   {given.rows("servers", "varchar")} as server
        ) using (client, server)
        where not callback and srt > 0 and stability = 'unstable' and first_arrived
              and {among("op", SMALL_OPERATIONS)}
    ),
    several as (
        select client, server, op, op as own
        from answered group by client, server, op having count(*) >= $least
    ),
    spread as (
        select client, server, quantile_disc(srt, [0.05, 0.25, 0.5]) as took
        from answered left join several using (client, server, op)
        group by client, server, own having count(*) >= $least
    )
    select client, server, min(took[2])
    from spread group by client, server
    having bool_and(took[3] >= {SCATTERED} * took[1] and took[3] - took[1] >= {SCATTER_NS})
"""

_GAPS = f"""
    with ordered as (
        select client, server, call_first_time, max(reply_time) over earlier as answered,
               count(*) over earlier as before, count(reply_time) over earlier as replies
        from calls
        semi join (
            select {given.rows("clients", "varchar")} as client,
                   {given.rows("servers", "varchar")} as server
        ) using (client, server)
        where not callback
        window earlier as (
            partition by client, server order by call_first_time, call
            rows between unbounded preceding and 1 preceding
        )
    ),
    gaps as (
        select client, server, call_first_time::hugeint - answered as gap
        from ordered where before = replies
    )
    select client, server, count(gap), quantile_disc(gap, 0.5)
    from gaps where gap between 1 and $limit group by client, server
"""


@once
def _pairs(trace: Trace) -> dict[tuple[str, str], RoundTrip]:
    """The round trip of each client and server, most calls first."""
    steady = _steady(trace)
    client_sides: defaultdict[tuple[str, str], HalfTimes] = defaultdict(
        partial(HalfTimes, steady=steady, to_client=True)
    )
    server_sides: defaultdict[tuple[str, str], HalfTimes] = defaultdict(
        partial(HalfTimes, steady=steady, to_client=False)
    )
    connections: defaultdict[tuple[str, str], int] = defaultdict(int)
    by_rdma: set[tuple[str, str]] = set()
    with_nfs = _of_nfs(trace)
    trunks = _trunks(trace)
    for row in trace.each(_CONNECTIONS):
        number, client, server, *addresses, syn, ack = row[:7]
        *values, rdma = row[7:]
        connections[client, server] += 1
        if trunk := trunks.get((client, server)):
            ends = (addresses[0], addresses[1])
            trunk.add(ends, (syn, ack, values), of_nfs=number in with_nfs)
            if ends != trunk.busiest:
                continue
        if rdma:
            by_rdma.add((client, server))
        of_nfs = number in with_nfs
        client_sides[client, server].add(ack, values[:6], of_nfs=of_nfs)
        server_sides[client, server].add(syn, values[6:], of_nfs=of_nfs)
    rows = trace.rows(_CALLS)
    apart, ticks = clocks_apart(trace).least_s is not None, clock(trace).tick_s is not None
    all_gaps = _gaps(trace, [pair for *pair, _, _, _, _ in rows if not client_sides[*pair].told])
    varying = _varying(trace, [pair for *pair, _, _, _, _ in rows if not server_sides[*pair].shown])
    found = {}
    for client, server, calls, replies, reply, usual in rows:
        gaps, gap = all_gaps.get((client, server), (0, None))
        near_client = client_sides[client, server].half(gaps, gap)
        near_server = server_sides[client, server].half(
            replies, reply, reply, usual, varying.get((client, server))
        )
        if apart or (ticks and _takes_no_time(near_client, near_server)):
            near_client, near_server = _untimed(near_client), _untimed(near_server)
        vantage, ratio = _vantage(client, server, near_client, near_server)
        if vantage == "between" and (client, server) in by_rdma:
            # An adapter in software acknowledges when its host gets to run, as programs answer:
            # both ends may take long for it, wherever the capture was taken.
            vantage = "unknown"
        path = None
        if near_client.rtt_s is not None and near_server.rtt_s is not None:
            path = near_client.rtt_s + near_server.rtt_s
        found[client, server] = RoundTrip(
            client=client,
            server=server,
            calls=calls,
            connections=connections[client, server],
            client_side=near_client,
            server_side=near_server,
            path_s=path,
            vantage=vantage,
            ratio=ratio,
            addition_s=0.0 if vantage == "client" else near_client.rtt_s,
            address_pairs=trunks[client, server].told() if (client, server) in trunks else (),
        )
    return _taken_over(found, by_rdma)


class _Trunk:
    """The pairs of addresses of one client and server, with what their connections show."""

    def __init__(self, *, steady: bool) -> None:
        self._counts: dict[tuple[str, str], Sequence[int]] = {}
        self._halves: defaultdict[tuple[str, str], tuple[HalfTimes, HalfTimes]] = defaultdict(
            lambda: (
                HalfTimes(steady=steady, to_client=True),
                HalfTimes(steady=steady, to_client=False),
            )
        )

    def count(self, ends: tuple[str, str], counts: Sequence[int]) -> None:
        """Take connections, calls and resent segments of a pair; more calls come first."""
        self._counts[ends] = counts

    @property
    def several(self) -> bool:
        """Whether they use more than one pair."""
        return len(self._counts) > 1

    @property
    def busiest(self) -> tuple[str, str]:
        """The pair with most calls."""
        return next(iter(self._counts))

    def add(self, ends: tuple[str, str], shown: tuple[Any, Any, Any], *, of_nfs: bool) -> None:
        """Take what a connection between them shows."""
        (syn, ack, values), (to_client, to_server) = shown, self._halves[ends]
        to_client.add(ack, values[:6], of_nfs=of_nfs)
        to_server.add(syn, values[6:], of_nfs=of_nfs)

    def told(self) -> tuple[AddressPair, ...]:
        """Each pair, as far as TCP shows what is between."""
        return tuple(
            AddressPair(
                client_address=ends[0],
                server_address=ends[1],
                connections=connections,
                calls=calls,
                client_rtt_s=self._halves[ends][0].half(0, None).rtt_s,
                server_rtt_s=self._halves[ends][1].half(0, None).rtt_s,
                resent=resent,
            )
            for ends, (connections, calls, resent) in self._counts.items()
        )


def any_trunk(trace: Trace) -> bool:
    """Whether any client and server use several pairs of addresses: hardly any do."""
    return bool(trace.rows(f"select 1 from connections where {_TRUNKED} limit 1"))


def _trunks(trace: Trace) -> dict[tuple[str, str], _Trunk]:
    """The clients and servers that use several pairs of addresses together."""
    found: dict[tuple[str, str], _Trunk] = {}
    if any_trunk(trace):
        for client, server, near, far, *counts in trace.rows(_TRUNKS):
            trunk = found.setdefault((client, server), _Trunk(steady=_steady(trace)))
            trunk.count((near, far), counts)
    return {pair: trunk for pair, trunk in found.items() if trunk.several}


def _steady(trace: Trace) -> bool:
    """Whether the capture's clock was never set."""
    return not any(
        file.set_back or file.set_forward or file.mistimed_packets for file in trace.meta.files
    )


def _of_nfs(trace: Trace) -> set[int]:
    """The connections that carried NFS."""
    numbers = traffic.of_clients(trace).numbers
    return set(numbers["connection"][np.isin(numbers["program"], NFS_PROGRAMS)].tolist())


def _taken_over(
    found: dict[tuple[str, str], RoundTrip], by_rdma: set[tuple[str, str]]
) -> dict[tuple[str, str], RoundTrip]:
    """The same, with the vantage point of their server's others for clients that show too little.

    The way from the capture to the server is the same for all of its clients.
    """
    at_server: defaultdict[str, list[int]] = defaultdict(list)
    placed: defaultdict[str, int] = defaultdict(int)
    for pair in found.values():
        if not _weak(pair):
            placed[pair.server] += pair.calls
            if pair.vantage == "server":
                at_server[pair.server].append(pair.calls)
    return {
        key: replace(pair, vantage="server", addition_s=pair.client_side.rtt_s)
        if _weak(pair)
        and key not in by_rdma
        and pair.client_side.source in ("handshake", "acks")
        and (pair.path_s or 0.0) >= LOCAL_S
        and pair.client != pair.server
        and len(at_server[pair.server]) >= ALIKE
        and sum(at_server[pair.server]) >= AGREED * placed[pair.server]
        else pair
        for key, pair in found.items()
    }


def _weak(pair: RoundTrip) -> bool:
    """Whether little, or nothing, shows where a client and server were captured."""
    half = pair.client_side
    few = half.handshakes <= FEW_HANDSHAKES and half.acks < WEAK_ACKS
    return pair.vantage == "unknown" or (pair.vantage == "between" and few)


def _gaps(trace: Trace, pairs: Sequence[Sequence[str]]) -> dict[tuple[str, str], tuple[int, int]]:
    """How many gaps between reply and next call, and their median, nanoseconds."""
    rows = _of_pairs(trace, _GAPS, pairs, limit=GAP_LIMIT_NS)
    return {(client, server): (gaps, integer(gap)) for client, server, gaps, gap in rows}


def _varying(trace: Trace, pairs: Sequence[Sequence[str]]) -> dict[tuple[str, str], int]:
    """Where small calls vary, the lower quartile of the operation that takes least, ns."""
    rows = _of_pairs(trace, _SPREAD, pairs, least=LEAST_CALLS)
    return {(client, server): integer(took) for client, server, took in rows}


def _of_pairs(
    trace: Trace, query: str, pairs: Sequence[Sequence[str]], **parameters: object
) -> list[tuple[Any, ...]]:
    """Rows of a query about some clients and servers; none without any of these."""
    if not pairs:
        return []
    clients, servers = zip(*pairs, strict=True)
    named = {"clients": given.text(clients), "servers": given.text(servers)}
    return trace.rows(query, {**named, **parameters})


def _vantage(
    client: str, server: str, client_side: Half, server_side: Half
) -> tuple[Vantage, float | None]:
    """Where the capture was taken, and how many times the longer half is the shorter one."""
    # Of a path that varies, the shortest is a lucky one, too.
    to_client = client_side.turn_s if client_side.lucky else client_side.least_s
    to_server = server_side.least_s
    if to_client is None or to_server is None:
        return "unknown", None
    near, far = sorted((max(to_client, CLOCK_S), max(to_server, CLOCK_S)))
    ratio = far / near
    sure = [half.handshakes + half.acks > 0 for half in (client_side, server_side)]
    enough = all(
        known or half.turns >= SURE_TURNS
        for known, half in zip(sure, (client_side, server_side), strict=True)
    )
    if client == server or near + far < LOCAL_S or not enough:
        return "unknown", ratio
    if ratio >= NEGLIGIBLE:
        return ("client" if to_client < to_server else "server"), ratio
    # A half that is only bounded may be much shorter than it looks.
    return ("between" if all(sure) and ratio <= COMPARABLE else "unknown"), ratio


def _takes_no_time(client_side: Half, server_side: Half) -> bool:
    """Whether both halves together take less than a clock with ticks can tell from nothing."""
    known = [half.rtt_s for half in (client_side, server_side) if half.rtt_s is not None]
    return bool(known) and not any(known)


def _untimed(half: Half) -> Half:
    """The half as two clocks that are apart show it, or one that ticks too slowly: not at all."""
    return replace(
        half,
        rtt_s=None,
        source="none",
        least_s=None,
        handshake_s=None,
        ack_s=None,
        turn_s=None,
        gap_s=None,
        scatters=False,
    )


def _halves(pair: RoundTrip) -> tuple[Half, Half]:
    return pair.client_side, pair.server_side


def _common_vantage(pairs: Sequence[RoundTrip]) -> Vantage:
    total = sum(pair.calls for pair in pairs if pair.vantage != "unknown")
    for vantage in ("client", "server", "between"):
        calls = sum(pair.calls for pair in pairs if pair.vantage == vantage)
        if calls and calls >= AGREED * total:
            return vantage
    return "unknown"
