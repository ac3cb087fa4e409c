"""ACLs that clients asked for, object by object.

Takes a trace; gives for each client and server the calls that fetch an ACL: of NFSv3 those of the
side program NFSACL, of NFSv4 GETATTRs that ask for the ACL alone. Nothing else brings them along:
neither listings with attributes nor LOOKUPs, so that each costs a round trip of its own. Beside
them clients of NFSv4.2 ask for the names of extended attributes. What is set on an object of which
it was never read, after that of others was, is a copy: by NFSv4 each object has an ACL, which may
say no more than the mode, and whoever copies with ACLs copies that as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
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
    """Answered calls that set an ACL, and did not copy it: somebody uses them."""
    extended: int
    """Calls that changed an extended attribute, or were given the value of one, likewise."""
    copied: Spared
    """By NFSv4, calls that set an ACL or an extended attribute on an object of which the client had
    read none, after it had read that of another."""
    copied_acls: int
    """Part of copied: those that set an ACL."""
    copied_from: Spared
    """Those that read an extended attribute right before one of copied set one."""


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
            spared.of_row(row[4:8]),
            integer(objects),
            integer(changed),
            integer(extended),
            spared.of_row(row[8:12]),
            integer(copied_acls),
            spared.of_row(row[12:]),
        )
        for mount, by_attribute, objects, changed, extended, copied_acls, *row in trace.rows(_ASKED)
    )


COPIED = 2
"""ACLs and attributes that were set count as copies where no more than so many times as many were
read."""

_ALONE = "regexp_full_match(attributes, '00001000(:0+)*')"
"""SQL: an operation of NFSv4 asks for the ACL, or sets it, and for nothing else (RFC 8881 section
5.8.1: attribute 12)."""

_ASKED = f"""
    with alone as (
        select distinct call from operations
        where {among("op", ("GETATTR", "SETATTR"))} and {_ALONE}
    ), kinds as (
        select mount, call, op in ('GETXATTR', 'SETXATTR') as extended,
               op in ('GETATTR', 'GETXATTR') as read, op in ('SETATTR', 'SETXATTR') as set,
               call_frame, file, op,
               case when op in ('GETACL', 'GETATTR') then 'fetched'
                    when op in ('SETACL', 'SETATTR') then 'set'
                    when op = 'LISTXATTRS' then 'listed' else 'extended' end as kind
        from calls left join alone using (call)
        where not callback and reply_time is not null
              and (not {among("op", ("SETACL", "SETATTR"))} or status = 0)
              and ({among("op", ("GETACL", "SETACL"))} and protocol = 'nfsacl3'
                   or {among("op", ("LISTXATTRS",))}
                   or {among("op", ("GETXATTR", "SETXATTR", "REMOVEXATTR"))} and status = 0
                   or {among("op", ("GETATTR", "SETATTR"))} and alone.call is not null)
    ), known as (
        select *, coalesce(
                   set and file is not null
                   and min(call) filter (read) over (partition by mount, extended) < call
                   and coalesce(
                       min(call) filter (read) over (partition by mount, extended, file) > call,
                       true
                   ), false
               ) as may_copy
        from kinds
    ), copies as (
        -- Who copies reads one for each that is set; a listing reads many.
        select *, may_copy and {COPIED} * count(case when may_copy then 1 end) over whole
                   >= count(case when read then 1 end) over whole as copied
        from known window whole as (partition by mount, extended)
    ), told as (
        select *, read and extended and coalesce(
                   lead(copied) over (partition by mount, extended order by call), false
               ) as copied_from
        from copies
    )
    select mount, count(*) filter (op = 'GETATTR'),
           count(distinct file) filter (kind = 'fetched'),
           count(*) filter (kind = 'set' and not copied),
           count(*) filter (kind = 'extended'), count(*) filter (kind = 'set' and copied),
           {spared.columns("kind = 'fetched'")}, {spared.columns("kind = 'listed'", "listed")},
           {spared.columns("copied", "copied")}, {spared.columns("copied_from", "copied_from")}
    from told join shares using (call)
    group by mount having count(*) filter (kind = 'fetched') > 0
    order by count(*) filter (kind = 'fetched') desc, mount
"""
