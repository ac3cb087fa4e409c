"""What calls tell of a mount: version, transport, flavor, sizes, names, delegations.

Takes a trace; gives what the calls of each client have in common, and those of several together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.levels import LATEST_NS, NONE_OPEN, levels, most_at_once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, text, whole
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.layouts import OF_DATA
from pcapnfs.analyses.data.moves import READ_OPERATIONS, WRITE_OPERATIONS
from pcapnfs.analyses.data.transfer_sizes import ALLOWED_READS, allowed
from pcapnfs.analyses.namespace.listings import LISTING
from pcapnfs.analyses.namespace.names_again import LOOKED_UP, NAMING
from pcapnfs.comparison import delegated as _delegated
from pcapnfs.programs import NFS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pcapnfs.comparison.delegated import Delegated
    from pcapnfs.trace import Trace

READS = columns.together(
    traffic.READS,
    _delegated.READS,
    ALLOWED_READS,
    columns.of(
        calls="call client mount connection callback program protocol op status flavor directory "
        "file call_first_time reply_time signature version transmissions first_arrived srt",
        operations="call op status requested cookie committed",
        connections="connection transport role",
    ),
    population.OPERATIONS_READS,
    population.CALLS_READS,
)
"""The columns that the queries here read."""

LISTED = population.Operations(LISTING)
"""What tells whether directories are listed."""

LAYOUTS = population.Operations(("LAYOUTGET",), statuses=(0,))
"""What tells whether data may go to data servers."""

PROBES = ("NULL", "STARTTLS")
"""Calls that only ask who is there: the second, for TLS, has a flavor of its own (RFC 9289 section
4.1)."""

UNTOLD = ("unknown", "RPCSEC_GSS")
"""What the table calls says of a flavor that was cut off, or of which the service was."""

CONTEXTS = ("RPCSEC_GSS_INIT", "RPCSEC_GSS_CONTINUE_INIT", "RPCSEC_GSS_DESTROY")
"""Calls that begin and end a security context. Linux has a program of its own begin it (rpc.gssd),
over a connection of its own for each."""

OF_CONTEXTS = population.Calls(CONTEXTS)
"""What tells whether there are any."""

MACHINE = (
    *CONTEXTS,
    "EXCHANGE_ID", "CREATE_SESSION", "DESTROY_SESSION", "DESTROY_CLIENTID", "RECLAIM_COMPLETE",
    "BIND_CONN_TO_SESSION", "BACKCHANNEL_CTL", "SET_SSV", "SEQUENCE",
    "SETCLIENTID", "SETCLIENTID_CONFIRM", "RENEW", "RELEASE_LOCKOWNER",
    "SECINFO", "SECINFO_NO_NAME", "TEST_STATEID", "FREE_STATEID",
    "CLOSE", "OPEN_DOWNGRADE", "DELEGRETURN", "LOCKU", "LAYOUTRETURN",
)  # fmt: skip
"""Calls that need not have the mount's flavor: those about client state and flavors, and those that
a client gives state back with. Linux sends them as the machine, with krb5i wherever it has Kerberos
(SP4_MACH_CRED, RFC 8881 section 18.35)."""


NO_WORK = ("READ", "WRITE", "COMMIT", "READDIR", "READDIRPLUS", "READ_PLUS", *MACHINE)
"""Calls that a client sends by itself: data read ahead and written back, lists that go on, state
that is given back in the background. It may have many of them under way for one program."""

GIVEN_BACK = "DELEGRETURN"
"""What makes any compound such a call: with a delegation that it gives back, a client that kept the
times of a file itself sends them in a SETATTR before it (RFC 9754)."""


RESENDING = (2, 3)
"""Versions of NFS whose clients send a call again on a connection that stands, when their timer has
run out. Those of NFSv4 must not (RFC 7530 section 3.1.1, RFC 8881 section 2.9.2)."""

SEVERAL = 3
"""Calls that must tell how long a client's timer is: one may have been held up in the client."""


class Habits(Record):
    """What calls have in common."""

    versions: Mapping[str, int]
    """Calls by version of NFS: 3, 4.0, 4.1 … Here and in the next two, calls that do not tell it
    are left out: unknown is no value. So are those over connections to data servers (pNFS), where
    the client has others: layouts choose for them, not the mount."""
    transports: Mapping[str, int]
    """Calls by transport: TCP, UDP."""
    flavors: Mapping[str, int]
    """Calls by security flavor, without those of `MACHINE`."""
    largest_read_bytes: int | None
    """The most that a READ asked for, bytes; None without one."""
    largest_write_bytes: int | None
    """The most that a WRITE brought, bytes; None without one."""
    writes_stable: int
    """Answered WRITEs whose data was on stable storage at once."""
    writes_unstable: int
    """Answered WRITEs whose data was not."""
    names_used: int
    """Calls by a name in a directory that a LOOKUP had found."""
    directories_again: int
    """LOOKUPs that found these directories, but the first of each."""
    connections: int
    """Connections to one server with calls that were answered, in use at once, at most; without
    those to data servers, and those for security contexts alone."""
    work: int = 0
    """Answered calls that programs wait for: all but `NO_WORK` and compounds that give a delegation
    back."""
    work_at_once: int = 0
    """The most of them under way at once, at one server."""
    work_overlaps: float = 0.0
    """Share of the time in which any of them was, 0…1, in which two or more were; of several
    clients or servers the most."""
    layouts: int = 0
    """LAYOUTGETs that were granted."""
    data_apart: int = 0
    """READs and WRITEs over connections to data servers."""
    delegated: Mapping[str, Delegated] = {}
    """Delegations by what they are for: `reading` and `writing`, as files were opened for reading
    alone or not, and `directories`."""
    listings_begun: int = 0
    """NFSv3: calls that began to list a directory, and asked for as many bytes as is known."""
    listing_bytes: int | None = None
    """What each of them asked for, bytes; None where they differ, and without one."""
    max_read_bytes: int | None = None
    """What its servers allow a READ, bytes; None where they differ, and where none tells."""
    stable_bytes: int = 0
    """What `writes_stable` brought, bytes."""
    unstable_bytes: int = 0
    """What `writes_unstable` brought, bytes."""
    sent_again: int = 0
    """Calls of NFSv2 and NFSv3 that were sent again over the same TCP connection though nothing was
    lost: the client's timer (timeo) was shorter than the server took."""
    again_s: float | None = None
    """What three of them took at most, seconds: the timer is shorter. None where there are fewer.
    """
    once_s: float | None = None
    """What three calls of these versions over TCP that were sent once took at least, seconds: the
    timer is longer. None where there are fewer."""


Kinds = tuple[dict[str, int], dict[str, int], dict[str, int]]
"""Calls by version, transport and flavor."""


def by_client(trace: Trace) -> dict[str, Habits]:
    """The habits of each client that called NFS, by its address."""
    clients = {client for client, _ in traffic.of_clients(trace).by_pair("calls")}
    # The only one need not be looked up for each READ and WRITE.
    alone = clients.pop() if len(clients) == 1 else None
    kinds, transfers = _kinds(trace, alone), _transfers(trace, alone)
    names, connections = _names(trace, alone), _connections(trace)
    work, delegated, layouts = _work(trace), _delegated.by_client(trace), _layouts(trace, alone)
    begun, limits, timers = _begun(trace, alone), _limits(trace), _timers(trace, alone)
    return {
        client: _habits(
            kinds.get(client),
            transfers.get(client),
            names.get(client),
            connections.get(client, 0),
            work.get(client, NO_WORK_SEEN),
            layouts.get(client, (0, 0)),
            delegated.get(client, {}),
            begun.get(client, (0, None)),
            _only(limits.get(client, ())),
            timers.get(client, NO_TIMER),
        )
        for client in sorted(kinds.keys() | transfers.keys() | names.keys())
    }


def together(each: Collection[Habits]) -> Habits:
    """What clients have in common."""
    return Habits(
        versions=_added(one.versions for one in each),
        transports=_added(one.transports for one in each),
        flavors=_added(one.flavors for one in each),
        largest_read_bytes=_most(one.largest_read_bytes for one in each),
        largest_write_bytes=_most(one.largest_write_bytes for one in each),
        writes_stable=sum(one.writes_stable for one in each),
        writes_unstable=sum(one.writes_unstable for one in each),
        names_used=sum(one.names_used for one in each),
        directories_again=sum(one.directories_again for one in each),
        connections=max((one.connections for one in each), default=0),
        work=sum(one.work for one in each),
        work_at_once=max((one.work_at_once for one in each), default=0),
        work_overlaps=max((one.work_overlaps for one in each), default=0.0),
        layouts=sum(one.layouts for one in each),
        data_apart=sum(one.data_apart for one in each),
        delegated=_delegated.together(one.delegated for one in each),
        listings_begun=sum(one.listings_begun for one in each),
        listing_bytes=_only({one.listing_bytes for one in each if one.listings_begun}),
        max_read_bytes=_only({one.max_read_bytes for one in each}),
        stable_bytes=sum(one.stable_bytes for one in each),
        unstable_bytes=sum(one.unstable_bytes for one in each),
        sent_again=sum(one.sent_again for one in each),
        again_s=max((one.again_s for one in each if one.again_s is not None), default=None),
        once_s=min((one.once_s for one in each if one.once_s is not None), default=None),
    )


def _added(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Calls by kind, of several clients."""
    calls: Counter[str] = Counter()
    for one in each:
        calls.update(one)
    return dict(sorted(calls.items()))


def _most(each: Iterable[int | None]) -> int | None:
    return max((size for size in each if size is not None), default=None)


def _only(sizes: Collection[int | None]) -> int | None:
    """The size, if there is but one."""
    return next(iter(sizes)) if len(sizes) == 1 else None


def _habits(
    kinds: Kinds | None,
    transfers: Sequence[object] | None,
    names: tuple[int, int] | None,
    connections: int,
    work: tuple[int, int, float],
    layouts: tuple[int, int],
    delegated: Mapping[str, Delegated],
    begun: tuple[int, int | None],
    limit: int | None,
    timer: tuple[int, float | None, float | None],
) -> Habits:
    """What calls of one client have in common."""
    versions, transports, flavors = kinds or ({}, {}, {})
    used, again = names or (0, 0)
    read, write, stable, unstable, *brought = transfers or (None, None, 0, 0, 0, 0)
    return Habits(
        versions=versions,
        transports=transports,
        flavors=flavors,
        largest_read_bytes=whole(read),
        largest_write_bytes=whole(write),
        writes_stable=integer(stable),
        writes_unstable=integer(unstable),
        names_used=used,
        directories_again=again,
        connections=connections,
        work=work[0],
        work_at_once=work[1],
        work_overlaps=work[2],
        layouts=layouts[0],
        data_apart=layouts[1],
        delegated=delegated,
        listings_begun=begun[0],
        listing_bytes=begun[1],
        max_read_bytes=limit,
        stable_bytes=integer(brought[0]),
        unstable_bytes=integer(brought[1]),
        sent_again=timer[0],
        again_s=timer[1],
        once_s=timer[2],
    )


def _connections(trace: Trace) -> dict[str, int]:
    """The most connections at once of each client with one server."""
    lines = traffic.of_clients(trace)
    numbers = lines.numbers
    called = (numbers["program"] == NFS) & (numbers["answered"] > 0)
    if aside := _aside(trace):
        called &= ~np.isin(numbers["connection"], aside)
    lines = lines.where(called)
    found: dict[str, int] = {}
    for (client, _), (begin, end) in lines.spans("first_answered_ns", "last_answered_ns").items():
        most = most_at_once(np.minimum(begin, LATEST_NS), np.minimum(end, LATEST_NS))
        found[client] = max(found.get(client, 1), most)
    return found


def _aside(trace: Trace) -> list[int]:
    """Connections that say nothing of how many a mount has: to data servers, or for contexts."""
    rows = trace.rows(f"select connection from connections where role = '{OF_DATA}'")
    if OF_CONTEXTS.met(trace):
        rows += trace.rows(
            f"""
            select connection from calls where program = {NFS} and not callback
            group by connection
            having bool_or({among("op", CONTEXTS)})
                   and bool_and(coalesce({among("op", (*PROBES, *CONTEXTS))}, false))
            """
        )
    return [integer(connection) for (connection,) in rows]


NO_WORK_SEEN = (0, 0, 0.0)


def _work(trace: Trace) -> dict[str, tuple[int, int, float]]:
    """Of each client the calls that programs wait for, how many at once, and how often several."""
    mounts = traffic.mounts(trace)
    asked = f"""
        from calls where not callback and program = {NFS} and reply_time is not null
                         and not {among("op", NO_WORK)}
                         and coalesce(signature not like '%{GIVEN_BACK}%', true)
    """
    calls = dict(trace.rows(f"select mount, count(*) {asked} group by mount"))
    with closing(trace.cursor()) as cursor:
        rows = cursor.sql(
            "select call_first_time as begin, greatest(reply_time, call_first_time) as end, "
            f"mount as key {asked}"
        )
        groups = {mount: place for place, mount in enumerate(sorted(calls))}
        found = levels(rows, groups)
    told: dict[str, tuple[int, int, float]] = {}
    for mount, place in groups.items():
        client = mounts[mount][0]
        number, most, share = told.get(client, NO_WORK_SEEN)
        level = found.get(place, NONE_OPEN)
        overlaps = level.at_least_ns(2) / level.busy_ns if level.busy_ns else 0.0
        told[client] = number + calls[mount], max(most, level.peak), max(share, overlaps)
    return told


def _kinds(trace: Trace, alone: str | None) -> dict[str, Kinds]:
    """Calls of NFS by version, transport and flavor, by client."""
    rows = trace.rows(
        f"""
        select coalesce($alone, calls.client), coalesce(role = '{OF_DATA}', false) as of_data,
               protocol, transport,
               case when not list_contains($machine, op) then flavor end, count(*)
        from calls join connections using (connection)
        where program = {NFS} and not calls.callback and not list_contains($probes, op)
        group by all order by all
        """,
        {"machine": MACHINE, "probes": PROBES, "alone": alone},
    )
    answer: dict[str, Kinds] = {}
    # Those to data servers count where a capture, taken at one of them, holds nothing else.
    of_mounts = {client for client, of_data, *_ in rows if not of_data}
    for client, of_data, *kinds, count in rows:
        if of_data and client in of_mounts:
            continue
        found = answer.setdefault(client, ({}, {}, {}))
        for place, kind in enumerate(kinds):
            name = text(kind)
            if name is not None and name not in UNTOLD:
                found[place][name] = found[place].get(name, 0) + integer(count)
    return answer


def _transfers(trace: Trace, alone: str | None) -> dict[str, Sequence[object]]:
    """The largest READ and WRITE asked for, and WRITEs and their bytes by what was promised."""
    whose, calls = ("calls.client", "join calls using (call)") if alone is None else ("$alone", "")
    rows = trace.rows(
        f"""
        with moved as (
            select {whose} as client, list_contains($reads, operations.op) as reads,
                   operations.op = 'WRITE' as promised, requested, committed, count(*) as number,
                   sum(requested) as brought
            from operations {calls}
            where list_contains($reads, operations.op) or list_contains($writes, operations.op)
            group by all
        )
        select client, max(requested) filter (reads), max(requested) filter (not reads),
               coalesce(sum(number) filter (promised and committed <> 'UNSTABLE'), 0)::bigint,
               coalesce(sum(number) filter (promised and committed = 'UNSTABLE'), 0)::bigint,
               coalesce(sum(brought) filter (promised and committed <> 'UNSTABLE'), 0),
               coalesce(sum(brought) filter (promised and committed = 'UNSTABLE'), 0)
        from moved group by client order by client
        """,
        {
            "reads": READ_OPERATIONS,
            "writes": WRITE_OPERATIONS,
            **({} if alone is None else {"alone": alone}),
        },
    )
    return {str(client): row for client, *row in rows}


def _begun(trace: Trace, alone: str | None) -> dict[str, tuple[int, int | None]]:
    """How often each client began to list a directory by NFSv3, and what each such call asked for.

    Whole replies are asked for: `count` of READDIR, `maxcount` of READDIRPLUS.
    """
    if not LISTED.met(trace):
        return {}
    rows = trace.rows(
        f"""
        select coalesce($alone, client), count(*),
               case when min(requested) = max(requested) then min(requested) end
        from operations join calls using (call)
        where {among("operations.op", LISTING)} and not callback and program = {NFS}
              and version = 3 and cookie = 0 and requested is not null
        group by all order by all
        """,
        {"alone": alone},
    )
    return {str(client): (integer(calls), whole(size)) for client, calls, size in rows}


def _limits(trace: Trace) -> dict[str, set[int | None]]:
    """What the servers of each client allow a READ."""
    mounts = traffic.mounts(trace)
    found: dict[str, set[int | None]] = {}
    for each in allowed(trace):
        found.setdefault(mounts[each.mount][0], set()).add(each.read_bytes)
    return found


NO_TIMER = (0, None, None)


def _timers(trace: Trace, alone: str | None) -> dict[str, tuple[int, float | None, float | None]]:
    """Of each client the calls that its timer did not wait for, and what tells how long it is."""
    if not any_resending(trace):
        return {}
    rows = trace.rows(
        f"""
        select coalesce($alone, calls.client), count(*) filter (transmissions > 1),
               min(srt, $several) filter (transmissions > 1),
               max(srt, $several) filter (transmissions = 1)
        from calls join connections using (connection)
        where program = {NFS} and version in {RESENDING} and not calls.callback
              and transport = 'TCP' and first_arrived and srt is not null
        group by all order by all
        """,
        {"alone": alone, "several": SEVERAL},
    )
    return {
        str(client): (integer(again), _last_s(quickest), _last_s(slowest))
        for client, again, quickest, slowest in rows
    }


def any_resending(trace: Trace) -> bool:
    """Whether there are calls of a version whose clients send them again."""
    numbers = traffic.of_clients(trace).numbers
    return bool(((numbers["program"] == NFS) & np.isin(numbers["version"], RESENDING)).any())


def _last_s(times: object) -> float | None:
    """The last of several times, seconds; None where they are fewer."""
    if not isinstance(times, list) or len(times) < SEVERAL:
        return None
    return integer(times[-1]) / NANOSECONDS


def _names(trace: Trace, alone: str | None) -> dict[str, tuple[int, int]]:
    """Calls by name in directories that were looked up, and how often these were again."""
    if not LOOKED_UP.met(trace):
        return {}
    rows = trace.rows(
        f"""
        with named as (
            select coalesce($alone, client) as client, mount, directory, file,
                   op = 'LOOKUP' and status = 0 as looked_up
            from calls
            where {among("op", NAMING)} and not callback and program = {NFS}
                  and directory is not null
        ),
        found as (
            select client, mount, file as directory, count(*) as times
            from named where looked_up and file is not null group by all
        ),
        used as (
            select client, mount, directory, count(*) as used from named group by all
        )
        select client, sum(used)::bigint, sum(times - 1)::bigint
        from found join used using (client, mount, directory) group by client order by client
        """,
        {"alone": alone},
    )
    return {str(client): (integer(used), integer(again)) for client, used, again in rows}


def _layouts(trace: Trace, alone: str | None) -> dict[str, tuple[int, int]]:
    """Layouts that each client got, and its READs and WRITEs to data servers."""
    if not LAYOUTS.met(trace):
        return {}
    moves = (*READ_OPERATIONS, *WRITE_OPERATIONS)
    rows = trace.rows(
        f"""
        select coalesce($alone, calls.client),
               count(*) filter (operations.op = 'LAYOUTGET' and operations.status = 0),
               count(*) filter (role = '{OF_DATA}' and {among("operations.op", moves)})
        from operations join calls using (call) join connections using (connection)
        where {among("operations.op", ("LAYOUTGET", *moves))} and not calls.callback
        group by all order by all
        """,
        {"alone": alone},
    )
    return {str(client): (integer(granted), integer(apart)) for client, granted, apart in rows}
