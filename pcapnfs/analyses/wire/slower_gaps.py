"""What a longer way to the client took between its calls, in captures that were not taken there.

Takes ends of which for a while all answers came late (`late_answers`), links on which replies took
their time (`links_to_clients`), and calls; gives, for each call then before which its client had
none under way, what of that time the path took. On the client's half a longer path is in no call's
time: the client gets each reply later by that, and its next call comes as much later. What of a gap
is a usual round trip is in the calls before and behind it (`outstanding`).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.wire import late_answers as _late_answers
from pcapnfs.analyses.wire import links_to_clients as _links_to_clients
from pcapnfs.analyses.wire.late_answers import LateAnswers, late_answers
from pcapnfs.analyses.wire.links_to_clients import links_to_clients
from pcapnfs.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    _late_answers.READS,
    _links_to_clients.READS,
    columns.of(
        calls="call client server connection callback call_frame call_first_time call_time "
        "reply_time",
        connections="connection client server client_slow_from client_slow_until client_slow_rtt",
    ),
)
"""The columns that the queries here read."""

TABLE = "slower_gaps"
"""The table that `register` makes, with a row for each such call: `call`, `client`, `server`,
`call_frame`; `part`, what the path took of the time before it, ns."""

GAP_NS = 1_000_000_000
"""A pause before a call that is as long is the client's own, whatever the path took of it."""


class Gaps(Record):
    """Calls before which the client waited for a path that was longer for a while."""

    call: NDArray[np.uint64]
    """Number of each (table calls), ascending."""
    path_ns: NDArray[np.int64]
    """What of the time before it, in which none was under way, the path took, ns."""


class GapsOfPair(Record):
    """Those of one client and server."""

    calls: int
    """How many."""
    path_s: float
    """What the path took before them, added up, seconds."""
    frames: tuple[int, ...]
    """Frames of the first of them."""


def gaps(trace: Trace) -> Gaps | None:
    """Tell each; None where no way to a client is known to have been longer."""
    if not register(trace):
        return None
    return Gaps(**trace.arrays(f"select call, part as path_ns from {TABLE} order by call"))


def by_client(trace: Trace) -> dict[str, float]:
    """What the path took, by client, seconds."""
    if not register(trace):
        return {}
    told = trace.rows(f"select client, sum(part)::bigint from {TABLE} group by client")
    return {client: seconds(part) or 0.0 for client, part in told}


def by_pair(trace: Trace) -> dict[tuple[str, str], GapsOfPair]:
    """The same by client and server."""
    if not register(trace):
        return {}
    return {
        (client, server): GapsOfPair(integer(calls), seconds(part) or 0.0, tuple(frames))
        for client, server, calls, part, frames in trace.rows(_TOLD)
    }


@once
def register(trace: Trace) -> bool:
    """Make the table `slower_gaps` of a trace, and say whether there can be anything in it.

    Where no way to a client is known to have been longer there is no table.
    """
    narrow = {(each.client, each.server) for each in links_to_clients(trace)}
    late = [
        each
        for each in late_answers(trace)
        if each.known and each.side == "client" and (each.client, each.server) not in narrow
    ]
    if not late and not narrow:
        return False
    replied = f"union all from {_links_to_clients.TABLE}" if narrow else ""
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            f"create table {TABLE} as {_GAPS} {replied}",
            {
                **_late_answers.parameters(late),
                "begins": given.text(each.from_ns if _by_calls(each) else 0 for each in late),
                "ends": given.text(each.until_ns if _by_calls(each) else 0 for each in late),
                "longest": GAP_NS,
            },
        )
    return True


def _by_calls(late: LateAnswers) -> bool:
    """Whether calls show it: then no connection says from when until when."""
    return late.acks == 0 and late.at_once > 0


_GAPS = f"""
    with paths as (
        select {_late_answers.PATHS}, {given.rows("begins", "bigint")} as begun,
               {given.rows("ends", "bigint")} as ended
    ),
    slow as (
        select connection, client_slow_from as since, client_slow_until as until, more, usual
        from connections join paths using (client, server)
        where ended = 0 and client_slow_rtt >= more
        union all
        select connection, begun, ended, more, usual
        from connections join paths using (client, server)
        where ended > 0
    ),
    ordered as (
        select call, client, server, connection, call_frame, call_first_time,
               call_first_time - max(coalesce(reply_time, call_time)) over (
                   partition by client order by call_first_time, call
                   rows between unbounded preceding and 1 preceding
               ) as gap
        from calls where client in (select client from paths) and not callback
    )
    select call::ubigint as call, client, server, call_frame,
           least(gap - usual, more)::bigint as part
    from ordered join slow using (connection)
    where call_first_time > since and call_first_time <= until
          and gap > usual and gap < $longest
"""

_TOLD = f"""
    select client, server, count(*), sum(part)::bigint, min(call_frame, {EXAMPLES})
    from {TABLE} group by client, server
"""
