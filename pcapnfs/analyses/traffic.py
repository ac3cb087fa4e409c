"""Who called whom: what each connection carried, of each program and version.

Takes a trace; gives a few numbers for each connection, program and version, counted in one pass
over the calls. Many questions begin with these: which clients and servers there are, how many calls
went between them, from when to when a connection was in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.once import once
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="mount client server connection callback program version call_first_time reply_time"
)
"""The columns that this reads."""


PIECE = 10_000
"""Rows that are taken at once."""


class Traffic(Record):
    """The calls of one program and version on one connection, those of clients or the callbacks."""

    mount: int
    """Number of the client and server (table calls)."""
    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connection: int
    """Number of the connection (table connections)."""
    callback: bool
    """The server made these calls."""
    program: int
    """RPC program number."""
    version: int
    """RPC program version."""
    calls: int
    """Calls, answered or not."""
    answered: int
    """Those of them that have a reply."""
    first_ns: int
    """When the first call began, nanoseconds since 1970."""
    last_ns: int
    """The latest time of a call's begin or reply, nanoseconds since 1970."""
    first_answered_ns: int | None
    """When the first of the answered calls began, nanoseconds since 1970; None without any."""
    last_answered_ns: int | None
    """The latest time of an answered call's begin or reply, nanoseconds since 1970; None without
    any."""


@once
def traffic(trace: Trace) -> tuple[Traffic, ...]:
    """Count the calls, in the order of mounts and connections."""
    counted = trace.sql(_TRAFFIC)
    found = []
    # Piece by piece, and each address once: a hostile capture may have a connection for each call.
    addresses: dict[str, str] = {}
    while rows := counted.fetchmany(PIECE):
        for mount, client, server, connection, callback, *numbers in rows:
            found.append(
                Traffic(
                    mount,
                    addresses.setdefault(client, client),
                    addresses.setdefault(server, server),
                    connection,
                    callback,
                    *numbers,
                )
            )
    return tuple(found)


def of_clients(trace: Trace) -> tuple[Traffic, ...]:
    """The same without callbacks."""
    return tuple(each for each in traffic(trace) if not each.callback)


def mounts(trace: Trace) -> dict[int, tuple[str, str]]:
    """Client and server of each mount with calls of the client.

    In a trace of several parts, a client and a server have a mount in each.
    """
    return {each.mount: (each.client, each.server) for each in of_clients(trace)}


NAMED = """(
    select unnest($mounts::uinteger[]) as mount, unnest($clients::varchar[]) as client,
           unnest($servers::varchar[]) as server
)"""
"""SQL: what `mounts` gives, as a table; `named` gives its parameters."""


def named(trace: Trace) -> dict[str, object]:
    """The parameters of a query with `NAMED`."""
    known = mounts(trace)
    return {
        "mounts": list(known),
        "clients": [client for client, _ in known.values()],
        "servers": [server for _, server in known.values()],
    }


def answered(trace: Trace, programs: Container[int]) -> Counter[int]:
    """How many calls of clients were answered, of some programs, by mount."""
    found: Counter[int] = Counter()
    for each in of_clients(trace):
        if each.program in programs:
            found[each.mount] += each.answered
    return found


# The two addresses follow from the mount: that is three texts less to compare in each row.
_TRAFFIC = """
    select mount, any_value(client), any_value(server), connection, callback, program, version,
           count(*), count(reply_time), min(call_first_time),
           max(greatest(reply_time, call_first_time)),
           min(call_first_time) filter (reply_time is not null),
           max(greatest(reply_time, call_first_time)) filter (reply_time is not null)
    from calls group by mount, connection, callback, program, version
    order by mount, connection, callback, program, version
"""
