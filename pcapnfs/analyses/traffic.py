"""Who called whom: what each connection carried, of each program and version.

Takes a trace; gives a few numbers for each connection, program and version, counted in one pass
over the calls. Many questions begin with these: which clients and servers there are, how many calls
went between them, from when to when a connection was in use. They are kept as arrays, a quarter of
what records take: a hostile capture may have a connection for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.once import once
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="mount client server connection callback program version call_first_time reply_time"
)
"""The columns that this reads."""


PIECE = 10_000
"""Lines that are made at once."""


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


class Lines:
    """What was counted, line by line."""

    def __init__(self, pairs: dict[int, tuple[str, str]], numbers: dict[str, NDArray[Any]]) -> None:
        """Keep the addresses of each mount, and the other columns of the lines."""
        self._pairs = pairs
        self._numbers = numbers

    def __iter__(self) -> Iterator[Traffic]:
        """In the order of mounts and connections."""
        for begin in range(0, len(self), PIECE):
            piece = (each[begin : begin + PIECE].tolist() for each in self._numbers.values())
            for mount, connection, callback, program, version, calls, answered, *times in zip(
                *piece, strict=True
            ):
                first, last, first_answered, last_answered = (
                    times if answered else (*times[:2], None, None)
                )
                yield Traffic(
                    mount, *self._pairs[mount], connection, callback, program, version, calls,
                    answered, first, last, first_answered, last_answered,
                )  # fmt: skip

    def __len__(self) -> int:
        """How many there are."""
        return len(self._numbers["mount"])

    def of_clients(self) -> Lines:
        """Those of clients' calls."""
        called = ~self._numbers["callback"]
        numbers = {name: values[called] for name, values in self._numbers.items()}
        return Lines(self._pairs, numbers)


@once
def traffic(trace: Trace) -> Lines:
    """Count the calls."""
    rows = trace.arrays(_TRAFFIC)
    columns_ = {name: np.asarray(values) for name, values in rows.items()}
    mounts = columns_["mount"].tolist()
    addresses = zip(columns_.pop("client").tolist(), columns_.pop("server").tolist(), strict=True)
    return Lines(dict(zip(mounts, addresses, strict=True)), columns_)


@once
def of_clients(trace: Trace) -> Lines:
    """The same without callbacks."""
    return traffic(trace).of_clients()


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


# The two addresses follow from the mount: that is three texts less to compare in each row. No
# column has NULL, for which numpy would need arrays with masks.
_TRAFFIC = """
    select mount, any_value(client) as client, any_value(server) as server, connection, callback,
           program, version, count(*) as calls, count(reply_time) as answered,
           min(call_first_time) as first, max(greatest(reply_time, call_first_time)) as last,
           coalesce(min(call_first_time) filter (reply_time is not null), 0) as first_answered,
           coalesce(max(greatest(reply_time, call_first_time))
                        filter (reply_time is not null), 0) as last_answered
    from calls group by mount, connection, callback, program, version
    order by mount, connection, callback, program, version
"""
