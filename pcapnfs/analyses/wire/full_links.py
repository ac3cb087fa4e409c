"""Links that were full: what waited made the path longer.

Takes the whiles in which an end's answers came late (`late_answers`); gives how fast large messages
moved meanwhile, where they did so evenly, one after the other: it is the link that then paces them,
and its queue that they stood in. Those to that end kept its answers waiting there, and so do those
that it sent itself: its acknowledgements stand behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.wire import late_answers as _late_answers
from pcapnfs.analyses.wire.late_answers import LateAnswers, late_answers
from pcapnfs.analyses.wire.late_arrivals import EVENLY, LARGE_BYTES
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _late_answers.READS,
    columns.of(
        calls="call client connection callback call_time reply_first_time reply_time call_bytes "
        "reply_bytes",
        connections="connection client server "
        "client_slow_from client_slow_until client_slow_rtt "
        "server_slow_from server_slow_until server_slow_rtt",
    ),
)
"""The columns that the queries here read."""

IN_QUEUE = 12
"""Where calls are smaller, pairs of them are looked at, and at least so many calls must have stood
in the queue. Those of fewer programs, each of which calls again as it has its answer, may by chance
be answered evenly on any path: of 12 programs one time in 15 to 100, of 16 one in 30 to 200, by how
alike their round trips are."""


MOVING = 0.75
"""Part of the time between the ends of large replies in which a link that they fill moves them: a
server that is no faster sends each at once when it has it, and then nothing."""

COVERED = 0.5
"""Part of a while in which replies moved to whose data it can be put down: what is late with
nothing on its way is late for something else."""

Data = Literal["calls", "replies"]
"""What filled a link: data of the client, or of the server."""


class FullLink(Record):
    """A link that data filled."""

    bytes_per_s: float
    """How fast the data moved, bytes a second."""
    least_bytes: int
    """Bytes of the calls, or replies, that tell."""
    data: Data
    """What filled it."""


NOT_FULL = FullLink(0.0, LARGE_BYTES, "calls")
"""One of which nothing tells that it was full."""


@once
def full_before_server(trace: Trace) -> dict[tuple[str, str], FullLink]:
    """Those that made a server's answers late, by client and server."""
    late = [each for each in late_answers(trace) if each.costs]
    rates = _filled(trace, _RATES, late)
    found = {pair: FullLink(rate, LARGE_BYTES, "calls") for pair, rate in rates.items()}
    for query, least, data in _OTHERS:
        others = [each for each in late if (each.client, each.server) not in found]
        for pair, rate in _filled(trace, query, others).items():
            found[pair] = FullLink(rate, least, data)
    return found


def full_of_replies(trace: Trace) -> dict[tuple[str, str], float]:
    """How fast what servers sent moved where it filled the clients' half, bytes a second."""
    late = [each for each in late_answers(trace) if each.known and each.side == "client"]
    return _filled(trace, _REPLY_RATES, late)


def _filled(trace: Trace, rates: str, late: list[LateAnswers]) -> dict[tuple[str, str], float]:
    """How fast it moved, where it did so evenly."""
    if not late:
        return {}
    least, times = EVENLY
    rows = trace.rows(
        rates,
        {**_late_answers.parameters(late), "least": least},
    )
    return {
        (client, server): rate * NANOSECONDS
        for client, server, rate, lower, upper in rows
        if upper <= times * lower
    }


def _rates(side: str, moved: str) -> str:
    """SQL: how fast large messages moved while the path to an end was longer.

    Each call was sent before the reply that came before its own: the link had no pause in between.
    """
    return f"""
        with paths as (select {_late_answers.PATHS}),
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
    with paths as (select {_late_answers.PATHS}),
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

# The server's acknowledgements wait behind its own replies. A window on a path that is merely long
# lets through the less the longer that is; a full link moves data at one speed: that of before and
# after as well, where large replies moved then.
_RATES_BEHIND = f"""
    with paths as (select {_late_answers.PATHS}),
    slow as (
        select connection, client, server, server_slow_from as since, server_slow_until as until
        from connections join paths using (client, server) where server_slow_rtt is not null
    ),
    large as (
        select slow.client, slow.server, connection, since, until, call_time, reply_first_time,
               reply_time, reply_bytes as bytes,
               lag(reply_time) over (partition by connection order by reply_time, call) as before
        from calls join slow using (connection)
        where not callback and reply_time is not null and reply_bytes >= {LARGE_BYTES}
    ),
    rates as (
        select client, server, connection, since, until, bytes, reply_time - before as took,
               reply_time - least(greatest(reply_first_time, before), reply_time) as moving,
               bytes / (reply_time - before) as rate,
               reply_time between since and until as meanwhile
        from large where reply_time > before and call_time < before
    ),
    lasting as (
        select client, server, sum(until - since) as lasted
        from (select distinct client, server, connection, since, until from rates)
        group by client, server
    )
    select client, server, sum(bytes) filter (meanwhile) / sum(took) filter (meanwhile),
           quantile_cont(rate, 0.25) filter (meanwhile),
           quantile_cont(rate, 0.75) filter (meanwhile)
    from rates join lasting using (client, server) group by client, server
    having count(*) filter (meanwhile) >= $least
       and sum(moving) filter (meanwhile) >= {MOVING} * sum(took) filter (meanwhile)
       and sum(took) filter (meanwhile) >= {COVERED} * any_value(lasted)
       and (count(*) filter (not meanwhile) < $least
            or median(rate) filter (not meanwhile)
               <= {EVENLY[1]} * quantile_cont(rate, 0.75) filter (meanwhile))
"""

_OTHERS: tuple[tuple[str, int, Data], ...] = (
    (_RATES_OF_PAIRS, 1, "calls"),
    (_RATES_BEHIND, LARGE_BYTES, "replies"),
)
"""What is asked of the links that large calls did not fill: how fast data moved, bytes of what
tells, and whose it is."""
