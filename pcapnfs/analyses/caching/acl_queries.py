"""ACLs that clients asked for, object by object.

Takes a trace; gives for each client and server the calls that fetch an ACL: of NFSv3 those of the
side program NFSACL, of NFSv4 GETATTRs that ask for the ACL alone. Nothing else brings them along:
neither listings with attributes nor LOOKUPs, so that each costs a round trip of its own. Beside
them clients of NFSv4.2 ask for the names of extended attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.service_time import integer
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount op protocol callback call_frame reply_time file status",
        operations="call op attributes",
    ),
)
"""The columns that the query here reads."""

NEEDS = population.Calls(ops=("GETACL", "GETATTR"))
"""Only where there are such calls can there be any that fetch an ACL."""


class AclQueries(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    asked: Spared
    """Those that fetch an ACL."""
    by_attribute: int
    """Part of asked: GETATTRs of NFSv4 that ask for the ACL alone."""
    listed: Spared
    """LISTXATTRS: they ask for the names of extended attributes, as ls -l does beside the ACL."""
    objects: int
    """Objects that asked is about."""
    changed: int
    """Answered calls that set an ACL: somebody uses them."""
    extended: int
    """Calls that changed an extended attribute, or were given the value of one, likewise."""


def acl_queries(trace: Trace) -> tuple[AclQueries, ...]:
    """Count, for each client and server, most of them first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    calls, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    return tuple(
        AclQueries(
            *mounts[mount],
            calls[mount],
            spared.of_row(row[:4]),
            integer(by_attribute),
            spared.of_row(row[4:]),
            integer(objects),
            integer(changed),
            integer(extended),
        )
        for mount, by_attribute, objects, changed, extended, *row in trace.rows(_ASKED)
    )


_ALONE = "regexp_full_match(attributes, '00001000(:0+)*')"
"""SQL: an operation of NFSv4 asks for the ACL, or sets it, and for nothing else (RFC 8881 section
5.8.1: attribute 12)."""

_ASKED = f"""
    with alone as (
        select distinct call from operations
        where {among("op", ("GETATTR", "SETATTR"))} and {_ALONE}
    ), kinds as (
        select mount, call, call_frame, file, op,
               case when op in ('GETACL', 'GETATTR') then 'fetched'
                    when op in ('SETACL', 'SETATTR') then 'set'
                    when op = 'LISTXATTRS' then 'listed' else 'extended' end as kind
        from calls left join alone using (call)
        where not callback and reply_time is not null
              and ({among("op", ("GETACL", "SETACL"))} and protocol = 'nfsacl3'
                   or {among("op", ("LISTXATTRS",))}
                   or {among("op", ("GETXATTR", "SETXATTR", "REMOVEXATTR"))} and status = 0
                   or {among("op", ("GETATTR", "SETATTR"))} and alone.call is not null)
    )
    select mount, count(*) filter (op = 'GETATTR'),
           count(distinct file) filter (kind = 'fetched'), count(*) filter (kind = 'set'),
           count(*) filter (kind = 'extended'),
           {spared.columns("kind = 'fetched'")}, {spared.columns("kind = 'listed'", "listed")}
    from kinds join shares using (call)
    group by mount having count(*) filter (kind = 'fetched') > 0
    order by count(*) filter (kind = 'fetched') desc, mount
"""
