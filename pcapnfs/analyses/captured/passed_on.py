"""Calls that the capture holds on both sides of a host that passes them on.

Takes the calls; gives the pairs of client and server between which the same calls go as between
another pair: a router that translates addresses (NAT), a load balancer, the host of containers.
Each call then stands in the capture twice under one xid, in the second place later than in the
first, and its reply earlier. No two clients number their calls alike at the same moments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.service_time import integer
from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="client server callback xid procedure call_bytes call_frame call_time reply_time",
    connections="client server",
)
"""The columns that the queries here read."""

FEW = 8
"""Calls in both places below which nothing is said."""

MOST = 0.5
"""Share of the calls of the pair with fewer that must be in both places: of the others one of the
two may be lost."""

NESTED = 0.9
"""Share of these whose reply comes through the second place first, as the way back leads."""

PASSED_NS = 50_000_000
"""No host takes longer to pass a call on, nanoseconds."""

LOOKED_AT = 50_000
"""Calls that are looked at, or up to twice as many; of more, those whose xid divides evenly."""


class PassedOn(Record):
    """Calls that went between one pair, and on between another."""

    client: str
    """Address of the client, as it is where calls come first."""
    server: str
    """Address of the server there."""
    onward_client: str
    """Address that the client has where calls come later."""
    onward_server: str
    """Address of the server there."""
    calls: int
    """How many of the calls that were looked at are in the capture twice."""
    frames: tuple[int, ...]
    """Frames of the first of them where they come first."""


def passed_on(trace: Trace) -> tuple[PassedOn, ...]:
    """Tell each, most calls first."""
    if len(trace.rows("select distinct client, server from connections limit 2")) < 2:
        return ()
    ((calls,),) = trace.rows("select count(*) from calls")
    given = {
        "every": max(1, calls // LOOKED_AT),
        "others": OTHERS,
        "passed": PASSED_NS,
        "few": FEW,
        "most": MOST,
        "nested": NESTED,
        "examples": EXAMPLES,
    }
    rows = trace.rows(_TWICE, given)
    return tuple(
        PassedOn(
            client=str(client),
            server=str(server),
            onward_client=str(onward_client),
            onward_server=str(onward_server),
            calls=integer(twice),
            frames=tuple(frames),
        )
        for client, server, onward_client, onward_server, twice, frames in rows
    )


def one_of(passed: tuple[PassedOn, ...], clients: tuple[str, ...]) -> bool:
    """Whether these addresses are those of one client, in front of such a host and behind it."""
    names = {each.onward_client: each.client for each in passed}
    return len(clients) > 1 and len({names.get(client, client) for client in clients}) == 1


_TWICE = """
    with looked_at as (
        select client, server, xid, procedure, call_bytes, call_frame, call_time, reply_time
        from calls
        where not callback and client <> $others and server <> $others and xid % $every = 0
    ),
    of_pairs as (
        select client, server, count(*) as calls from looked_at group by client, server
    ),
    twice as (
        select here.client, here.server, onward.client as onward_client,
               onward.server as onward_server, count(*) as calls,
               count(*) filter (onward.reply_time <= here.reply_time) as nested,
               count(*) filter (onward.reply_time is not null and here.reply_time is not null)
                   as answered,
               arg_min(here.call_frame, here.call_frame, $examples) as frames
        from looked_at here
        join looked_at onward
          on here.xid = onward.xid and here.procedure = onward.procedure
             and here.call_bytes = onward.call_bytes
             and here.call_frame < onward.call_frame
             and onward.call_time between here.call_time and here.call_time + $passed
             and (here.client <> onward.client or here.server <> onward.server)
        group by all
    )
    select twice.client, twice.server, onward_client, onward_server, twice.calls, frames
    from twice
    join of_pairs here on here.client = twice.client and here.server = twice.server
    join of_pairs onward
      on onward.client = onward_client and onward.server = onward_server
    where twice.calls >= greatest($few, $most * least(here.calls, onward.calls))
          and answered >= $few and nested >= $nested * answered
    order by twice.calls desc, twice.client, twice.server, onward_client, onward_server
"""
