"""What the run is bound by, as the model's verdict says it, and what of the clock that cause takes.

Takes a trace; gives the verdict on what was measured, with the numbers that it rests on, and in
shares of the clock what storage took of the stable calls and what the network took of all calls.
So a finding on it names the same cause as the verdict, and its costs add up with those of others.
Of several clients each has its own besides, from its own clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import given, shares, traffic
from pcapnfs.analyses import measurement as _measurement
from pcapnfs.analyses.call_times import KindOfStable
from pcapnfs.analyses.measurement import measure
from pcapnfs.analyses.same_calls import NOT_READY
from pcapnfs.analyses.service_time import NANOSECONDS, integer
from pcapnfs.analyses.texts import among
from pcapnfs.analyses.timeline import SMALL_OPERATIONS
from pcapnfs.analyses.verdict import client_verdict, measured_verdict
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pcapnfs.analyses.measurement import Measurement
    from pcapnfs.analyses.network_path import NetworkPath
    from pcapnfs.analyses.verdict import ClientVerdict, Verdict
    from pcapnfs.trace import Trace

READS = columns.together(
    _measurement.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call op mount callback call_frame srt stability status_name transmissions "
        "call_bytes reply_bytes"
    ),
)
"""The columns that the queries here read."""

EXAMPLES = 5
"""Frames that are told."""

CLAIMED = ("stable", "unstable", "unstable_write", "read")
"""Rows of the time budget of which a part is the network's."""


class Bottleneck(Record):
    """What the time went into, over all clients or of one."""

    verdict: Verdict | ClientVerdict | None
    """The causes; None without calls, or when nothing tells the round trip."""
    calls: int
    """Calls of NFS and NFSACL."""
    stable_calls: int
    """Stable ones."""
    timed_calls: int
    """Those of them that show what storage takes: answered, and sent once."""
    small_calls: int
    """Calls that show the round trip."""
    rtt_s: float | None
    """Round trip that the client saw of a call that needs no storage, seconds; None when nothing
    tells."""
    usual_s: float | None
    """What a call that needs no storage usually took: the median of those that show the round trip,
    without any the round trip, seconds; None when nothing tells."""
    network_rtt_s: float | None
    """The network's part of it, seconds; None when TCP does not tell."""
    persist_s: float
    """What a stable call took longer than that round trip, mean, seconds; 0 without any."""
    stable_median_s: float | None
    """Median service time of the stable calls as the client saw it, seconds; None without any."""
    kinds: tuple[KindOfStable, ...]
    """Persistence by kind of stable call, longest sum first."""
    stable_s: float
    """What stable calls took of the clock (`shares`), seconds."""
    storage_s: float
    """The part of it beyond the round trip, seconds."""
    network_s: tuple[tuple[str, float], ...]
    """For rows of the time budget, the network's part of the calls' shares, seconds; 0 where the
    network's part of the round trip is not known."""
    slowest: tuple[int, ...]
    """Frames of the stable calls that took longest."""
    fastest: tuple[int, ...]
    """Frames of the stable calls that took shortest."""
    small: tuple[int, ...]
    """Frames of the first calls that show the round trip."""
    moved_bytes: int
    """Bytes of all calls and replies."""
    client_s: float
    """Time in which no call was under way, seconds, of all clients as one or of this client."""
    about: tuple[str, ...] = ()
    """Addresses of the client and of its server, of several that with most of its calls; empty for
    all clients."""
    active_s: float | None = None
    """From the client's first call to its last reply, seconds; None for all clients."""
    placed_share: float | None = None
    """Share of the client's calls, 0…1, of which TCP tells where they were captured; None for all
    clients."""
    clients: tuple[Bottleneck, ...] = ()
    """The same of each client that called NFS, who waited longest first; empty where there is only
    one client, and of one of several."""


def bottleneck(trace: Trace, measured: Measurement | None = None) -> Bottleneck:
    """Say what the run is bound by.

    Args:
        trace: The trace.
        measured: What the model measures, where it is known already.
    """
    measured = measured or measure(trace)
    network = measured.path
    shares.register(trace)
    costs = measured.costs()
    rows = _rows(trace, measured, network)
    return Bottleneck(
        verdict=measured_verdict(measured),
        calls=measured.calls,
        stable_calls=measured.stable_calls,
        timed_calls=int(measured.sums.timed.sum()),
        small_calls=measured.small_calls,
        rtt_s=measured.rtt_s,
        usual_s=measured.rtt_s if measured.small_median_s is None else measured.small_median_s,
        network_rtt_s=network.rtt_s,
        persist_s=costs.persist_s,
        stable_median_s=measured.stable_median_s,
        kinds=measured.kinds,
        stable_s=rows["stable"][0],
        storage_s=rows["stable"][1],
        network_s=tuple((row, part) for row, (_, _, part) in rows.items()),
        slowest=_frames(trace, _SHOWS["stable"], "srt desc"),
        fastest=_frames(trace, _SHOWS["stable"], "srt"),
        small=_frames(trace, _SHOWS["small"], "call"),
        moved_bytes=_moved(trace),
        client_s=measured.client_s + measured.pauses_s,
        clients=tuple(_by_client(trace, measured)),
    )


def _by_client(trace: Trace, measured: Measurement) -> Iterator[Bottleneck]:
    """What the time of each client went into, where there are several."""
    if measured.clients is None or measured.rtt_s is None:
        return
    clocks = [clock for clock in measured.clients.each if clock.calls]
    seen = _seen(trace, [clock.client for clock in clocks])
    for clock in clocks:
        told, mine = client_verdict(clock), seen[clock.client]
        usual = clock.rtt_s if clock.small_median_s is None else clock.small_median_s
        yield Bottleneck(
            verdict=told,
            calls=clock.calls,
            stable_calls=clock.stable_calls,
            timed_calls=clock.timed_calls,
            small_calls=clock.small_calls,
            rtt_s=clock.rtt_s,
            usual_s=usual,
            network_rtt_s=clock.network_rtt_s,
            persist_s=clock.persist_s,
            stable_median_s=clock.stable_median_s,
            kinds=clock.kinds,
            stable_s=clock.budget.stable_s,
            storage_s=next(each.time_s for each in told.causes if each.cause == "persistence"),
            network_s=tuple((row, clock.part(row, clock.network_rtt_s or 0.0)) for row in CLAIMED),
            slowest=mine.slowest,
            fastest=mine.fastest,
            small=mine.small,
            moved_bytes=mine.moved_bytes,
            client_s=clock.budget.client_s,
            about=(clock.client, mine.server),
            active_s=clock.active_s,
            placed_share=clock.budget.placed_share,
        )


class _Seen(Record):
    """What the calls of a client show besides their times."""

    server: str
    """Its server, of several that with most of its calls."""
    slowest: tuple[int, ...]
    """Frames of its stable calls that took longest."""
    fastest: tuple[int, ...]
    """Frames of its stable calls that took shortest."""
    small: tuple[int, ...]
    """Frames of its first calls that show the round trip."""
    moved_bytes: int
    """Bytes of its calls and replies."""


def _seen(trace: Trace, clients: Sequence[str]) -> dict[str, _Seen]:
    """What the calls of these clients show, by client.

    Of others nothing is asked: examples by client are lists, which the database cannot spill.
    """
    calls = traffic.by_pair(trace)
    # The last of a client is the server with most of its calls.
    servers = dict(sorted(calls, key=lambda pair: (calls[pair], pair[1])))
    wanted = set(clients)
    # A number is looked for faster than an address.
    mounts = given.text(
        mount for mount, (client, _) in traffic.mounts(trace).items() if client in wanted
    )
    # What puts stable calls in order is made up for these alone.
    rows = trace.rows(
        f"""
        with wanted as (select {given.rows("mounts", "uinteger")} as mount),
        stable as (
            select client, min_by(call_frame, (-srt, call), {EXAMPLES}) as slowest,
                   min_by(call_frame, (srt, call), {EXAMPLES}) as fastest
            from calls semi join wanted using (mount)
            where not callback and {_SHOWS["stable"]} group by client
        ),
        others as (
            select client,
                   min_by(call_frame, call::bigint, {EXAMPLES}) filter ({_SHOWS["small"]}) as small,
                   sum(call_bytes::bigint) + sum(coalesce(reply_bytes, 0)::bigint) as moved
            from calls semi join wanted using (mount) where not callback group by client
        )
        select client, slowest, fastest, small, moved
        from others left join stable using (client)
        """,
        {"mounts": mounts},
    )
    return {
        str(client): _Seen(
            server=servers[client],
            slowest=tuple(integer(frame) for frame in slowest or ()),
            fastest=tuple(integer(frame) for frame in fastest or ()),
            small=tuple(integer(frame) for frame in small or ()),
            moved_bytes=integer(moved),
        )
        for client, slowest, fastest, small, moved in rows
    }


def _rows(
    trace: Trace, measured: Measurement, network: NetworkPath
) -> dict[str, tuple[float, float, float]]:
    """By row of the budget, seconds.

    The shares of its calls, their parts beyond the round trip, and their parts of the network.
    """
    parts = dict.fromkeys(CLAIMED, (0.0, 0.0, 0.0))
    mounts = traffic.mounts(trace)
    told = shares.where(f"""
        srt is not null and transmissions = 1 and {among("stability", CLAIMED)}
        and not coalesce({among("status_name", NOT_READY)}, false)
    """)
    found = trace.rows(
        f"""
        with added as (
            select {given.rows("mounts", "uinteger")} as mount,
                   {given.rows("added", "bigint")} as added
        ),
        timed as (
            select stability, share, greatest(srt + coalesce(added, 0), 1) as took
            from calls join shares using (call) left join added using (mount)
            where {told}
        )
        select stability, sum(share), sum((share * (greatest(took - $rtt, 0) / took))::bigint),
               sum((share * (least($network, took) / took))::bigint)
        from timed group by stability
        """,
        {
            "mounts": given.text(mounts),
            "added": given.text(network.added_ns.get(pair, 0) for pair in mounts.values()),
            "rtt": (measured.rtt_s or 0.0) * NANOSECONDS,
            "network": (network.rtt_s or 0.0) * NANOSECONDS,
        },
    )
    for row, *sums in found:
        share, beyond, net = (float(each) / NANOSECONDS for each in sums)
        parts[str(row)] = (share, beyond, net)
    return parts


def _frames(trace: Trace, which: str, order: str) -> tuple[int, ...]:
    """Examples of calls."""
    rows = trace.rows(
        f"""
        select call_frame from calls
        where {which} and not callback
        order by {order}, call limit {EXAMPLES}
        """
    )
    return tuple(integer(frame) for (frame,) in rows)


_ONCE = "srt is not null and transmissions = 1"
"""Answered and sent once, in SQL: fit for an example."""

_SHOWS = {
    "stable": f"stability = 'stable' and {_ONCE}",
    "small": f"stability = 'unstable' and {among('op', SMALL_OPERATIONS)} and {_ONCE}",
}
"""Calls that show storage, and those that show the round trip, likewise."""


def _moved(trace: Trace) -> int:
    ((moved,),) = trace.rows(
        "select sum(call_bytes::bigint) + sum(coalesce(reply_bytes, 0)::bigint) from calls"
    )
    return integer(moved)
