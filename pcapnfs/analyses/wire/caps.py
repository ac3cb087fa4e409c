"""Whether calls at once stayed at a limit: NFSv4.1 slots, the client's transport, one connection.

Takes the answered NFS calls of clients; gives for each client and server how long how many were
under way, whether programs took turns at few, and for each session how long all its slots were
taken (RFC 8881 section 2.10.6.1).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.levels import LATEST_NS, NONE_OPEN, Levels, levels, most_at_once
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.mounts import sessions as _sessions
from pcapnfs.analyses.mounts.sessions import sessions
from pcapnfs.analyses.wire import turns as _turns
from pcapnfs.analyses.wire.turns import Turns, turns
from pcapnfs.programs import NFS
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.trace import Trace

READS = columns.together(
    _sessions.READS,
    traffic.READS,
    _turns.READS,
    columns.of(
        calls="call mount callback program session call_first_time reply_time",
        connections="connection transport",
    ),
)
"""The columns that the queries here read."""

PAIRS = 1000
"""Pairs that are looked at, most calls first: a hostile capture may have one for each call."""

SESSIONS = 20
"""Sessions that are looked at, busiest first."""

FLAT = 0.5
"""Share of the time with calls under way for which it must be as many as ever, two or more, before
it is asked whether programs take turns."""

TURNS_PAIRS = 20
"""Pairs of which that is asked, most calls first."""


class Pair(Record):
    """Calls of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls answered."""
    busy_s: float
    """Time in which at least one was under way, seconds."""
    mean: float
    """Calls under way in that time, on average."""
    peak: int
    """The most at once."""
    at_peak_s: float
    """Time in which that many were, seconds."""
    connections: int
    """Connections in use at once, at most, from the first call to the last reply of each."""
    tcp: bool
    """They are TCP."""
    sessions: bool
    """Calls are in sessions of NFSv4.1."""
    turns: Turns | None = None
    """Who goes on first; None where it was seldom as many as ever (`FLAT`), or none goes on."""


class Slots(Record):
    """The slots of one session."""

    client: str
    """Address of the client; the first of several."""
    server: str
    """Address of the server; the first of several."""
    calls: int
    """Calls in it, answered."""
    limit: int
    """Slots that the client might use (`Session.slots_limit`)."""
    busy_s: float
    """Time in which at least one call was under way, seconds."""
    full_s: float
    """Time in which as many were as there are slots, seconds."""


class Caps(Record):
    """Limits on calls at once."""

    pairs: tuple[Pair, ...]
    """Clients and servers, most calls first."""
    slots: tuple[Slots, ...]
    """Sessions whose limit the capture tells, busiest first."""


def caps(trace: Trace) -> Caps:
    """Measure calls at once."""
    return Caps(pairs=_pairs(trace), slots=tuple(_slots(trace)))


def _pairs(trace: Trace) -> tuple[Pair, ...]:
    lines = traffic.of_clients(trace)
    numbers = lines.numbers
    lines = lines.where((numbers["program"] == NFS) & (numbers["answered"] > 0))
    mounts = lines.mounts()
    calls = lines.by_pair("answered")
    most = sorted(calls, key=lambda pair: (-calls[pair], pair))[:PAIRS]
    places = {pair: place for place, pair in enumerate(most)}
    groups = {mount: places[pair] for mount, pair in mounts.items() if pair in places}
    open_for = _at_once(trace, f"mount as key from calls where {_ANSWERED}", groups)
    lines = lines.of_mounts(groups)
    spans = lines.spans("first_answered_ns", "last_answered_ns")
    datagrams = {groups[mount] for mount in _over_udp(trace, lines).mounts()}
    in_sessions = {groups[mount] for mount in _sessions.mounts(trace) if mount in groups}
    found = []
    for place, (client, server) in enumerate(most):
        begin, end = spans[client, server]
        level = open_for.get(place, NONE_OPEN)
        found.append(
            Pair(
                client=client,
                server=server,
                calls=calls[client, server],
                busy_s=level.busy_ns / NANOSECONDS,
                mean=level.mean,
                peak=level.peak,
                at_peak_s=level.at_least_ns(level.peak) / NANOSECONDS if level.peak else 0.0,
                connections=max(
                    1, most_at_once(np.minimum(begin, LATEST_NS), np.minimum(end, LATEST_NS))
                ),
                tcp=place not in datagrams,
                sessions=place in in_sessions,
            )
        )
    flat = [
        place
        for place, pair in enumerate(found)
        if pair.peak > 1 and pair.at_peak_s >= FLAT * pair.busy_s
    ]
    for place in flat[:TURNS_PAIRS]:
        of_pair = [mount for mount, group in groups.items() if group == place]
        found[place] = replace(found[place], turns=turns(trace, of_pair, found[place].peak))
    return tuple(found)


_ANSWERED = f"not callback and program = {NFS} and reply_time is not null"
"""SQL: which calls are looked at."""


def _at_once(trace: Trace, keyed: str, groups: Mapping[int, int]) -> dict[int, Levels]:
    """How many calls of each group were under way at once.

    Args:
        trace: The trace.
        keyed: SQL: a number as `key`, and which calls it is of.
        groups: The group of each key.
    """
    with closing(trace.cursor()) as cursor:
        rows = cursor.sql(
            "select call_first_time as begin, greatest(reply_time, call_first_time) as end, "
            f"{keyed}"
        )
        return levels(rows, groups)


def _over_udp(trace: Trace, lines: traffic.Lines) -> traffic.Lines:
    """Those on connections that are not TCP."""
    others = trace.arrays("select connection from connections where transport <> 'TCP'")
    return lines.where(np.isin(lines.numbers["connection"], others["connection"]))


def _slots(trace: Trace) -> list[Slots]:
    """Sessions that may have been full."""
    limits = {}
    for session in sessions(trace, top=SESSIONS)[1]:
        if limit := session.slots_limit:
            limits[session.session] = session, limit
    if not limits:
        return []
    # Hexadecimal digits alone: a relation has no parameters.
    blobs = [f"unhex('{digits}')" for digits in limits]
    places = " ".join(f"when {blob} then {place}" for place, blob in enumerate(blobs))
    asked = f"from calls where {_ANSWERED} and session in ({', '.join(blobs)})"
    open_for = _at_once(
        trace,
        f"(case session {places} end)::uinteger as key {asked}",
        {place: place for place in range(len(blobs))},
    )
    calls = _sessions.answered(trace)
    return [
        Slots(
            client=session.clients[0],
            server=session.servers[0],
            calls=calls[digits],
            limit=limit,
            busy_s=open_for.get(place, NONE_OPEN).busy_ns / NANOSECONDS,
            full_s=open_for.get(place, NONE_OPEN).at_least_ns(limit) / NANOSECONDS,
        )
        for place, (digits, (session, limit)) in enumerate(limits.items())
    ]
