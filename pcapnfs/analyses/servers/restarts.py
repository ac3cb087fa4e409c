"""Servers that restarted: how that shows, what clients waited for it, and what they sent again.

Takes a trace; gives each server with its signs: a write verifier that replaces another one (RFC
1813 section 3.3.7, RFC 8881 section 18.32), client state that it does not know any more, and calls
that it refused because of its grace period. A verifier that comes back after another one is no
restart: such a server answers with several at a time. Nor is a new one that is first told on a
connection that had the old one before, since no TCP connection outlives a restart: Linux gives
itself another after a WRITE or COMMIT of any client failed (commit_reset_write_verifier in
fs/nfsd/vfs.c), so that clients write again what they had not committed. After such an error the
connection that tells it may be a new one as well, if no older one was broken: a client mounted
anew, or closed a connection that was idle. For the same reason it is none if a client lost its
state, and a connection of any client lived on from when that state was known.

What clients sent again on a new connection belongs to the restart if that connection was begun
while the verifier changed, or is one on which state was lost; connections break for other reasons,
too.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds, whole
from pcapnfs.analyses.servers import write_verifiers
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import duckdb

    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

RECONNECTED_READS = columns.together(
    shares.READS,
    write_verifiers.READS,
    columns.of(
        calls="call client server connection callback op call_frame call_first_time call_time "
        "reply_time status_name transmissions",
        connections="connection server transport first_time",
    ),
)
"""The columns that `reconnected` and all that builds on it read."""

READS = columns.together(population.CALLS_READS, RECONNECTED_READS, write_verifiers.REWRITTEN_READS)
"""The columns that the queries here read."""

LOST_STATE = (
    "NFS4ERR_BADSESSION", "NFS4ERR_STALE_CLIENTID", "NFS4ERR_STALE_STATEID",
)  # fmt: skip
"""Answers of a server that does not know the client's session, client id or state any more (RFC
8881 section 15.1, RFC 7530 section 13.1)."""

BEGINNING = ("CREATE_SESSION", "DESTROY_SESSION", "SETCLIENTID_CONFIRM", "DESTROY_CLIENTID")
"""Calls that may meet such an answer without a restart: what is left of a mount of earlier."""

HAS_STATE = (
    "OPEN", "OPEN_CONFIRM", "OPEN_DOWNGRADE", "CLOSE", "LOCK", "LOCKU", "RENEW", "DELEGRETURN",
)  # fmt: skip
"""Calls of NFSv4.0 that succeed only where the server knows the client's state. Of NFSv4.1 all do
that have a SEQUENCE."""

LOGIN = ("EXCHANGE_ID", "SETCLIENTID")
"""Calls by which a client makes itself known: at each mount, and again after its state was lost."""

GRACE = ("NFS4ERR_GRACE", "LCK_DENIED_GRACE_PERIOD", "NLM4_DENIED_GRACE_PERIOD")
"""Answers of a server that waits for clients to reclaim what they had before the restart."""

NEEDS = population.Calls(names=(*LOST_STATE, *GRACE))
"""Without a call that was answered so, only a verifier tells of a restart."""


class Restart(Record):
    """A server that restarted, or was in its grace period."""

    server: str
    """Address of the server."""
    verifiers: int
    """Write verifiers that it had, one after the other; 0 without WRITEs and COMMITs, or when they
    alternate."""
    after_errors: int
    """Changes of the verifier that follow an error of a WRITE or COMMIT, on an older connection."""
    errors: tuple[str, ...]
    """The RFC's names of the statuses of these errors."""
    outlived: int
    """Other changes of the verifier, that a TCP connection outlived."""
    writes: int
    """WRITEs and COMMITs that tell the verifier."""
    lost_state: int
    """Calls answered with `LOST_STATE`, those of `BEGINNING` aside."""
    statuses: tuple[str, ...]
    """Their statuses."""
    losers: int
    """Clients that were answered so."""
    kept: bool
    """The server did not restart before: from when the state of each of these clients was known to
    when it was not, a TCP connection to the server lived on."""
    kept_first: bool
    """It did not before the first of these: likewise, from when each of them was first not known.
    A client that is cut off later connects anew, so that nothing lived on through all of it."""
    unheard_s: float | None
    """For how long the server had answered none of the calls of such a client before it did not
    know it, at most, seconds; None where the capture has none of before."""
    logins: int
    """EXCHANGE_IDs and SETCLIENTIDs of these clients that it answered: those of others say nothing
    of how often these lost their state."""
    moved: int
    """Calls that had to be sent again on a new connection because of it."""
    unreachable_s: float
    """What they waited for that connection, of the clock (`shares`), seconds."""
    refused: int
    """Calls refused because of the grace period."""
    grace_s: float
    """What they, and the pauses until they came again, took of the clock, seconds."""
    grace_span_s: float
    """From the first such refusal to the last, seconds."""
    reclaims: int
    """RECLAIM_COMPLETEs after the first call that met lost state or the grace period: clients of
    NFSv4.1 that were done with reclaiming. Each mount begins with one as well."""
    rewritten: int
    """WRITEs of a range that the same client had written UNSTABLE before the verifier changed."""
    rewritten_bytes: int
    """What they brought, bytes."""
    frames: tuple[int, ...]
    """Example frames: the first reply with a new verifier that follows no error, and calls that met
    lost state."""
    refused_frames: tuple[int, ...]
    """Example frames: calls that were refused."""
    old_ns: int | None = None
    """When the last reply with the verifier before the first change that follows no error came,
    nanoseconds since 1970; None without such a change."""
    new_ns: int | None = None
    """When the first reply with the new one came, likewise; None like `old_ns`."""
    lost_ns: int | None = None
    """When the first reply came that tells of lost state, likewise; None without any."""
    refused_ns: int | None = None
    """When the first refusal because of the grace period came, likewise; None without any."""
    refused_locks: int = 0
    """LOCKs of NFSv4 among the calls refused because of the grace period."""

    @property
    def changes(self) -> int:
        """Changes of the verifier that only a restart explains."""
        return max(self.verifiers - 1, 0) - self.after_errors - self.outlived


class _Signs(NamedTuple):
    """What the queries say, by server; a server without a sign of a kind lacks there."""

    verifiers: Mapping[str, tuple[int, int]]
    """How many verifiers it had, and the replies that told one."""
    changes: Mapping[str, Row]
    """Rows of `write_verifiers.CHANGES`."""
    rewritten: Mapping[str, tuple[int, int]]
    """WRITEs of a range that was written before, and what they brought, bytes."""
    states: Mapping[str, Row]
    """Rows of `_STATES`."""
    losers: Mapping[str, Row]
    """Rows of `_LOST`."""
    moved: Mapping[str, tuple[int, float]]
    """Calls sent again on a new connection, and what the clock took until then, seconds."""


def restarts(trace: Trace) -> tuple[Restart, ...]:
    """Look for the signs, by server."""
    shares.register(trace)
    write_verifiers.register(trace)
    with closing(trace.cursor()) as cursor:
        told = cursor.execute(write_verifiers.VERIFIERS).fetchall()
        if all(integer(number) < 2 for _, number, *_ in told) and not NEEDS.met(trace):
            return ()
        signs = _signs(trace, cursor, told)
    servers = sorted(signs.verifiers.keys() | signs.states.keys())
    return tuple(each for server in servers if (each := _restart(server, signs)) is not None)


def _signs(
    trace: Trace, cursor: duckdb.DuckDBPyConnection, told: Sequence[tuple[Any, ...]]
) -> _Signs:
    """Ask for all that the rows of `write_verifiers.VERIFIERS` leave open, and nothing else."""
    verifiers = write_verifiers.by_server(cursor, told)
    changes = {str(row["server"]): row for row in by_name(cursor.execute(write_verifiers.CHANGES))}
    rewritten = {}
    if any(number > 1 for number, _ in verifiers.values()):
        rewritten = {
            str(server): (integer(calls), integer(size))
            for server, calls, size in cursor.execute(write_verifiers.REWRITTEN).fetchall()
        }
    answer = cursor.execute(_STATES, {"examples": EXAMPLES})
    states = {str(row["server"]): row for row in by_name(answer)}
    losers = {}
    if any(row["lost_calls"] for row in states.values()):
        losers = {str(row["server"]): row for row in by_name(cursor.execute(_LOST))}
    reconnected(trace, cursor)
    moved = {
        str(server): (integer(calls), seconds(share) or 0.0)
        for server, calls, share in cursor.execute(_MOVED).fetchall()
    }
    return _Signs(verifiers, changes, rewritten, states, losers, moved)


def _restart(server: str, signs: _Signs) -> Restart | None:
    """The signs of one server; None: it has none."""
    number, writes = signs.verifiers.get(server, write_verifiers.NONE)
    state = signs.states.get(server, _NO_STATES)
    if number < 2 and not state["lost_calls"] and not state["refused_calls"]:
        return None
    change = signs.changes.get(server, _NO_CHANGES)
    losers = signs.losers.get(server, _NO_LOSERS)
    calls, size = signs.rewritten.get(server, (0, 0)) if number > 1 else (0, 0)
    resent, waited_s = signs.moved.get(server, (0, 0.0))
    frame = change["frame"]
    shown = [*([] if frame is None else [frame]), *state["lost_frames"]]
    return Restart(
        server=server,
        verifiers=number,
        after_errors=integer(change["after_errors"]),
        errors=tuple(change["errors"]),
        outlived=integer(change["outlived"]),
        writes=writes,
        lost_state=integer(state["lost_calls"]),
        statuses=tuple(state["statuses"]),
        losers=integer(state["losers"]),
        kept=bool(losers["kept"]),
        kept_first=bool(losers["kept_first"]),
        unheard_s=seconds(losers["unheard"]),
        logins=integer(state["logins"]),
        moved=resent,
        unreachable_s=waited_s,
        refused=integer(state["refused_calls"]),
        grace_s=seconds(state["grace_share"]) or 0.0,
        grace_span_s=seconds(state["grace_span"]) or 0.0,
        reclaims=integer(state["reclaims"]),
        rewritten=calls,
        rewritten_bytes=size,
        frames=tuple(integer(each) for each in shown[:EXAMPLES]),
        refused_frames=tuple(integer(each) for each in state["refused_frames"]),
        old_ns=whole(change["ended"]),
        new_ns=whole(change["begun"]),
        lost_ns=whole(state["lost_first"]),
        refused_ns=whole(state["refused_first"]),
        refused_locks=integer(state["refused_locks"]),
    )


def reconnected(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the table `reconnected`: each `connection` that a client began because of a restart."""
    write_verifiers.register(trace)
    cursor.execute(_RECONNECTED)


_NO_CHANGES: Row = {
    "after_errors": 0, "errors": [], "outlived": 0, "frame": None, "ended": None, "begun": None,
}  # fmt: skip
"""A row of `write_verifiers.CHANGES` without any."""

_NO_STATES: Row = {
    "lost_calls": 0, "statuses": [], "lost_frames": [], "losers": 0,
    "refused_calls": 0, "grace_share": 0, "grace_span": 0, "refused_frames": [],
    "reclaims": 0, "logins": 0, "lost_first": None, "refused_first": None,
    "refused_locks": 0,
}  # fmt: skip
"""A row of `_STATES` without calls."""

_NO_LOSERS: Row = {"kept": False, "kept_first": False, "unheard": None}
"""A row of `_LOST` without calls."""

_RECONNECTED = f"""
    create or replace temp table reconnected as
    select connection from connections join verifier_changes using (server)
    where not alternating and errors = []
          and not outlived and first_time between ended and begun
    union
    select connection from calls
    where {among("status_name", LOST_STATE)} and op not in {BEGINNING}
          and not callback and reply_time is not null
"""

_STATES = f"""
    with answered as (
        select server, client, call, op, call_frame, reply_time, share,
               coalesce({among("status_name", LOST_STATE)}, false)
                   and op not in {BEGINNING} as lost,
               coalesce({among("status_name", GRACE)}, false) as grace, status_name
        from calls join shares using (call)
        where not callback and reply_time is not null
              and ({among("status_name", (*LOST_STATE, *GRACE))}
                   or {among("op", (*LOGIN, "RECLAIM_COMPLETE"))})
    ),
    since as (
        select *, reply_time > min(reply_time) filter (lost or grace) over (partition by server)
                   as anew,
               (server, client) in (select (server, client) from answered where lost) as loser
        from answered
    )
    select server, count(*) filter (lost) as lost_calls,
           coalesce(list_sort(list(distinct status_name) filter (lost)), []) as statuses,
           coalesce(arg_min(call_frame, (reply_time, call_frame), $examples) filter (lost), [])
               as lost_frames,
           min(reply_time) filter (lost) as lost_first,
           count(distinct client) filter (lost) as losers,
           count(*) filter (grace) as refused_calls, sum(share) filter (grace) as grace_share,
           min(reply_time) filter (grace) as refused_first,
           count(*) filter (grace and op = 'LOCK' and status_name = '{GRACE[0]}') as refused_locks,
           max(reply_time) filter (grace) - min(reply_time) filter (grace) as grace_span,
           coalesce(arg_min(call_frame, (reply_time, call_frame), $examples) filter (grace), [])
               as refused_frames,
           count(*) filter (op = 'RECLAIM_COMPLETE' and anew) as reclaims,
           count(*) filter (loser and {among("op", LOGIN)}) as logins
    from since group by server
"""

# Of each client the first and last calls that met lost state, and the last answer before them that
# shows that the server knew the client.
_LOST = f"""
    with lost as (
        select server, client, min(call_first_time) as asked, max(reply_time) as refused,
               arg_min(reply_time, call_first_time) as refused_first
        from calls
        where {among("status_name", LOST_STATE)} and op not in {BEGINNING}
              and not callback and reply_time is not null
        group by server, client
    ),
    known as (
        select server, client, asked, refused, refused_first, max(reply_time) as known
        from lost left join (
            select server, client, reply_time from calls
            where not callback and reply_time is not null and version = 4 and op <> 'NULL'
                  and not coalesce({among("status_name", LOST_STATE)}, false)
                  and (protocol <> '4.0' and op not in {(*BEGINNING, *LOGIN)}
                       or {among("op", HAS_STATE)} and coalesce(status_name = 'NFS4_OK', false))
        ) as answers using (server, client)
        where reply_time is null or reply_time <= asked
        group by all
    ),
    lived as (
        select server, client, connection, min(reply_time) as first, max(reply_time) as last
        from calls
        where not callback and reply_time is not null and version = 4
              and server in (select server from lost)
              and connection in (select connection from connections where transport = 'TCP')
        group by all
    )
    select lost.server, max(asked - known) as unheard,
           bool_and(exists (
               select 1 from lived
               where lived.server = lost.server and first <= known and last >= lost.refused
           )) as kept,
           bool_and(exists (
               select 1 from lived
               where lived.server = lost.server and first <= known and last >= lost.refused_first
           )) as kept_first
    from lost left join known using (server, client, asked, refused, refused_first)
    group by lost.server
"""

_MOVED = """
    select server, count(*),
           sum((share * least(1.0, (first_time - call_time)
                                   / greatest(reply_time - call_first_time, 1)))::bigint)
    from calls join connections using (connection, server) join shares using (call)
               semi join reconnected using (connection)
    where not callback and transmissions > 1 and first_time > call_time
          and reply_time is not null
    group by server
"""
