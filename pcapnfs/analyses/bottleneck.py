"""What the run is bound by, as the model's verdict says it, and what of the clock that cause takes.

Takes a trace; gives the verdict on what was measured, with the numbers that it rests on, and in
shares of the clock what storage took of the stable calls and what the network took of all calls.
So a finding on it names the same cause as the verdict, and its costs add up with those of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import measurement as _measurement
from pcapnfs.analyses import shares
from pcapnfs.analyses.call_times import KindOfStable
from pcapnfs.analyses.measurement import measure
from pcapnfs.analyses.outstanding import NOT_READY
from pcapnfs.analyses.service_time import NANOSECONDS, integer
from pcapnfs.analyses.timeline import SMALL_OPERATIONS
from pcapnfs.analyses.verdict import Evidence, Verdict, verdict
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.measurement import Measurement
    from pcapnfs.analyses.network_path import NetworkPath
    from pcapnfs.trace import Trace

READS = columns.together(
    _measurement.READS,
    shares.READS,
    columns.of(
        calls="call op client server callback call_frame srt stability status_name transmissions "
        "call_bytes reply_bytes"
    ),
)
"""The columns that the queries here read."""

EXAMPLES = 5
"""Frames that are told."""

CLAIMED = ("stable", "unstable", "unstable_write", "read")
"""Rows of the time budget of which a part is the network's."""


class Bottleneck(Record):
    """What the time went into, over all clients."""

    verdict: Verdict | None
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
    """Time in which no call was under way, seconds, of all clients as one."""


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
        verdict=_verdict(measured),
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
        slowest=_frames(trace, "stability = 'stable'", "srt desc"),
        fastest=_frames(trace, "stability = 'stable'", "srt"),
        small=_frames(trace, f"stability = 'unstable' and op in {SMALL_OPERATIONS}", "call"),
        moved_bytes=_moved(trace),
        client_s=measured.client_s + measured.pauses_s,
    )


def _verdict(measured: Measurement) -> Verdict | None:
    """What the model says of the run as it was measured."""
    if not measured.calls or measured.rtt_s is None:
        return None
    told = measured.persist_s is not None
    return verdict(
        Evidence(
            costs=measured.costs(),
            transfer_s=measured.transfer_s,
            waiting_s=measured.postponed_s,
            stable_s=measured.stable_median_s if told else None,
            small_s=measured.small_median_s,
            forecast=False,
            few=None if told or not measured.stable_calls else measured.stable_calls,
        )
    )


def _rows(
    trace: Trace, measured: Measurement, network: NetworkPath
) -> dict[str, tuple[float, float, float]]:
    """By row of the budget, seconds.

    The shares of its calls, their parts beyond the round trip, and their parts of the network.
    """
    parts = dict.fromkeys(CLAIMED, (0.0, 0.0, 0.0))
    found = trace.sql(
        f"""
        with added as (
            select unnest($clients::varchar[]) as client, unnest($servers::varchar[]) as server,
                   unnest($added::bigint[]) as added
        ),
        timed as (
            select stability, share, greatest(srt + coalesce(added, 0), 1) as took
            from calls join shares using (call) left join added using (client, server)
            where not callback and srt is not null and transmissions = 1
              and not coalesce(status_name in {NOT_READY}, false)
        )
        select stability, sum(share), sum((share * (greatest(took - $rtt, 0) / took))::bigint),
               sum((share * (least($network, took) / took))::bigint)
        from timed where list_contains($rows, stability) group by stability
        """,
        {
            "clients": [client for client, _ in network.added_ns],
            "servers": [server for _, server in network.added_ns],
            "added": list(network.added_ns.values()),
            "rtt": (measured.rtt_s or 0.0) * NANOSECONDS,
            "network": (network.rtt_s or 0.0) * NANOSECONDS,
            "rows": list(CLAIMED),
        },
    ).fetchall()
    for row, *sums in found:
        share, beyond, net = (float(each) / NANOSECONDS for each in sums)
        parts[str(row)] = (share, beyond, net)
    return parts


def _frames(trace: Trace, which: str, order: str) -> tuple[int, ...]:
    """Examples of calls that were answered and sent once."""
    rows = trace.sql(
        f"""
        select call_frame from calls
        where {which} and not callback and srt is not null and transmissions = 1
        order by {order}, call limit {EXAMPLES}
        """
    ).fetchall()
    return tuple(integer(frame) for (frame,) in rows)


def _moved(trace: Trace) -> int:
    ((moved,),) = trace.sql(
        "select sum(call_bytes::bigint) + sum(coalesce(reply_bytes, 0)::bigint) from calls"
    ).fetchall()
    return integer(moved)
