"""Calls that a server was not ready for, and those with which clients asked the same again.

Takes a trace; makes a table of the calls of clients that were answered so (JUKEBOX, DELAY, GRACE …)
and of all that ask for the same: client, server, operations, objects and user are equal. Where a
call that was put off was cut, its operations are the first of those that ask for the same, and
their object may be any if it tells none: the reply that did not put it off tells more of them. They
are few, so that what follows which is told without a look at all calls.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import traffic

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    traffic.READS,
    columns.of(
        calls="call client server callback op signature file directory uid call_frame "
        "call_first_time call_time reply_time status_name undecoded",
        files="file identity",
    ),
)
"""The columns that this reads."""

TABLE = "same_calls"
"""The table that `register` makes: columns of the table calls, with -1 for an object or a user that
is not known, so that equal ones are found equal; and `kind`, a number for all that ask for the
same."""

MOVED = ("NFS4ERR_LEASE_MOVED", "NFS4ERR_MOVED")
"""Answers that send the client to another server (RFC 8881 section 11.11): until it is there, it
waits as for one that is not ready, and asks here again."""

NOT_READY = (
    "NFS3ERR_JUKEBOX",
    "NFS4ERR_CLIENTID_BUSY",
    "NFS4ERR_DELAY",
    "NFS4ERR_GRACE",
    "NFS4ERR_LAYOUTTRYLATER",
    *MOVED,
    "NFS4ERR_RECALLCONFLICT",
    "LCK_DENIED_GRACE_PERIOD",
    "NLM4_DENIED_GRACE_PERIOD",
)
"""Answers that ask the client to come again later (RFC 1813 section 2.6, RFC 8881 section 15.1)."""

TOLD_LATER = f"coalesce({among('status_name', NOT_READY)}, false)"
"""SQL: a condition on calls: they were answered so."""

PUT_OFF = tuple(status for status in NOT_READY if "GRACE" not in status)
"""Those of them that are about an object, and not about the whole server as in a grace period."""

NEEDS = population.Calls(names=NOT_READY)
"""Without a call that was answered so there is none."""

# What had a name alone when it was put off may have its handle by the next call: an object is known
# by its identity, and few files have that of another.
_ASKED = """
    select call, client, server, op, signature, coalesce(file::bigint, -1) as file,
           coalesce(identity::bigint, file::bigint, -1) as object,
           coalesce(directory::bigint, -1) as directory, coalesce(uid::bigint, -1) as uid,
           call_frame, call_first_time, call_time, reply_time, status_name, undecoded
    from calls left join (
             select files.file, identity from files where identity <> files.file
         ) as others using (file)
    where {asked}
"""
"""Calls of clients."""

# A table of their own, since DuckDB knows how few these are: it looks each call up among them.
_KINDS = f"""
    create temp table kinds as
    select *, row_number() over () as kind from (
        select client, server, op, signature, object, directory, uid,
               bool_or(undecoded is not null) as cut
        from ({_ASKED})
        where reply_time is not null and {among("status_name", NOT_READY)}
        group by all
    )
"""

_SAME = f"""
    create table {TABLE} as
    with asked as not materialized ({_ASKED}),  -- All calls, of which both branches want few.
    named as (
        select asked.*, kind, kinds.signature as begun, cut, true as by_object
        from asked join kinds using (client, server, op, object, directory, uid)
    ),
    learnt as (
        select asked.*, kind, begun, true as cut, false as by_object
        from asked join (
                 select kind, client, server, op, uid, signature as begun
                 from kinds where cut and object = -1
             ) as untold using (client, server, op, uid)
        where object <> -1
    )
    select * exclude (begun, cut, by_object)
    from (from named union all by name from learnt)
    where signature = begun or cut and starts_with(signature, begun || ' ')
    qualify row_number() over (
                partition by call order by by_object desc, length(begun) desc, kind
            ) = 1
"""


@once
def register(trace: Trace) -> None:
    """Make the table `same_calls` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        asked = traffic.asked(trace)
        cursor.execute(_KINDS.format(asked=asked))
        cursor.execute(_SAME.format(asked=asked))
