"""What lies between clients and servers: round trips, connections, losses, sizes, concurrency.

Takes connections and calls; gives for each client and server the path between them, with what was
lost on it and how it was used, and what holds for the whole capture. Round trips and the vantage
point are those of `round_trip`, paths that were longer for a while those of `slower_path`,
transfers that lost segments hold down those of `loss_rate`, calls under way those of `concurrency`,
slots those of `sessions`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, order
from pcapnfs.analyses.asking.levels import most_at_once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured.trust import LATE_RETRANSMISSION
from pcapnfs.analyses.data import transfer_sizes
from pcapnfs.analyses.mounts import sessions as _sessions
from pcapnfs.analyses.mounts.sessions import Session, sessions
from pcapnfs.analyses.times import concurrency as _concurrency
from pcapnfs.analyses.times.concurrency import NOBODY, Concurrency, Moment, concurrency, timeline
from pcapnfs.analyses.wire import full_windows as _full_windows
from pcapnfs.analyses.wire import loss_rate as _loss_rate
from pcapnfs.analyses.wire import round_trip as _round_trip
from pcapnfs.analyses.wire import slower_path as _slower_path
from pcapnfs.analyses.wire.full_windows import FullWindow, full_windows
from pcapnfs.analyses.wire.half import Source
from pcapnfs.analyses.wire.loss_rate import LossRate, loss_rates
from pcapnfs.analyses.wire.round_trip import RoundTrip, Vantage, round_trips
from pcapnfs.analyses.wire.slower_path import SlowerPath, slower_paths
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _concurrency.READS,
    _full_windows.READS,
    _loss_rate.READS,
    _round_trip.READS,
    _sessions.READS,
    _slower_path.READS,
    traffic.READS,
    transfer_sizes.READS,
    columns.of(
        calls="call client server callback flavor transmissions",
        connections="connection transport client server tls client_segments server_segments "
        "client_resent server_resent out_of_order missing_bytes zero_windows "
        "client_zero_window server_zero_window",
        notes="reason call",
    ),
)
"""The columns that the queries here read."""


class Loss(Record):
    """What TCP or RDMA had to repeat or to wait for; over UDP all but `segments` is 0."""

    segments: int
    """Segments or datagrams with data, of RDMA messages, both ways."""
    client_resent: int
    """Segments, of RDMA packets, that the client sent again."""
    server_resent: int
    """The same of the server."""
    rdma_resent: int
    """Those of both that are packets of RDMA."""
    resent_share: float | None
    """What TCP sent again by its segments, 0…1; None without any. RDMA has none: a message of it is
    as many packets as it needs."""
    out_of_order: int
    """Segments that came before their predecessors: these were lost, or overtaken."""
    missing_bytes: int
    """Bytes that were sent and are not in the capture."""
    zero_windows: int
    """Segments that announced a window of 0."""
    client_zero_window_s: float
    """Time for which clients could take no data, seconds; connections added up."""
    server_zero_window_s: float
    """Time for which servers could take no data, seconds; connections added up."""


class Path(Record):
    """What lies between a client and a server, and how it was used."""

    round_trip: RoundTrip
    """Who they are, how far apart, and where the capture was taken."""
    nfs_connections: int
    """Connections that carried calls of NFS."""
    nfs_connections_at_once: int
    """The most of them in use at a time, from the first call to the last reply on each: nconnect,
    for a single mount."""
    transports: tuple[str, ...]
    """`TCP`, `UDP`, `RDMA`; `TLS` for TCP under TLS."""
    flavors: Mapping[str, int]
    """Calls by security flavor."""
    rsize_bytes: int | None
    """The most that a READ asked for, bytes; None without any."""
    wsize_bytes: int | None
    """The most that a WRITE carried, bytes; None without any."""
    max_read_bytes: int | None
    """The most that the server allows a READ (FSINFO, maxread), bytes; None when it does not
    say."""
    max_write_bytes: int | None
    """The most that the server allows a WRITE, bytes; None when it does not say."""
    resent_calls: int
    """Calls that were sent again with the same xid, before or after their reply."""
    loss: Loss
    """What TCP or RDMA had to repeat or to wait for."""
    concurrency: Concurrency
    """Calls of this client at this server under way at once."""


class Network(Record):
    """The network as the capture shows it."""

    clients: int
    """Addresses of clients."""
    servers: int
    """Addresses of servers."""
    connections: int
    """Connections that carried RPC."""
    tcp_rtt_s: float | None
    """Round trip of the path, seconds, as TCP, RDMA or the gaps between calls show it: the
    median over all calls; None when neither does."""
    rtt_source: Source
    """What that rests on, for the longer half of the busiest path; `gaps` is an upper bound."""
    vantage: Vantage
    """Where the capture was taken; `unknown` where nothing shows it or clients differ."""
    slower_paths: tuple[SlowerPath, ...]
    """When the path between a client and a server was longer than otherwise, in order of time; of
    the busiest paths."""
    resent_calls: int
    """Calls that were sent again with the same xid, before or after their reply."""
    loss: Loss
    """What TCP or RDMA had to repeat or to wait for, on all connections."""
    loss_rates: tuple[LossRate, ...]
    """Transfers that lost segments hold down, that with most of the clock first; of the busiest
    paths."""
    full_windows: tuple[FullWindow, ...]
    """Transfers that a receiver's TCP window holds down, that with most of the clock first; of the
    busiest paths."""
    concurrency: Concurrency
    """Calls of all clients under way at once."""
    timeline: tuple[Moment, ...]
    """Calls under way over time, in at most sixty equal parts."""
    sessions: int
    """Sessions of NFSv4.1 that carried calls."""
    shown_sessions: tuple[Session, ...]
    """The busiest of them."""
    paths: tuple[Path, ...]
    """Each client and server, most calls first; the busiest."""


def network(trace: Trace, *, top: int = 20) -> Network:
    """Describe the network.

    Args:
        trace: The trace.
        top: Paths, and sessions, to give; 0 for all.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("paths", top=top)
    trips = round_trips(trace)
    together, by_pair = concurrency(trace)
    told = trips.pairs[:top] if top else trips.pairs
    pairs = {(trip.client, trip.server) for trip in told}
    resent_calls, calls = _calls(trace, pairs)
    losses = _losses(trace, pairs)
    connections = _in_use(trace, pairs)
    sizes = _sizes(trace, pairs)
    number, shown = sessions(trace, top=top)
    paths = []
    for trip in told:
        pair = trip.client, trip.server
        flavors, resent = calls[pair]
        in_use, at_once = connections.get(pair, (0, 0))
        loss, transports = losses.get(pair, (NO_LOSS, ()))
        read, write, max_read, max_write = sizes.get(pair, (None,) * 4)
        paths.append(
            Path(
                round_trip=trip,
                nfs_connections=in_use,
                nfs_connections_at_once=at_once,
                transports=transports,
                flavors=flavors,
                rsize_bytes=read,
                wsize_bytes=write,
                max_read_bytes=max_read,
                max_write_bytes=max_write,
                resent_calls=resent,
                loss=loss,
                concurrency=by_pair.get(pair, NOBODY),
            )
        )
    return Network(
        clients=len({pair.client for pair in trips.pairs}),
        servers=len({pair.server for pair in trips.pairs}),
        connections=sum(pair.connections for pair in trips.pairs),
        tcp_rtt_s=trips.path_s,
        rtt_source=trips.source,
        vantage=trips.vantage,
        slower_paths=tuple(
            slower for slower in slower_paths(trace) if (slower.client, slower.server) in pairs
        ),
        resent_calls=resent_calls,
        loss=_together(trace),
        loss_rates=tuple(each for each in loss_rates(trace) if (each.client, each.server) in pairs),
        full_windows=tuple(
            each for each in full_windows(trace) if (each.client, each.server) in pairs
        ),
        concurrency=together,
        timeline=timeline(trace),
        sessions=number,
        shown_sessions=shown,
        paths=tuple(paths),
    )


Pair = tuple[str, str]

NO_LOSS = Loss(0, 0, 0, 0, None, 0, 0, 0, 0.0, 0.0)
"""Without connections."""

_LOSS = """
    sum(client_segments + server_segments),
    sum(client_segments + server_segments) filter (transport = 'TCP'),
    sum(client_resent), sum(server_resent),
    sum(client_resent + server_resent) filter (transport = 'RDMA'),
    sum(out_of_order), sum(missing_bytes), sum(zero_windows),
    sum(client_zero_window), sum(server_zero_window)
"""


def _together(trace: Trace) -> Loss:
    (row,) = trace.rows(f"select {_LOSS} from connections")
    return _loss(row)


def _losses(trace: Trace, pairs: Collection[Pair]) -> dict[Pair, tuple[Loss, tuple[str, ...]]]:
    """What was lost between client and server, and the transports of their connections."""
    return {
        (client, server): (_loss(row), tuple(transports))
        for client, server, transports, *row in trace.rows(
            f"""
            select client, server,
                   list_sort(list(distinct case when tls then 'TLS' else transport end)), {_LOSS}
            from connections
                semi join (
                    select {given.rows("clients", "varchar")} as client,
                           {given.rows("servers", "varchar")} as server
                ) using (client, server)
            group by client, server
            """,
            {
                "clients": given.text(client for client, _ in pairs),
                "servers": given.text(server for _, server in pairs),
            },
        )
    }


def _loss(row: list[object] | tuple[object, ...]) -> Loss:
    segments, of_tcp, client, server, of_rdma, *others = row
    disordered, missing, windows, client_zero, server_zero = others
    whole, resent = integer(of_tcp), integer(client) + integer(server) - integer(of_rdma)
    return Loss(
        segments=integer(segments),
        client_resent=integer(client),
        server_resent=integer(server),
        rdma_resent=integer(of_rdma),
        resent_share=resent / whole if whole else None,
        out_of_order=integer(disordered),
        missing_bytes=integer(missing),
        zero_windows=integer(windows),
        client_zero_window_s=seconds(client_zero) or 0.0,
        server_zero_window_s=seconds(server_zero) or 0.0,
    )


def _calls(
    trace: Trace, pairs: Collection[Pair]
) -> tuple[int, dict[Pair, tuple[dict[str, int], int]]]:
    """Calls sent again; calls by flavor, and those sent again, of some clients and servers."""
    known = traffic.mounts(trace)
    mounts = [str(mount) for mount, pair in known.items() if pair in pairs]
    told = f"mount in ({', '.join(mounts)})" if len(mounts) < len(known) else "true"
    total = 0
    found: dict[Pair, tuple[dict[str, int], int]] = {}
    # All others are one row, or a few.
    for client, server, flavor, calls, resent in trace.rows(
        f"""
        select case when {told} then client end, case when {told} then server end, flavor,
               count(*), count(*) filter (
                   transmissions > 1 or call in (select call from notes where reason = $late)
               )
        from calls where not callback group by all order by 4 desc, flavor
        """,
        {"late": LATE_RETRANSMISSION},
    ):
        total += resent
        if client is not None:
            flavors, before = found.get((client, server), ({}, 0))
            found[client, server] = ({**flavors, flavor: calls}, before + resent)
    return total, found


def _in_use(trace: Trace, pairs: Collection[Pair]) -> dict[Pair, tuple[int, int]]:
    """How many connections carried NFS, and the most at a time, by client and server.

    One that follows another begins later.
    """
    known = traffic.of_clients(trace).of_mounts(
        mount for mount, pair in traffic.mounts(trace).items() if pair in pairs
    )
    nfs = known.where(known.numbers["program"] == NFS)
    return {
        pair: (len(begin), most_at_once(begin, end, touching=True))
        for pair, (begin, end) in nfs.spans("first_ns", "last_ns").items()
    }


def _sizes(trace: Trace, pairs: Collection[Pair]) -> dict[Pair, tuple[int | None, ...]]:
    """The largest READ and WRITE, and what the server allows, of each client and server."""
    mounts = traffic.mounts(trace)
    found: dict[Pair, tuple[int | None, ...]] = {}
    known: list[tuple[int, tuple[int | None, ...]]] = []
    for moved in transfer_sizes.moved(trace):
        largest = moved.largest_bytes
        sizes = (largest, None) if moved.reading else (None, largest)
        known.append((moved.mount, (*sizes, None, None)))
    for each in transfer_sizes.allowed(trace):
        known.append((each.mount, (None, None, each.read_bytes, each.write_bytes)))
    for mount, values in known:
        if mounts[mount] not in pairs:
            continue
        before = found.get(mounts[mount], (None,) * len(values))
        found[mounts[mount]] = tuple(map(_larger, before, values))
    return found


def _larger(one: int | None, other: int | None) -> int | None:
    """The larger of two numbers of which any may be unknown."""
    return max((each for each in (one, other) if each is not None), default=None)
