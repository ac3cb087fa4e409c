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
from pcapnfs.analyses.mounts.sessions import Session, sessions
from pcapnfs.analyses.wire import turns as _turns
from pcapnfs.analyses.wire.turns import Turns, turns
from pcapnfs.programs import NFS
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    _sessions.READS,
    traffic.READS,
    _turns.READS,
    columns.of(
        calls="call mount callback program session slot call_first_time reply_time",
        operations="call op target_highest_slot",
        connections="connection transport",
    ),
)
"""The columns that the queries here read."""

PAIRS = 1000
"""Pairs that are looked at, most calls first: a hostile capture may have one for each call."""

SESSIONS = 20
"""Sessions that are looked at, busiest first."""

DISREGARDED = 0.05
"""Share of the calls in slots beyond what the server wants used at that time, from which on the
client is taken for one that goes on as before."""

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
    """Slots that the client might use (`Session.slots_limit`); where the server changed that, those
    of which it was full for longest."""
    busy_s: float
    """Time in which at least one call was under way, seconds."""
    full_s: float
    """Time in which as many were as there were slots at that time, seconds."""
    lowered_from: int | None = None
    """The most slots that it might use before; None where there never were more."""


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
    found = []
    for place, (digits, (session, limit)) in enumerate(limits.items()):
        level = open_for.get(place, NONE_OPEN)
        full = Full(limit, level.at_least_ns(limit), None)
        if session.slots_wanted_least != session.slots_wanted_most:
            full = _by_time(trace, session, full)
        found.append(
            Slots(
                client=session.clients[0],
                server=session.servers[0],
                calls=calls[digits],
                limit=full.limit,
                busy_s=level.busy_ns / NANOSECONDS,
                full_s=full.time_ns / NANOSECONDS,
                lowered_from=full.lowered_from,
            )
        )
    return found


class Full(Record):
    """For how long all slots of a session were taken."""

    limit: int
    """Slots."""
    time_ns: int
    """Time in which they were, nanoseconds."""
    lowered_from: int | None
    """The most slots before; None where there never were more."""


def _by_time(trace: Trace, session: Session, full: Full) -> Full:
    """The same where the server wants now more slots used, now fewer: by what it wanted last.

    Args:
        trace: The trace.
        session: The session.
        full: What one limit for all of the time would say.
    """
    told = trace.arrays(_TOLD, {"session": session.session})
    calls = trace.arrays(_IN_SLOTS, {"session": session.session})
    since, begin, end = told["since"], calls["begin"], calls["end"]
    wanted = told["wanted"].astype(np.int64)
    if session.slots_offered and session.slots_used <= session.slots_offered:
        # It keeps to what it was granted.
        wanted = np.minimum(wanted, session.slots_offered)
    wanted = np.concatenate([[full.limit], wanted])

    def in_force(times: NDArray[np.int64]) -> NDArray[np.int64]:
        return wanted[np.searchsorted(since, times, side="right")]

    wanted = kept_to(wanted, in_force(begin), calls["slot"].astype(np.int64), full.limit)
    times = np.unique(np.concatenate([begin, end, since]))
    under_way = np.searchsorted(np.sort(begin), times, side="right") - np.searchsorted(
        np.sort(end), times, side="right"
    )
    limits = in_force(times)[:-1]
    lasting = np.where(under_way[:-1] >= limits, np.diff(times), 0)
    if not lasting.any():
        return replace(full, time_ns=0)
    each, place = np.unique(limits, return_inverse=True)
    limit = int(each[np.bincount(place, weights=lasting).argmax()])
    first = int(np.argmax(limits == limit))
    before = int(limits[:first].max(initial=0))
    if limit == 1 and under_way[:first].max(initial=0) <= 1:
        # It did one thing after the other before, too.
        return replace(full, time_ns=0)
    return Full(limit, int(lasting.sum()), before if before > limit else None)


def kept_to(
    wanted: NDArray[np.int64],
    at_begin: NDArray[np.int64],
    slots: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """What the server wants, with the limit otherwise for what the client is not seen to keep to.

    Args:
        wanted: What it wants, one after the other.
        at_begin: What it wanted when each call was sent.
        slots: The slot of each.
        limit: The limit otherwise.
    """
    each, place = np.unique(at_begin, return_inverse=True)
    beyond = np.bincount(place, weights=slots >= at_begin) / np.bincount(place)
    found: NDArray[np.int64] = np.where(
        np.isin(wanted, each[beyond <= DISREGARDED]), wanted, np.int64(limit)
    )
    return found


_TOLD = """
    with told as (
        select call, target_highest_slot::bigint + 1 as wanted,
               case when callback then call_first_time else reply_time end as since
        from operations join calls using (call)
        where calls.session = unhex($session) and target_highest_slot is not null
              and (case when callback then operations.op = 'CB_RECALL_SLOT'
                        else operations.op = 'SEQUENCE' end)
    )
    select since, wanted from told
    qualify lag(wanted) over (order by since, call) is distinct from wanted
    order by since, call
"""
"""What the server wants used, from when on."""

_IN_SLOTS = f"""
    select call_first_time as begin, greatest(reply_time, call_first_time) as end, slot
    from calls where {_ANSWERED} and session = unhex($session) and slot is not null
"""
