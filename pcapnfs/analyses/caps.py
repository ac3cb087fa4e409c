"""Whether calls at once stayed at a limit: NFSv4.1 slots, the client's transport, one connection.

Takes the answered NFS calls of clients; gives for each client and server how long how many were
under way, and for each session how long all its slots were taken (RFC 8881 section 2.10.6.1).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses import parts, traffic
from pcapnfs.analyses import sessions as _sessions
from pcapnfs.analyses.levels import levels
from pcapnfs.analyses.service_time import NANOSECONDS
from pcapnfs.analyses.sessions import sessions
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

    Times = NDArray[np.int64]

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

LATEST_NS = 2**62
"""Times beyond this, in nanoseconds since 1970, are taken for this."""


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
    rows = parts.arrays(
        trace,
        f"""
        select connection, call_first_time as begin, greatest(reply_time, call_first_time) as end
        from calls where not callback and program = {NFS} and reply_time is not null
        """,
    )
    connection = np.asarray(rows["connection"])
    begin, end = (np.minimum(np.asarray(rows[name]), LATEST_NS) for name in ("begin", "end"))
    return Caps(pairs=_pairs(trace, connection, begin, end), slots=tuple(_slots(trace)))


def _pairs(
    trace: Trace, connection: NDArray[np.uint32], begin: Times, end: Times
) -> tuple[Pair, ...]:
    used = Counter[int]()
    for each in traffic.of_clients(trace):
        if each.program == NFS and each.answered:
            used[each.connection] += each.answered
    in_sessions = _in_sessions(trace)
    between: dict[tuple[str, str], dict[int, bool]] = {}
    for number, client, server, tcp in trace.rows(
        "select connection, client, server, transport = 'TCP' from connections order by connection"
    ):
        if number in used:
            between.setdefault((client, server), {})[number] = tcp
    calls = {pair: sum(used[number] for number in numbers) for pair, numbers in between.items()}
    found = []
    order = np.argsort(connection, kind="stable")
    sorted_connection = connection[order]
    for client, server in sorted(between, key=lambda pair: (-calls[pair], pair))[:PAIRS]:
        numbers = between[client, server]
        parts = [
            order[slice(*np.searchsorted(sorted_connection, (number, number + 1)))]
            for number in numbers
        ]
        mine = np.concatenate(parts)
        open_for = levels(begin[mine], end[mine])
        busy = int(open_for[1:].sum())
        at_once = levels(
            np.array([begin[part].min() for part in parts]),
            np.array([end[part].max() for part in parts]),
        )
        weights = np.arange(len(open_for), dtype=np.float64)
        found.append(
            Pair(
                client=client,
                server=server,
                calls=len(mine),
                busy_s=busy / NANOSECONDS,
                mean=float((open_for * weights).sum() / busy) if busy else 0.0,
                peak=len(open_for) - 1,
                at_peak_s=int(open_for[-1]) / NANOSECONDS if len(open_for) > 1 else 0.0,
                connections=max(1, len(at_once) - 1),
                tcp=all(numbers.values()),
                sessions=not in_sessions.isdisjoint(numbers),
            )
        )
    return tuple(found)


def _in_sessions(trace: Trace) -> set[int]:
    """Connections with calls in sessions; these are NFSv4's."""
    if all(each.version < 4 for each in traffic.of_clients(trace)):
        return set()
    rows = trace.rows(
        f"""
        select distinct connection from calls
        where not callback and program = {NFS} and reply_time is not null and session is not null
        """
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
    # Hexadecimal digits alone; with parameters, DuckDB hands rows over far more slowly.
    blobs = [f"unhex('{digits}')" for digits in limits]
    places = " ".join(f"when {blob} then {place}" for place, blob in enumerate(blobs))
    rows = trace.arrays(
        f"""
        select call_first_time as begin, greatest(reply_time, call_first_time) as end,
               (case session {places} end)::utinyint as place
        from calls where not callback and program = {NFS} and reply_time is not null
                         and session in ({", ".join(blobs)})
        """
    )
    place = np.asarray(rows["place"])
    begins, ends = (np.minimum(np.asarray(rows[name]), LATEST_NS) for name in ("begin", "end"))
    found = []
    for number, (session, limit) in enumerate(limits.values()):
        begin, end = begins[place == number], ends[place == number]
        open_for = levels(begin, end)
        found.append(
            Slots(
                client=session.clients[0],
                server=session.servers[0],
                calls=len(begin),
                limit=limit,
                busy_s=int(open_for[1:].sum()) / NANOSECONDS,
                full_s=int(open_for[limit:].sum()) / NANOSECONDS,
            )
        )
    return found
