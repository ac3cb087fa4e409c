"""What the server rejected: calls that by the protocol it cannot carry out as they are.

Takes a trace; gives for each client, server, operation and kind of reason its calls, beside all of
that operation. What a server never makes (`unmade`) is among them, as whatever it refused it. What
else it refuses for lack of room or of permission, or because something in it is broken, is
`failures`; what programs provoke themselves (NOENT, EXIST, NOTEMPTY …) is none of it.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among, kind
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers import unmade as _unmade
from pcapnfs.analyses.servers.unmade import UNMADE, unmade
from pcapnfs.analyses.times import shares
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    shares.READS,
    _unmade.READS,
    columns.of(
        calls="call client server callback program op status_name rpc_status stability call_frame "
        "reply_time file directory",
        files="file path",
    ),
)
"""The columns that the queries here read."""

KINDS = {
    "state": (
        "NFS4ERR_OPENMODE", "NFS4ERR_BAD_STATEID", "NFS4ERR_OLD_STATEID", "NFS4ERR_BAD_SEQID",
        "NFS4ERR_SEQ_MISORDERED", "NFS4ERR_SEQ_FALSE_RETRY", "NFS4ERR_RETRY_UNCACHED_REP",
        "NFS4ERR_BADSLOT", "NFS4ERR_BAD_HIGH_SLOT", "NFS4ERR_LOCKS_HELD", "NFS4ERR_WRONG_CRED",
    ),
    "arguments": (
        "NFS3ERR_INVAL", "NFS4ERR_INVAL", "NFS3ERR_BADHANDLE", "NFS4ERR_BADHANDLE",
        "NFS4ERR_NOFILEHANDLE", "NFS4ERR_BADXDR", "NFS4ERR_WRONG_TYPE", "NFS4ERR_BADCHAR",
        "NFS4ERR_BADNAME", "NFSERR_NAMETOOLONG", "NFS3ERR_NAMETOOLONG", "NFS4ERR_NAMETOOLONG",
        "GARBAGE_ARGS",
    ),
    "unsupported": (
        "NFS3ERR_NOTSUPP", "NFS4ERR_NOTSUPP", "NFS4ERR_ATTRNOTSUPP", "NFS3ERR_BADTYPE",
        "NFS4ERR_BADTYPE", "NFS4ERR_LOCK_NOTSUPP", "NFS4ERR_LOCK_RANGE", "NFS4ERR_UNION_NOTSUPP",
        "NFS4ERR_OP_ILLEGAL", "PROC_UNAVAIL",
    ),
    "limit": (
        "NFSERR_FBIG", "NFS3ERR_FBIG", "NFS4ERR_FBIG", "NFS3ERR_MLINK", "NFS4ERR_MLINK",
        "NFS4ERR_XATTR2BIG", "NFS3ERR_TOOSMALL", "NFS4ERR_TOOSMALL", "NFS4ERR_RESOURCE",
        "NFS4ERR_TOO_MANY_OPS", "NFS4ERR_REQ_TOO_BIG", "NFS4ERR_REP_TOO_BIG",
        "NFS4ERR_REP_TOO_BIG_TO_CACHE",
    ),
    "across": ("NFS3ERR_XDEV", "NFS4ERR_XDEV"),
    "in_use": ("NFS4ERR_LOCKED", "NFS4ERR_SHARE_DENIED", "NFS4ERR_FILE_OPEN"),
}  # fmt: skip
"""Statuses by kind (RFC 1094 section 2.3.1, RFC 1813 section 2.6, RFC 7530 section 13.1, RFC 8881
section 15.1, RFC 8276 section 8.3, RFC 5531 section 9)."""

STATUSES = tuple(name for names in KINDS.values() for name in names)
"""All of them."""

TOLD_ELSEWHERE = "op = 'READDIRPLUS' and status_name = 'NFS3ERR_NOTSUPP'"
"""SQL: a server that has no READDIRPLUS makes clients list without attributes, which `listings`
know (RFC 1813 section 3.3.17)."""

UNTOLD = (*_unmade.NOT_ALLOWED, *_unmade.NOT_VALID)
"""How a server refuses what it never makes."""

NEEDS = population.Calls(names=(*STATUSES, *_unmade.NOT_ALLOWED))
"""Without a call that was answered so there is none."""

PLACES_SHOWN = 3
"""Objects that are told."""


class Rejections(Record):
    """Calls of one operation that one server rejected, of one client and for one kind of reason."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    op: str
    """Their main operation."""
    kind: str
    """`state`, `arguments`, `unsupported`, `limit`, `across` or `in_use` (`KINDS`)."""
    calls: int
    """Calls that were rejected."""
    of: int
    """All answered calls of that operation."""
    statuses: tuple[str, ...]
    """The RFC's names of their statuses, in order of name."""
    paths: tuple[str, ...]
    """The objects that they were about, or the directories in which they name something, the most
    frequent first; not escaped."""
    time_s: Mapping[str, float]
    """What they took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Frames of the first of them."""
    never: bool = False
    """The server never did what they ask for, though it did not say that it does not support it:
    of `unsupported`."""


def rejections(trace: Trace) -> tuple[Rejections, ...]:
    """Count, for each client, server, operation and kind, most calls first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_REJECTED, {"unmade": unmade(trace)})
        rows = cursor.execute(_BY_OPERATION, {"examples": EXAMPLES}).fetchall()
        times = _times(cursor)
        places = paths.most_in(cursor, "rejected", PLACES_SHOWN, key="number", file="object")
    return tuple(
        Rejections(
            client=client,
            server=server,
            op=op,
            kind=kind,
            calls=integer(calls),
            of=integer(of),
            statuses=tuple(statuses),
            paths=tuple(places.get(number, ())),
            time_s=times.get(number, {}),
            frames=tuple(frames),
            never=never,
        )
        for number, client, server, op, kind, calls, of, statuses, frames, never in rows
    )


def _times(cursor: duckdb.DuckDBPyConnection) -> dict[int, dict[str, float]]:
    """What they took, by number of the group and row of the time budget."""
    times: dict[int, dict[str, float]] = {}
    rows: list[tuple[Any, ...]] = cursor.execute(_TIMES).fetchall()
    for number, row, share in rows:
        times.setdefault(number, {})[row] = seconds(share) or 0.0
    return times


_REJECTED = f"""
    create temp table rejected as
    select *, dense_rank() over (order by client, server, op, kind) as number
    from (
        select *, {kind("status", KINDS, before="when never then 'unsupported'")} as kind
        from (
            select call, client, server, op, coalesce(status_name, rpc_status) as status,
                   stability, call_frame, coalesce(file, directory) as object,
                   {UNMADE} and {among("coalesce(status_name, rpc_status)", UNTOLD)} as never
            from calls
            where {among("coalesce(status_name, rpc_status)", (*STATUSES, *_unmade.NOT_ALLOWED))}
                  and not callback and reply_time is not null and program in {NFS_PROGRAMS}
                  and not coalesce({TOLD_ELSEWHERE}, false)
        )
        where kind is not null
    )
"""

_BY_OPERATION = f"""
    with made as (
        select client, server, op, count(*) as calls from calls
        where op in (select op from rejected) and not callback and reply_time is not null
              and program in {NFS_PROGRAMS}
        group by client, server, op
    ),
    told as (
        select number, any_value(client) as client, any_value(server) as server,
               any_value(op) as op, any_value(kind) as kind, count(*) as calls,
               list_sort(list(distinct status)) as statuses, bool_or(never) as never,
               min(call_frame::bigint, $examples) as frames
        from rejected group by number
    )
    select number, client, server, op, kind, told.calls, made.calls, statuses, frames, never
    from told join made using (client, server, op)
    order by told.calls desc, number
"""

_TIMES = """
    select number, stability, sum(share) from rejected join shares using (call)
    group by number, stability
"""
