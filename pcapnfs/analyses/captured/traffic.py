"""Who called whom: what each connection carried, of each program and version.

Takes a trace; gives a few numbers for each connection, program and version, counted in one pass
over the calls. Many questions begin with these: which clients and servers there are, how many calls
went between them, from when to when a connection was in use. They are kept as arrays, a quarter of
what records take: a hostile capture may have a connection for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.arrays import distinct
from pcapnfs.analyses.asking.once import once
from pcapnfs.programs import NFS_PROGRAMS, NLM, NSM, PORTMAPPER
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

    Times = NDArray[np.int64]

READS = columns.of(
    calls="mount client server connection callback program version call_first_time reply_time "
    "call_bytes reply_bytes"
)
"""The columns that this reads."""


PIECE = 10_000
"""Lines that are made at once."""

SERVERS = 100
"""Servers of which it is asked how they work on calls: a hostile capture may have one for each."""

OTHERS = "others"
"""The client that stands for those beyond as many as are told apart (`pairs_limit` in
docs/robustness.md). It is many: nobody knows where the clock of one of them went, nor how far away
it is."""


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
    moved_bytes: int
    """Bytes of the calls and their replies."""


class Lines:
    """What was counted, line by line."""

    def __init__(self, pairs: dict[int, tuple[str, str]], numbers: dict[str, NDArray[Any]]) -> None:
        """Keep the addresses of each mount, and the other columns of the lines."""
        self._pairs = pairs
        self.numbers = numbers
        """The other fields of `Traffic`, by name; those that may be None are 0 there."""

    def __iter__(self) -> Iterator[Traffic]:
        """In the order of mounts and connections."""
        for begin in range(0, len(self), PIECE):
            piece = (each[begin : begin + PIECE].tolist() for each in self.numbers.values())
            for (
                mount,
                connection,
                callback,
                program,
                version,
                calls,
                answered,
                *times,
                moved,
            ) in zip(*piece, strict=True):
                first, last, first_answered, last_answered = (
                    times if answered else (*times[:2], None, None)
                )
                yield Traffic(
                    mount, *self._pairs[mount], connection, callback, program, version, calls,
                    answered, first, last, first_answered, last_answered, moved,
                )  # fmt: skip

    def __len__(self) -> int:
        """How many there are."""
        return len(self.numbers["mount"])

    def of_clients(self) -> Lines:
        """Those of clients' calls."""
        called = ~self.numbers["callback"]
        return self.where(called)

    def where(self, which: NDArray[np.bool_]) -> Lines:
        """Some of them."""
        if which.all():
            return self  # As a rule there are no callbacks: a copy would hold the same.
        numbers = {name: values[which] for name, values in self.numbers.items()}
        return Lines(self._pairs, numbers)

    def by_mount(self, name: str) -> Counter[int]:
        """The sum of a field of theirs by mount, in order of its number."""
        mount, values = self.numbers["mount"], self.numbers[name]
        found = np.zeros(int(mount.max(initial=0)) + 1, np.int64)
        np.add.at(found, mount, values)
        return Counter({number: int(found[number]) for number in distinct(mount).tolist()})

    def by_pair(self, name: str) -> Counter[tuple[str, str]]:
        """The same by client and server."""
        found: Counter[tuple[str, str]] = Counter()
        for mount, total in self.by_mount(name).items():
            found[self._pairs[mount]] += total
        return found

    def of_mounts(self, some: Iterable[int]) -> Lines:
        """Those of some mounts."""
        return self.where(np.isin(self.numbers["mount"], list(some)))

    def spans(self, first: str, last: str) -> dict[tuple[str, str], tuple[Times, Times]]:
        """From when to when each connection was in use, by client and server.

        Args:
            first: The field that tells the begin of a line's use.
            last: That which tells its end.
        """
        if not len(self):
            return {}
        mount, connection = self.numbers["mount"], self.numbers["connection"]
        another = np.append(0, 1 + np.flatnonzero(_changes(mount) | _changes(connection)))
        begins = np.minimum.reduceat(self.numbers[first], another)
        ends = np.maximum.reduceat(self.numbers[last], another)
        of = mount[another]
        places = 1 + np.flatnonzero(_changes(of))
        mounts = of[np.append(0, places)].tolist()
        by_pair: dict[tuple[str, str], list[tuple[Times, Times]]] = {}
        # A trace of several parts has a mount of the two in each.
        for number, begin, end in zip(
            mounts, np.split(begins, places), np.split(ends, places), strict=True
        ):
            by_pair.setdefault(self._pairs[number], []).append((begin, end))
        return {
            pair: (
                np.concatenate([begin for begin, _ in spans]),
                np.concatenate([end for _, end in spans]),
            )
            for pair, spans in by_pair.items()
        }

    def mounts(self) -> dict[int, tuple[str, str]]:
        """Client and server of each mount among them, by its number."""
        return {mount: self._pairs[mount] for mount in distinct(self.numbers["mount"]).tolist()}


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it, from the second on."""
    differs: NDArray[np.bool_] = values[1:] != values[:-1]
    return differs


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


@once
def several_clients(trace: Trace) -> bool:
    """Whether more than one client called."""
    return len({client for client, _ in mounts(trace).values()}) > 1


@once
def mounts(trace: Trace) -> Mapping[int, tuple[str, str]]:
    """Client and server of each mount with calls of the client.

    In a trace of several parts, a client and a server have a mount in each.
    """
    return of_clients(trace).mounts()


ABOUT_LOCKS = (PORTMAPPER, NLM, NSM)
"""Programs that a server calls at its clients: where their lockd listens, whether it is there, and
that the server restarted."""

ABOUT_SERVICES = (PORTMAPPER, NSM)
"""Programs that any host calls: for what listens where, and for whether a host restarted."""


@once
def beside(trace: Trace) -> frozenset[int]:
    """The mounts that are none: their hosts are no clients of NFS by what they called.

    Of a server that called its own client about locks, and nothing else, while that host has NFS
    from it (GRANTED is a callback anyway); and of a host that called for services alone, whatever
    the server, while others have NFS.
    """
    lines = of_clients(trace)
    program = lines.numbers["program"]
    others = lines.where(~np.isin(program, ABOUT_LOCKS)).mounts()
    served = set(lines.where(np.isin(program, NFS_PROGRAMS)).mounts().values())
    at_work = lines.where(~np.isin(program, ABOUT_SERVICES)).mounts().values()
    clients = {client for client, _ in at_work}
    return frozenset(
        mount
        for mount, (client, server) in mounts(trace).items()
        if mount not in others
        and ((server, client) in served or (served and client not in clients))
    )


def sides(trace: Trace) -> tuple[set[str], set[str]]:
    """Clients and servers of calls of clients, without those beside NFS, and of callbacks."""
    lines = traffic(trace)
    aside = np.isin(lines.numbers["mount"], list(beside(trace)))
    pairs = lines.where(lines.numbers["callback"] | ~aside).mounts().values()
    return {client for client, _ in pairs}, {server for _, server in pairs}


def asked(trace: Trace) -> str:
    """SQL: a condition on calls that clients made, without those beside NFS."""
    none = ", ".join(map(str, sorted(beside(trace))))
    return f"not callback and mount not in ({none})" if none else "not callback"


NAMED = f"""(
    select {given.rows("mounts", "uinteger")} as mount,
           {given.rows("clients", "varchar")} as client,
           {given.rows("servers", "varchar")} as server
)"""
"""SQL: what `mounts` gives, as a table; `named` gives its parameters."""


def named(trace: Trace) -> dict[str, object]:
    """The parameters of a query with `NAMED`."""
    known = mounts(trace)
    return {
        "mounts": given.text(known),
        "clients": given.text(client for client, _ in known.values()),
        "servers": given.text(server for _, server in known.values()),
    }


def answered(trace: Trace, programs: Iterable[int]) -> Counter[int]:
    """How many calls of clients were answered, of some programs, by mount."""
    known = of_clients(trace)
    chosen = known.where(np.isin(known.numbers["program"], list(programs)))
    return chosen.by_mount("answered")


def by_pair(trace: Trace) -> Counter[tuple[str, str]]:
    """How many calls each client made at each server, answered or not."""
    return of_clients(trace).by_pair("calls")


def busiest_servers(trace: Trace) -> list[str]:
    """Servers of which it is asked how they work on calls: up to `SERVERS`, most calls first."""
    calls: Counter[str] = Counter()
    for (_, server), number in by_pair(trace).items():
        calls[server] += number
    return sorted(calls, key=lambda server: (-calls[server], server))[:SERVERS]


# The two addresses follow from the mount: that is three texts less to compare in each row. No
# column has NULL, for which numpy would need arrays with masks.
_TRAFFIC = """
    select mount, any_value(client) as client, any_value(server) as server, connection, callback,
           program, version, count(*) as calls, count(reply_time) as answered,
           min(call_first_time) as first_ns,
           max(greatest(reply_time, call_first_time)) as last_ns,
           coalesce(min(call_first_time) filter (reply_time is not null), 0) as first_answered_ns,
           coalesce(max(greatest(reply_time, call_first_time))
                        filter (reply_time is not null), 0) as last_answered_ns,
           (sum(call_bytes::bigint) + coalesce(sum(reply_bytes::bigint), 0))::bigint as moved_bytes
    from calls group by mount, connection, callback, program, version
    order by mount, connection, callback, program, version
"""
