"""Files made with an exclusive create, whose attributes took a call of their own.

An exclusive create of NFSv3 and NFSv4.0 has no room for attributes: the server keeps the verifier
where they would be, and the client sends a SETATTR at once, on stable storage like the create (RFC
1813 section 3.3.8, RFC 7530 section 16.16.5). EXCLUSIVE4_1 has room for the mode; but a server that
keeps the verifier in the file's times says so in its answer, and the client then sets these with a
SETATTR of its own (RFC 8881 section 18.16.3). That one is told from a program's by what it sets,
both times and nothing else, and by coming next of all calls about the file.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.namespace import new_files
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    new_files.READS,
    columns.of(
        calls="call client server mount callback op file call_frame call_time reply_time",
        operations="call op attributes",
    ),
)
"""The columns that the queries here read."""

EXCLUSIVE = 2
"""createmode3 and createmode4 EXCLUSIVE."""

WITH_ATTRIBUTES = 3
"""createmode4 EXCLUSIVE4_1."""

BOTH_TIMES = "00000000:00410000"
"""The attributes TIME_ACCESS_SET and TIME_MODIFY_SET, as the first words of a bitmap."""

SOON_S = 1.0
"""A SETATTR that comes later than this after the create is the application's."""

TABLE = "completing"
"""The table that `register` makes: `call` and `reply_time` of each SETATTR that came next after an
exclusive create, and was answered; `made`: the call of that create."""

TIMES_AS_LONG = 10
"""What one of the SETATTRs took beyond so many times their median is no price of the create: it
stood still, as while the path was cut."""


class ExclusiveCreates(Record):
    """Those of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    creates: int
    """Exclusive creates that succeeded."""
    with_attributes: int
    """Those of them that take the mode along (EXCLUSIVE4_1)."""
    all_creates: int
    """All creates of files that succeeded."""
    followed: Spared
    """The SETATTRs that came next on the file; without those that have no reply, of which it is not
    known what they took."""


def exclusive_creates(trace: Trace) -> tuple[ExclusiveCreates, ...]:
    """Count them, by client and server."""
    if not register(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(_FOLLOWED).fetchall()
    return tuple(
        ExclusiveCreates(
            client=str(client),
            server=str(server),
            creates=integer(creates),
            with_attributes=integer(with_attributes),
            all_creates=integer(all_creates),
            followed=spared.of_row(values),
        )
        for client, server, creates, with_attributes, all_creates, *values in rows
    )


@once
def register(trace: Trace) -> bool:
    """Make the table `completing`, and say whether there are exclusive creates."""
    made = new_files.register(trace)
    with closing(trace.cursor()) as cursor:
        if not made or cursor.execute(_ANY_EXCLUSIVE).fetchone() is None:
            cursor.execute(_NOTHING)
            return False
        cursor.execute(_CREATES)
        cursor.execute(_NEWER)
        cursor.execute(_completing(newer=any_newer(cursor)))
    return True


def any_newer(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are creates of EXCLUSIVE4_1, on a connection with the table `newer`."""
    return cursor.execute("select 1 from newer limit 1").fetchone() is not None


_EXCLUSIVELY = f"create_mode in ({EXCLUSIVE}, {WITH_ATTRIBUTES})"

_ANY_EXCLUSIVE = f"select 1 from {new_files.TABLE} where {_EXCLUSIVELY} limit 1"

_STEP = "call, mount, file, op, call_time, reply_time"

_CREATES = f"""
    create temp table creates as
    select {_STEP}, {_EXCLUSIVELY} as exclusive, create_mode = {WITH_ATTRIBUTES} as with_attributes
    from {new_files.TABLE}
"""

# A table of its own, since DuckDB knows how few files these are: it looks each call up among them.
_NEWER = "create temp table newer as select distinct mount, file from creates where with_attributes"

_NOTHING = f"create table {TABLE} (call ubigint, reply_time bigint, made ubigint)"

_OTHERS = f"""
        union all
        select {_STEP}, null, null
        from calls semi join newer using (mount, file)
                   anti join {new_files.TABLE} using (call)
        where op not in ('SETATTR', 'DELEGRETURN') and not callback
"""
"""What comes between a create of EXCLUSIVE4_1 and a SETATTR; a delegation is given back for it."""

ONLY_TIMES = f"""
    (starts_with(attributes, '{BOTH_TIMES}')
     and trim(substr(attributes, {len(BOTH_TIMES) + 1}), '0:') = '')
"""
"""SQL: a SETATTR sets both times and nothing else."""

TIMES = f"select call from operations where op = 'SETATTR' and {ONLY_TIMES}"
"""The SETATTRs of both times and nothing else."""


def _completing(*, newer: bool) -> str:
    """SQL: makes the table `completing`.

    Args:
        newer: There are creates of EXCLUSIVE4_1, of which the table `newer` names the files. Else
            other calls about the files, and what a SETATTR sets, tell nothing: to look at them
            costs as much as all the rest.
    """
    others = _OTHERS if newer else ""
    by_times = "and (not lag(with_attributes) over around or times.call is not null)"
    return f"""
    create table {TABLE} as
    with steps as (
        from creates
        union all
        select {_STEP}, null, null from calls anti join {new_files.TABLE} using (call)
        where op = 'SETATTR' and not callback and file is not null
        {others}
    ),
    followed as (
        select steps.call, reply_time, lag(steps.call) over around as made,
               op = 'SETATTR' and coalesce(
                   lag(exclusive) over around {by_times if newer else ""}
                   and call_time - lag(reply_time) over around < {SOON_S * NANOSECONDS}, false
               ) and reply_time is not null as tax
        from steps {f"left join ({TIMES}) as times using (call)" if newer else ""}
        window around as (partition by mount, file order by call_time, steps.call)
    )
    select call, reply_time, made from followed where tax
    """


_FOLLOWED = f"""
    with steps as (
        select call, client, server, call_frame, {_EXCLUSIVELY} as exclusive,
               create_mode = {WITH_ATTRIBUTES} as with_attributes, false as tax
        from {new_files.TABLE}
        union all
        select call, client, server, call_frame, null, null, true
        from calls semi join {TABLE} using (call)
    ),
    timed as materialized (select * from steps join shares using (call)),
    usual as (
        select client, server, {TIMES_AS_LONG} * median(share) as most from timed where tax
        group by all
    ),
    shared as (
        select timed.* replace (least(share, most)::bigint as share)
        from timed left join usual using (client, server)
    )
    select client, server, count(*) filter (exclusive), count(*) filter (with_attributes),
           count(*) filter (exclusive is not null),
           {spared.columns("tax")}
    from shared group by client, server having count(*) filter (exclusive) > 0
    order by client, server
"""
"""The creates of each client, and what followed."""
