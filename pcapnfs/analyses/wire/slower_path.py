"""Where the path between a client and a server was longer for a while, and what that took.

Takes what TCP shows of each connection over time; gives for each client and server when even the
quickest answers of one end took much longer than otherwise, how sure it is that the path was the
cause, and what the calls that were under way then took longer for it.

No answer is quicker than the round trip, so one quick answer shows that the path was no longer
then. Slow answers alone do not show that it was: an end that works for longer than 40 ms delays its
ACKs as well, by up to 200 ms in practice and half a second at most (RFC 1122 section 4.2.3.2). The
path it was where no ACK would have been delayed for as long, or where many came soon after another:
an ACK is for all that has arrived, so none was delayed for longer than the one before it was ago.
(An ACK of two full-sized segments is no proof of its own: it goes at once (RFC 5681 section 4.2)
unless the receiver cannot take more, as where a server is too slow for what clients write.) ACKs
that took less than 30 ms longer are not delayed either; but that a busy end takes a while to send
them, too. Between the capture point and the end that it was taken at there is no path: that half is
not looked at.

A path that is longer again and again, with quick answers in between, shows by its calls: what the
server had not received when it acknowledged less (`late_arrivals`) was on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.service_time import NANOSECONDS, integer, seconds
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import late_arrivals as _late_arrivals
from pcapnfs.analyses.wire import round_trip, tcp_stalls
from pcapnfs.analyses.wire.late_arrivals import (
    EVENLY,
    LARGE_BYTES,
    LateArrivals,
    late_arrivals,
)
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    _late_arrivals.READS,
    round_trip.READS,
    shares.READS,
    tcp_stalls.STALLED_READS,
    columns.of(
        calls="call client connection callback stability call_frame call_first_time call_time "
        "reply_first_time reply_time srt call_bytes reply_bytes",
        connections="connection client server "
        "client_slow_from client_slow_until client_slow_rtt "
        "client_slow_acks client_slow_turns client_slow_full client_slow_soon "
        "server_slow_from server_slow_until server_slow_rtt "
        "server_slow_acks server_slow_turns server_slow_full server_slow_soon",
    ),
)
"""The columns that the queries here read."""

TIMES_AS_LONG = 2.0
"""A path that became longer takes at least so many times what it usually does."""

LASTED = 10
"""And stays so for as many round trips: shorter is a single stall, unless …"""

AT_ONCE = 8
"""… more ACKs than this came late that were not delayed. Of what is under way at once, no more is
timed (`UNDER_WAY` in core/src/stream/timing.rs): what was sent after one of them came late, too."""

NOT_DELAYED_S = 0.03
"""ACKs that took less than this longer than others are not delayed: Linux and BSD delay by 40 ms or
more, which a coarse timer shortens by up to 10 ms."""

DELAYED_S = 0.21
"""No ACK is delayed for longer in practice: Linux, BSD and Windows have 200 ms at most."""

ALLOWED_S = 0.5
"""No ACK may be delayed for longer (RFC 1122 section 4.2.3.2)."""

UNDELAYED = (3, 10)
"""ACKs that were not delayed from which the path is likely, and certain, the cause."""

MANY = 30
"""Answers from which it is certain where no ACK may be delayed for as long."""

LEAST_S = 0.005
"""What is less longer shows nothing where ACKs could be late because an end is busy …"""

LEAST_OF_MANY_S = 0.002
"""… nor this, however many come as late …"""

BUSY_TIMES = 3.0
"""… nor what took fewer times as long …"""

BUSY = (20, 100)
"""… nor fewer ACKs than the first; from the second on the path is likely the cause, and so it is
where it was longer by less (`LEAST_OF_MANY_S`): no end is as busy with each of so many."""

IN_QUEUE = 12
"""Where calls are smaller, pairs of them are looked at, and at least so many calls must have stood
in the queue. Those of fewer programs, each of which calls again as it has its answer, may by chance
be answered evenly on any path: of 12 programs one time in 15 to 100, of 16 one in 30 to 200, by how
alike their round trips are."""

TABLE = "slower_path"
"""The table that `register` makes, with a row for each call that was under way while the path to
its server was known to be longer: `call`, `client`, `call_frame`; `row` of the time budget;
`inside`, what its service time holds for that, ns, and `part`, what it took of the clock, ns."""

Side = Literal["client", "server"]
"""An end of the path."""

Confidence = Literal["certain", "likely", "possible"]
"""How sure it is that the path was the cause."""


class SlowerPath(Record):
    """A while in which the path between one client and one server was longer."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    side: Side
    """The half of the path that it was seen on: between the capture point and this end, at which
    the capture was not taken."""
    connections: int
    """Connections on which it was seen."""
    from_ns: int
    """When the first data was sent that was answered late, nanoseconds since 1970."""
    until_ns: int
    """When the last late answer came, nanoseconds since 1970."""
    rtt_s: float
    """Round trip of that half then: the shortest of the answers, or where calls show it
    (`late_calls`), the median of those, seconds."""
    usual_s: float
    """Round trip of that half otherwise, seconds."""
    acks: int
    """ACKs without data that came then."""
    turns: int
    """ACKs with data that came then."""
    full: int
    """Those of the ACKs without data that were for two full-sized segments or more: these are not
    delayed, unless the receiver cannot take more."""
    soon: int
    """Those of the ACKs without data that came soon after another: these were not delayed."""
    confidence: Confidence
    """`certain`: no ACK may be delayed for as long, or many were not; `likely`: none is in
    practice; `possible`: an end that was busy would look the same."""
    calls: int
    """Calls that were under way then, from the first byte to that of the reply; only of the
    server's half, whose time is theirs, and if it is not merely possible. On a link that the
    client's data filled also the large ones just before and after, while its queue grew or went."""
    longer_s: float
    """What they took longer for it, added up, seconds: not more than they took in all."""
    time_s: Mapping[str, float]
    """What that took of the clock, seconds by row of the time budget."""
    full_bytes_per_s: float | None
    """How fast the data for this end moved meanwhile, bytes a second, where it did so evenly, one
    large call after the other (to the client: one large reply): then the data stood in the queue of
    a link that was full, and that is what made the path longer. None where it did not, or little
    moved."""
    frames: tuple[int, ...]
    """Example frames: of the first of these calls."""
    late_calls: int = 0
    """Calls that show it: the server had not received them for so long, as its acknowledgements
    tell, with others in between that it had at once. 0 where all answers were late meanwhile, and
    `acks` and `turns` show it."""

    @property
    def known(self) -> bool:
        """Whether the path was the cause, as far as can be known."""
        return self.confidence != "possible"

    @property
    def more_s(self) -> float:
        """How much longer the round trip was, seconds."""
        return self.rtt_s - self.usual_s

    @property
    def undelayed(self) -> int:
        """Those of the ACKs without data that no end delays for as long."""
        return _undelayed(self.more_s, self.full, self.soon)


class Slowed(Record):
    """Calls that were under way while the path was longer."""

    call: NDArray[np.uint64]
    """Number of each (table calls), ascending."""
    inside_ns: NDArray[np.int64]
    """What its service time holds for that, ns."""


@once
def slower_paths(trace: Trace) -> tuple[SlowerPath, ...]:
    """Tell each client, server and half of the path, in order of time."""
    replied = _full_of_replies(trace)
    found = tuple(
        replace(path, full_bytes_per_s=replied.get((path.client, path.server)))
        if path.side == "client"
        else path
        for path in _paths(trace)
    )
    if not register(trace):
        return found
    told = {
        (client, server): (integer(calls), seconds(longer) or 0.0, tuple(frames))
        for client, server, calls, longer, frames in trace.rows(_TOLD)
    }
    full = _full(trace)
    times: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for client, server, row, part in trace.rows(_TIMES):
        times[client, server][row] = seconds(part) or 0.0
    return tuple(
        replace(
            _with_calls(path, *told[path.client, path.server], times[path.client, path.server]),
            full_bytes_per_s=path.full_bytes_per_s
            or full.get((path.client, path.server), _NOT_FULL).bytes_per_s
            or None,
        )
        if _costs(path) and (path.client, path.server) in told
        else path
        for path in found
    )


class _Full(Record):
    """A link that the data of a client filled."""

    bytes_per_s: float
    """How fast the data moved, bytes a second."""
    least_bytes: int
    """Bytes of the calls that tell."""


_NOT_FULL = _Full(0.0, LARGE_BYTES)
"""Of a link of which nothing tells that it was full."""


@once
def _full(trace: Trace) -> dict[tuple[str, str], _Full]:
    """The links that the data of clients filled meanwhile."""
    paths = [path for path in _paths_by_answers(trace) if _costs(path)]
    rates = _filled(trace, _RATES, paths)
    found = {pair: _Full(rate, LARGE_BYTES) for pair, rate in rates.items()}
    others = [path for path in paths if (path.client, path.server) not in found]
    for pair, rate in _filled(trace, _RATES_OF_PAIRS, others).items():
        found[pair] = _Full(rate, 1)
    return found


def _full_of_replies(trace: Trace) -> dict[tuple[str, str], float]:
    """The same of what servers sent, on the clients' half."""
    paths = [path for path in _paths_by_answers(trace) if path.known and path.side == "client"]
    return _filled(trace, _REPLY_RATES, paths)


def _filled(trace: Trace, rates: str, paths: list[SlowerPath]) -> dict[tuple[str, str], float]:
    """How fast it moved, where it did so evenly."""
    if not paths:
        return {}
    least, times = EVENLY
    rows = trace.rows(
        rates,
        {
            "clients": given.text(path.client for path in paths),
            "servers": given.text(path.server for path in paths),
            "more": given.text(round(path.more_s * NANOSECONDS) for path in paths),
            "least": least,
        },
    )
    return {
        (client, server): rate * NANOSECONDS
        for client, server, rate, lower, upper in rows
        if upper <= times * lower
    }


def slowed(trace: Trace) -> Slowed | None:
    """The calls that were under way then; None where no path is known to have been longer."""
    return Slowed(**trace.arrays(_SLOWED)) if register(trace) else None


def slower_by_client(trace: Trace) -> dict[str, dict[str, float]]:
    """What it took of the clock, by client and row of the time budget, seconds."""
    found: dict[str, dict[str, float]] = {}
    for client, row, part in trace.rows(_BY_CLIENT) if register(trace) else ():
        found.setdefault(client, {})[row] = seconds(part) or 0.0
    return found


@once
def register(trace: Trace) -> bool:
    """Make the table `slower_path` of a trace, and say whether there can be anything in it.

    Where no path is known to have been longer there is no table.
    """
    if not any(_costs(path) for path in _paths(trace)):
        return False
    paths = [path for path in _paths_by_answers(trace) if _costs(path)]
    shares.register(trace)
    full = [_full(trace).get((path.client, path.server), _NOT_FULL) for path in paths]
    stalls = "select null::ubigint as call where false"
    if tcp_stalls.register(trace):
        stalls = f"select call from {tcp_stalls.TABLE} where own"
    late = "select null::ubigint as call, 0 as inside where false"
    if _late_arrivals.register(trace):
        late = f"select call, inside from {_late_arrivals.TABLE}"
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            f"create table {TABLE} as {_CALLS.format(stalls=stalls, late=late)}",
            {
                "clients": given.text(path.client for path in paths),
                "servers": given.text(path.server for path in paths),
                "more": given.text(round(path.more_s * NANOSECONDS) for path in paths),
                "usual": given.text(round(path.usual_s * NANOSECONDS) for path in paths),
                "rates": given.text(repr(each.bytes_per_s / NANOSECONDS) for each in full),
                "larges": given.text(each.least_bytes for each in full),
                "times": EVENLY[1],
            },
        )
    return True


def _costs(path: SlowerPath) -> bool:
    """Whether calls took longer for it: those of the client's half end before their replies go."""
    return path.known and path.side == "server"


@once
def _paths(trace: Trace) -> tuple[SlowerPath, ...]:
    """The same, without calls. Of what shows the server's half, that which lasted longer counts."""
    late = {(each.client, each.server): _by_calls(each) for each in late_arrivals(trace)}
    found = []
    for path in _paths_by_answers(trace):
        calls = late.get((path.client, path.server))
        if path.side != "server" or calls is None:
            found.append(path)
        elif path.known and path.until_ns - path.from_ns >= calls.until_ns - calls.from_ns:
            found.append(path)
            del late[path.client, path.server]
    found += late.values()
    return tuple(sorted(found, key=lambda path: (path.from_ns, path.client, path.server)))


def _by_calls(late: LateArrivals) -> SlowerPath:
    """What calls show that arrived late: with each the server said that it was not there yet."""
    return SlowerPath(
        client=late.client,
        server=late.server,
        side="server",
        connections=late.connections,
        from_ns=late.from_ns,
        until_ns=late.until_ns,
        rtt_s=late.median_s,
        usual_s=late.usual_s,
        acks=0,
        turns=0,
        full=0,
        soon=0,
        confidence="certain",
        calls=0,
        longer_s=0.0,
        time_s={},
        full_bytes_per_s=late.bytes_per_s,
        frames=(),
        late_calls=late.calls,
    )


@once
def _paths_by_answers(trace: Trace) -> tuple[SlowerPath, ...]:
    """Those on which all answers were late for a while."""
    usual = {(pair.client, pair.server): pair for pair in round_trips(trace).pairs}
    found: defaultdict[tuple[str, str, Side], list[tuple[int, ...]]] = defaultdict(list)
    for client, server, side, *values in trace.rows(_SLOW):
        found[client, server, side].append(tuple(values))
    paths = (
        _path(
            client, server, side, rows, pair.client_side if side == "client" else pair.server_side
        )
        for (client, server, side), rows in found.items()
        if (pair := usual.get((client, server))) is not None and pair.vantage != side
    )
    return tuple(path for path in paths if path is not None)


def _path(
    client: str,
    server: str,
    side: Side,
    rows: list[tuple[int, ...]],
    half: round_trip.Half,
) -> SlowerPath | None:
    """What the connections of a client and a server show of one half; None if it is nothing."""
    usual_s = half.rtt_s
    if usual_s is None:
        return None
    rows = [row for row in rows if _lasted(row, usual_s)]
    if not rows:
        return None
    begins, ends, least, acks, turns, full, soon = zip(*rows, strict=True)
    rtt_s = min(least) / NANOSECONDS
    undelayed = _undelayed(rtt_s - usual_s, sum(full), sum(soon))
    confidence = _confidence(rtt_s, usual_s, sum(acks), sum(turns), undelayed)
    if confidence is None:
        return None
    return SlowerPath(
        client=client,
        server=server,
        side=side,
        connections=len(rows),
        from_ns=min(begins),
        until_ns=max(ends),
        rtt_s=rtt_s,
        usual_s=usual_s,
        acks=sum(acks),
        turns=sum(turns),
        full=sum(full),
        soon=sum(soon),
        confidence=confidence,
        calls=0,
        longer_s=0.0,
        time_s={},
        full_bytes_per_s=None,
        frames=(),
    )


def _lasted(row: tuple[int, ...], usual_s: float) -> bool:
    """Whether a connection's answers took much longer, and not only once."""
    begin, end, least, _, _, full, soon = row
    if least < TIMES_AS_LONG * usual_s * NANOSECONDS:
        return False
    more_s = least / NANOSECONDS - usual_s
    again = more_s >= NOT_DELAYED_S and _undelayed(more_s, full, soon) > AT_ONCE
    return again or end - begin >= LASTED * least


def _undelayed(more_s: float, full: int, soon: int) -> int:
    """How many ACKs no end delays for so much longer.

    One that cannot take more delays those of full-sized segments, too, but not for as long.
    """
    return max(full, soon) if more_s > DELAYED_S else soon


def _confidence(
    rtt_s: float, usual_s: float, acks: int, turns: int, undelayed: int
) -> Confidence | None:
    """How sure the path is the cause; None where that an ACK was delayed is as good a reason."""
    more_s = rtt_s - usual_s
    if more_s < NOT_DELAYED_S:
        if more_s < LEAST_OF_MANY_S or rtt_s < BUSY_TIMES * usual_s or acks < BUSY[0]:
            return None
        if acks >= BUSY[1]:
            return "likely"
        return "possible" if more_s >= LEAST_S else None
    if undelayed >= UNDELAYED[1] or (more_s > ALLOWED_S and acks + turns >= MANY):
        return "certain"
    return "likely" if undelayed >= UNDELAYED[0] or more_s > DELAYED_S else None


def _with_calls(
    path: SlowerPath, calls: int, longer_s: float, frames: tuple[int, ...], time_s: dict[str, float]
) -> SlowerPath:
    return replace(path, calls=calls, longer_s=longer_s, frames=frames, time_s=time_s)


def _slow(side: str) -> str:
    return f"""
        select client, server, '{side}', {side}_slow_from, {side}_slow_until, {side}_slow_rtt,
               {side}_slow_acks, {side}_slow_turns, {side}_slow_full, {side}_slow_soon,
               connection
        from connections where {side}_slow_rtt is not null
    """


_SLOW = f"""
    select * exclude connection from ({_slow("client")} union all {_slow("server")})
    order by connection
"""

_ENDS = (
    f"{given.rows('clients', 'varchar')} as client, {given.rows('servers', 'varchar')} as server, "
    f"{given.rows('more', 'bigint')} as more"
)

# A call that stood still for a lost segment is left to that. A large one on a link that is full
# waits for what is before it there: it is answered as soon as it has arrived. The queue takes a
# while to grow, and to go: as long as large calls follow one another without a pause, and are
# answered at the speed that the link then has, it is the link that they are answered by.
_CALLS = f"""
    with paths as (
        select {_ENDS}, {given.rows("usual", "bigint")} as usual,
               {given.rows("rates", "double")} as full_rate,
               {given.rows("larges", "bigint")} as least_bytes
    ),
    slow as (
        select connection, server_slow_from as since, server_slow_until as until,
               least(more, server_slow_rtt) as more, usual, full_rate, least_bytes
        from connections join paths using (client, server)
        where server_slow_rtt >= more
    ),
    large as (
        select call, connection, call_first_time, greatest(reply_time, 0) as reply_time,
               call_bytes, since, until, full_rate,
               lag(greatest(reply_time, 0)) over in_turn as before
        from calls join slow using (connection)
        where full_rate > 0 and not callback and srt is not null and call_bytes >= least_bytes
        window in_turn as (partition by connection order by reply_time, call)
    ),
    runs as (
        select *, count(*) filter (before is null or call_first_time >= before) over (
                   partition by connection order by reply_time, call
               ) as run
        from large
    ),
    full_runs as (
        select *, bool_or(reply_time between since and until)
                      over (partition by connection, run) as of_the_same
        from runs
    ),
    paced as materialized (
        select call from full_runs
        where of_the_same and call_first_time < before
              and call_bytes / greatest(reply_time - before, 1)
                  between full_rate / $times and full_rate * $times
    ),
    longer as (
        select call, max(inside) as inside from (
            select call,
                   case when full_rate > 0 and call_bytes >= least_bytes
                        then greatest(srt - usual, 0)
                        else least(more, greatest(srt, 0)) end as inside
            from calls join slow using (connection)
            where not callback and srt is not null
                  and (call_first_time >= since and reply_first_time <= until
                       or call in (select call from paced))
            union all ({{late}})
        ) group by call
    )
    select call, client, server, call_frame, stability as row, inside,
           (coalesce(share, 0)::double * inside
            / greatest(reply_time - call_first_time, inside, 1))::bigint as part
    from calls join longer using (call) left join shares using (call)
         anti join ({{stalls}}) using (call)
"""


def _rates(side: str, moved: str) -> str:
    """SQL: how fast large messages moved while the path to an end was longer.

    Each call was sent before the reply that came before its own: the link had no pause in between.
    """
    return f"""
        with paths as (select {_ENDS}),
        slow as (
            select connection, client, server, {side}_slow_from as since, {side}_slow_until as until
            from connections join paths using (client, server) where {side}_slow_rtt is not null
        ),
        large as (
            select slow.client, slow.server, connection, call_time, reply_time, {moved} as bytes,
                   lag(reply_time) over (partition by connection order by reply_time, call)
                       as before
            from calls join slow using (connection)
            where not callback and reply_time between since and until and {moved} >= {LARGE_BYTES}
        ),
        rates as (
            select *, bytes / (reply_time - before) as rate
            from large where reply_time > before and call_time < before
        )
        select client, server, sum(bytes) / sum(reply_time - before),
               quantile_cont(rate, 0.25), quantile_cont(rate, 0.75)
        from rates group by client, server having count(*) >= $least
    """


_RATES = _rates("server", "call_bytes")

# Most pairs of a window are answered at once; so what all come to must be near as well.
_RATES_OF_PAIRS = f"""
    with paths as (select {_ENDS}),
    slow as (
        select connection, client, server, more, server_slow_from as since,
               server_slow_until as until
        from connections join paths using (client, server) where server_slow_rtt is not null
    ),
    answered as (
        select slow.client, slow.server, more, connection, call_time, reply_time,
               call_bytes as bytes, lag(reply_time) over came as before,
               row_number() over came // 2 as pair
        from calls join slow using (connection)
        where not callback and reply_time between since and until
        window came as (partition by connection order by reply_time, call)
    ),
    pairs as (
        select client, server, more, sum(bytes) as bytes, max(reply_time) - min(before) as took
        from answered where before is not null
        group by client, server, more, connection, pair
        having count(*) = 2 and bool_and(call_time < before)
    ),
    rates as (select *, bytes / took as rate from pairs where took > 0)
    select client, server, sum(bytes) / sum(took),
           quantile_cont(rate, 0.25), quantile_cont(rate, 0.75)
    from rates group by client, server
    having count(*) >= $least
           and quantile_cont(rate, 0.75) <= {EVENLY[1]} * sum(bytes) / sum(took)
           and max(more) >= {IN_QUEUE} / 2 * avg(took)
"""

_REPLY_RATES = _rates("client", "reply_bytes")

_SLOWED = f"""
    select call::ubigint as call, inside::bigint as inside_ns
    from {TABLE} order by call
"""

_BY_CLIENT = f"select client, row, sum(part)::bigint from {TABLE} group by client, row"

_TIMES = f"""
    select client, server, row, sum(part)::bigint from {TABLE} group by client, server, row
    order by client, server, row
"""

_TOLD = f"""
    select client, server, count(*), sum(inside),
           min(call_frame, {EXAMPLES})
    from {TABLE} group by client, server
"""
