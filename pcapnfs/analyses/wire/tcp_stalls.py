"""What TCP lost between each client and server, and which calls stood still for it.

Takes connections and calls; gives for each client and server what was sent again, for how long a
receiver's window was closed, and the calls that stood still for it (`stood_still`). A lost segment
that nothing follows is sent again only when the sender's timer runs out, 200 ms at least on Linux
and most others (RFC 6298 would have 1 s), less where it is set so. A call stood still that took
longer than usual, and ended with a segment that was sent again; or, where the capture does not tell
when that was, that took as long as a timer longer on a connection that sent segments again. Where
the capture was not taken at the client, so is a pause as long before a call that came alone: it may
have been lost before it came by; at the server if that sent something again meanwhile, or the call
came again: with a lost call the ACK of the reply before is lost, and so it is sent again; of a
longer pause what the server went on sending again: until then the client had not acknowledged it.
There are no more of them than segments sent again, and those come first during which one was. Where
none was, the capture lacks it, as where a reply was lost before it came by: then a first time-out
is to be believed, which hardly ever takes a second. What was sent again before the timer can have
run out (a tail loss probe, a fast retransmission) held nothing up for that long. What its receiver
had before (D-SACK, RFC 2883) was not lost itself; it tells of a loss only as long as that of the
answer to it would not show otherwise: what one end sends again shows at the other end, and not that
of the capture. Messages whose end was lost before it came by (`lost_tails`), and calls that stood
still for packets of RDMA (`rdma_stalls`) are in the same table.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal, TypeAlias

from pcapnfs import columns
from pcapnfs.analyses.asking import named_rows
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import full_windows as _full_windows
from pcapnfs.analyses.wire import (
    lost_tails,
    placed,
    queued_replies,
    rdma_stalls,
    stood_still,
    undelivered,
)
from pcapnfs.analyses.wire.full_windows import full_windows
from pcapnfs.analyses.wire.tcp_timeouts import TIMEOUT_NS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy as np
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

Arrival: TypeAlias = Literal["late", "arrived", "lost"]
"""What D-SACK tells of segments that were sent again: each end had what the other sent again, so
that nothing was lost; the receiver had them all, but the answer may have been lost; or neither."""

Resent: TypeAlias = Arrival | Literal["rdma"]
"""The same, or that packets of RDMA alone were sent again."""

STALLED_READS = columns.together(
    _full_windows.READS,
    queued_replies.READS,
    placed.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call client server connection callback op stability call_frame call_first_time "
        "call_time reply_first_time reply_time call_bytes reply_bytes first_arrived tcp_resent "
        "resent_before_time status_name",
        connections="connection client server transport client_resent server_resent "
        "client_spurious server_spurious client_early server_early client_acks server_acks "
        "client_ack_waits server_ack_waits client_ack_min server_ack_min client_zero_window "
        "server_zero_window syn_rtt ack_rtt",
    ),
)
"""The columns that tell which calls stood still."""

READS = columns.together(
    STALLED_READS,
    undelivered.READS,
    columns.of(
        connections="connection client_port first_time last_time client_segments server_segments "
        "out_of_order client_zero_window server_zero_window server_unacked window_scaling"
    ),
)
"""The columns that the queries here read."""

PAUSE_NS = 1_000_000_000
"""A longer pause before a call is the client's own, and a longer wait without a segment that was
sent again the server's: a first time-out is hardly ever as long."""

TABLE = "tcp_stalls"
"""The table that `register` makes, with a row for each call that stood still: `call`, `client`,
`server`, `call_frame`, `call_first_time`; `row` of the time budget; `stall`, what it took of the
clock, ns; `waited`, whether it was outstanding `longer` ns than others, or came late, after a
`pause`, where that is long, in which the server sent again for `unreached` ns; `inside`, what of
that is in its service time, ns; `own`: nothing else makes it long, since it was answered for its
first transmission, and not told to come again."""


class Stalled(Record):
    """Calls that stood still, and that nothing else made longer."""

    call: NDArray[np.uint64]
    """Number of each (table calls), ascending."""
    transfer: NDArray[np.bool_]
    """Its bytes were moving meanwhile, or those that its reply had to wait for."""
    longer_ns: NDArray[np.int64]
    """How much longer it was outstanding, ns; 0 where it came late."""
    inside_ns: NDArray[np.int64]
    """What of that is in its service time, ns."""
    late_ns: NDArray[np.int64]
    """How much later it came, ns; 0 where it was outstanding longer."""


class LossyConnection(Record):
    """One of several connections of a client and a server."""

    port: int
    """The client's port."""
    resent: int
    """Segments that were sent again on it, by both."""
    segments: int
    """Segments with data on it, both ways."""
    beside: int
    """Those on the others that were in use at that time."""


class TcpStalls(Record):
    """What happened to the TCP connections between one client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """TCP connections between them that carried RPC."""
    segments: int
    """Segments with data, both ways."""
    client_resent: int
    """Segments that the client sent again."""
    server_resent: int
    """Segments that the server sent again."""
    spurious: int
    """Those of both that had arrived before, as the other side says."""
    out_of_order: int
    """Segments that came before their predecessors."""
    client_zero_window_s: float
    """Time for which the client's window was 0, seconds; connections added up."""
    server_zero_window_s: float
    """The same of the server."""
    client_shut: int
    """Connections on which the client's window was 0 for a time."""
    server_shut: int
    """The same of the server."""
    stalls: int
    """Calls that waited, or came late, until TCP sent again what was lost."""
    time_s: Mapping[str, float]
    """What they took of the clock more than others of their kind, seconds by row of the time
    budget."""
    longest_s: float
    """How much longer than others of its kind the longest of them was outstanding, seconds; or for
    how long the server sent again before one that came late (`longest_late`); 0 where none was."""
    longest_from_ns: int | None
    """When that one was sent, nanoseconds since 1970, or the reply before it; None where none was
    outstanding longer."""
    frames: tuple[int, ...]
    """Example frames: of calls that stood still, the longest first."""
    undelivered: int = 0
    """Connections that ended while the server sent again and again what the client never
    acknowledged, though it was there (undelivered.py)."""
    undelivered_bytes: int = 0
    """What the server had sent last on them, and the client did not acknowledge, bytes."""
    undelivered_resent: int = 0
    """Segments that the server sent again on them."""
    windows_told: bool = False
    """Of all connections between them the capture tells how windows are scaled, and so how large
    they are."""
    longest_late: bool = False
    """The longest of them came late."""
    worst: LossyConnection | None = None
    """Of several connections in use at the same time the one on which most segments were sent
    again; None where it is alone, or nothing was."""

    @property
    def lost(self) -> int:
        """Segments sent again that were lost, at least: or else their answers."""
        return max(self.client_resent + self.server_resent - self.spurious, self.stalls)


def tcp_stalls(trace: Trace) -> tuple[TcpStalls, ...]:
    """Count, for each client and server with TCP between them."""
    undelivered.register(trace)
    pairs = named_rows.rows(trace, _PAIRS)
    times, examples, longest = _stalls(trace.rows(_STALLED)) if register(trace) else ({}, {}, {})
    worst = {
        (client, server): LossyConnection(*map(integer, values))
        for client, server, *values in (trace.rows(_WORST) if register(trace) else ())
    }
    return tuple(
        TcpStalls(
            client=row["client"],
            server=row["server"],
            connections=integer(row["connections"]),
            segments=integer(row["segments"]),
            client_resent=integer(row["client_resent"]),
            server_resent=integer(row["server_resent"]),
            spurious=integer(row["spurious"]),
            out_of_order=integer(row["out_of_order"]),
            client_zero_window_s=seconds(row["client_zero_window"]) or 0.0,
            server_zero_window_s=seconds(row["server_zero_window"]) or 0.0,
            client_shut=integer(row["client_shut"]),
            server_shut=integer(row["server_shut"]),
            stalls=len(examples.get(pair, ())),
            time_s=times.get(pair, {}),
            longest_s=seconds(longest.get(pair, NOTHING)[0]) or 0.0,
            longest_from_ns=longest.get(pair, NOTHING)[1],
            windows_told=bool(row["windows_told"]),
            longest_late=longest.get(pair, NOTHING)[2],
            frames=tuple(examples.get(pair, ())[:EXAMPLES]),
            undelivered=integer(row["undelivered"]),
            undelivered_bytes=integer(row["undelivered_bytes"]),
            undelivered_resent=integer(row["undelivered_resent"]),
            worst=worst.get(pair),
        )
        for row in pairs
        for pair in [(row["client"], row["server"])]
    )


def arrivals(trace: Trace) -> dict[str, Resent]:
    """By client with whom something was sent again, whether that had arrived before."""
    found: dict[str, Resent] = {}
    for client, by_tcp, *resent in trace.rows(_BY_CLIENT):
        found[client] = arrival(*map(integer, resent)) if by_tcp else "rdma"
    return found


def arrival(client_resent: int, server_resent: int, spurious: int) -> Arrival:
    """Whether both ends had nearly all that was sent to them again before.

    Args:
        client_resent: Segments that the client sent again.
        server_resent: Segments that the server sent again.
        spurious: Those of both that had arrived before.
    """
    resent = client_resent + server_resent
    all_arrived = spurious == resent
    least = FEW if all_arrived and resent < 2 * LATE else LATE
    if min(client_resent, server_resent) >= least and spurious >= ARRIVED * resent:
        return "late"
    return "arrived" if all_arrived else "lost"


def together(arrivals: Collection[Resent]) -> Resent:
    """The same of several clients: what may have been lost with one may have been so with all."""
    least_sure: tuple[Resent, ...] = ("lost", "arrived", "late", "rdma")
    return next((each for each in least_sure if each in arrivals), "lost")


ARRIVED = 0.9
"""Of segments sent again, the part from which on they had all arrived before. Where segments are
lost, that is so of those alone whose answer was lost: of half of them."""

LATE = 5
"""Such segments of each end. Where one way alone loses, the receiver of what is lost sends all
again for nothing, and nothing of the sender's goes by twice."""

FEW = 2
"""The same where there are no more of both ends together, and all had arrived. Of four that were
sent again, two by each end, losses both ways leave that one time in sixteen."""


def stalled(trace: Trace) -> Stalled | None:
    """The calls that stood still; None where nothing was sent again."""
    return Stalled(**trace.arrays(_OWN)) if register(trace) else None


def lost_by_client(trace: Trace) -> dict[str, dict[str, float]]:
    """What such calls took of the clock, by client and row of the time budget, seconds."""
    found: dict[str, dict[str, float]] = {}
    for client, row, time_ns in trace.rows(_LOST) if register(trace) else ():
        found.setdefault(client, {})[row] = seconds(time_ns) or 0.0
    return found


def left_out(trace: Trace) -> str:
    """SQL behind a join of calls: without those that stood still while they were outstanding.

    What such a call took is the network's, and tells nothing of its server.
    """
    if not register(trace):
        return ""
    return f"anti join (select call from {TABLE} where waited) using (call)"


@once
def register(trace: Trace) -> bool:
    """Make the table `tcp_stalls` of a trace, and say whether there can be anything in it.

    Without anything sent again, and messages that may have waited for it, there is no table.
    """
    late = lost_tails.any_late(trace)
    if not late and not trace.rows(_SENT_AGAIN):
        return False
    shares.register(trace)
    values = placed.values(trace) | {"pause": PAUSE_NS}
    with closing(trace.cursor()) as cursor:
        asked, queues = traffic.asked(trace), queued_replies.rows(trace)
        stalls = stood_still.STALLS.format(asked=asked, queues=queues)
        cursor.execute(f"create table {TABLE} as {stalls}", values | {"timeout": TIMEOUT_NS})
        if late:
            tails = lost_tails.TAILS.format(asked=asked, table=TABLE)
            cursor.execute(f"insert into {TABLE} by name {tails}", values)
        _leave_to_windows(trace, cursor)
        if rdma_stalls.any_resent(trace):
            over_rdma = rdma_stalls.STALLS.format(asked=asked)
            cursor.execute(f"insert into {TABLE} by name {over_rdma}")
    return True


def _leave_to_windows(trace: Trace, cursor: DuckDBPyConnection) -> None:
    """Take out calls whose data moved slowly because a receiver's window was full.

    In a window of a few segments a call takes many round trips, and a sender that asks for room
    sends something again. What was lost there is not counted for the window (table connections);
    so where that took more of the clock than all such calls seem to have stood still, they did not.
    """
    held: dict[Pair, float] = {}
    for each in full_windows(trace):
        pair = each.client, each.server
        held[pair] = held.get(pair, 0.0) + each.cost_s
    stalls = cursor.execute(_MOVING).fetchall() if held else []
    left = [pair for *pair, stall in stalls if held.get(tuple(pair), 0.0) > (seconds(stall) or 0.0)]
    for client, server in left:
        cursor.execute(
            f"delete from {TABLE} where {_OF_PAIR}", {"client": client, "server": server}
        )


Pair = tuple[str, str]

Longest = tuple[int, int | None, bool]

NOTHING: Longest = (0, None, False)
"""What the longest is where there is none."""


def _stalls(
    rows: list[tuple[str, str, str, int, int, int | None, int, bool]],
) -> tuple[dict[Pair, dict[str, float]], dict[Pair, list[int]], dict[Pair, Longest]]:
    """Seconds by row of the budget, frames, and the longest, of each client and server.

    Frames come longest first. The longest is by how much longer it was outstanding, ns, when it was
    sent, and whether it came late instead.
    """
    times: dict[Pair, dict[str, float]] = {}
    frames: dict[Pair, list[int]] = {}
    longest: dict[Pair, Longest] = {}
    for client, server, row, time, frame, longer, sent, came_late in rows:
        pair = client, server
        booked = times.setdefault(pair, {})
        booked[row] = booked.get(row, 0.0) + (seconds(time) or 0.0)
        frames.setdefault(pair, []).append(frame)
        if longer is not None and longer > longest.get(pair, NOTHING)[0]:
            longest[pair] = longer, sent, came_late
    return times, frames, longest


_PAIRS = f"""
    with its as (
        select connections.*, deaf.connection is not null as undelivered
        from connections left join {undelivered.TABLE} as deaf using (connection)
        where transport = 'TCP'
    )
    select client, server, count(*) as connections,
           sum(client_segments + server_segments) as segments,
           sum(its.client_resent) as client_resent, sum(its.server_resent) as server_resent,
           sum(client_spurious + server_spurious) as spurious,
           sum(its.out_of_order) as out_of_order,
           sum(its.client_zero_window) as client_zero_window,
           sum(its.server_zero_window) as server_zero_window,
           count(*) filter (its.client_zero_window > 0) as client_shut,
           count(*) filter (its.server_zero_window > 0) as server_shut,
           bool_and(window_scaling is not null) as windows_told,
           count(*) filter (its.undelivered) as undelivered,
           coalesce(sum(server_unacked) filter (its.undelivered), 0) as undelivered_bytes,
           coalesce(sum(its.server_resent) filter (its.undelivered), 0) as undelivered_resent
    from its
    group by client, server order by segments desc, client, server
"""

_MOVING = f"""
    select client, server, sum(stall)::bigint from {TABLE} where row = 'transfer'
    group by client, server order by client, server
"""

_OF_PAIR = "row = 'transfer' and client = $client and server = $server"

_WORST = """
    with tcp as (
        select connection, client, server, client_port, first_time, last_time,
               client_resent + server_resent as resent,
               client_segments + server_segments as segments
        from connections where transport = 'TCP'
    ),
    worst as (
        select client, server, arg_max(connection, (resent, -connection::bigint)) as connection
        from tcp group by client, server having count(*) > 1 and max(resent) > 0
    )
    select client, server, any_value(one.client_port), any_value(one.resent),
           any_value(one.segments), sum(other.segments) as beside
    from worst join tcp as one using (client, server, connection)
         join tcp as other using (client, server)
    where other.connection <> one.connection and other.first_time < one.last_time
          and other.last_time > one.first_time
    group by client, server
"""

_SENT_AGAIN = """
    select 1 from connections
    where transport in ('TCP', 'RDMA') and client_resent + server_resent > 0 limit 1
"""

_BY_CLIENT = """
    select client, transport = 'TCP' as by_tcp, sum(client_resent), sum(server_resent),
           sum(client_spurious + server_spurious)
    from connections where transport in ('TCP', 'RDMA')
    group by client, by_tcp having sum(client_resent + server_resent) > 0
    order by by_tcp
"""

_OWN = f"""
    select call::ubigint as call, row = 'transfer' as transfer,
           case when waited then longer else 0 end::bigint as longer_ns, inside as inside_ns,
           case when waited then 0 else stall end::bigint as late_ns
    from {TABLE} where own order by call
"""

_LOST = f"""
    select client, row, sum(stall)::bigint from {TABLE} where own group by client, row
"""

_STALLED = f"""
    select client, server, row, stall, call_frame,
           case when waited then longer else unreached end::bigint,
           case when waited then call_first_time else call_first_time - pause end, not waited
    from {TABLE} where not rdma order by stall desc, call
"""
