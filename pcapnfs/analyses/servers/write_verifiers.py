"""Which write verifiers servers told, and where one took another's place.

Takes a trace; makes the tables `verifiers` (each of each server, with the replies that told it) and
`verifier_changes`, and gives the queries of them. A verifier that comes back after another one is
no change: such a server answers with several at a time (`alternating`). What a change shows is said
in `restarts`.

Only WRITE and COMMIT count. A COPY tells one as well (RFC 7862 section 15.2), but servers fill it
in differently: NFS-Ganesha 15 with zeros, beside WRITEs that have its own.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import joined
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client server connection callback reply_frame call_time reply_time",
    operations="call op status_name verifier",
    connections="connection server transport first_time last_time client_fin_time "
    "server_fin_time server_rst_time client_unacked refusals attempts",
)
"""The columns that the tables read."""

REWRITTEN_READS = columns.of(
    calls="client server call callback reply_frame reply_time",
    operations="call op file offset requested committed verifier",
)
"""The columns that `REWRITTEN` reads."""

NOT_STORED = (
    "NFS3ERR_NOSPC", "NFS4ERR_NOSPC", "NFS3ERR_DQUOT", "NFS4ERR_DQUOT", "NFS3ERR_FBIG",
    "NFS4ERR_FBIG", "NFS3ERR_IO", "NFS4ERR_IO", "NFS3ERR_NXIO", "NFS4ERR_NXIO",
    "NFS3ERR_SERVERFAULT", "NFS4ERR_SERVERFAULT",
)  # fmt: skip
"""Answers to a WRITE or COMMIT whose data could not be stored."""

TELLING = ("WRITE", "COMMIT")
"""Operations whose verifiers are compared."""

MOST = 20
"""Changes of the verifier up to which they are taken for restarts; a server that gives more does
not keep to the protocol."""


@once
def register(trace: Trace) -> None:
    """Make the tables `verifiers` and `verifier_changes` of a trace, unless they are there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_TABLE)
        cursor.execute(_CHANGES_TABLE)
        if any_change(cursor):
            cursor.execute(_CHANGED)


def any_change(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether any server has two verifiers, by the table `verifiers`."""
    return cursor.execute(_ANY_CHANGE).fetchone() is not None


def by_server(
    cursor: duckdb.DuckDBPyConnection, told: Sequence[tuple[Any, ...]]
) -> dict[str, tuple[int, int]]:
    """By server: its verifiers, and the replies that told one; from the rows of `VERIFIERS`."""
    servers = cursor.execute("select distinct server from verifiers").fetchall()
    found = {str(server): NONE for (server,) in servers}
    for server, number, writes, again in told:
        known = 1 if again or number > MOST + 1 else integer(number)
        found[str(server)] = (known, integer(writes))
    return found


NONE = (0, 0)
"""What `by_server` gives of a server without any."""

_TOLD = f"""
    told as (
        select call, client, server, reply_time, reply_frame, verifier, operations.op,
               operations.file, "offset", requested, committed
        from operations join calls using (call)
        where verifier is not null and not callback and reply_time is not null
              and {among("operations.op", TELLING)}
    )
"""

_TABLE = f"""
    create table verifiers as
    select server, verifier, count(reply_time) as writes, min(reply_time) as first,
           max(reply_time) as last, max(call_time) as asked,
           arg_min({{frame: reply_frame, connection: connection}}, (reply_time, call))
               filter (reply_time is not null) as told
    from operations join calls using (call)
    where verifier is not null
          and {joined.condition(f"not callback and {among('operations.op', TELLING)}", "verifier")}
    group by server, verifier
"""
"""Each verifier of each server, with the replies that told it."""

_ORDERED = """
    ordered as (
        select *, coalesce(first <= max(last) over before, false) as again,
               max(last) over before as ended, max(asked) over before as old_asked,
               row_number() over (partition by server order by first, verifier) as place
        from verifiers where writes > 0
        window before as (partition by server order by first, verifier
                          rows between unbounded preceding and 1 preceding)
    )
"""
"""The verifiers of each server, one after the other."""

VERIFIERS = f"""
    with {_ORDERED}
    select server, count(*), sum(writes), bool_or(again) from ordered group by server
"""

_CHANGES_TABLE = """
    create table verifier_changes (
        server varchar, ended bigint, begun bigint, frame ubigint, alternating boolean,
        errors varchar[], outlived boolean
    )
"""

_ANY_CHANGE = """
    select 1 from verifiers where writes > 0 group by server having count(*) > 1 limit 1
"""

# A call that was sent after the error and got the old verifier shows that the error left it alone.
_CHANGED = f"""
    insert into verifier_changes by name
    with {_ORDERED},
    changes as (
        select server, ended, old_asked, first as begun, told.frame as frame,
               told.connection as connection, place,
               bool_or(again) over (partition by server) as alternating
        from ordered
        qualify place > 1 and count(*) over (partition by server) <= {MOST + 1}
    ),
    errors as (
        select server, call_time, reply_time, operations.status_name as name
        from operations join calls using (call)
        where operations.op in {TELLING}
              and {among("operations.status_name", NOT_STORED)}
    ),
    older as (
        select changes.server, place,
               bool_or(coalesce(least(server_fin_time, server_rst_time)
                                    <= least(begun, coalesce(client_fin_time, begun))
                                or last_time < begun and client_unacked > 0, false)) as broken
        from changes join connections as its
             on its.server = changes.server and first_time <= ended and last_time >= old_asked
        where transport = 'TCP' group by changes.server, place
    ),
    telling as (
        select connection, transport, first_time, refusals + attempts > 0 as refused
        from connections
    )
    select changes.server as server, any_value(ended) as ended, any_value(begun) as begun,
           any_value(frame) as frame, any_value(alternating) as alternating,
           coalesce(list_sort(list(distinct name) filter (name is not null)), []) as errors,
           coalesce(any_value(transport = 'TCP' and first_time <= ended), false) as outlived
    from changes
         left join telling using (connection)
         left join older using (server, place)
         left join errors on errors.server = changes.server
                             and (first_time <= ended
                                  or transport = 'TCP' and not refused and not broken)
                             and call_time <= begun and reply_time >= old_asked
    group by changes.server, place
"""
"""Each change of the verifier of a server with few of them: between which replies, the first with
the new one, and which errors explain it; none where the connection is no older, unless older ones
tell that the server did not end them, nor left bytes unanswered, and it was not refused: then a new
mount, or whatever connected, met what the error had left. `outlived`: it is older, and TCP's."""

CHANGES = """
    select server, count(*) filter (its.errors <> []) as after_errors,
           list_sort(list_distinct(flatten(list(its.errors)))) as errors,
           count(*) filter (its.errors = [] and its.outlived) as outlived,
           min(its.frame) filter (its.errors = []) as frame,
           arg_min(its.ended, its.begun) filter (its.errors = []) as ended,
           min(its.begun) filter (its.errors = []) as begun
    from verifier_changes as its where not alternating group by server
"""

REWRITTEN = f"""
    with {_TOLD},
    before as (
        select server, client, file, "offset", min(reply_time) as first,
               arg_min(verifier, (reply_time, call)) as old
        from told where op = 'WRITE' and committed = 'UNSTABLE' and file is not null
        group by server, client, file, "offset"
    )
    select told.server, count(*), sum(requested)
    from told join before using (server, client, file, "offset")
    where told.op = 'WRITE' and told.reply_time > first and verifier <> old
    group by told.server
"""
"""Ranges written again under another verifier; at one offset of a file, so that the join does not
grow beyond the WRITEs."""
