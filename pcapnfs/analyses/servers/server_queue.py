"""Small calls that a server answered only when it was done with another call.

Takes the answered calls of all clients at a server; gives the small calls that came while others
were under way there, and how many of them waited until another one, of another file and directory,
was answered, and were answered right after that, or right after other small ones that were. A
server that has a thread to spare answers them at once, whatever others wait for. Two calls of one
directory may wait for each other on any server, which locks it (so CREATE and LOOKUP), and what
comes behind much data waits for the link; they are no proof. Small ones that wait side by side do
not wait for each other: of those only the call is asked that all of them came after. A server with
several threads answers at once until all are taken: from so many calls under way on nearly all
small ones wait, and with fewer hardly one does. Of servers where nearly all wait so, also for how
long each client's do, and whose calls it was that they waited for; of servers that work on one call
at a time (`in_turn`), for how long all do. What waits for its connection instead is in
`queued_replies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.arrays import median, quantiles
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.servers import in_turn as _in_turn
from pcapnfs.analyses.servers.in_turn import of_servers, one_by_one
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.analyses.wire import queued_replies, slower_path, tcp_stalls
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    clock_ticks.READS,
    shares.READS,
    columns.of(
        calls="call client server connection callback op stability call_frame call_first_time "
        "call_time reply_time first_arrived file directory call_bytes reply_bytes"
    ),
)
"""The columns that the queries here read, but for `stood_by_client`."""

STOOD_READS = columns.together(
    READS,
    _in_turn.READS,
    queued_replies.READS,
    slower_path.READS,
    tcp_stalls.STALLED_READS,
    traffic.READS,
)
"""The columns that `stood_by_client` reads."""

TIMES_AS_LONG = 3
"""A small call that waited took at least so many times what it takes alone; and it came at most so
long after the answer of another, or `WAKES_NS`."""

LEAST_NS = 500_000
"""A shorter wait is none."""

WAKES_NS = 200_000
"""Until a thread that became free has answered its next call, however little that takes."""

MUCH_BYTES = 16384
"""A call that takes more with its reply keeps others waiting on a link of 100 Mbit/s for a
millisecond and more."""

ALONE = 5
"""Small calls without others that tell how long one takes by itself."""

NEARLY_ALL = 0.8
"""Share of the small calls that came while others were under way which must have waited for one."""


HARDLY_ANY = 0.1
"""Share of those that came while fewer were under way, but another one was, up to which a server
has several threads, and these found one to spare: what comes right after another answer by chance
waited for none."""


class ServerQueue(Record):
    """Small calls at one server."""

    at_a_time: int
    """Calls under way from which on small ones that come are counted in behind: those that it works
    on at a time, where nearly all of these waited."""

    alone: int
    """Those that came while no other call was under way there."""
    alone_s: float
    """Their median service time, seconds."""
    behind: int
    """Those that came while as many were as it works on at a time."""
    waited: int
    """Those of them that were answered right after another call, and waited for it."""
    elsewhere: int
    """Those of these whose other call was on another connection."""
    holder: str
    """Address of the client whose calls most of them waited for."""
    holder_op: str
    """What most of those calls are: procedure, or main operation of a compound."""
    held: int
    """Those that waited for a call of this client, and are of other clients."""
    waited_s: float
    """Their median service time, seconds."""
    time_s: float
    """What waiting took of the clock (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of those that waited longest."""


class ClientWaits(Record):
    """Small calls of one client to a server at which calls queue."""

    client: str
    """Its address."""
    server: str
    """Address of the server."""
    calls: int
    """Those that were sent once and answered, whether they waited or not."""
    time_s: float
    """For how long they waited until another call was answered, added up, seconds."""


def may_wait(alone: NDArray[np.float64], behind: NDArray[np.float64]) -> bool:
    """Whether `waits_by_client` can find any: to ask what each call waited for takes a while.

    Where it works on several at a time, those that came while fewer were under way are quick.

    Args:
        alone: Service times of the small calls that came while no other was under way, seconds.
        behind: Those of the other small ones.
    """
    if len(alone) < ALONE or len(behind) < LEAST_CALLS:
        return False
    (most,) = quantiles(behind, (1 - NEARLY_ALL,))
    longer_s = _much_longer_s(alone)
    several = len(behind) >= 2 * LEAST_CALLS and behind.mean() >= longer_s
    return bool(most >= longer_s or several)


def may_stand(alone: NDArray[np.float64], behind: NDArray[np.float64]) -> bool:
    """Whether `stood_by_client` is worth asking; likewise.

    In one queue stand also those that came behind a short one alone: only the mean shows it.
    """
    if len(alone) < ALONE or len(behind) < LEAST_CALLS:
        return False
    return bool(behind.mean() >= _much_longer_s(alone))


def _much_longer_s(alone: NDArray[np.float64]) -> float:
    """From where on a small call takes much longer than by itself, seconds."""
    usual = median(alone)
    return max(TIMES_AS_LONG * usual, usual + LEAST_NS / NANOSECONDS)


def stood_by_client(trace: Trace) -> tuple[ClientWaits, ...]:
    """What small calls waited at servers that work on one call at a time (`in_turn`).

    There each begins when the one before it is answered, so that it waited until then; but no
    longer than it took beyond what one takes by itself, in which the network is. What waited for a
    link, stood still for a lost segment or was under way while the path was longer waited for that.
    """
    if clock(trace).tick_s is not None:
        return ()
    servers = traffic.busiest_servers(trace)
    alone = [each.server for each in of_servers(trace, servers) if one_by_one(each)]
    if not alone:
        return ()
    longer = ""
    if slower_path.register(trace):
        longer = f"anti join (select call from {slower_path.TABLE}) using (call)"
    rows = trace.rows(
        f"""
        with {_asked(_OF_SERVERS)},
        queues as ({queued_replies.rows(trace)}),
        went as (
            select came.*, usual, lag(reply_time) over answers as answered,
                   lag(much) over answers as much_before, lag(queued) over answers as link_before
            from came join alone using (server) left join queues using (call)
            window answers as (partition by server order by reply_time, call_time, call)
        ),
        small as (select * from went {longer} {tcp_stalls.left_out(trace)} where small)
        select client, server, count(*), coalesce(
            sum(greatest(least(answered - call_time, reply_time - call_time - usual::bigint), 0))
                filter (behind and not behind_data and not much_before and link_before is null), 0
        )::bigint
        from small group by client, server order by client, server
        """,
        {"servers": given.text(alone), "much": MUCH_BYTES},
    )
    return _waits(rows)


def waits_by_client(trace: Trace) -> tuple[ClientWaits, ...]:
    """What small calls waited at servers where nearly all that came behind another one did."""
    if clock(trace).tick_s is not None:
        return ()
    rows = trace.rows(
        _WAITS,
        {
            "times": TIMES_AS_LONG,
            "least": LEAST_NS,
            "wakes": WAKES_NS,
            "much": MUCH_BYTES,
            "alone": ALONE,
            "enough": LEAST_CALLS,
            "share": NEARLY_ALL,
            "hardly": HARDLY_ANY,
        },
    )
    return _waits(rows)


def _waits(rows: Sequence[tuple[Any, ...]]) -> tuple[ClientWaits, ...]:
    return tuple(
        ClientWaits(client, server, integer(calls), seconds(time_ns) or 0.0)
        for client, server, calls, time_ns in rows
    )


def server_queues(trace: Trace, servers: Sequence[str]) -> dict[str, ServerQueue]:
    """Measure these servers; one without such calls is not in it."""
    if not servers or clock(trace).tick_s is not None:
        return {}
    shares.register(trace)
    rows = trace.rows(
        _QUEUED,
        {
            "servers": given.text(servers),
            "times": TIMES_AS_LONG,
            "least": LEAST_NS,
            "wakes": WAKES_NS,
            "much": MUCH_BYTES,
            "enough": LEAST_CALLS,
            "share": NEARLY_ALL,
            "hardly": HARDLY_ANY,
            "examples": EXAMPLES,
        },
    )
    return {
        server: ServerQueue(
            at_a_time=integer(at_a_time),
            alone=integer(alone),
            alone_s=seconds(alone_ns) or 0.0,
            behind=integer(behind),
            waited=integer(waited),
            elsewhere=integer(elsewhere),
            holder=str(holder or ""),
            holder_op=str(holder_op or ""),
            held=integer(held),
            waited_s=seconds(waited_ns) or 0.0,
            time_s=seconds(time_ns) or 0.0,
            frames=tuple(frames),
        )
        for (
            server,
            at_a_time,
            alone,
            alone_ns,
            behind,
            waited,
            elsewhere,
            holder,
            holder_op,
            held,
            waited_ns,
            time_ns,
            frames,
        ) in rows
    }


def _asked(servers: str) -> str:
    """The calls to some servers, and how long small ones take alone, as parts of a query."""
    return f"""
    asked as (
        select call, client, server, connection, op, call_frame, call_first_time, call_time,
               reply_time, file, directory,
               stability = 'unstable' and {among("op", SMALL_OPERATIONS)}
                   and first_arrived as small,
               call_bytes::bigint + coalesce(reply_bytes, 0) > $much as much
        from calls
        where not callback and reply_time is not null and {servers}
    ),
    came as (
        select *, coalesce(max(reply_time) over before > call_time, false) as behind,
               coalesce(max(reply_time) filter (much) over before > call_time, false)
                   as behind_data,
               count(*) over before as earlier
        from asked
        window before as (partition by server order by call_time, call
                          rows between unbounded preceding and 1 preceding)
    ),
    alone as (
        select server, count(*) as alone, median(reply_time - call_time) as usual
        from came where small and not behind group by server
    )
    """


def _small(servers: str) -> str:
    """The small calls to some servers, with whether each waited, as parts of a query.

    And how many calls each of these servers works on at a time.
    """
    return f"""{_asked(servers)},
    went as (
        select came.*, alone, usual,
               not small or coalesce(
                   reply_time - lag(reply_time) over (
                       partition by server order by reply_time, call_time, call
                   ) > greatest($times * usual, $wakes), true
               ) as first
        from came join alone using (server)
    ),
    followed as (
        select *, last_value(
                   case when first then {{
                       answered: reply_time, file: file, directory: directory, client: client,
                       op: op, connection: connection, much: much
                   }} end ignore nulls
               ) over (partition by server order by reply_time, call_time, call
                       rows between unbounded preceding and 1 preceding) as before
        from went
    ),
    told as materialized (
        select *, reply_time - call_time as took,
               coalesce(
                   behind and not behind_data and not first and not before.much
                   and took >= $times * usual and took >= usual + $least
                   and before.answered > call_time
                   and coalesce(file, directory) is not null
                   and coalesce(before.file, before.directory) is not null
                   and not coalesce(
                       before.file = file or before.directory = directory
                       or before.file = directory or before.directory = file, false
                   ), false
               ) as waited
        from followed
        where small
    ),
    answers as (
        select distinct server, reply_time,
               count(*) over (partition by server order by reply_time) as answered
        from asked
    ),
    under_way as materialized (
        select told.*, earlier - coalesce(answered, 0) as others
        from told asof left join answers
             on told.server = answers.server and told.call_time >= answers.reply_time
    ),
    by_others as (
        select server, others, count(*) as calls, count(*) filter (waited) as waited
        from under_way where behind group by all
    ),
    from_on as (
        select server, others, sum(calls) over onwards as calls, sum(waited) over onwards as waited,
               coalesce(sum(calls) over below, 0) as fewer,
               coalesce(sum(waited) over below, 0) as fewer_waited
        from by_others
        window onwards as (partition by server order by others
                           rows between current row and unbounded following),
               below as (partition by server order by others
                         rows between unbounded preceding and 1 preceding)
    ),
    limits as (
        select server, min(if(fewer = 0, 1, others)) as at_a_time
        from from_on
        where waited >= greatest($enough, $share * calls)
            and (fewer = 0 or fewer >= $enough and fewer_waited <= $hardly * fewer)
        group by server
    )
    """


_WAITS = f"""
    with {_small("true")}
    select client, server, count(*), coalesce(
        sum(before.answered - call_time) filter (waited and others >= at_a_time), 0
    )::bigint
    from under_way join limits using (server)
    where alone >= $alone group by client, server order by client, server
"""

_OF_SERVERS = f"server in (select {given.rows('servers', 'varchar')})"

_QUEUED = f"""
    with {_small(_OF_SERVERS)},
    held as (
        select under_way.* replace (
                   others >= coalesce(at_a_time, 1) and behind as behind,
                   others >= coalesce(at_a_time, 1) and waited as waited
               ), coalesce(at_a_time, 1) as at_a_time
        from under_way left join limits using (server)
    ),
    shared as (
        select held.*, coalesce(share, 0)::double * (before.answered - call_time)
                   / greatest(reply_time - call_first_time, 1) as part
        from held left join shares using (call)
    ),
    holders as (
        select server, before.client as holder, mode(before.op order by before.op) as holder_op,
               count(*) as calls, count(*) filter (client <> before.client) as held
        from held where waited group by all
    ),
    most as (
        select server,
               arg_max({{holder: holder, op: holder_op, held: held}}, (calls, holder)) as most
        from holders group by server
    )
    select server, any_value(at_a_time), any_value(alone), any_value(usual),
           count(*) filter (behind), count(*) filter (waited),
           count(*) filter (waited and before.connection <> connection),
           any_value(most.holder), any_value(most.op), coalesce(any_value(most.held), 0),
           median(took) filter (waited), coalesce(sum(part) filter (waited), 0)::bigint,
           coalesce(arg_max(call_frame, (took, call), $examples) filter (waited), [])
    from shared left join most using (server) group by server
"""
