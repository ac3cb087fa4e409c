"""Calls that the capture holds on both sides of a host that passes them on.

Takes the calls; gives the pairs of client and server between which the same calls go as between
another pair: a router that translates addresses (NAT), a load balancer, the host of containers.
Each call then stands in the capture twice under one xid, with the same bytes, of the same user and
session; in the second place it comes later than in the first, and its reply earlier.

That tells it from clients that do the same at the same moments, even if they number their calls
alike: each of these waits for its own replies, so that what comes later there is answered later.
What takes exactly as long in both places is not told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="client server callback xid program version procedure call_bytes reply_bytes session "
    "slot flavor uid machine call_frame call_time reply_time",
    connections="client server",
)
"""The columns that the queries here read."""

FEW = 8
"""Calls in both places below which nothing is said."""

MOST = 0.9
"""Share of the calls of the pair with fewer that must be in both places: of the others one of the
two may be lost."""

NESTED = 0.95
"""Share of those answered in both places whose reply comes through the second place first, as the
way back leads: a capture may mix up the order of some."""

PASSED_NS = 50_000_000
"""No host takes longer to pass a call on, nanoseconds."""

LOOKED_AT = 50_000
"""Calls that are looked at, or up to twice as many; of more, those whose xid divides evenly."""

PLACES = 8
"""Calls alike in more places are none that were passed on: a hostile capture may have one call on
each of its connections."""


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
    if not any_other(trace):
        return ()
    ((calls,),) = trace.rows("select count(*) from calls")
    given = {
        "every": max(1, calls // LOOKED_AT),
        "others": OTHERS,
        "passed": PASSED_NS,
        "few": FEW,
        "most": MOST,
        "nested": NESTED,
        "places": PLACES,
        "examples": EXAMPLES,
    }
    rows = trace.rows(_TWICE, given)
    return _by_the_next(
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


def any_other(trace: Trace) -> bool:
    """Whether there is more than one pair: most captures have one to ask nothing about."""
    return len(trace.rows("select distinct client, server from connections limit 2")) > 1


def _by_the_next(found: Iterable[PassedOn]) -> tuple[PassedOn, ...]:
    """Without those of a place behind the next one, where two hosts pass the calls on."""
    pairs = {
        ((each.client, each.server), (each.onward_client, each.onward_server)): each
        for each in found
    }
    onward = defaultdict(list)
    for here, there in pairs:
        onward[here].append(there)
    beyond = {(here, last) for here, there in pairs for last in onward.get(there, ())}
    return tuple(each for pair, each in pairs.items() if pair not in beyond)


def one_of(passed: tuple[PassedOn, ...], clients: tuple[str, ...]) -> bool:
    """Whether these addresses may be those of one client, in front of such hosts and behind them.

    Behind one that translates addresses several clients have the same.
    """
    before = defaultdict(set)
    for each in passed:
        before[each.onward_client].add(each.client)
    whose = [_origins(client, before) for client in clients]
    return len(clients) > 1 and bool(set.intersection(*whose))


def _origins(client: str, before: Mapping[str, set[str]]) -> set[str]:
    """The addresses that calls under this one may have come from, itself among them."""
    found, new = {client}, [client]
    while new:
        more = before.get(new.pop(), set()) - found
        found |= more
        new += more
    return found


_TWICE = """
    with looked_at as (
        select client, server, xid, program, version, procedure, call_bytes, reply_bytes, session,
               slot, flavor, uid, machine, call_frame, call_time, reply_time
        from calls
        where not callback and client <> $others and server <> $others and xid % $every = 0
    ),
    of_pairs as (
        select client, server, count(*) as calls from looked_at group by client, server
    ),
    again as (
        select xid, procedure, call_bytes from looked_at
        group by all having count(*) between 2 and $places
    ),
    alike as materialized (
        select looked_at.* from looked_at join again using (xid, procedure, call_bytes)
    ),
    twice as (
        select here.client, here.server, onward.client as onward_client,
               onward.server as onward_server, count(*) as calls,
               count(*) filter (
                   onward.reply_time <= here.reply_time
                   and onward.reply_time - onward.call_time < here.reply_time - here.call_time
               ) as nested,
               count(*) filter (onward.reply_time is not null and here.reply_time is not null)
                   as answered,
               arg_min(here.call_frame, here.call_frame, $examples) as frames
        from alike here
        join alike onward
          on here.xid = onward.xid and here.procedure = onward.procedure
             and here.call_bytes = onward.call_bytes
             and here.program = onward.program and here.version = onward.version
             and here.flavor = onward.flavor
             and here.uid is not distinct from onward.uid
             and here.machine is not distinct from onward.machine
             and here.session is not distinct from onward.session
             and here.slot is not distinct from onward.slot
             and coalesce(here.reply_bytes = onward.reply_bytes, true)
             and (here.call_time, here.call_frame) < (onward.call_time, onward.call_frame)
             and onward.call_time <= here.call_time + $passed
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
