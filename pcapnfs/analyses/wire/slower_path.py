"""Where the path between a client and a server was longer for a while, and what that took.

Takes what TCP shows of each connection over time: answers that all came late for a while
(`late_answers`), calls that had not arrived when the server acknowledged less (`late_arrivals`), by
which a path shows that is longer again and again, with quick answers in between, or a link on which
each takes its time (`narrow_links`; of replies, `links_to_clients`), and replies that the server
had sent longer ago than others, by its own clock (`one_way_delays`). Gives for each client, server
and half of the path when it was longer, how sure that is, whether a full link made it so
(`full_links`), and what the calls that were under way then took longer for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import full_links, queued_replies, slower_gaps, tcp_stalls
from pcapnfs.analyses.wire import late_answers as _late_answers
from pcapnfs.analyses.wire import late_arrivals as _late_arrivals
from pcapnfs.analyses.wire import links_to_clients as _links_to_clients
from pcapnfs.analyses.wire import narrow_links as _narrow_links
from pcapnfs.analyses.wire import one_way_delays as _one_way_delays
from pcapnfs.analyses.wire.full_links import FullLink
from pcapnfs.analyses.wire.late_answers import LateAnswers, Side, late_answers
from pcapnfs.analyses.wire.late_arrivals import EVENLY, LateArrivals, late_arrivals
from pcapnfs.analyses.wire.links_to_clients import links_to_clients
from pcapnfs.analyses.wire.narrow_links import NarrowLink, narrow_links
from pcapnfs.analyses.wire.one_way_delays import LongerWay, longer_ways
from pcapnfs.analyses.wire.slower_gaps import GapsOfPair
from pcapnfs.confidence import Confidence
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    _late_answers.READS,
    _late_arrivals.READS,
    _links_to_clients.READS,
    _narrow_links.READS,
    _one_way_delays.READS,
    full_links.READS,
    queued_replies.READS,
    slower_gaps.READS,
    shares.READS,
    tcp_stalls.STALLED_READS,
    columns.of(
        calls="call client connection callback stability call_frame call_first_time call_time "
        "reply_first_time reply_time srt call_bytes reply_bytes",
        connections="connection client server server_slow_from server_slow_until server_slow_rtt",
    ),
)
"""The columns that the queries here read."""

TABLE = "slower_path"
"""The table that `register` makes, with a row for each call that was under way while the path to
its server was known to be longer: `call`, `client`, `call_frame`; `row` of the time budget;
`inside`, what its service time holds for that, ns, and `part`, what it took of the clock, ns. What
waited for replies on a link that these filled is in the row `transfer`, as their bytes are."""


MOST_LATE = 0.5
"""Part of the calls sent meanwhile from which on it is certain that the path made them late. Of
fewer, with others in between that arrived at once, a machine that stands still for moments may be
the reason: what it takes in then, it takes in bit by bit, too."""

MOVING = "transfer"
"""The row of what waited for replies on a link that these filled."""


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
    """Round trip of that half then: the shortest of the answers, or where calls or clocks show it
    (`late_calls`, `late_replies`), the median of those, seconds."""
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
    """`certain`: no ACK may be delayed for as long, or many were not, or most calls of the time
    arrived late; `likely`: none is in practice, or some calls arrived late; `possible`: an end that
    was busy would look the same."""
    calls: int = 0
    """Calls that were under way then, from the first byte to that of the reply; only of the
    server's half, whose time is theirs, and if it is not merely possible. On a link that data
    filled also those before and after that it kept waiting, while its queue grew or went."""
    longer_s: float = 0.0
    """What they took longer for it, added up, seconds: not more than they took in all."""
    gaps: int = 0
    """Calls on the client's half, known to be longer, before which none of the client was under way
    for less than a second: the reply before came to it later by what the path was longer, and so
    did they."""
    time_s: Mapping[str, float] = {}
    """What that took of the clock, seconds by row of the time budget."""
    full_bytes_per_s: float | None = None
    """How fast data moved meanwhile, bytes a second, where it did so evenly, one large call after
    the other, or one large reply (`full_of`), or what calls brought by themselves (`alone`), or
    where calls were the later the more was under way (`follows`): then the data stood in the queue
    of a link that was full, and that is what made the path longer. None where it did not, or little
    moved."""
    follows: bool = False
    """The calls were late by what the client's data that was under way takes at that rate, and no
    later with little under way."""
    full_of: full_links.Data | None = None
    """What filled it: `calls`, the link to the server, or `replies`, that to the client, where the
    acknowledgements of a server wait as well. None where nothing did."""
    frames: tuple[int, ...] = ()
    """Example frames: of the first of these calls."""
    late_calls: int = 0
    """Calls that show it: the server had not received them for so long, as its acknowledgements
    tell, with others in between that it had at once. 0 where all answers were late meanwhile, and
    `acks`, `turns` or `late_replies` show it."""
    alone: int = 0
    """Those of them, on the client's half replies, that were sent while no other data was under
    way, and still arrived late, by what their bytes take at one rate: the link is narrow. 0 where
    others show it."""
    late_replies: int = 0
    """Replies that show it: the server had sent them longer ago than others, as its clock in them
    tells (TCP timestamps). 0 where the others show it."""
    back_s: float | None = None
    """How much longer the way back was, by that clock: the median, seconds. None without."""
    stays: bool = False
    """The last of all replies were as late (`late_replies`): it became no shorter again."""
    at_once: int = 0
    """On the client's half, calls that show it: a client sends them as soon as it has the reply
    before, whatever programs do (the SETATTR of an exclusive create, the COMMIT and the CLOSE
    behind WRITEs of a file). 0 where the ACKs show it without them."""

    @property
    def known(self) -> bool:
        """Whether the path was the cause, as far as can be known."""
        return self.confidence != "possible"

    @property
    def filled(self) -> Side | None:
        """The end to which a link was full; None where none was."""
        if not self.full_bytes_per_s:
            return None
        return "client" if self.full_of == "replies" else "server"

    @property
    def more_s(self) -> float:
        """How much longer the round trip was, seconds."""
        return self.rtt_s - self.usual_s

    @property
    def undelayed(self) -> int:
        """Those of the ACKs without data that no end delays for as long."""
        return _late_answers.undelayed(self.more_s, self.full, self.soon)


class Slowed(Record):
    """Calls that were under way while the path was longer."""

    call: NDArray[np.uint64]
    """Number of each (table calls), ascending."""
    inside_ns: NDArray[np.int64]
    """What its service time holds for that, ns."""
    moving: NDArray[np.bool_]
    """It waited for replies on a link that these filled: its bytes count as moving meanwhile."""


@once
def slower_paths(trace: Trace) -> tuple[SlowerPath, ...]:
    """Tell each client, server and half of the path, in order of time."""
    replied = full_links.full_of_replies(trace)
    waits = slower_gaps.by_pair(trace)
    found = tuple(
        _with_replies(
            _with_gaps(path, waits.get((path.client, path.server))),
            replied.get((path.client, path.server)),
        )
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
    full = full_links.full_before_server(trace)
    times: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for client, server, row, part in trace.rows(_TIMES):
        times[client, server][row] = seconds(part) or 0.0
    return tuple(
        _with_link(
            _with_calls(path, *told[path.client, path.server], times[path.client, path.server]),
            full.get((path.client, path.server)),
        )
        if _costs(path) and (path.client, path.server) in told
        else path
        for path in found
    )


def slowed(trace: Trace) -> Slowed | None:
    """The calls that were under way then; None where no path is known to have been longer."""
    return Slowed(**trace.arrays(_SLOWED)) if register(trace) else None


def slower_by_client(trace: Trace) -> dict[str, dict[str, float]]:
    """What it took of the clock, by client and row of the time budget, seconds."""
    found: dict[str, dict[str, float]] = {}
    for client, row, part in trace.rows(_BY_CLIENT) if register(trace) else ():
        found.setdefault(client, {})[row] = seconds(part) or 0.0
    return found


def left_out(trace: Trace) -> str:
    """SQL that leaves those calls out, as part of a query; empty where there are none."""
    return f"anti join (select call from {TABLE}) using (call)" if register(trace) else ""


def waits(trace: Trace) -> str:
    """SQL: `call` and what its service time holds for that, `inside`, ns.

    Not of calls that waited for replies on a link that these filled: `queued_replies` tells of
    them.
    """
    if not register(trace):
        return "select null::ubigint as call, 0 as inside where false"
    return f"select call, inside from {TABLE} where row is distinct from '{MOVING}'"


@once
def register(trace: Trace) -> bool:
    """Make the table `slower_path` of a trace, and say whether there can be anything in it.

    Where no path is known to have been longer there is no table.
    """
    if not any(_costs(path) for path in _paths(trace)):
        return False
    shares.register(trace)
    answers = [each for each in late_answers(trace) if each.costs]
    filled = full_links.full_before_server(trace)
    full = [filled.get((each.client, each.server), full_links.NOT_FULL) for each in answers]
    stalls = "select null::ubigint as call where false"
    if tcp_stalls.register(trace):
        stalls = f"select call from {tcp_stalls.TABLE} where own"
    late = "select null::ubigint as call, 0 as inside, false as moving where false"
    narrow = _narrow_links.register(trace)
    if _late_arrivals.register(trace):
        late = f"select call, inside, false as moving from {_late_arrivals.TABLE}"
        # What a call brings takes its time on the link, whatever else kept its acknowledgement.
        if narrow:
            late += f" anti join (select call from {_narrow_links.TABLE} where alone) using (call)"
    if _one_way_delays.register(trace):
        late += f" union all select call, inside, false from {_one_way_delays.TABLE}"
    if narrow:
        late += f" union all select call, inside, false from {_narrow_links.TABLE}"
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            f"create table {TABLE} as "
            f"{_CALLS.format(stalls=stalls, late=late, queues=queued_replies.rows(trace))}",
            {
                **_late_answers.parameters(answers),
                "rates": given.text(repr(each.bytes_per_s / NANOSECONDS) for each in full),
                "larges": given.text(each.least_bytes for each in full),
                "data": given.text(each.data for each in full),
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
    for path in map(_by_clock, longer_ways(trace).ways):
        calls = late.get((path.client, path.server))
        if calls is None or path.until_ns - path.from_ns > calls.until_ns - calls.from_ns:
            late[path.client, path.server] = path
    for path in (_by_link(link, "server") for link in narrow_links(trace)):
        calls = late.get((path.client, path.server))
        if calls is None or not calls.full_bytes_per_s or calls.follows:
            late[path.client, path.server] = path
    found = [_by_link(link, "client") for link in links_to_clients(trace)]
    narrow = {(path.client, path.server) for path in found}
    for path in map(_by_answers, late_answers(trace)):
        if path.side == "client" and (path.client, path.server) in narrow:
            continue
        calls = late.get((path.client, path.server))
        if path.side != "server" or calls is None:
            found.append(path)
        elif path.known and path.until_ns - path.from_ns >= calls.until_ns - calls.from_ns:
            found.append(path)
            del late[path.client, path.server]
    found += late.values()
    return tuple(sorted(found, key=lambda path: (path.from_ns, path.client, path.server)))


def _by_answers(late: LateAnswers) -> SlowerPath:
    """What answers show; what it cost is added up later."""
    return SlowerPath(
        client=late.client,
        server=late.server,
        side=late.side,
        connections=late.connections,
        from_ns=late.from_ns,
        until_ns=late.until_ns,
        rtt_s=late.rtt_s,
        usual_s=late.usual_s,
        acks=late.acks,
        turns=late.turns,
        full=late.full,
        soon=late.soon,
        confidence=late.confidence,
        at_once=late.at_once,
    )


def _on_the_way(
    seen: LateArrivals | NarrowLink | LongerWay, rtt_s: float, *, sure: bool
) -> SlowerPath:
    """What shows on the way to the server without any answer that came late.

    Args:
        seen: What shows it.
        rtt_s: The round trip then, seconds.
        sure: Nothing else looks like that.
    """
    return SlowerPath(
        client=seen.client,
        server=seen.server,
        side="server",
        connections=seen.connections,
        from_ns=seen.from_ns,
        until_ns=seen.until_ns,
        rtt_s=rtt_s,
        usual_s=seen.usual_s,
        acks=0,
        turns=0,
        full=0,
        soon=0,
        confidence="certain" if sure else "likely",
    )


def _by_calls(late: LateArrivals) -> SlowerPath:
    """What calls show that arrived late: with each the server said that it was not there yet."""
    even = late.bytes_per_s is not None and not late.follows
    sure = even or late.calls >= MOST_LATE * late.meanwhile
    return replace(
        _on_the_way(late, late.median_s, sure=sure),
        full_bytes_per_s=late.bytes_per_s,
        full_of="calls" if late.bytes_per_s else None,
        follows=late.follows,
        late_calls=late.calls,
    )


def _by_link(link: NarrowLink, side: Side) -> SlowerPath:
    """What messages show that arrived late though none was before them: how fast the link is."""
    return replace(
        _on_the_way(link, link.median_s, sure=link.sizes),
        side=side,
        full_bytes_per_s=link.bytes_per_s,
        full_of="calls" if side == "server" else "replies",
        late_calls=link.calls if side == "server" else 0,
        alone=link.calls,
    )


def _by_clock(way: LongerWay) -> SlowerPath:
    """What the server's clock shows, in what it sent."""
    return replace(
        _on_the_way(way, way.usual_s + way.more_s, sure=way.sure),
        late_replies=way.answers,
        back_s=way.back_s,
        stays=way.stays,
    )


def _with_gaps(path: SlowerPath, gaps: GapsOfPair | None) -> SlowerPath:
    if gaps is None:
        return path
    return replace(path, gaps=gaps.calls, time_s={"client": gaps.path_s}, frames=gaps.frames)


def _with_replies(path: SlowerPath, bytes_per_s: float | None) -> SlowerPath:
    if not bytes_per_s or path.full_bytes_per_s:
        return path
    return replace(path, full_bytes_per_s=bytes_per_s, full_of="replies")


def _with_link(path: SlowerPath, link: FullLink | None) -> SlowerPath:
    """What calls that arrived late tell of the link comes first."""
    if link is None or path.full_bytes_per_s:
        return path
    return replace(path, full_bytes_per_s=link.bytes_per_s, full_of=link.data)


def _with_calls(
    path: SlowerPath, calls: int, longer_s: float, frames: tuple[int, ...], time_s: dict[str, float]
) -> SlowerPath:
    return replace(path, calls=calls, longer_s=longer_s, frames=frames, time_s=time_s)


# A call that stood still for a lost segment is left to that. A large one on a link that is full
# waits for what is before it there: it is answered as soon as it has arrived. The queue takes a
# while to grow, and to go: as long as large calls follow one another without a pause, and are
# answered at the speed that the link then has, it is the link that they are answered by. The same
# is true of large replies: what waited for them from the first on that moved at that speed to the
# last waited for the link, and so did what of a reply moved behind its first segment.
_CALLS = f"""
    with paths as (
        select {_late_answers.PATHS}, {given.rows("rates", "double")} as rate,
               {given.rows("larges", "bigint")} as least_bytes,
               {given.rows("data", "varchar")} as data
    ),
    slow as (
        select connection, server_slow_from as since, server_slow_until as until,
               least(more, server_slow_rtt) as more, usual, least_bytes,
               case when data = 'calls' then rate else 0 end as full_rate,
               case when data = 'replies' then rate else 0 end as reply_rate
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
        select *, count(call) filter (before is null or call_first_time >= before) over (
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
    replied as (
        select connection, reply_time, reply_bytes, reply_rate, call_time,
               lag(reply_time) over (partition by connection order by reply_time, call) as before
        from calls join slow using (connection)
        where reply_rate > 0 and not callback and srt is not null and reply_bytes >= least_bytes
    ),
    moved as materialized (
        select connection, min(call_time) as begun, max(reply_time) as ended
        from replied
        where call_time < before
              and reply_bytes / greatest(reply_time - before, 1)
                  between reply_rate / $times and reply_rate * $times
        group by connection
    ),
    behind as materialized (
        select call, connection, coalesce(queued, 0) + case when reply_bytes >= least_bytes
                   then greatest(reply_time - reply_first_time, 0) else 0 end as waited
        from calls join slow using (connection) join moved using (connection)
             left join ({{queues}}) using (call)
        where not callback and srt is not null and call_time >= begun and reply_time <= ended
    ),
    longer as (
        select call, max(inside) as inside, bool_or(moving) as moving from (
            select call,
                   case when full_rate > 0 and call_bytes >= least_bytes
                        then greatest(srt - usual, 0)
                        else least(more, greatest(srt, 0)) end as inside, false as moving
            from calls join slow using (connection)
            where not callback and srt is not null
                  and (call_first_time >= since and reply_first_time <= until
                       or call in (select call from paced))
            union all
            select call, least(waited, greatest(srt - usual, 0)), true
            from behind join slow using (connection) join calls using (call) where waited > 0
            union all ({{late}})
        ) group by call
    )
    select call, client, server, call_frame,
           case when moving then '{MOVING}' else stability end as row, inside,
           (coalesce(share, 0)::double * inside
            / greatest(reply_time - call_first_time, inside, 1))::bigint as part
    from calls join longer using (call) left join shares using (call)
         anti join ({{stalls}}) using (call)
"""


_SLOWED = f"""
    select call::ubigint as call, inside::bigint as inside_ns, row = '{MOVING}' as moving
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
