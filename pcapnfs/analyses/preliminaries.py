"""Calls that come before any work: finding services, mounting, logging in, Kerberos contexts.

Takes a trace; gives for each client and server what those of one kind took of the clock. A mount
that hangs for ten seconds does so here, however quick the calls for files are that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.analyses.texts import among
from pcapnfs.programs import MOUNT, NFS, PORTMAPPER
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server callback program op srt reply_time transmissions rpc_status "
        "stability call_frame"
    ),
)
"""The columns that the queries here read."""

LOGIN = (
    "EXCHANGE_ID", "CREATE_SESSION", "SETCLIENTID", "SETCLIENTID_CONFIRM", "RECLAIM_COMPLETE",
    "BIND_CONN_TO_SESSION", "SECINFO_NO_NAME",
)  # fmt: skip
"""Operations by which an NFSv4 client makes itself known (RFC 7530 section 9.1, RFC 8881 section
2.4)."""

CONTEXT = ("RPCSEC_GSS_INIT", "RPCSEC_GSS_CONTINUE_INIT")
"""Calls that make a context of Kerberos (RFC 2203 section 5.2.2)."""

REFUSED = ("RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM")
"""How a server says that it knows a context no longer (RFC 2203 section 5.3.3.3)."""

OPERATIONS_SHOWN = 4
"""Operations that are told."""

EXAMPLES = 5
"""Frames that are told."""


class Preliminary(Record):
    """Calls of one operation."""

    op: str
    """Its name."""
    calls: int
    """Calls."""
    longest_s: float | None
    """The longest service time, seconds; None where none was answered."""
    repeated: int
    """Those of them that were sent more than once."""


class Preliminaries(Record):
    """Calls of one kind that one client sent to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    kind: str
    """`mount` (portmapper, MOUNT), `login` (NFSv4's clients and sessions) or `context`
    (Kerberos)."""
    calls: int
    """Calls that were answered."""
    operations: tuple[Preliminary, ...]
    """By operation, those that took longest first."""
    refused: int
    """Calls of any kind that the server refused because it knew their context no longer."""
    time_s: Mapping[str, float]
    """What they took of the clock, seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Frames of the longest."""


def preliminaries(trace: Trace) -> tuple[Preliminaries, ...]:
    """Put together, for each client, server and kind."""
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_EARLY)
        rows = cursor.execute(_KINDS, {"examples": EXAMPLES}).fetchall()
        if not rows:
            return ()
        told = cursor.execute(_OPERATIONS).fetchall()
        times = cursor.execute(_ROWS).fetchall()
    operations: dict[tuple[str, str, str], list[Preliminary]] = {}
    for client, server, kind, op, calls, longest, repeated in told:
        operations.setdefault((client, server, kind), []).append(
            Preliminary(op, integer(calls), seconds(longest), integer(repeated))
        )
    by_row: dict[tuple[str, str, str], dict[str, float]] = {}
    for client, server, kind, row, time in times:
        by_row.setdefault((client, server, kind), {})[row] = seconds(time) or 0.0
    return tuple(
        Preliminaries(
            client=client,
            server=server,
            kind=kind,
            calls=integer(calls),
            operations=tuple(operations[client, server, kind][:OPERATIONS_SHOWN]),
            refused=integer(refused),
            time_s=by_row[client, server, kind],
            frames=tuple(frames),
        )
        for client, server, kind, calls, refused, frames in rows
    )


# What was never answered is `unanswered`'s.
_EARLY = f"""
    create temp table early as
    select client, server, op, srt, transmissions, stability, call_frame,
           coalesce(share, 0) as share,
           case when program in ({MOUNT}, {PORTMAPPER}) then 'mount'
                when {among("op", LOGIN)} then 'login' else 'context' end as kind
    from (
             select * from calls
             where not callback and reply_time is not null
                   and (program in ({MOUNT}, {PORTMAPPER})
                        or program = {NFS} and {among("op", LOGIN + CONTEXT)})
         ) as calls left join shares using (call)
"""

_KINDS = f"""
    with forgotten as (
        select client, server, count(*) as refused
        from calls where {among("rpc_status", REFUSED)} and not callback
        group by client, server
    )
    select client, server, kind, count(*), coalesce(any_value(refused), 0),
           (list(call_frame order by share desc, call_frame))[:$examples]
    from early left join forgotten using (client, server)
    group by client, server, kind order by sum(share) desc, client, server, kind
"""

_OPERATIONS = """
    select client, server, kind, op, count(*), max(srt), count(*) filter (transmissions > 1)
    from early group by client, server, kind, op order by sum(share) desc, op
"""

_ROWS = """
    select client, server, kind, stability, sum(share) from early
    group by client, server, kind, stability
"""
