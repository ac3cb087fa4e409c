"""What calls tell of the settings of a mount: version, transport, flavor, sizes of transfers.

Takes a trace; gives what its calls have in common, those of all clients together and those of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.service_time import integer, text, whole
from pcapnfs.analyses.data.transfer_sizes import READ_OPERATIONS, WRITE_OPERATIONS
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client connection callback program protocol op flavor",
    operations="call op requested committed",
    connections="connection transport",
)
"""The columns that the queries here read."""

PROBES = ("NULL", "STARTTLS")
"""Calls that only ask who is there: the second, for TLS, has a flavor of its own (RFC 9289 section
4.1)."""

UNKNOWN = "unknown"
"""What the table calls says of a flavor that was cut off."""

MACHINE = (
    "RPCSEC_GSS_INIT", "RPCSEC_GSS_CONTINUE_INIT", "RPCSEC_GSS_DESTROY",
    "EXCHANGE_ID", "CREATE_SESSION", "DESTROY_SESSION", "DESTROY_CLIENTID", "RECLAIM_COMPLETE",
    "BIND_CONN_TO_SESSION", "BACKCHANNEL_CTL", "SET_SSV", "SEQUENCE",
    "SETCLIENTID", "SETCLIENTID_CONFIRM", "RENEW", "RELEASE_LOCKOWNER",
    "SECINFO", "SECINFO_NO_NAME", "TEST_STATEID", "FREE_STATEID",
    "CLOSE", "OPEN_DOWNGRADE", "DELEGRETURN", "LOCKU", "LAYOUTRETURN",
)  # fmt: skip
"""Calls that need not have the mount's flavor: those about client state and flavors, and those that
a client gives state back with. Linux sends them as the machine, with krb5i wherever it has Kerberos
(SP4_MACH_CRED, RFC 8881 section 18.35)."""


class Habits(Record):
    """What calls have in common."""

    versions: Mapping[str, int]
    """Calls by version of NFS: 3, 4.0, 4.1 … Here and in the next two, calls that do not tell it
    are left out: unknown is no value."""
    transports: Mapping[str, int]
    """Calls by transport: TCP, UDP."""
    flavors: Mapping[str, int]
    """Calls by security flavor, without those of `MACHINE`."""
    largest_read_bytes: int | None
    """The most that a READ asked for, bytes; None without one."""
    largest_write_bytes: int | None
    """The most that a WRITE brought, bytes; None without one."""
    writes_of_largest: int
    """WRITEs that brought so much."""
    writes_stable: int
    """Answered WRITEs whose data was on stable storage at once."""
    writes_unstable: int
    """Answered WRITEs whose data was not."""


Kinds = tuple[dict[str, int], dict[str, int], dict[str, int]]
"""Calls by version, transport and flavor."""


def habits(trace: Trace) -> Habits:
    """The habits of all clients together."""
    return _habits("", _kinds(trace, None), _transfers(trace, None))


def of_each(trace: Trace, clients: Sequence[str]) -> dict[str, Habits]:
    """Those of some clients, by address."""
    kinds, transfers = _kinds(trace, clients), _transfers(trace, clients)
    return {client: _habits(client, kinds, transfers) for client in clients}


def _habits(
    client: str, kinds: Mapping[str, Kinds], transfers: Mapping[str, Sequence[object]]
) -> Habits:
    versions, transports, flavors = kinds.get(client, ({}, {}, {}))
    read, write, of_largest, stable, unstable = transfers.get(client, (None, None, 0, 0, 0))
    return Habits(
        versions=versions,
        transports=transports,
        flavors=flavors,
        largest_read_bytes=whole(read),
        largest_write_bytes=whole(write),
        writes_of_largest=integer(of_largest),
        writes_stable=integer(stable),
        writes_unstable=integer(unstable),
    )


def _kinds(trace: Trace, clients: Sequence[str] | None) -> dict[str, Kinds]:
    """Calls of NFS by version, transport and flavor, by client; under `""` where all are one."""
    whose, chosen, parameters = _whose(clients)
    rows = trace.rows(
        f"""
        select {whose}, protocol, transport,
               case when not list_contains($machine, op) then flavor end, count(*)
        from calls join connections using (connection)
        where program = {NFS} and not calls.callback and not list_contains($probes, op)
          and {chosen}
        group by all order by all
        """,
        {"machine": MACHINE, "probes": PROBES, **parameters},
    )
    answer: dict[str, Kinds] = {}
    for client, *kinds, count in rows:
        found = answer.setdefault(client, ({}, {}, {}))
        for place, kind in enumerate(kinds):
            name = text(kind)
            if name is not None and name != UNKNOWN:
                found[place][name] = found[place].get(name, 0) + integer(count)
    return answer


def _transfers(trace: Trace, clients: Sequence[str] | None) -> dict[str, Sequence[object]]:
    """The largest READ and WRITE asked for, how many of that, and WRITEs by what was promised."""
    whose, chosen, parameters = _whose(clients)
    calls = "" if clients is None else "join calls using (call)"
    rows = trace.rows(
        f"""
        with moved as (
            select {whose} as client, list_contains($reads, operations.op) as reads,
                   operations.op = 'WRITE' as promised, requested, committed, count(*) as number
            from operations {calls}
            where (list_contains($reads, operations.op) or list_contains($writes, operations.op))
              and {chosen}
            group by all
        ),
        largest as (
            select client, max(requested) filter (not reads) as widest from moved group by client
        )
        select client, max(requested) filter (reads), max(widest),
               coalesce(sum(number) filter (not reads and requested = widest), 0)::bigint,
               coalesce(sum(number) filter (promised and committed <> 'UNSTABLE'), 0)::bigint,
               coalesce(sum(number) filter (promised and committed = 'UNSTABLE'), 0)::bigint
        from moved join largest using (client) group by client order by client
        """,
        {"reads": READ_OPERATIONS, "writes": WRITE_OPERATIONS, **parameters},
    )
    return {str(client): row for client, *row in rows}


def _whose(clients: Sequence[str] | None) -> tuple[str, str, dict[str, object]]:
    """SQL: the client of a call, and which calls are asked for; with its parameters."""
    if clients is None:
        return "''", "true", {}
    chosen = f"calls.client in (select {given.rows('clients', 'varchar')})"
    return "calls.client", chosen, {"clients": given.text(clients)}
