"""Read delegations of new files that were given back before anything was done under them.

Takes a trace; gives for each client and server the delegations that it was granted, and the
DELEGRETURNs that came next of all calls about a file after the OPEN that made it, before a SETATTR.
To a program that opens a new file for reading and writing Linux 6.1 gives a read delegation (6.12
one for writing, which is kept), to one that only writes none. The client returns it before it
changes the file's attributes: after an exclusive create, or when the program does so (fchmod). All
that such a delegation brought is the DELEGRETURN.

Of a delegation that lasted longer, or was given back for something else, packets do not tell
whether it was of use: an open that the client answers itself leaves no trace. It is not counted
here, nor is one that the server called back.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server mount callback op status file call_frame call_time reply_time",
        operations="call op status delegation create_mode",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("DELEGRETURN",), statuses=(0,))
"""Without these nothing was given back."""

SOON_S = 1.0
"""What comes later than this after the call before it is not the same step of a program."""

TIMES_AS_LONG = 10
"""What one of them took beyond so many times their median is not the price of a round trip: it
stood still, as while the path was cut."""


class ReturnedAtOnce(Record):
    """Those of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    granted: int
    """Delegations that came with OPENs, of all files."""
    returned: Spared
    """The DELEGRETURNs of read delegations of new files that were given back at once."""


def returned_at_once(trace: Trace) -> tuple[ReturnedAtOnce, ...]:
    """Count them, by client and server."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_GRANTS)
        cursor.execute(_NEW)
        rows = cursor.execute(_RETURNED).fetchall()
    return tuple(
        ReturnedAtOnce(str(client), str(server), integer(granted), spared.of_row(values))
        for client, server, granted, *values in rows
    )


_GRANTS = """
    create temp table grants as
    select call, bool_or(create_mode is not null and delegation like 'READ%') as made
    from operations
    where op = 'OPEN' and status = 0 and (delegation like 'READ%' or delegation like 'WRITE%')
    group by call
"""

# A table of its own, since DuckDB knows how few files these are: it looks each call up among them.
_NEW = """
    create temp table new_files as
    select distinct mount, file
    from calls semi join (from grants where made) using (call) where file is not null
"""

# What only asks may come between: it needs no delegation, and takes none away.
_RETURNED = f"""
    with steps as (
        select client, server, mount, file, call, call_frame, call_time, reply_time,
               coalesce(made, false) as made,
               not callback and op = 'DELEGRETURN' and status = 0 as given_back,
               not callback and op = 'SETATTR' as sets
        from calls semi join new_files using (mount, file) left join grants using (call)
        where callback or op not in ('ACCESS', 'GETATTR')
    ),
    followed as (
        select client, server, call, call_frame,
               given_back and lag(made) over around and lead(sets) over around
               and call_time - lag(reply_time) over around between 0 and {SOON_S * NANOSECONDS}
               and lead(call_time) over around - reply_time between 0 and {SOON_S * NANOSECONDS}
               as at_once
        from steps window around as (partition by mount, file order by call_time, call)
    ),
    timed as materialized (
        select client, server, call_frame, share, pause
        from (from followed where at_once) join shares using (call)
    ),
    usual as (
        select client, server, {TIMES_AS_LONG} * median(share) as most from timed group by all
    ),
    bounded as materialized (
        select client, server, {spared.columns("true", "returned")}
        from (
            select timed.* replace (least(share, most)::bigint as share)
            from timed join usual using (client, server)
        )
        group by client, server
    ),
    granted as materialized (
        select client, server, count(*) as grants
        from calls semi join grants using (call) group by client, server
    )
    select client, server, grants, {spared.names("returned")}
    from bounded join granted using (client, server)
    order by client, server
"""
