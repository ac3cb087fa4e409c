"""Clients whose calls that follow at once all came late for a while: the way to them was longer.

Takes calls, in captures that were not taken at the client; gives for each client and server the
longest while in which no call came soon after the reply before it.

A client that calls again takes a round trip, and what its program does meanwhile: that a call comes
late says nothing of the path. But some calls no program decides on. The client itself sends, as
soon as it has the reply, the SETATTR that an exclusive create needs (RFC 1813 section 3.3.8, RFC
8881 section 18.16.3), and when a file is closed the COMMIT behind its WRITEs, and CLOSE behind
these. Where many such calls came late, nearly all by the same time, and no other call came sooner
meanwhile, the replies took that long to come, or the calls to go. A busy end is late likewise, but
not evenly: so the path is likely, and not certain, the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.namespace.exclusive_creates import EXCLUSIVE, TIMES, WITH_ATTRIBUTES
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

    from pcapnfs.trace import Trace

READS = columns.together(
    round_trip.READS,
    columns.of(
        calls="call client server connection callback program op file call_first_time call_time "
        "reply_time",
        operations="call op create_mode attributes",
    ),
)
"""The columns that the queries here read."""

AT_ONCE = ("SETATTR", "COMMIT", "CLOSE")
"""Operations that a client may send as soon as it has a reply, whatever programs do."""

MANY = 20
"""Fewer calls that follow at once show nothing."""

MORE_S = 0.005
"""Nor do those that came so little later: the client may have been busy …"""

TIMES_AS_LONG = 3.0
"""… or took fewer times a usual round trip."""

EVENLY = 1.5
"""Three quarters of them took no more than so many times the quickest of all: what a busy client
does to its calls scatters."""

LASTED = 10
"""A path that became longer stays so for as many round trips."""


class LateSuccessions(Record):
    """A while in which a client's calls all came late."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    from_ns: int
    """When the reply came that the first of them followed, nanoseconds since 1970."""
    until_ns: int
    """When the last of them came."""
    least_s: float
    """From a reply to the next call, of all that came then the quickest, seconds."""
    connections: int
    """Connections on which they came."""
    calls: int
    """Calls that came while no other was under way."""
    at_once: int
    """Those of them that the client sends as soon as it has the reply."""


@once
def late_successions(trace: Trace) -> tuple[LateSuccessions, ...]:
    """Tell each client and server with such a while: the one with most of these calls."""
    bounds = {
        (pair.client, pair.server): _bound_ns(pair.client_side.rtt_s or 0.0)
        for pair in round_trips(trace).pairs
        if pair.vantage in ("server", "between") and pair.client_side.rtt_s is not None
    }
    if not any_left(bounds):
        return ()
    suspects = trace.rows(_SUSPECTS, {**_pairs(bounds), "many": MANY})
    if not any_left(suspects):
        return ()
    asked = _pairs({pair: bounds[pair] for pair in suspects})
    parameters = {**asked, "many": MANY, "evenly": EVENLY, "lasted": LASTED}
    return tuple(
        LateSuccessions(
            client=client,
            server=server,
            from_ns=integer(since),
            until_ns=integer(until),
            least_s=integer(least) / NANOSECONDS,
            connections=integer(connections),
            calls=integer(calls),
            at_once=integer(at_once),
        )
        for client, server, since, until, least, connections, calls, at_once in trace.rows(
            _LATE, parameters
        )
    )


def any_left(pairs: Sized) -> bool:
    """Whether there is any to ask about: at the client, no path lies before its calls."""
    return len(pairs) > 0


def _bound_ns(usual_s: float) -> int:
    """What came sooner was not late."""
    return round(max(usual_s + MORE_S, TIMES_AS_LONG * usual_s) * NANOSECONDS)


def _pairs(bounds: Mapping[tuple[str, str], int]) -> dict[str, str]:
    """Parameters of `_PAIRS`."""
    return {
        "clients": given.text(client for client, _ in bounds),
        "servers": given.text(server for _, server in bounds),
        "bounds": given.text(bounds.values()),
    }


_PAIRS = f"""
    pairs as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("bounds", "bigint")} as bound
    )
"""
"""Clients and servers, and the time in nanoseconds from which on a call of theirs is late."""

# Whoever has too few late calls after one on the same file is spared the rest, which takes twice as
# long.
_SUSPECTS = f"""
    with {_PAIRS},
    numbered as (select *, row_number() over () as pair from pairs),
    asked as (
        select pair, bound, call, call_first_time as begun, file,
               coalesce(reply_time, call_time) as answered, {among("op", AT_ONCE)} as at_once
        from calls join numbered using (client, server)
        where not callback and program = {NFS}
    ),
    ordered as (
        select pair, at_once, begun - max(answered) over earlier >= bound as late,
               file = lag(file) over in_turn as again
        from asked
        window in_turn as (partition by pair order by begun, call),
               earlier as (
                   partition by pair order by begun, call
                   rows between unbounded preceding and 1 preceding
               )
    )
    select client, server from numbered
    where pair in (
        select pair from ordered where at_once and late and again
        group by pair having count(*) >= $many
    )
    order by client, server
"""

# A SETATTR behind EXCLUSIVE4_1 may be a program's, unless it sets both times and nothing else.
_LATE = f"""
    with {_PAIRS},
    made as (
        select call, max(create_mode) as create_mode from operations
        where create_mode in ({EXCLUSIVE}, {WITH_ATTRIBUTES}) group by call
    ),
    times as (select distinct call from ({TIMES})),
    asked as (
        select calls.call, client, server, connection, bound, op, file, call_first_time,
               coalesce(reply_time, call_time) as answered, create_mode,
               times.call is not null as both_times
        from calls join pairs using (client, server)
             left join made using (call) left join times using (call)
        where not callback and program = {NFS}
    ),
    ordered as (
        select *, max(answered) over earlier as before,
               lag(answered) over in_turn as last_answered,
               coalesce(file = lag(file) over in_turn, false) and case op
                   when 'SETATTR' then lag(create_mode) over in_turn = {EXCLUSIVE}
                       or lag(create_mode) over in_turn = {WITH_ATTRIBUTES} and both_times
                   when 'COMMIT' then lag(op) over in_turn = 'WRITE'
                   when 'CLOSE' then {among("lag(op) over in_turn", ("WRITE", "COMMIT"))}
                   else false end as follows
        from asked
        window in_turn as (partition by client, server order by call_first_time, call),
               earlier as (
                   partition by client, server order by call_first_time, call
                   rows between unbounded preceding and 1 preceding
               )
    ),
    alone as (
        select client, server, connection, call, bound, call_first_time,
               call_first_time - before as gap,
               coalesce(follows and last_answered = before, false) as follows
        from ordered where call_first_time > before
    ),
    runs as (
        select *, sum((gap < bound)::integer) over (
                   partition by client, server order by call_first_time, call
               ) as run
        from alone
    ),
    found as (
        select client, server, min(call_first_time - gap) as since, max(call_first_time) as until,
               min(gap) as least, count(distinct connection) as connections, count(*) as calls,
               count(*) filter (follows) as at_once,
               quantile_disc(gap, 0.75) filter (follows) as upper
        from runs where gap >= bound group by client, server, run
    )
    select client, server, since, until, least, connections, calls, at_once
    from found
    where at_once >= $many and upper <= $evenly * least and until - since >= $lasted * least
    qualify row_number() over (
                partition by client, server order by at_once desc, since
            ) = 1
    order by client, server
"""
