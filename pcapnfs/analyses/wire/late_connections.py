"""Connections that took long to come about: SYNs without an answer, refusals, handshakes repeated.

Takes a trace; gives for each client and server the TCP connections whose handshake was over a
second or more after the client first asked for it, when it sends its SYN again. Attempts before
that came to nothing belong to it. A client connects because a call waits for it. Of one that had
made calls before, the time cost it something whenever its next call comes: on a soft mount the one
that waited has failed by then, and the program takes its time until it asks again. As a mount
begins it did where the first call follows at once; attempts before do not count then. A call that
waited until its connection ended, without a reply (`silent_calls`), is over then.

The packets themselves tell: a connection counts whose first SYN+ACK came so late, or of which SYN
or SYN+ACK came again. One that was open and not used is none, nor one whose SYN the capture lacks.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers import silent_calls
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    silent_calls.READS,
    columns.of(
        calls="call client server connection callback call_first_time call_time reply_time",
        connections="connection client server first_frame syn_rtt ack_rtt syns syn_time syn_acks "
        "syn_ack_time challenge_acks refusals attempts attempted_time client_resent server_resent "
        "client_spurious server_spurious",
    ),
)
"""The columns that the queries here read."""

LATE_NS = 1_000_000_000
"""The first SYN that nobody answers is sent again after so long (RFC 6298 section 2)."""

SOON_NS = 100_000_000
"""In which a client that has not made a call yet sends the one for which it connected."""

HELD_AGAINST_CALLS = 50
"""Connections, the latest, that are held against the other calls of their client; more that are
late cost nothing. Each is compared with all of these."""


class LateConnections(Record):
    """Those of one client to one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """Connections that were late."""
    longest_s: float
    """The longest time from the first SYN for one, that of an attempt before included, to the end
    of its handshake, seconds."""
    idle_s: float
    """What these times cover together, of connections beside which no call of the client was under
    way, and whose first call followed at once if the client had made none before, those of the
    fifty latest in the capture, seconds. What those to several servers share is that of the one
    which began first."""
    resent: int
    """SYNs that the client sent again, those of attempts before not counted."""
    attempts: int
    """Attempts before that came to nothing."""
    refusals: int
    """Resets by which the server answered SYNs, of these attempts and of the last."""
    challenges: int
    """ACKs by which it answered SYNs: it still had a former connection of these ports."""
    resent_answers: int
    """SYN+ACKs that it sent again."""
    syn_s: float | None
    """The longest time from the last SYN to the server's answer, seconds; None when the capture
    does not tell."""
    lossy: bool
    """Each of them lost one packet of its handshake and then segments with data, too: the path
    loses packets now and then, and the server was there."""
    frames: tuple[int, ...]
    """Their first frames, the longest first."""


def late_connections(trace: Trace) -> tuple[LateConnections, ...]:
    """Put together, for each client and server, the longest first."""
    idle = _idle(_stretches(trace))
    return tuple(
        LateConnections(
            client=row["client"],
            server=row["server"],
            connections=integer(row["connections"]),
            longest_s=seconds(row["longest"]) or 0.0,
            idle_s=seconds(idle[row["client"], row["server"]]) or 0.0,
            resent=integer(row["resent"]),
            attempts=integer(row["attempts"]),
            refusals=integer(row["refusals"]),
            challenges=integer(row["challenges"]),
            resent_answers=integer(row["resent_answers"]),
            syn_s=seconds(row["syn"]),
            lossy=row["lossy"],
            frames=tuple(row["frames"]),
        )
        for row in _late(trace)
    )


def unreached_s(trace: Trace) -> dict[str, float]:
    """By client, for how long it had no call under way since it had no connection, seconds.

    Only between its calls, so that it is a part of its time from its first to its last.
    """
    found: dict[str, float] = {}
    for (client, _), idle_ns in _idle([row for row in _stretches(trace) if row[-1]]).items():
        found[client] = found.get(client, 0.0) + (seconds(idle_ns) or 0.0)
    return found


def unreached(trace: Trace) -> list[tuple[str, int, int]]:
    """When that was: client, begin and end, ns since 1970; they may overlap."""
    return [(client, begin, end) for client, _, begin, end, between in _stretches(trace) if between]


@once
def any_late(trace: Trace) -> bool:
    """Whether a connection was so late: most captures have none to ask further about."""
    ((found,),) = trace.rows(_ANY, {"late": LATE_NS})
    return bool(found)


@once
def _late(trace: Trace) -> list[dict[str, Any]]:
    """Late connections by client and server."""
    if not any_late(trace):
        return []
    with closing(trace.cursor()) as cursor:
        return list(by_name(cursor.execute(_LATE, {"late": LATE_NS, "examples": EXAMPLES})))


@once
def _stretches(trace: Trace) -> list[tuple[str, str, int, int, bool]]:
    """From when to when each had nothing else under way, and whether between its calls."""
    if not any_late(trace):
        return []
    silent_calls.register(trace)
    with closing(trace.cursor()) as cursor:
        return cursor.execute(
            _IDLE, {"late": LATE_NS, "most": HELD_AGAINST_CALLS, "soon": SOON_NS}
        ).fetchall()


def _idle(rows: list[tuple[str, str, int, int, bool]]) -> Counter[tuple[str, str]]:
    """What idle stretches of time cover, ns, by client and server; they come by client in order."""
    found: Counter[tuple[str, str]] = Counter()
    reached: dict[str, int] = {}
    for client, server, begin, end, _ in rows:
        # Several connections may be late at once.
        known = max(begin, reached.get(client, begin))
        found[client, server] += max(0, end - known)
        reached[client] = max(known, end)
    return found


_ASKED = """
    select connection, client, server, first_frame, syn_rtt, syns, syn_acks, challenge_acks,
           refusals, attempts, syn_time,
           client_resent + server_resent > client_spurious + server_spurious
           and greatest(syns, 1) + greatest(syn_acks, 1) = 3
           and refusals + challenge_acks + attempts = 0 as lossy,
           coalesce(attempted_time, syn_time) as asked, syn_ack_time + ack_rtt as opened
    from connections
    where syn_ack_time + ack_rtt - coalesce(attempted_time, syn_time) >= $late
          -- An ACK that comes late alone may be one whose predecessor the capture lacks.
          and (syn_ack_time - coalesce(attempted_time, syn_time) >= $late or syns > 1
               or syn_acks > 1)
"""

_ANY = f"select exists ({_ASKED})"

_LATE = f"""
    select client, server, count(*) as connections, max(opened - asked) as longest,
           sum(greatest(syns, 1) - 1) as resent, sum(late.attempts) as attempts,
           sum(late.refusals) as refusals, sum(challenge_acks) as challenges,
           sum(greatest(syn_acks, 1) - 1) as resent_answers, max(syn_rtt) as syn,
           bool_and(late.lossy) as lossy,
           (list(first_frame order by opened - asked desc, first_frame))[:$examples] as frames
    from ({_ASKED}) as late group by client, server order by longest desc, client, server
"""

_IDLE = f"""
    with silent_ones as (
        select call, call_time + waited as given_up from {silent_calls.TABLE} where not lossy
    ),
    begun as (
        select connection, min(call_first_time) as called
        from calls where not callback group by connection
    ),
    clients as (
        select calls.client, min(call_first_time) as began
        from calls where not callback group by calls.client
    ),
    latest as materialized (
        select connection, client, server, since as asked, opened, began < since as between_calls
        from (
            -- As a mount begins, attempts may be other programs', or the user tried again.
            select late.*, began, called,
                   case when began < asked then asked else syn_time end as since
            from ({_ASKED}) as late join begun using (connection) join clients using (client)
        )
        where opened - since >= $late and (began < since or called - opened <= $soon)
        order by opened - since desc, connection limit $most
    ),
    others as (
        select distinct connection
        from (
            select connection
            from latest join (
                     select calls.client, calls.server as other, calls.call_time,
                            coalesce(given_up, calls.reply_time) as ended
                     from calls left join silent_ones using (call) where not callback
                 ) as busy using (client)
            where call_time < opened
            group by connection, asked, other
            -- Without reply a call is under way until one that was sent later is answered.
            having bool_or(ended > asked)
                   or max(call_time) filter (ended is null)
                      > coalesce(max(call_time) filter (ended <= asked), -1)
        )
    )
    select client, server, asked, opened, between_calls
    from latest where connection not in (from others)
    order by client, asked, server
"""
