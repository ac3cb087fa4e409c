"""Calls that a server was not ready for, and those with which clients asked the same again.

Takes a trace; makes a table of the calls of clients that were answered so (JUKEBOX, DELAY, GRACE …)
and of all that ask for the same: client, server, operations, objects and user are equal. Where a
call that was put off was cut, its operations are the first of those that ask for the same, and
their object may be any if it tells none: the reply that did not put it off tells more of them. They
are few, so that what follows which is told without a look at all calls.

A referral is answered MOVED, too, whenever its name is followed: nothing moves then, and nobody
waits. What is asked for again is no more the same once the client was served there in between.
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
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    traffic.READS,
    columns.of(
        calls="call client server callback op signature file directory uid call_frame "
        "call_first_time call_time reply_time status status_name executed undecoded",
        operations="call op status file",
        files="file identity export",
    ),
)
"""The columns that this reads."""

TABLE = "same_calls"
"""The table that `register` makes: columns of the table calls, with -1 for an object or a user that
is not known, so that equal ones are found equal; and `kind`, a number for all that ask for the
same. It has no referrals."""

MOVED = ("NFS4ERR_LEASE_MOVED", "NFS4ERR_MOVED")
"""Answers that send the client to another server (RFC 8881 section 11.11): until it is there, it
waits as for one that is not ready, and asks here again."""

FS_MOVED = "NFS4ERR_MOVED"
"""That of them which is about the file system of the object, and not about all of a lease."""

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

MOVES = population.Calls(names=(FS_MOVED,))
"""Without a call that was answered so no file system moved, nor was a referral followed."""

# A name leads to another server where the compound stopped at it, or at what asks for its handle or
# attributes, and nobody ever got that handle or used it (RFC 8881 section 11.5.3). What moved had
# its handles here: it is refused where they are put, or was used before.
_REFERRALS = f"""
    create table referrals as
    with led as (
        select call, identity as object
        from (select * from calls where {{asked}}) as calls left join files using (file)
        where status_name = '{FS_MOVED}' and reply_time is not null
              and regexp_matches(
                      array_to_string(string_split(signature, ' ')[:executed], ' '),
                      '(^| )LOOKUP( GETFH| GETATTR)*$'
                  )
    ),
    used as (
        select identity as object, min(call) as since
        from operations join files using (file) join (
                 select call from calls where status = 0 and op <> 'GETATTR'
             ) as served using (call)
        where operations.op in ('GETFH', 'PUTFH') and operations.status = 0
              and identity in (select object from led)
        group by identity
    )
    select call from led left join used using (object)
    where coalesce(call < since, true)
"""

# Where other calls are served meanwhile, it had not moved, or had come back. What a client asks for
# to follow it is answered by a server that no more has it as well.
_SERVED = f"""
    create temp table unserved as
    with placed as (
        select same.*, coalesce(export, '') as export
        from {TABLE} as same left join files
             on files.file = case when same.file <> -1 then same.file else same.directory end
        where kind in (select kind from {TABLE} where status_name = '{FS_MOVED}')
    ),
    served as (
        select client, calls.server, coalesce(export, '') as export, call_time as served_time
        from (
            select * from calls where {{asked}} and status = 0 and op <> 'GETATTR'
        ) as calls join files using (file)
    ),
    since as (
        select placed.call, kind, coalesce(served_time, 0) as served_time
        from placed asof left join served
             on placed.client = served.client and placed.server = served.server
                and placed.export = served.export
                and placed.call_time > served.served_time
    )
    select call, (select max(kind) from {TABLE})
                 + dense_rank() over (order by kind, served_time) as kind
    from since
"""

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
              and call not in (select call from referrals)
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
    where (signature = begun or cut and starts_with(signature, begun || ' '))
          and call not in (select call from referrals)
    qualify row_number() over (
                partition by call order by by_object desc, length(begun) desc, kind
            ) = 1
"""


@once
def register(trace: Trace) -> None:
    """Make the table `same_calls` of a trace, unless it is there."""
    _register_referrals(trace)
    with closing(trace.cursor()) as cursor:
        asked = traffic.asked(trace)
        cursor.execute(_KINDS.format(asked=asked))
        cursor.execute(_SAME.format(asked=asked))
        if MOVES.met(trace):
            cursor.execute(_SERVED.format(asked=asked))
            cursor.execute(
                f"update {TABLE} set kind = unserved.kind from unserved "
                f"where {TABLE}.call = unserved.call"
            )


def referrals(trace: Trace) -> NDArray[np.unsignedinteger[Any]]:
    """Calls that were answered MOVED since a name leads to another server, ascending."""
    _register_referrals(trace)
    return trace.arrays("select call from referrals order by call")["call"]


@once
def _register_referrals(trace: Trace) -> None:
    with closing(trace.cursor()) as cursor:
        if MOVES.met(trace):
            cursor.execute(_REFERRALS.format(asked=traffic.asked(trace)))
        else:
            cursor.execute("create table referrals (call ubigint)")
