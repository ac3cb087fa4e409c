"""Which software clients and servers are, as they say themselves.

Takes a trace; gives what clients and servers of NFSv4.1 call themselves in EXCHANGE_ID (RFC 8881
sections 18.35 and 3.3.4), and the system of other clients of NFSv4 where the name that they give
themselves begins as it has those begin (RFC 7530 section 9.1.1), and clients of any version whose
calls carry the machine name of a library in place of a host's (RFC 5531 appendix A). Else NFSv3
does not tell.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call client server callback call_frame reply_frame machine",
        operations="call op client_owner client_software server_software",
    ),
)
"""The columns that the queries here read."""

TELLING = ("EXCHANGE_ID", "SETCLIENTID")
"""Operations that tell."""

NEEDS = population.Operations(TELLING)
"""Without one of them nobody says anything but in credentials."""

OWNERS = {"Linux NFSv": "Linux", "Libnfs ": "libnfs"}
"""How the names begin that clients give themselves, and the system that does so."""

LIBRARIES = ("libnfs",)
"""Clients within a program, which mount nothing; their calls with AUTH_SYS have their own name in
place of a host's."""

KINDS = 20
"""Kinds of software that are told of each side, those of most addresses."""

SHORT = 60
"""Characters of a software that are told where there is little room."""

Side = Literal["client", "server"]
"""Who says so."""

Source = Literal["implementation", "owner", "credential"]
"""What says so: EXCHANGE_ID's nfs_impl_id4, the name that a client gives itself, or the machine
name of its calls."""


class Kind(Record):
    """Clients, or servers, that are of the same software."""

    software: str
    """What they say they are; not escaped."""
    source: Source
    """`implementation`: EXCHANGE_ID says so (nii_name, and nii_domain in parentheses where the name
    does not hold it); `owner`: the name that the client gives itself begins as those of this system
    do; `credential`: its calls with AUTH_SYS have the machine name that this system gives to all
    of them."""
    hosts: int
    """Addresses that say so."""
    addresses: tuple[str, ...]
    """The first five of them in order."""
    frame: int
    """The first frame that says so."""

    @property
    def is_library(self) -> bool:
        """Whether these mount nothing: mount options are for the program to set."""
        return self.software in LIBRARIES


class Changed(Record):
    """A client or a server that said to be one thing, and then another."""

    side: Side
    """`client` or `server`."""
    address: str
    """Its address."""
    before: str
    """What it said it was; not escaped."""
    after: str
    """What it said next."""
    frame: int
    """The first frame that says so."""


class Software(Record):
    """What clients and servers say they are."""

    clients: tuple[Kind, ...] = ()
    """Clients by software, that of most addresses first; what an address said before it said
    another is left out. Empty where none says anything; the first twenty."""
    servers: tuple[Kind, ...] = ()
    """Servers, likewise."""
    changed: tuple[Changed, ...] = ()
    """Who said another thing than before, in the order of frames; the first five."""


@once
def software(trace: Trace) -> Software:
    """Ask clients and servers what they are."""
    with closing(trace.cursor()) as cursor:
        if not NEEDS.met(trace) and cursor.execute(_NAMED).fetchone() is None:
            return Software()
        cursor.execute(_SAID)
        told = cursor.execute(_KINDS).fetchall()
        changes = cursor.execute(_CHANGED).fetchall()
        cursor.execute("drop table said")
    kinds: dict[Side, list[Kind]] = {"client": [], "server": []}
    for side, name, source, hosts, addresses, frame in told:
        kinds[side].append(
            Kind(str(name), source, integer(hosts), tuple(addresses), integer(frame))
        )
    return Software(
        clients=tuple(kinds["client"]),
        servers=tuple(kinds["server"]),
        changed=tuple(
            Changed(side, str(address), str(before), str(after), integer(frame))
            for side, address, before, after, frame in changes
        ),
    )


def in_short(said: str) -> str:
    """What somebody is without what no reader looks for, of sixty characters at most.

    Linux says when and how it was compiled behind its release, and then who made it.
    """
    told = said.partition(" #")[0]
    return told if len(told) <= SHORT else f"{told[: SHORT - 1]}…"


def apart(before: str, after: str) -> tuple[str, str]:
    """Two that differ, in short, or as they are where they do not differ in that."""
    short = in_short(before), in_short(after)
    return (before, after) if short[0] == short[1] else short


_SYSTEM = " ".join(
    f"when starts_with(client_owner, '{begins}') then '{system}'"
    for begins, system in OWNERS.items()
)

_SENT = f"{among('machine', LIBRARIES)} and not callback"
"""SQL: a call whose credential tells the client's system."""

_NAMED = f"select 1 from calls where {_SENT} limit 1"

_SAID = f"""
    create temp table said as
    with told as materialized (
        select client, server, call_frame, reply_frame, client_owner, client_software,
               server_software
        from operations join calls using (call)
        where {among("operations.op", TELLING)}
    ),
    spoken as (
        select 'client' as side, client as address, client_software as software,
               'implementation' as source, call_frame as frame
        from told where client_software is not null
        union all
        select 'client', client, case {_SYSTEM} end, 'owner', call_frame
        from told where client_software is null
        union all
        select 'server', server, server_software, 'implementation',
               coalesce(reply_frame, call_frame)
        from told where server_software is not null
        union all
        select 'client', client, machine, 'credential', min(call_frame)
        from calls where {_SENT} group by client, machine
    ),
    each as (
        select side, address, software, source, min(frame) as first, max(frame) as last
        from spoken where software is not null group by all
    )
    from each
    -- Who says what it is need not be guessed at; nor where two things tell of the same client. A
    -- program of the client's may well have a library of its own besides the mount.
    qualify rank() over (partition by side, address order by
        case source when 'implementation' then 1 when 'owner' then 2 else 3 end) = 1
"""
"""What each address says it is, and from where to where."""

# What is not said any more since another thing was. Several that say different things in turn
# share an address.
_KINDS = f"""
    with latest as (
        from said qualify last >= max(first) over (partition by side, address)
    )
    select side, software, source, count(*) as hosts, min(address, {EXAMPLES}), min(first)
    from latest group by side, software, source
    qualify row_number() over (partition by side order by hosts desc, software, source) <= {KINDS}
    order by side, hosts desc, software, source
"""

_CHANGED = f"""
    select side, address, lag(software) over spoken, software, first
    from said
    window spoken as (partition by side, address order by first, software)
    qualify lag(last) over spoken < first
    order by first, side limit {EXAMPLES}
"""
