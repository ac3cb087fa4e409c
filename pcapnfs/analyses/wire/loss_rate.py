"""Transfers that lost segments hold down: TCP sends no faster where so much is lost.

Takes the large messages of each client and server, and what was sent again of the direction in
which they moved; gives how fast they moved, and how fast TCP moves data at all where that part of
the segments is lost and a round trip takes that long. A sender takes a loss for a full link and
sends less, a third or half, and then more from round trip to round trip; so what it comes to goes
with the square root of the loss (Mathis et al. 1997), and below where its timer runs out between
(Padhye et al. 1998, RFC 5348 section 3.1): as often as that has it, or far less often, where the
ends tell what is missing (SACK, RFC 6675, and RACK-TLP, RFC 8985). On a short path the timer is
nearly all that counts, and what TCP comes to lies between these two. CUBIC, which Linux and Windows
use, comes to more only on long paths with little loss (RFC 9438 section 5.1).

Nothing is said where the rate is far from that. Below it something else holds the transfer down: a
link that is full loses segments, too, but data stands in its queue, so that a round trip takes
longer than without; so do a window that is too small, and a storage. Above it the sender does not
slow down for a loss, as BBR. Nor is anything said where all connections together move data at an
even pace: that is a full link with a short queue, or one that connections share.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import given, named_rows
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import queued_replies, slower_path
from pcapnfs.analyses.wire.late_answers import Side
from pcapnfs.analyses.wire.late_arrivals import LARGE_BYTES
from pcapnfs.analyses.wire.message_times import (
    ANSWERED,
    ANSWERED_FROM,
    LARGE_CALL,
    LARGE_REPLY,
    SENT,
    SENT_FROM,
)
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.analyses.wire.segments import MSS_BYTES, OPTION_BYTES
from pcapnfs.analyses.wire.slower_path import slower_paths
from pcapnfs.analyses.wire.tcp_timeouts import TIMEOUT_NS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized
    from typing import Any

    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.analyses.wire.round_trip import RoundTrip
    from pcapnfs.trace import Trace

READS = columns.together(
    queued_replies.READS,
    shares.READS,
    slower_path.READS,
    columns.of(
        calls="call connection callback call_first_time call_time reply_first_time reply_time "
        "call_bytes reply_bytes first_arrived",
        connections="connection client server transport segment_size client_resent server_resent "
        "client_spurious server_spurious client_segments server_segments client_bytes "
        "server_bytes",
    ),
)
"""The columns that the queries here read."""

LEAST = 10
"""Segments that were lost, from which the share is worth anything: of ten one in three may be
chance."""

MOST = 100
"""Directions that are looked at, those with most of the clock: each is a scan of calls."""

TIMERS = 0.25
"""How often the timer runs out, by how often it would without both (`allowed`). Of transfers by
Linux 6.18 over paths with 0.3 to 3 % of random loss, 0.2 to 40 ms long, it was a tenth to a fifth;
a quarter foretells best what they took on another path."""

NEAR = (0.5, 2.0)
"""The rate by what such a loss allows: at least, where the timer runs out as often as without both,
and at most, where it does as seldom as `TIMERS`. Of transfers by Linux 6.1 (CUBIC) over paths with
0.1 to 2 % of random loss, 2 to 30 ms long, it was 0.7 to 1.4 of the former, captured at the sender
or far from it, and 0.45 to 0.6 at a receiver 2 ms away, which shows half of the losses; with
windows of 64 KiB, and over a link that was full behind a queue of 60 ms, it was 0.3. Of those by
Linux 6.18, 0.6 to 10 ms long with 0.2 to 3 %, it was 0.65 to 1.3 of the latter."""

UNEVEN = 0.13
"""How far apart the quartiles of the rate of all connections together are, in windows as long as a
message: upper less lower, by their sum, times the square root of how many connections moved at
once. Less is the even pace of a link that was full, which the connections have together; what is
lost by chance comes now sooner, now later, on each connection for itself. Of the transfers above
it was 0.16 to 0.7 where they lost by chance, and 0.01 to 0.11 over full links, on one connection
or four."""

WINDOWS = (10, 1000)
"""Windows that are needed, and that are looked at."""

USUAL = 0.8
"""Windows in which at least so much of what usually moves at once did."""

MOSTLY = 0.5
"""The messages are at least so much of what moved in their direction: of that the loss is."""


class LossRate(Record):
    """A transfer that lost segments hold down."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    sender: Side
    """Who sent the data: `client` (WRITEs), `server` (READs)."""
    connections: int
    """TCP connections that it went over."""
    lost: int
    """Segments of that direction that were sent again, without those that had arrived before."""
    lost_share: float
    """By the segments of that direction, 0…1, as they were on the wire."""
    segment_bytes: int
    """Bytes of data in a full segment."""
    rtt_s: float
    """Round trip of the path, seconds."""
    moved_bytes: int
    """Bytes of the large messages."""
    moving_s: float
    """Time in which they moved, connections added up, seconds."""
    bytes_per_s: float
    """How fast they moved on a connection, bytes a second."""
    allowed_bytes_per_s: float
    """About what TCP comes to on a connection where so much is lost, bytes a second: with its timer
    running out as often as where no end says what is missing, or a quarter as often, whichever is
    nearer."""
    time_s: float
    """What it took of the clock, seconds: of the row *transfer* of the time budget."""


@once
def loss_rates(trace: Trace) -> tuple[LossRate, ...]:
    """Tell each client, server and direction, that with most of the clock first."""
    if not any_lost(trace.rows(_LOST, {"least": LEAST})):
        return ()
    paths = {(pair.client, pair.server): pair for pair in round_trips(trace).pairs}
    full = {(path.client, path.server) for path in slower_paths(trace) if path.full_bytes_per_s}
    shares.register(trace)
    found = [
        told
        for row in named_rows.rows(
            trace,
            _MOVED.format(queues=queued_replies.rows(trace)),
            {"least": LEAST, "large": LARGE_BYTES, "pause": TIMEOUT_NS, "most": MOST},
        )
        if (pair := (row["client"], row["server"])) in paths and pair not in full
        for told in [_told(trace, row, paths[pair])]
        if told is not None
    ]
    return tuple(
        sorted(found, key=lambda each: (-each.time_s, each.client, each.server, each.sender))
    )


def any_lost(found: Sized) -> bool:
    """Whether there is anything to ask about."""
    return len(found) > 0


def loss_rates_by_client(trace: Trace) -> dict[str, tuple[LossRate, ...]]:
    """The same by client."""
    found: dict[str, tuple[LossRate, ...]] = {}
    for each in loss_rates(trace):
        found[each.client] = (*found.get(each.client, ()), each)
    return found


def holding(rates: Sequence[LossRate], transfer_s: float) -> LossRate | None:
    """The first of a client's transfers that lost segments hold down, where these are most.

    Args:
        rates: Those of the client.
        transfer_s: What all its transfers took of the clock, seconds.
    """
    if sum(each.time_s for each in rates) < MOSTLY * transfer_s:
        return None
    return next(iter(rates), None)


def allowed(share: float, rtt_s: float, segment_bytes: int, timers: float = 1.0) -> float:
    """About what TCP comes to on a connection, bytes a second.

    Args:
        share: The share of segments that is lost, above 0, up to 1.
        rtt_s: The round trip, seconds.
        segment_bytes: Bytes of a segment.
        timers: How often its timer runs out, by how often it does where three acknowledgements in
            a row that ask for the same are all that tells of a loss (RFC 5681).
    """
    timeout_s = timers * (rtt_s + TIMEOUT_NS / NANOSECONDS)
    per_segment_s = rtt_s * math.sqrt(2 * share / 3) + timeout_s * min(
        1.0, 3 * math.sqrt(3 * share / 8)
    ) * share * (1 + 32 * share**2)
    per_segment_of_cubic_s = math.pow(rtt_s, 0.25) * math.pow(share, 0.75) / 1.054
    return segment_bytes / min(per_segment_s, per_segment_of_cubic_s)


def _told(trace: Trace, row: dict[str, Any], pair: RoundTrip) -> LossRate | None:
    """What is said of one direction; None where something else set the pace, or nothing tells."""
    rtt_s, longer = pair.path_s, max(pair.client_side, pair.server_side, key=_rtt_s)
    lost, runs, moved_bytes = (integer(row[name]) for name in ("lost", "runs", "moved_bytes"))
    moving_s = seconds(row["moving"]) or 0.0
    # Where they are far apart, a sender has forgotten what it learnt.
    if not rtt_s or longer.source == "gaps" or lost < runs or moving_s <= 0:
        return None
    if moved_bytes < MOSTLY * integer(row["all_bytes"]):
        return None
    segment_bytes = integer(row["segment_bytes"])
    share = min(1.0, lost / float(row["segments"]))
    rate = moved_bytes / moving_s
    least, most = (allowed(share, rtt_s, segment_bytes, timers) for timers in (1.0, TIMERS))
    if not NEAR[0] * least <= rate <= NEAR[1] * most or _is_even(trace, row):
        return None
    return LossRate(
        client=pair.client,
        server=pair.server,
        sender=row["sender"],
        connections=integer(row["connections"]),
        lost=lost,
        lost_share=share,
        segment_bytes=segment_bytes,
        rtt_s=rtt_s,
        moved_bytes=moved_bytes,
        moving_s=moving_s,
        bytes_per_s=rate,
        allowed_bytes_per_s=most if rate * rate > least * most else least,
        time_s=seconds(row["time"]) or 0.0,
    )


def _is_even(trace: Trace, row: dict[str, Any]) -> bool:
    """Whether all connections together moved data at an even pace, or too little to tell."""
    asked = {"connections": given.text(row["their"]), "large": LARGE_BYTES}
    found = trace.arrays(_MESSAGES[row["sender"]], asked)
    begin, end = found["begin"], found["end"]
    rate = found["bytes"] / (end - begin)
    times = np.concatenate((begin, end))
    order = np.argsort(times, kind="stable")
    times = times[order]
    rates = np.cumsum(np.concatenate((rate, -rate))[order])[:-1]
    opened = np.cumsum(np.repeat((1, -1), len(begin))[order])[:-1]
    steps = np.diff(times)
    moved, at_once, busy = (
        np.concatenate(([0.0], np.cumsum(each * steps))) for each in (rates, opened, opened > 0)
    )
    most = WINDOWS[1]
    length = max(float(np.median(end - begin)), float(times[-1] - times[0]) / most)
    edges = np.arange(most + 1) * length + times[0]
    edges = edges[edges <= times[-1]]
    moving, opened = (np.diff(np.interp(edges, times, each)) for each in (busy, at_once))
    usual = float(np.median(opened)) if len(opened) else 0.0
    # As one connection after the other ends, it is fewer that have the link.
    told = (moving >= length / 2) & (opened >= USUAL * usual)
    if told.sum() < WINDOWS[0]:
        return True
    pace = np.diff(np.interp(edges, times, moved))[told] / moving[told]
    lower, upper = np.quantile(pace, (0.25, 0.75))
    together = max(1.0, usual / length)
    return bool(upper - lower < UNEVEN / math.sqrt(together) * (upper + lower))


def _rtt_s(half: Half) -> float:
    return half.rtt_s or 0.0


# Network cards cut segments after the capture, and join them before it: bytes tell how many there
# were on the wire.
_DIRECTIONS = f"""
    sent as (
        select connection, client, server, 'client' as sender,
               client_resent::bigint - client_spurious as lost, client_bytes as bytes,
               client_segments as segments, segment_size
        from connections where transport = 'TCP'
        union all
        select connection, client, server, 'server',
               server_resent::bigint - server_spurious, server_bytes,
               server_segments, segment_size
        from connections where transport = 'TCP'
    ),
    lossy as materialized (
        select connection, client, server, sender, lost, bytes,
               greatest(coalesce(segment_size::integer, {MSS_BYTES}) - {OPTION_BYTES}, 1)
                   as size,
               greatest(segments, bytes / size, 1) as segments
        from sent qualify sum(lost) over (partition by client, server, sender) >= $least
    )
"""

_LOST = f"with {_DIRECTIONS} select 1 from lossy limit 1"

_ASKED = f"connection in (select {given.rows('connections', 'uinteger')})"

_MESSAGES = {
    "client": f"""
        select ({SENT_FROM})::double as begin, ({SENT})::double as "end",
               call_bytes::double as bytes
        from calls where {LARGE_CALL} and {_ASKED}
    """,
    "server": f"""
        select ({ANSWERED_FROM})::double as begin, ({ANSWERED})::double as "end",
               reply_bytes::double as bytes
        from calls where {LARGE_REPLY} and {_ASKED}
    """,
}
"""By who sent them, the large messages of some connections."""

_MOVED = f"""
    with {_DIRECTIONS},
    queues as materialized ({{queues}}),
    messages as (
        select connection, 'client' as sender, call, {SENT_FROM} as begin, {SENT} as "end",
               call_bytes as bytes, 0 as waits, {ANSWERED} - {SENT_FROM} as outstanding
        from calls where {LARGE_CALL}
        union all
        select connection, 'server', call, {ANSWERED_FROM}, {ANSWERED}, reply_bytes, 1,
               {ANSWERED} - {SENT_FROM}
        from calls where {LARGE_REPLY}
    ),
    large as (
        select messages.*, max("end") over (
                   partition by connection, sender order by begin, call
                   rows between unbounded preceding and 1 preceding
               ) as before
        from messages semi join lossy using (connection, sender)
    ),
    timed as (
        select connection, sender, bytes, "end" - begin as took,
               waits * coalesce(queued, 0) as queued,
               greatest("end" - greatest(begin, coalesce(before, begin)), 0) as moving,
               coalesce(begin - before > $pause, true) as anew, coalesce(share, 0) as share,
               greatest(outstanding, 1) as outstanding
        from large left join shares using (call) left join queues using (call)
    ),
    moved as materialized (
        select connection, sender, sum(bytes) as moved, sum(moving) as moving,
               count(*) filter (anew) as runs,
               sum(share * least((took + queued) / outstanding, 1)) as time
        from timed group by connection, sender
    )
    select client, server, sender, count(*) as connections, sum(lost) as lost,
           sum(segments) as segments, sum(bytes) as all_bytes, max(size) as segment_bytes,
           sum(moved) as moved_bytes, sum(moving) as moving,
           sum(runs) as runs, sum(time)::bigint as time, list(connection) as their
    from moved join lossy using (connection, sender)
    group by client, server, sender having sum(lost) >= $least
    order by time desc, client, server, sender limit $most
"""
