"""Connections of which the capture holds one direction only.

Takes connections, calls and notes; gives the calls and the replies that stand alone for lack of the
other direction: `tcpdump src host X`, half of a mirror port, two paths of which one was captured.
That is no loss of packets, and says nothing about the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="connection callback reply_frame transmissions",
    connections="connection client_address server_address syn_ack_time client_segments "
    "server_segments server_acks client_resent missing_bytes",
    notes="reason connection",
)
"""The columns that the queries here read."""

ORPHAN_REPLY = "reply_without_call"
"""Reason of a reply whose call is not in the capture."""

FEW = 5
"""Messages on connections of one direction below which that says nothing: a connection may have
been begun as the capture ended, or have had its last reply as it began."""

MOST = 0.5
"""Share of calls without the other direction from which on the rest stands for nothing else."""


LEAST_REPLY = 24
"""Bytes of the shortest reply (RFC 5531 section 9)."""


class Directions(Record):
    """What stands alone."""

    calls: int
    """Calls on connections of which only what the client sent is in the capture, and where the
    client had no reason to send it again, or acknowledged as much as their replies take; 0 where
    they are fewer than five."""
    replies: int
    """Replies on connections without any call; 0 where they are fewer than five, or where packets
    were cut, since a call takes more of a packet than a reply to be known."""
    missing_bytes: int
    """Bytes that the connections of these lack, as what was captured acknowledges."""
    all_calls: int
    """Calls in the capture, these among them."""
    pairs: frozenset[tuple[str, str]] = frozenset()
    """Addresses of clients and servers of these calls, as their packets have them: what the server
    sent there is not in the capture."""
    answers: int = 0
    """Replies of clients to callbacks on the connections of these calls."""
    callbacks: int = 0
    """Callbacks without a reply on the connections of these replies."""

    @property
    def mostly(self) -> bool:
        """Whether most calls lack their replies for lack of a direction."""
        return mostly(self.calls, self.all_calls)


def mostly(alone: int, calls: int) -> bool:
    """Whether so many of all calls stand alone that the rest stands for nothing else."""
    return alone >= max(1.0, MOST * calls)


@once
def directions(trace: Trace) -> Directions:
    """Count what stands alone."""
    ((all_calls,),) = trace.rows("select count(*) from calls")
    calls = of_calls = answers = replies = of_replies = callbacks = 0
    pairs: frozenset[tuple[str, str]] = frozenset()
    if any_called(trace):
        rows = trace.rows(_WITHOUT_REPLIES, {"least": LEAST_REPLY, "orphan": ORPHAN_REPLY})
        calls, of_calls, answers = (
            sum(integer(row[column]) for row in rows) for column in (2, 3, 4)
        )
        pairs = frozenset((client, server) for client, server, *_ in rows)
    if any_orphan(trace):
        ((*counted,),) = trace.rows(_WITHOUT_CALLS, {"orphan": ORPHAN_REPLY})
        replies, of_replies, callbacks = map(integer, counted)
    if any(file.truncated_packets for file in trace.meta.files):
        replies = 0
    return Directions(
        calls=_many(calls),
        replies=_many(replies),
        missing_bytes=of_calls * bool(_many(calls)) + of_replies * bool(_many(replies)),
        all_calls=all_calls,
        pairs=pairs if _many(calls) else frozenset(),
        answers=answers * bool(_many(calls)),
        callbacks=callbacks * bool(_many(replies)),
    )


def any_called(trace: Trace) -> bool:
    """Whether any connection has calls alone.

    Most captures have none, and it takes less to see that than to look at what it lacks.
    """
    return bool(trace.rows(f"with {_CALLED} select 1 from called limit 1"))


@once
def any_orphan(trace: Trace) -> bool:
    """Whether any reply stands alone: most captures have none, and need not be asked further."""
    orphan = {"orphan": ORPHAN_REPLY}
    return bool(trace.rows("select 1 from notes where reason = $orphan limit 1", orphan))


def _many(messages: int) -> int:
    return messages if messages >= FEW else 0


_CALLED = """
    called as (
        select connection, count(*) as calls, count(*) filter (transmissions > 1) as again
        from calls where not callback group by connection having count(reply_frame) = 0
    )
"""

# A client whose server is down sends its segments, or over UDP its calls, again and again; one
# whose server's segments were merely not captured does not. Nor does one acknowledge what a server
# has not sent, however often a timer that is too short has it send calls again. What it answers
# there are callbacks.
_WITHOUT_REPLIES = f"""
    with {_CALLED},
    answering as (
        select connection, count(*) as answers from notes where reason = $orphan group by connection
    )
    select client_address, server_address, sum(calls), sum(missing_bytes), sum(answers)
    from called join connections using (connection) left join answering using (connection)
    where server_segments = 0 and server_acks = 0 and syn_ack_time is null
          and (again * 2 <= calls and client_resent * 2 <= client_segments
               or missing_bytes >= $least * calls)
    group by client_address, server_address
"""

_WITHOUT_CALLS = """
    with answering as (
        select connection, count(*) as replies from notes
        where reason = $orphan
              and connection not in (select connection from calls where not callback)
        group by connection
    ),
    asking as (
        select connection, count(*) as callbacks from calls
        where callback and reply_frame is null group by connection
    )
    select sum(replies), sum(missing_bytes), sum(callbacks)
    from answering left join connections using (connection) left join asking using (connection)
"""
