"""Whether calls at once stayed at a limit: NFSv4.1 slots, the client's transport, one connection.

Takes the answered NFS calls of clients; gives for each client and server how long how many were
under way, and for each session how long all its slots were taken (RFC 8881 section 2.10.6.1).
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import sessions as _sessions
from pcapnfs.analyses import traffic
from pcapnfs.analyses.levels import LATEST_NS, NONE_OPEN, Levels, levels, most_at_once
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.analyses.sessions import sessions
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pcapnfs.trace import Trace

READS = columns.together(
    _sessions.READS,
    traffic.READS,
    columns.of(
        calls="call connection callback program session call_first_time reply_time",
        connections="connection client server transport",
    ),
)
"""The columns that the queries here read."""

PAIRS = 1000
"""Pairs that are looked at, most calls first: a hostile capture may have one for each call."""

SESSIONS = 20
"""Sessions that are looked at, busiest first."""


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


class Slots(Record):
    """The slots of one session."""

    client: str
    """Address of the client; the first of several."""
    server: str
    """Address of the server; the first of several."""
    calls: int
    """Calls in it, answered."""
    limit: int
    """Slots that the client might use: as granted, or as SEQUENCE said, whichever is fewer."""
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


class _Use(Record):
    """What a connection carried of NFS."""

    calls: int
    """Calls answered."""
    begin_ns: int
    """When the first of them began, nanoseconds since 1970."""
    end_ns: int
    """When the last of them ended, likewise."""


def _pairs(trace: Trace) -> tuple[Pair, ...]:
    used = _used(trace)
    between: dict[tuple[str, str], dict[int, bool]] = {}
    for number, client, server, tcp in trace.rows(
        "select connection, client, server, transport = 'TCP' from connections order by connection"
    ):
        if number in used:
            between.setdefault((client, server), {})[number] = tcp
    calls = {pair: sum(used[number].calls for number in on) for pair, on in between.items()}
    most = sorted(between, key=lambda pair: (-calls[pair], pair))[:PAIRS]
    open_for = _at_once(
        trace,
        f"connection as key from calls where {_ANSWERED}",
        {number: place for place, pair in enumerate(most) for number in between[pair]},
    )
    in_sessions = _in_sessions(trace)
    return tuple(
        _pair(
            pair,
            [used[number] for number in between[pair]],
            open_for.get(place, NONE_OPEN),
            tcp=all(between[pair].values()),
            sessions=not in_sessions.isdisjoint(between[pair]),
        )
        for place, pair in enumerate(most)
    )


def _pair(
    pair: tuple[str, str], uses: Sequence[_Use], open_for: Levels, *, tcp: bool, sessions: bool
) -> Pair:
    client, server = pair
    spans = [(min(use.begin_ns, LATEST_NS), min(use.end_ns, LATEST_NS)) for use in uses]
    return Pair(
        client=client,
        server=server,
        calls=sum(use.calls for use in uses),
        busy_s=open_for.busy_ns / NANOSECONDS,
        mean=open_for.mean,
        peak=open_for.peak,
        at_peak_s=open_for.at_least_ns(open_for.peak) / NANOSECONDS if open_for.peak else 0.0,
        connections=max(1, most_at_once(spans)),
        tcp=tcp,
        sessions=sessions,
    )


def _used(trace: Trace) -> dict[int, _Use]:
    """The connections with answered calls of NFS."""
    parts = defaultdict(list)
    for each in traffic.of_clients(trace):
        begin, end = each.first_answered_ns, each.last_answered_ns
        if each.program == NFS and begin is not None and end is not None:
            parts[each.connection].append(_Use(each.answered, begin, end))
    return {
        number: _Use(
            sum(use.calls for use in uses),
            min(use.begin_ns for use in uses),
            max(use.end_ns for use in uses),
        )
        for number, uses in parts.items()
    }


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


def _in_sessions(trace: Trace) -> set[int]:
    """Connections with calls in sessions; these are NFSv4's."""
    if all(each.version < 4 for each in traffic.of_clients(trace)):
        return set()
    rows = trace.rows(
        f"select distinct connection from calls where {_ANSWERED} and session is not null"
    )
    return {number for (number,) in rows}


def _slots(trace: Trace) -> list[Slots]:
    """Sessions that may have been full."""
    limits = {}
    for session in sessions(trace, top=SESSIONS)[1]:
        told = [each for each in (session.slots_offered, session.slots_wanted_least) if each]
        if told:
            limits[session.session] = session, min(told)
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
    calls = dict(trace.rows(f"select hex(session), count(*) {asked} group by session"))
    return [
        Slots(
            client=session.clients[0],
            server=session.servers[0],
            calls=calls.get(digits.upper(), 0),
            limit=limit,
            busy_s=open_for.get(place, NONE_OPEN).busy_ns / NANOSECONDS,
            full_s=open_for.get(place, NONE_OPEN).at_least_ns(limit) / NANOSECONDS,
        )
        for place, (digits, (session, limit)) in enumerate(limits.items())
    ]
