"""ACLs that NFSv3 clients asked for, object by object.

Takes a trace; gives for each client and server the calls of the side program NFSACL that fetch an
ACL. Nothing else brings them along: neither listings with attributes nor LOOKUPs, so that each
costs a round trip of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.service_time import integer
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
    columns.of(calls="call mount op protocol callback call_frame reply_time file"),
)
"""The columns that the query here reads."""

NEEDS = population.Calls(ops=("GETACL",))
"""Only these are looked at."""


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
    objects: int
    """Objects that these are about."""
    changed: int
    """Answered calls that set an ACL: somebody uses them."""


def acl_queries(trace: Trace) -> tuple[AclQueries, ...]:
    """Count, for each client and server, most of them first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    calls, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    return tuple(
        AclQueries(
            *mounts[mount], calls[mount], spared.of_row(row), integer(objects), integer(changed)
        )
        for mount, objects, changed, *row in trace.rows(_ASKED)
    )


_ASKED = f"""
    select mount, count(distinct file) filter (op = 'GETACL'), count(*) filter (op = 'SETACL'),
           {spared.columns("op = 'GETACL'")}
    from calls join shares using (call)
    where not callback and reply_time is not null and op in ('GETACL', 'SETACL')
          and protocol = 'nfsacl3'
    group by mount having count(*) filter (op = 'GETACL') > 0
    order by count(*) filter (op = 'GETACL') desc, mount
"""
