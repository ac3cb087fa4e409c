"""What the run is bound by, as the model's verdict says it, and what of the clock that cause takes.

Takes a trace; gives the verdict on what was measured, with the numbers that it rests on, and in
shares of the clock what storage took of the stable calls and what the network took of all calls.
So a finding on it names the same cause as the verdict, and its costs add up with those of others.
Of several clients each has its own besides, from its own clock.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import given, population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data import moves, written_back
from pcapnfs.analyses.forecasts import measuring as _measuring
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.verdict import client_verdict, measured_verdict
from pcapnfs.analyses.servers import stalled_calls
from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.call_times import KindOfStable, mostly_resent
from pcapnfs.analyses.times.long_pauses import long_enough
from pcapnfs.analyses.times.outstanding import KINDS
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.wire import slower_path, tcp_stalls
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.forecasts.verdict import ClientVerdict, Verdict
    from pcapnfs.analyses.times.client_clocks import ClientClock
    from pcapnfs.analyses.wire.network_path import NetworkPath
    from pcapnfs.trace import Trace

READS = columns.together(
    _measuring.READS,
    moves.READS,
    shares.READS,
    traffic.READS,
    written_back.READS,
    columns.of(
        calls="call op mount callback call_frame srt stability status_name first_arrived program"
    ),
)
"""The columns that the queries here read."""

WRITING = population.Operations(("WRITE",))
"""Without these nothing is asked of what was written."""

NO_CALLS = (0, 0, 0, 0)
"""Number and sums of no calls."""


class Bottleneck(Record):
    """What the time went into, over all clients or of one."""

    verdict: Verdict | ClientVerdict | None
    """The causes; None without calls, or when nothing tells the round trip."""
    calls: int
    """Calls of NFS and NFSACL."""
    stable_calls: int
    """Stable ones."""
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
    """For rows of the time budget, the network's part of the calls' shares, seconds, whatever the
    calls did or whether that is known; 0 where the network's part of the round trip is not."""
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
    """The time in which the client was active, seconds: from its first call to its last reply
    without `away_s` and `mount_idle_s`, and what it asked for a connection in vain after that; None
    for all clients, and for the only one unless it is less than the capture by a pause of 30 s or
    more."""
    placed_share: float | None = None
    """Share of the client's calls, 0…1, of which TCP tells where they were captured; None for all
    clients."""
    network_most_s: float | None = None
    """What of the round trip the network takes at most, seconds, where TCP tells none of it; None
    where it does, and where nothing tells."""
    unused_s: float = 0.0
    """What of `client_s` are gaps of a second or more in which nothing is known to be waited for,
    seconds; 0 of one of several clients."""
    put_off_most_s: float = 0.0
    """What of `client_s` are pauses of 1 to 30 s that may be waits for a server which put calls
    off, since the capture does not tell the status of most, seconds; 0 where it does."""
    queue_s: float = 0.0
    """What of the round trip a call waited until its server was done with others, mean, seconds."""
    away_s: float = 0.0
    """Pauses of 30 s or more between the client's calls, in which it is not known to have waited
    for anything, seconds; 0 for all of several clients."""
    rest_s: float = 0.0
    """Shorter ones, of a second or more, if they are few, likewise: they are in `active_s`."""
    mount_idle_s: float = 0.0
    """What lies between mount and first use, and last use and unmount, seconds: in no verdict."""
    stable: StableCalls = StableCalls()
    """What stable calls hold, and whether they waited for others."""
    stable_writes: int = 0
    """WRITEs among the stable calls that asked for it."""
    stable_files: int = 0
    """Files that these were to."""
    stable_ends: int = 0
    """How often these files were closed or unlocked (`written_back`), or, of NFSv3, asked for."""
    unknown_calls: int = 0
    """Calls of which it is not known whether they were stable."""
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
    clocks = _clocks(measured)
    seen = _seen(trace, [clock.client for clock in clocks])
    written = _written(trace)
    return Bottleneck(
        verdict=measured_verdict(measured),
        calls=measured.calls,
        stable_calls=measured.stable_calls,
        small_calls=measured.small_calls,
        rtt_s=measured.rtt_s,
        usual_s=measured.rtt_s if measured.small_median_s is None else measured.small_median_s,
        network_rtt_s=measured.network_rtt_s,
        network_most_s=measured.network_most_s,
        persist_s=costs.persist_s,
        stable_median_s=measured.stable_median_s,
        kinds=measured.kinds,
        stable_s=rows["stable"][0],
        storage_s=rows["stable"][1],
        network_s=tuple((row, part) for row, (_, _, part) in rows.items()),
        slowest=seen[None].slowest,
        fastest=seen[None].fastest,
        small=seen[None].small,
        moved_bytes=seen[None].moved_bytes,
        client_s=measured.client_s + measured.pauses_s,
        unused_s=measured.unused_s,
        put_off_most_s=measured.put_off_most_s,
        queue_s=measured.queue_s,
        active_s=_active_s(measured),
        away_s=measured.away_s,
        rest_s=measured.rest_s,
        mount_idle_s=measured.mount_idle.whole_s,
        stable=measured.stable,
        stable_writes=sum(each.writes for each in written.values()),
        stable_files=sum(each.files for each in written.values()),
        stable_ends=sum(each.ends for each in written.values()),
        unknown_calls=measured.unknown_calls,
        clients=tuple(_by_client(trace, clocks, seen, written)),
    )


def _active_s(measured: Measurement) -> float | None:
    """Of the only client the time in which it was active, if the capture is longer by a pause."""
    outside = measured.capture_s - measured.present_s
    if measured.several > 1 or measured.lacking or not long_enough(outside):
        return None
    return measured.present_s


def _clocks(measured: Measurement) -> list[ClientClock]:
    """The clocks of the clients that called, where there are several."""
    if measured.clients is None or measured.rtt_s is None:
        return []
    return [clock for clock in measured.clients.each if clock.calls]


def _by_client(
    trace: Trace,
    clocks: Sequence[ClientClock],
    seen: Mapping[str | None, _Seen],
    written: Mapping[str, _Written],
) -> Iterator[Bottleneck]:
    """What the time of each client went into."""
    calls, unknown = traffic.by_pair(trace), _unknown(trace) if clocks else {}
    # The last of a client is the server with most of its calls.
    servers = dict(sorted(calls, key=lambda pair: (calls[pair], pair[1])))
    for clock in clocks:
        told, mine = client_verdict(clock), seen[clock.client]
        stored = written.get(clock.client, NONE_WRITTEN)
        usual = clock.rtt_s if clock.small_median_s is None else clock.small_median_s
        yield Bottleneck(
            verdict=told,
            calls=clock.calls,
            stable_calls=clock.stable_calls,
            small_calls=clock.small_calls,
            rtt_s=clock.rtt_s,
            usual_s=usual,
            network_rtt_s=clock.told_network_s,
            network_most_s=clock.network_most_s,
            persist_s=clock.persist_s,
            stable_median_s=clock.stable_median_s,
            kinds=clock.kinds,
            stable_s=clock.budget.stable_s,
            storage_s=next(each.time_s for each in told.causes if each.cause == "persistence"),
            network_s=tuple((row, clock.part(row, clock.told_network_s or 0.0)) for row in KINDS),
            slowest=mine.slowest,
            fastest=mine.fastest,
            small=mine.small,
            moved_bytes=mine.moved_bytes,
            client_s=clock.budget.client_s,
            about=(clock.client, servers[clock.client]),
            active_s=clock.present_s,
            placed_share=clock.budget.placed_share,
            put_off_most_s=clock.put_off_most_s,
            queue_s=clock.queue_s,
            away_s=clock.away_s,
            rest_s=clock.rest_s,
            mount_idle_s=clock.mount_idle.whole_s,
            stable=clock.stable,
            stable_writes=stored.writes,
            stable_files=stored.files,
            stable_ends=stored.ends,
            unknown_calls=unknown.get(clock.client, 0),
        )


def _unknown(trace: Trace) -> Mapping[str, int]:
    """By client, calls of which it is not known whether they were stable."""
    mounts, found = traffic.mounts(trace), Counter[str]()
    for mount, calls in trace.rows(_UNKNOWN):
        found[mounts[integer(mount)][0]] += integer(calls)
    return found


class _Written(Record):
    """What a client wrote that it asked to be on stable storage at once, and was."""

    writes: int
    """WRITEs."""
    files: int
    """Files that they were to."""
    ends: int
    """How often these were closed, unlocked or asked for."""


NONE_WRITTEN = _Written(0, 0, 0)
"""Nothing of that kind."""


def _written(trace: Trace) -> dict[str, _Written]:
    """Of each client that wrote so."""
    if not WRITING.met(trace):
        return {}
    moves.register(trace)
    mounts, found = traffic.mounts(trace), dict[str, _Written]()
    for mount, *counts in trace.rows(_WRITTEN):
        client = mounts[integer(mount)][0]
        before = found.get(client, NONE_WRITTEN)
        writes, files, ends = map(integer, counts)
        found[client] = _Written(
            writes=before.writes + writes, files=before.files + files, ends=before.ends + ends
        )
    return found


class _Seen(Record):
    """What calls show besides their times."""

    slowest: tuple[int, ...]
    """Frames of the stable calls that took longest."""
    fastest: tuple[int, ...]
    """Frames of the stable calls that took shortest."""
    small: tuple[int, ...]
    """Frames of the first calls that show the round trip."""
    moved_bytes: int
    """Bytes of calls and replies."""


def _seen(trace: Trace, clients: Sequence[str]) -> dict[str | None, _Seen]:
    """What the calls of each of these clients show; None: those of all, callbacks' bytes too.

    The calls of others are together: examples by client are lists, which the database cannot spill.
    """
    place = {client: number for number, client in enumerate(clients)}
    # A number is looked for faster than an address.
    places = {
        mount: place[client]
        for mount, (client, _) in traffic.mounts(trace).items()
        if client in place
    }
    parameters = {"mounts": given.text(places), "places": given.text(places.values())}
    stable = {number: lists for number, *lists in trace.rows(_STABLE, parameters)}
    small = {
        number: list(zip(calls, frames, strict=True))
        for number, calls, frames in trace.rows(_SMALL, parameters)
    }
    moved: dict[str | None, int] = {None: int(traffic.traffic(trace).numbers["moved_bytes"].sum())}
    for (client, _), moved_bytes in traffic.of_clients(trace).by_pair("moved_bytes").items():
        moved[client] = moved.get(client, 0) + moved_bytes

    def first(lists: Iterable[Sequence[Any]]) -> tuple[int, ...]:
        """The frames, which come last, of the first of all."""
        return tuple(integer(each[-1]) for each in sorted(chain(*lists))[:EXAMPLES])

    def seen(client: str | None, numbers: Iterable[int | None]) -> _Seen:
        slowest, fastest = zip(*(stable.get(each, ((), ())) for each in numbers), strict=True)
        return _Seen(
            slowest=first(slowest),
            fastest=first(fastest),
            small=first(small.get(each, ()) for each in numbers),
            moved_bytes=moved[client],
        )

    return {
        None: seen(None, [None, *place.values()]),
        **{client: seen(client, [number]) for client, number in place.items()},
    }


def _rows(
    trace: Trace, measured: Measurement, network: NetworkPath
) -> dict[str, tuple[float, float, float]]:
    """By row of the budget, seconds.

    The shares of its calls, their parts beyond the round trip, and their parts of the network.
    What calls stood still, for lost segments or since the server did, or took longer for a longer
    path, is in the first alone. Without those that were sent again, unless most of the row were.
    """
    mounts = traffic.mounts(trace)
    told = shares.where(f"srt is not null and not {TOLD_LATER}")
    still = "select null::ubigint as call, 0 as stall, 0 as inside where false"
    if tcp_stalls.register(trace):
        still = f"select call, stall, inside from {tcp_stalls.TABLE} where own and waited"
    if slower_path.register(trace):
        still += f" union all select call, part, inside from {slower_path.TABLE}"
    if stalled_calls.register(trace):
        still += f" union all select call, part, took - usual from {stalled_calls.TABLE}"
    found = trace.rows(
        f"""
        with added as (
            select {given.rows("mounts", "uinteger")} as mount,
                   {given.rows("added", "bigint")} as added
        ),
        still as (
            select call, sum(stall)::bigint as stall, sum(inside)::bigint as inside
            from ({still}) group by call
        ),
        timed as (
            select stability, first_arrived as once, share,
                   greatest(share - coalesce(stall, 0), 0) as rest,
                   greatest(srt + coalesce(added, 0) - coalesce(inside, 0), 1) as took
            from calls join shares using (call) left join added using (mount)
                 left join still using (call)
            where {told}
        )
        select stability, once, count(*), sum(share),
               sum((rest * (greatest(took - $rtt, 0) / took))::bigint),
               sum((rest * (least($network, took) / took))::bigint)
        from timed group by stability, once
        """,
        {
            "mounts": given.text(mounts),
            "added": given.text(network.added_ns.get(pair, 0) for pair in mounts.values()),
            "rtt": (measured.rtt_s or 0.0) * NANOSECONDS,
            "network": (measured.network_rtt_s or 0.0) * NANOSECONDS,
        },
    )
    rows = {(str(row), bool(once)): values for row, once, *values in found}
    parts = {}
    for row in KINDS:
        sent_once, again = (rows.get((row, once), NO_CALLS) for once in (True, False))
        whole = [int(one) + int(other) for one, other in zip(sent_once, again, strict=True)]
        chosen = whole if mostly_resent(int(sent_once[0]), whole[0]) else sent_once
        share, beyond, net = (float(each) / NANOSECONDS for each in chosen[1:])
        parts[row] = (share, beyond, net)
    return parts


_ONCE = "srt is not null and first_arrived"
"""Answered and sent once, in SQL: fit for an example."""

_SHOWS = {
    "stable": f"stability = 'stable' and {_ONCE}",
    "small": f"stability = 'unstable' and {among('op', SMALL_OPERATIONS)} and {_ONCE}",
}
"""Calls that show storage, and those that show the round trip, likewise."""


_PLACES = f"""
    places as (
        select {given.rows("mounts", "uinteger")} as mount,
               {given.rows("places", "uinteger")} as place
    )
"""

_STABLE = f"""
    with {_PLACES}
    select place, min((-srt, call, call_frame), {EXAMPLES}),
           min((srt, call, call_frame), {EXAMPLES})
    from calls left join places using (mount)
    where not callback and {_SHOWS["stable"]}
    group by place
"""
"""The stable calls that took longest and shortest, by the place of their client or NULL."""

_WRITTEN = f"""
    with stored as materialized (
        select mount, moves.file, count(*) as writes
        from {moves.TABLE} as moves join (select call, mount, callback from calls) using (call)
        where what = {moves.KINDS.index("WRITE")} and stable and not unstable_asked and not callback
        group by mount, moves.file
    ),
    ended as ({written_back.ends("stored")})
    select mount, sum(writes), count(file), coalesce(any_value(ends), 0)
    from stored left join ended using (mount) group by mount
"""

_UNKNOWN = f"""
    select mount, count(*) from calls
    where stability = 'unknown' and not callback
          and program in ({", ".join(map(str, NFS_PROGRAMS))})
    group by mount
"""

_SMALL = f"""
    with {_PLACES}
    select place, min(call::bigint, {EXAMPLES}), min_by(call_frame, call::bigint, {EXAMPLES})
    from calls left join places using (mount)
    where not callback and {_SHOWS["small"]}
    group by place
"""
"""The first calls that show the round trip, likewise."""
