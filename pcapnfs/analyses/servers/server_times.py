"""How long servers take for calls that wait for no stable storage, by operation.

Takes a trace; gives for each server and operation the service time, without the network's round
trip between capture and server (that of the connection, where its way is longer than that of
others), nor the time for which a reply had to wait for those before it on its connection. Where
nothing but a bound of the round trip is known, that much is left out: it may all be the network's.
So may all that calls take where nothing tells a round trip, as between two clocks that are apart:
what the server takes of it is not known then, and it has no times here. By a clock that ticks too
slowly to tell the round trip, that took a tick at most.
A call that the server had not received when it acknowledged less of it (`unreceived_time`) took no
longer there than from that ACK to the reply. Calls sent again, those that stood still for lost
segments or were under way while the path was longer, and calls that failed are left out; a LOOKUP
that found nothing did not fail, for it takes what one takes that found something.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, paths
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.statuses import NOENT
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, number, seconds
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.analyses.wire import own_ways as _own_ways
from pcapnfs.analyses.wire import queued_replies, slower_path, tcp_stalls
from pcapnfs.analyses.wire.own_ways import own_ways
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pcapnfs.analyses.wire.half import Half
    from pcapnfs.trace import Trace

TIMED_READS = columns.together(
    queued_replies.READS,
    _own_ways.READS,
    shares.READS,
    slower_path.READS,
    tcp_stalls.STALLED_READS,
    traffic.READS,
    clock_ticks.READS,
    columns.of(
        calls="call connection mount server op stability call_frame call_time unreceived_time "
        "reply_first_time srt first_arrived",
    ),
)
"""The columns that `timed` reads."""

READS = columns.together(
    TIMED_READS,
    columns.of(calls="status file", files="file path"),
)
"""The columns that the queries here read."""


DATA = ("read", "unstable_write")
"""Rows of calls on data, of which it is told what file takes the time."""

MOST_CLIENTS = 1000
"""Clients of an operation that are told: as many as have a clock of their own."""

SLOW_NS = 1_000_000
"""Mean time at the server from which on calls on data are asked for that: what is quicker wants no
explanation."""

SCATTER = 1.5
"""How many times further the median of a round trip that varies lies above the usual one (a lower
quartile) than that above the shortest: 1.4 times where the network's queues make exponential times
of it, 0.4 times where two equal delays are added."""


class ServerTime(Record):
    """One operation at one server."""

    server: str
    """Address of the server."""
    op: str
    """Procedure, or main operation of the compounds."""
    kind: str
    """`small`, `read` or `write`."""
    row: str
    """The row of the time budget that it is booked in."""
    calls: int
    """Calls that succeeded, or were LOOKUPs that found nothing, were sent once and held up neither
    by a lost segment nor by a longer path."""
    median_s: float
    """Median time from the call to the first byte of the reply, less the network's round trip
    between capture and server, or its bound, and the time for which other replies held this one up,
    seconds, not below 0."""
    sure_s: float
    """What of it is not the network's where that varies, either, seconds: the usual round trip is a
    lower quartile, and its median may lie further above it than it lies above the shortest
    (`SCATTER`)."""
    mean_s: float
    """The same of the mean."""
    time_s: float
    """What they took of the clock (`shares`) for the time that `mean_s` is the mean of: without a
    round trip, and what other replies took of it, seconds."""
    frames: tuple[int, ...]
    """Example frames: those that took longest."""
    late: int = 0
    """Calls of the same kind that were left out because the path was longer."""
    most: str | None = None
    """Path of the file that most of `time_s` went into, of calls on data; None of others, where no
    file is known, and where none of them take the server a millisecond on average. Not escaped."""
    most_share: float = 0.0
    """What of it did, 0…1."""
    clients: tuple[str, ...] = ()
    """Addresses of the clients whose calls these are; none of them where they are more than
    `MOST_CLIENTS`."""


def server_times(trace: Trace) -> tuple[ServerTime, ...]:
    """Measure each, costliest first."""
    answered = f"""
        srt is not null and first_arrived
        and coalesce(status = 0 or op = 'LOOKUP' and status = {NOENT}, true)
        and ({among("stability", DATA)}
             or stability = 'unstable' and {among("op", SMALL_OPERATIONS)})
    """
    measured, values = timed(trace, answered)
    rows = trace.rows(
        f"""
        with {measured},
        late as (
            select server, op, stability, count(*) as late
            from calls join shares using (call) semi join (select {_late(trace)}) using (call)
            where {shares.where(answered)} group by server, op, stability
        )
        select server, op, stability, count(*), median(took), median(sure), avg(took),
               sum(share * least(took / greatest(srt, 1), 1)) as time,
               arg_max(call_frame, (took, -call_frame::bigint), {EXAMPLES}),
               coalesce(any_value(late), 0), list_sort(list(distinct mount))
        from timed left join late using (server, op, stability)
        where network_told
        group by server, op, stability order by time desc, server, op
        """,
        values,
    )
    slow = any_slow((str(row[2]), number(row[6])) for row in rows)
    most = _most(trace, measured, values) if slow else {}
    mounts = traffic.mounts(trace)
    return tuple(
        ServerTime(
            server=str(server),
            op=str(op),
            kind=_KINDS[str(row)],
            row=str(row),
            calls=integer(calls),
            median_s=seconds(median) or 0.0,
            sure_s=seconds(sure) or 0.0,
            mean_s=seconds(mean) or 0.0,
            time_s=seconds(time) or 0.0,
            frames=tuple(frames),
            late=integer(late),
            most=path,
            most_share=number(part_ns) / number(time) if time else 0.0,
            clients=_clients(mounts, called),
        )
        for server, op, row, calls, median, sure, mean, time, frames, late, called in rows
        for path, part_ns in (most.get((str(server), str(op), str(row)), (None, 0)),)
    )


def _clients(mounts: Mapping[int, tuple[str, str]], called: Iterable[int]) -> tuple[str, ...]:
    """The clients of some mounts; none where they are too many."""
    found = sorted({mounts[mount][0] for mount in called if mount in mounts})
    return tuple(found) if len(found) <= MOST_CLIENTS else ()


def any_slow(means: Iterable[tuple[str, float]]) -> bool:
    """Whether calls on data take so long that the file matters, by row and mean time, ns."""
    return any(row in DATA and mean >= SLOW_NS for row, mean in means)


def _most(
    trace: Trace, measured: str, values: dict[str, object]
) -> dict[tuple[str, str, str], tuple[str, float]]:
    """By server, operation and row, the file that calls on data took most time for, and how much.

    Args:
        trace: The trace.
        measured: SQL: the CTEs of `timed`.
        values: The values that it takes.

    Returns:
        Paths, and nanoseconds.
    """
    rows = trace.rows(_BY_FILE.format(measured=measured), values)
    with closing(trace.cursor()) as cursor:
        known = paths.of(cursor, [integer(row[3]) for row in rows])
    return {
        (str(server), str(op), str(row)): (known[integer(file)], number(time))
        for server, op, row, file, time in rows
        if integer(file) in known
    }


_BY_FILE = f"""
    with {{measured}},
    by_file as (
        select server, op, stability, file, sum(share * least(took / greatest(srt, 1), 1)) as time
        from timed join (
                 select call, file from calls where {among("stability", DATA)}
             ) as told using (call)
        where file is not null and network_told group by server, op, stability, file
    )
    select server, op, stability, arg_max(file, (time, -file::bigint)), max(time)
    from by_file group by server, op, stability
"""


def timed(
    trace: Trace, which: str, mounts: Mapping[int, tuple[str, str]] | None = None
) -> tuple[str, dict[str, object]]:
    """SQL: some calls with the time that they were at the server, as the CTE `timed` of a query.

    It holds `call`, `mount`, `server`, `op`, `stability`, `call_frame`, `share`, `srt`, the
    nanoseconds that the server `took`, and those of it that are `sure` to be the server's; and
    whether the network's part is left out of them, or anything tells it, `network_told`. Those that
    stood still, and those of a longer path, are left out.

    Args:
        trace: The trace.
        which: SQL: a condition on the calls.
        mounts: Addresses of client and server by `calls.mount`, on a connection where that is the
            number of a part; None on all others.

    Returns:
        The SQL, and the values that it takes.
    """
    shares.register(trace)
    tick_s = clock(trace).tick_s
    halves = {
        (pair.client, pair.server): (
            round(rtt_s * NANOSECONDS),
            round(scatter_s(pair.server_side) * NANOSECONDS),
        )
        for pair in round_trips(trace).pairs
        for rtt_s in (tick_s if pair.server_side.rtt_s is None else pair.server_side.rtt_s,)
        if rtt_s is not None
    }
    mounts = traffic.mounts(trace) if mounts is None else mounts
    # By how much a path is longer changes while a queue on it fills: of that, the least is known.
    longer = ""
    if slower_path.register(trace):
        longer = f"anti join (select {_late(trace)}) using (call)"
    ways = own_ways(trace)
    sql = f"""
        ways as (
            select {given.rows("connections", "uinteger")} as connection,
                   {given.rows("own", "bigint")} as own
        ),
        halves as (
            select {given.rows("mounts", "uinteger")} as mount,
                   {given.rows("halves", "bigint")} as network,
                   {given.rows("scatters", "bigint")} as scatter
        ),
        queues as ({queued_replies.rows(trace)}),
        timed as (
            select call, mount, server, op, stability, call_frame, share, srt,
                   least(reply_first_time - call_time - coalesce(own, network, 0)
                         - coalesce(queued, 0), reply_first_time - unreceived_time) as longest,
                   greatest(longest, 0) as took,
                   greatest(took - coalesce(scatter, 0), 0) as sure,
                   coalesce(own, network) is not null as network_told
            from calls join shares using (call) left join halves using (mount)
                 left join ways using (connection) left join queues using (call)
                 {longer} {tcp_stalls.left_out(trace)}
            where {shares.where(which)}
        )
    """
    timed_mounts = {mount: halves[pair] for mount, pair in mounts.items() if pair in halves}
    return sql, {
        "connections": given.text(way.connection for way in ways),
        "own": given.text(way.rtt_ns for way in ways),
        "mounts": given.text(timed_mounts),
        "halves": given.text(network for network, _ in timed_mounts.values()),
        "scatters": given.text(scatter for _, scatter in timed_mounts.values()),
    }


def _late(trace: Trace) -> str:
    """SQL: the calls that were under way while the path was longer."""
    if slower_path.register(trace):
        return f"call from {slower_path.TABLE}"
    return "null::ubigint as call where false"


def scatter_s(half: Half) -> float:
    """By how much the network's usual round trip may be too short for the median, seconds."""
    if half.rtt_s is None or half.least_s is None:
        return 0.0
    return SCATTER * max(0.0, half.rtt_s - half.least_s)


_KINDS = {"read": "read", "unstable_write": "write", "unstable": "small"}
"""The kind of an operation, by the row of the time budget."""
