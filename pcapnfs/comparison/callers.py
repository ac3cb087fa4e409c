"""Which client after is which one before.

Takes a trace; gives who called NFS in it, and of two sides the pairs that are one client each. An
address is not a machine's for good: the same client may have another one after (DHCP, IPv6 for
IPv4, another interface), or one that was another's before. Where an address and a name contradict
each other, a name that only one client of each side has tells more. What is ambiguous is left
apart.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured.traffic import OTHERS
from pcapnfs.analyses.mounts.software import TELLING
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call client callback program op machine",
        operations="call op client_owner",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(TELLING)
"""Without one of them no client tells its owner."""

NO_NAMES = ("", "(none)", "localhost", "localhost.localdomain")
"""Machine names that a host has before it was given one."""

HOST = r"^Linux NFSv4\.[1-9][0-9]* (?:.*/)?([^/]+)$"
"""How the client owner of Linux ends in the name of its host."""

MatchedBy = Literal["address", "client_owner", "machine", "alone"]
"""What tells that two are one client: `address`; `client_owner`, what it names itself by to servers
of NFSv4; `machine`, the machine name of its calls; `alone`, they are the only ones that are left on
each side."""


class Caller(Record):
    """A client that called NFS, and what it calls itself."""

    client: str
    """Its address."""
    machine: str | None
    """The machine name that all its calls with AUTH_SYS have in common, or, without such calls, the
    same name in its client owner, where it is Linux; not escaped. None without one, with several,
    and where it is one of a host that has none of its own (localhost)."""
    client_owner: str | None
    """What it names itself by in all of EXCHANGE_ID and SETCLIENTID, without the version of NFS
    that Linux begins it with; not escaped. None likewise."""
    works: bool = True
    """It did more than to ask whether the server is there (NULL), as monitoring does."""


class SameClient(Record):
    """Two callers that are one client."""

    before: str
    """Its address before."""
    after: str
    """Its address after."""
    matched_by: MatchedBy
    """What tells so."""


def callers(trace: Trace) -> dict[str, Caller]:
    """Who called NFS, by address; without those that are told as one (`traffic.OTHERS`)."""
    rows = trace.rows(
        f"""
        select client, bool_or(op <> 'NULL'), min(machine), max(machine) from calls
        where program in {NFS_PROGRAMS} and not callback and client <> '{OTHERS}'
        group by client order by client
        """
    )
    owners = _owners(trace) if NEEDS.met(trace) else {}
    found = {}
    for client, works, *machines in rows:
        owner, host = owners.get(client, (None, None))
        machine = host if machines == [None, None] else _only(*machines)
        found[client] = Caller(client, machine, owner, works)
    return found


def pairs(before: Mapping[str, Caller], after: Mapping[str, Caller]) -> tuple[SameClient, ...]:
    """The clients of both sides.

    Those come first that have their address on both sides and no other name, then those that have
    a name which nobody else has on either side, then those of one address whose names differ. Where
    one that did something is left on each side, these two are taken for one, unless their names
    say that they are not; the only client of either side is taken for the same in any case.
    """
    found: dict[str, SameClient] = {}
    taken: set[str] = set()

    def match(first: str, second: str, by: MatchedBy) -> None:
        if first not in found and second not in taken:
            found[first] = SameClient(first, second, by)
            taken.add(second)

    same = [client for client in before if client in after]
    for client in same:
        if _agree(before[client], after[client]):
            match(client, client, "address")
    named: tuple[MatchedBy, ...] = ("client_owner", "machine")
    for by in named:
        first, second = _unique(before, by), _unique(after, by)
        for name in first.keys() & second.keys():
            match(first[name], second[name], by)
    for client in same:
        match(client, client, "address")
    left = [client for client in _working(before) if client not in found]
    others = [client for client in _working(after) if client not in taken]
    if len(left) == len(others) == 1:
        (one,), (other,) = left, others
        only = len(_working(before)) == len(_working(after)) == 1
        if only or _agree(before[one], after[other]):
            match(one, other, "alone")
    return tuple(found[client] for client in before if client in found)


def _working(side: Mapping[str, Caller]) -> list[str]:
    """The clients that did something, or the only one whatever it did."""
    return [client for client, each in side.items() if each.works or len(side) == 1]


def _owners(trace: Trace) -> dict[str, tuple[str | None, str | None]]:
    """What clients name themselves by, and the name of their host in that, by address."""
    rows = trace.rows(
        f"""
        with told as (
            select calls.client,
                   regexp_replace(client_owner, '^Linux NFSv4\\.[0-9]+ ', '') as owner,
                   -- Behind nfs4_unique_id, where that is set; that of 4.0 ends in the server.
                   nullif(regexp_extract(client_owner, '{HOST}', 1), '') as host
            from operations join calls using (call)
            where {among("operations.op", TELLING)} and client_owner is not null
        )
        select client, min(owner), max(owner), min(host), max(host) from told
        group by client order by client
        """
    )
    return {client: (_only(*names[:2]), _only(*names[2:])) for client, *names in rows}


def _only(least: str | None, most: str | None) -> str | None:
    """The only name of a client; None where it has several, or one that tells nothing."""
    return None if least != most or least in NO_NAMES else least


def _agree(one: Caller, other: Caller) -> bool:
    """Whether nothing says that they are two: they share a name, or tell none that differs."""
    names = [(one.machine, other.machine), (one.client_owner, other.client_owner)]
    told = [first == second for first, second in names if first is not None and second is not None]
    return any(told) or not told


def _unique(side: Mapping[str, Caller], by: MatchedBy) -> dict[str, str]:
    """The addresses of names that one client alone has, by name."""
    told = {client: getattr(caller, by) for client, caller in side.items()}
    often = Counter(told.values())
    return {name: client for client, name in told.items() if name is not None and often[name] == 1}
