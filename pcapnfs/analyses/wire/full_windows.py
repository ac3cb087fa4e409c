"""Transfers that a TCP window holds down: the sender stood until the receiver took more.

Takes for how long one side of each connection stood at the right edge of the other's window (table
connections), and the messages that moved that way; gives for each client, server and direction
which window that was, and what it took of the clock. A sender has no more than a window under way,
and what does not fit takes another round trip, however fast the link is (RFC 9293 section 3.8.6,
RFC 7323 section 2).

Nothing is said where another window would change nothing. A window that takes much longer to go
round than the path does is full for something else: a link whose queue it stands in, or a receiver
that is slow. One that is far smaller than the connection had otherwise still grew, or the receiver
did not take out what came. Windows of 0 are counted by themselves (`tcp_stalls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, named_rows
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import queued_replies
from pcapnfs.analyses.wire import round_trip as _round_trip
from pcapnfs.analyses.wire.late_answers import Side
from pcapnfs.analyses.wire.message_times import ANSWERED, ANSWERED_FROM, SENT, SENT_FROM
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized
    from typing import Any

    from pcapnfs.trace import Trace

READS = columns.together(
    _round_trip.READS,
    queued_replies.READS,
    shares.READS,
    columns.of(
        calls="call client server connection callback stability call_first_time call_time "
        "reply_first_time reply_time call_bytes reply_bytes",
        connections="connection client server transport client_bytes server_bytes window_scaling "
        "client_window server_window client_full_window server_full_window client_window_full "
        "server_window_full client_window_full_bytes server_window_full_bytes",
    ),
)
"""The columns that the queries here read."""

GROWN = 2.0
"""A window so many times as large as the full one, on the same connection, shows that the full one
was none that the receiver is limited to."""

TURN = 1.5
"""A window may take so many times the path's round trip to go round: ACKs are delayed, and the
round trip varies. Of windows of 5 and of 150 KiB on a path of 20 ms it was 1.0 to 1.1; in the queue
of a link that is full it is as long as the queue."""

BUSY = 0.1
"""A connection that moved this part of what the busiest moved that way is one of those that share
the transfer."""

MOSTLY = 0.5
"""What full windows took of a client's transfers, from which on these are said to be held down."""

MESSAGE_BYTES = 2920
"""Calls or replies of two segments and more are what fills a window: those that are in the row
`transfer` while they move."""

UNSCALED_BYTES = 65535
"""The largest window without scaling (RFC 7323 section 2.1)."""


class FullWindow(Record):
    """A transfer that the receiver's TCP window holds down."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    receiver: Side
    """Whose window was full: `client` (of READs), `server` (of WRITEs)."""
    connections: int
    """TCP connections whose window was full."""
    busy_connections: int
    """Those that shared the transfer."""
    window_bytes: int
    """The window that was full, bytes; of several connections that of the one whose sender stood
    longest."""
    scaled: bool
    """Windows are scaled (RFC 7323): without that no window is larger than 64 KiB."""
    rtt_s: float
    """Round trip of the path, seconds."""
    turn_s: float
    """What a window took to go round, seconds: window by the rate at which data moved meanwhile."""
    stood_s: float
    """For how long the sender stood, seconds; connections that share the transfer count a part
    each."""
    time_s: Mapping[str, float]
    """What of that is of the clock, seconds by row of the time budget."""

    @property
    def cost_s(self) -> float:
        """What it took of the clock, seconds."""
        return sum(self.time_s.values())


@once
def full_windows(trace: Trace) -> tuple[FullWindow, ...]:
    """Tell each client, server and direction, that with most of the clock first."""
    stood = list(named_rows.rows(trace, _STOOD))
    if not any_full(stood):
        return ()
    paths = {(pair.client, pair.server): pair.path_s for pair in round_trips(trace).pairs}
    shares.register(trace)
    found = []
    for receiver, query in _LARGE.items():
        of_pairs: dict[Pair, list[dict[str, Any]]] = {}
        for row in stood:
            pair = row["client"], row["server"]
            if row["receiver"] == receiver and _holds(row, paths.get(pair)):
                of_pairs.setdefault(pair, []).append(row)
        took = _took(trace, query, [row for rows in of_pairs.values() for row in rows])
        found += [
            _told(rows, paths[pair] or 0.0, took.get(pair, {})) for pair, rows in of_pairs.items()
        ]
    return tuple(
        sorted(found, key=lambda each: (-each.cost_s, each.client, each.server, each.receiver))
    )


def any_full(found: Sized) -> bool:
    """Whether there is anything to ask about."""
    return len(found) > 0


def full_windows_by_client(trace: Trace) -> dict[str, tuple[FullWindow, ...]]:
    """The same by client."""
    found: dict[str, tuple[FullWindow, ...]] = {}
    for each in full_windows(trace):
        found[each.client] = (*found.get(each.client, ()), each)
    return found


def holding(windows: Iterable[FullWindow], transfer_s: float) -> FullWindow | None:
    """The one that took most of a client's transfers, where its full windows took most of them.

    Args:
        windows: Those of the client.
        transfer_s: What all its transfers took of the clock, seconds.
    """
    windows = tuple(windows)
    transfers_s = sum(map(_transfer_s, windows))
    if not windows or transfer_s <= 0 or transfers_s < MOSTLY * transfer_s:
        return None
    return max(windows, key=_transfer_s)


def _transfer_s(window: FullWindow) -> float:
    return window.time_s.get("transfer", 0.0)


def _holds(row: Mapping[str, Any], path_s: float | None) -> bool:
    """Whether it is the window that its data waited for."""
    window, moved = integer(row["window"]), integer(row["moved"])
    if not path_s or moved <= 0 or integer(row["largest"]) >= GROWN * window:
        return False
    return _turn_s([row]) <= TURN * path_s


def _turn_s(rows: Sequence[Mapping[str, Any]]) -> float:
    """What a window took to go round, seconds."""
    went_s = sum(integer(row["window"]) * integer(row["stood"]) for row in rows) / NANOSECONDS
    return went_s / sum(integer(row["moved"]) for row in rows)


def _told(rows: Sequence[Mapping[str, Any]], rtt_s: float, took: Took) -> FullWindow:
    """What is said of one direction."""
    first = max(rows, key=lambda row: integer(row["stood"]))
    busy = integer(first["busy"])
    stood_s = sum(integer(row["stood"]) for row in rows) / NANOSECONDS / max(busy, len(rows))
    return FullWindow(
        client=first["client"],
        server=first["server"],
        receiver=first["receiver"],
        connections=len(rows),
        busy_connections=max(busy, len(rows)),
        window_bytes=integer(first["window"]),
        scaled=bool(first["scaled"]),
        rtt_s=rtt_s,
        turn_s=_turn_s(rows),
        stood_s=stood_s,
        time_s=_time_s(took, stood_s),
    )


Pair = tuple[str, str]

Took = dict[str, tuple[float, float]]
"""By row of the budget, what calls took of the clock while their data moved, and beyond, s."""


def _took(trace: Trace, query: str, rows: Sequence[Mapping[str, Any]]) -> dict[Pair, Took]:
    """What the messages of some connections took, by client and server."""
    found: dict[Pair, Took] = {}
    asked = {
        "connections": given.text(integer(row["connection"]) for row in rows),
        "least": MESSAGE_BYTES,
    }
    for client, server, row, moving, other in trace.rows(
        query.format(queues=queued_replies.rows(trace)), asked
    ):
        took = integer(moving) / NANOSECONDS, integer(other) / NANOSECONDS
        found.setdefault((client, server), {})[row] = took
    return found


def _time_s(took: Took, stood_s: float) -> Mapping[str, float]:
    """What of the clock the sender stood, by row: of transfers first, then of what began late.

    A reply whose sender stands is on its way for longer, and those behind it begin later: that is
    in the row of their call.
    """
    moving_s = min(stood_s, sum(moving for moving, _ in took.values()))
    other_s = sum(other for _, other in took.values())
    part = min(1.0, (stood_s - moving_s) / other_s) if other_s > 0 else 0.0
    found = {"transfer": moving_s} | {row: part * other for row, (_, other) in took.items()}
    return {row: time_s for row, time_s in sorted(found.items()) if time_s > 0}


_STOOD = f"""
    with sent as (
        select connection, client, server, window_scaling as scaled, 'client' as receiver,
               server_bytes as bytes, client_window as largest, client_full_window as "window",
               client_window_full as stood, client_window_full_bytes as moved
        from connections where transport = 'TCP'
        union all
        select connection, client, server, window_scaling, 'server',
               client_bytes, server_window, server_full_window,
               server_window_full, server_window_full_bytes
        from connections where transport = 'TCP'
    ),
    busy as (
        select client, server, receiver, count(*) as busy
        from (
            select *, max(bytes) over (partition by client, server, receiver) as most from sent
        )
        where bytes >= {BUSY} * most group by client, server, receiver
    )
    select sent.*, busy
    from sent join busy using (client, server, receiver)
    where stood > 0 and "window" is not null
    order by client, server, receiver, connection
"""

_ASKED = f"connection in (select {given.rows('connections', 'uinteger')})"


def _large(moved: str, took: str, queued: str) -> str:
    """SQL: what messages took of the clock while they moved, and otherwise, by row."""
    return f"""
        with queues as materialized ({{queues}}),
        large as (
            select call, client, server, stability as row, {took} as took,
                   greatest({ANSWERED} - {SENT_FROM}, 1) as outstanding
            from calls where not callback and {moved} >= $least and {_ASKED}
        ),
        timed as (
            select client, server, row, share,
                   least(greatest(took + {queued}, 0) / outstanding, 1) as part
            from large join shares using (call) left join queues using (call)
        )
        select client, server, row, sum(share * part)::bigint, sum(share * (1 - part))::bigint
        from timed group by client, server, row order by client, server, row
    """


_LARGE = {
    "client": _large("reply_bytes", f"{ANSWERED} - {ANSWERED_FROM}", "coalesce(queued, 0)"),
    "server": _large("call_bytes", f"{SENT} - {SENT_FROM}", "0"),
}
"""By whose window it is, what the messages to it took."""
