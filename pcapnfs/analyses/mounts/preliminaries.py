"""Calls that come before any work: finding services, mounting, logging in, Kerberos contexts.

Takes a trace; gives for each client and server what those of one kind took of the clock. A mount
that hangs for ten seconds does so here, however quick the calls for files are that follow. What
unmounts, lists exports or looks for another service (locks, quotas) is none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.service_time import FAILED
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.times import shares
from pcapnfs.programs import MOUNT, NFS, PORTMAPPER
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    shares.READS,
    columns.of(
        calls="call client server callback program op srt reply_time transmissions rpc_status "
        "status_name stability call_frame call_time",
        operations="call text",
    ),
)
"""The columns that the queries here read."""

MOUNTING = ("MNT", "NULL")
"""Calls of MOUNT that mount, or ask whether it is there (RFC 1813 section 5.2)."""

FINDING = ("GETPORT", "GETADDR", "GETVERSADDR")
"""Calls of the portmapper that ask where a service is (RFC 1833)."""

APART_NS = 1_000_000_000
"""Calls of one mount follow each other sooner; later ones are of another."""

LOGIN = (
    "EXCHANGE_ID", "CREATE_SESSION", "SETCLIENTID", "SETCLIENTID_CONFIRM", "RECLAIM_COMPLETE",
    "BIND_CONN_TO_SESSION", "SECINFO_NO_NAME",
)  # fmt: skip
"""Operations by which an NFSv4 client makes itself known (RFC 7530 section 9.1, RFC 8881 section
2.4)."""

CONTEXT = ("RPCSEC_GSS_INIT", "RPCSEC_GSS_CONTINUE_INIT")
"""Calls that make a context of Kerberos (RFC 2203 section 5.2.2)."""

NEEDS = population.Calls(ops=MOUNTING + FINDING + LOGIN + CONTEXT)
"""Without one of them there is nothing to put together."""

REFUSED = ("RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM")
"""How a server says that it knows a context no longer (RFC 2203 section 5.3.3.3)."""

CONTEXTS = "context"
"""The kind of these calls."""

OPERATIONS_SHOWN = 4
"""Operations that are told."""


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
    """Calls that were answered, and not put off: pauses until a client asks again are told of as
    such."""
    operations: tuple[Preliminary, ...]
    """By operation, those that took longest first."""
    refused: int
    """Calls that the server refused because it knew their context no longer; 0 for other kinds."""
    time_s: Mapping[str, float]
    """What they took of the clock, seconds by row of the time budget."""
    at_once_s: float
    """The most that those of one mount, login or context took, seconds: no second passed between
    them, and a mount goes from the MNT that succeeded before its own to the one behind it. Of
    mounts that wait side by side no less than the longest call."""
    frames: tuple[int, ...]
    """Frames of the longest."""


def preliminaries(trace: Trace) -> tuple[Preliminaries, ...]:
    """Put together, for each client, server and kind, those that took longest first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(_EARLY, {"examples": EXAMPLES}).fetchall()
        contexts = any(kind == CONTEXTS for _, _, kind, *_ in rows)
        refused = cursor.execute(_REFUSED).fetchall() if contexts else ()
    forgotten = {(client, server): integer(calls) for client, server, calls in refused}
    groups: dict[tuple[str, str, str], list[tuple[Any, ...]]] = {}
    for client, server, kind, *told in rows:
        groups.setdefault((client, server, kind), []).append(tuple(told))
    found = [_added_up(*whose, told, forgotten.get(whose[:2], 0)) for whose, told in groups.items()]
    return tuple(sorted(found, key=lambda each: -sum(each.time_s.values())))


def _added_up(
    client: str, server: str, kind: str, told: Sequence[tuple[Any, ...]], refused: int
) -> Preliminaries:
    """Of rows by operation and row of the time budget."""
    operations: dict[str, Preliminary] = {}
    time_s: dict[str, float] = {}
    frames: list[tuple[int, int]] = []
    at_once = 0.0
    for op, row, calls, longest, repeated, share, examples, most in told:
        at_once = seconds(most) or 0.0
        before = operations.get(op, Preliminary(op, 0, None, 0))
        operations[op] = Preliminary(
            op=op,
            calls=before.calls + integer(calls),
            longest_s=max(before.longest_s or 0.0, seconds(longest) or 0.0),
            repeated=before.repeated + integer(repeated),
        )
        time_s[row] = time_s.get(row, 0.0) + (seconds(share) or 0.0)
        frames += [(integer(frame), -integer(taken)) for taken, frame in examples]
    return Preliminaries(
        client=client,
        server=server,
        kind=kind,
        calls=sum(each.calls for each in operations.values()),
        operations=tuple(operations.values())[:OPERATIONS_SHOWN],
        refused=refused if kind == CONTEXTS else 0,
        time_s=time_s,
        at_once_s=at_once,
        frames=tuple(frame for frame, _ in sorted(frames, key=lambda each: each[::-1])[:EXAMPLES]),
    )


# What was never answered is `unanswered`'s. Where a call was cut, what the portmapper was asked for
# is not known, and may be a mount's.
_EARLY = f"""
    with early as (
        select client, server, op, srt, transmissions, stability, call_frame, call, call_time,
               reply_time, coalesce(share, 0) as share, op = 'MNT' and not {FAILED} as mounts,
               case when program in ({MOUNT}, {PORTMAPPER}) then 'mount'
                    when {among("op", LOGIN)} then 'login' else '{CONTEXTS}' end as kind
        from (
                 select * from calls
                 where not callback and reply_time is not null
                       and (program = {MOUNT} and {among("op", MOUNTING)}
                            or program = {PORTMAPPER} and {among("op", FINDING)}
                            or program = {NFS} and {among("op", LOGIN + CONTEXT)})
                       and not {TOLD_LATER}
             ) as calls left join shares using (call)
             left join (
                 select operations.call, split_part(text, ' ', 1) as service
                 from operations where text is not null
             ) as asked using (call)
        where program <> {PORTMAPPER} or coalesce(service in ('{NFS}', '{MOUNT}'), true)
    ),
    begun as (
        select *, coalesce(call_time - max(reply_time) over (
                      partition by client, server, kind order by call_time, call
                      rows between unbounded preceding and 1 preceding
                  ) > {APART_NS}, true) as begins
        from early
    ),
    numbered as (
        select *, sum(begins::integer) over (
                      partition by client, server, kind order by call_time, call
                      rows unbounded preceding
                  ) as number
        from begun
    ),
    mounted as (
        select *, count(case when mounts then 1 end) over (
                      partition by client, server, kind, number order by call_time, call
                      rows unbounded preceding
                  ) as mount
        from numbered
    ),
    -- Of each MNT and what follows it, and of what came between the one before it and it.
    apart as (
        select client, server, kind, number, sum(share) as taken, max(srt) as longest,
               lag(coalesce(sum(share) filter (not mounts), 0), 1, 0) over (
                   partition by client, server, kind, number order by mount
               ) as ahead
        from mounted group by client, server, kind, number, mount
    ),
    at_once as (
        select client, server, kind, max(least(whole, greatest(one, longest))) as most
        from (
            select client, server, kind, number, sum(taken) as whole, max(taken + ahead) as one,
                   max(longest) as longest
            from apart group by client, server, kind, number
        ) group by client, server, kind
    )
    select client, server, kind, op, stability, count(*), max(srt),
           count(*) filter (transmissions > 1), sum(share),
           list((share, call_frame) order by share desc, call_frame)[:$examples], any_value(most)
    from early join at_once using (client, server, kind)
    group by client, server, kind, op, stability
    order by sum(share) desc, client, server, op, stability
"""

_REFUSED = f"""
    select client, server, count(*)
    from calls where {among("rpc_status", REFUSED)} and not callback
    group by client, server
"""
