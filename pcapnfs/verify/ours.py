"""The calls of a trace, as tshark's are held against them.

Takes a trace; gives `Call`s in the order of their first frames, a few thousand at a time, and what
must be told to tshark about the capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.programs import NFS, ROCE_PORT
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call connection xid program version procedure call_first_frame call_frame call_time "
    "reply_first_frame reply_frame srt call_bytes reply_bytes transmissions status undecoded "
    "signature file directory",
    operations="call position opcode executed name offset cookie text",
    connections="connection transport client_port server_port client_lost server_lost "
    "missing_bytes truncated_bytes "
    "last_time retransmitted out_of_order",
    notes="reason frame xid",
)
"""The columns that the queries here read."""

TRANSIENT = 0x40000000
"""Programs of callbacks of NFSv4 begin here (RFC 5531 section 8.2)."""

SURE_BYTES = 1024
"""What lies in one segment whatever the path: less than its MSS, tunnels and options taken off."""

_ROWS = 4096
"""Calls fetched at a time."""

_REPLY_FRAME = 9
"""Where it stands in a row; its first frame before it, service time and status behind it."""


_UNSURE = f"transport = 'RDMA' and (server_port = {ROCE_PORT} or retransmitted > 0)"
"""Connections of which `Call.unsure` holds."""


class Call(Record):
    """A call with its reply, as pcapnfs decoded it."""

    connection: int
    """Its connection (table connections)."""
    xid: int
    """Transaction identifier."""
    program: int
    """RPC program."""
    version: int
    """Its version."""
    procedure: int
    """Procedure."""
    call_first_frame: int
    """Frame with the first byte of the call."""
    call_frame: int
    """Frame that completes it."""
    call_time_ns: int
    """Time of that frame, nanoseconds since 1970."""
    reply_first_frame: int | None
    """Frame with the first byte of the reply; None without reply."""
    reply_frame: int | None
    """Frame that completes the reply; None without."""
    srt_ns: int | None
    """Service time, nanoseconds; None without reply."""
    status: int | None
    """Status of procedure or compound; None where there is none."""
    transmissions: int
    """How often it was sent."""
    undecoded: str | None
    """Why it was not decoded to its end; None when it was."""
    missing: bool
    """Bytes of its connection are missing in the capture."""
    disordered: bool
    """Segments of its connection were sent again, or came out of order."""
    beginning: bool
    """It may be there in part only: fragments of datagrams of its connection are absent, or it is
    the last of its connection, and has no reply or was not decoded to its end."""
    ending: bool
    """Its reply came over TCP, fits no small segment, and is the last message of its connection:
    the capture may end within it."""
    unsure: bool
    """It came over RDMA, on a connection whose beginning the capture does not hold, or on which
    packets were sent again."""
    call_bytes: int
    """Length of the call's RPC message."""
    operations: tuple[int, ...]
    """Operations of a compound, also one of a callback."""
    executed: tuple[int, ...]
    """Those of them that the reply has results of."""


def calls(trace: Trace, last_frame: int | None = None) -> Iterator[Call]:
    """Every call, in order of their first frames.

    With `last_frame`, those complete up to it; what was answered after it has no reply.
    """
    end = last_frame if last_frame is not None else 2**63 - 1
    cursor = trace.cursor()
    cursor.execute(
        f"""
        with compounds as (
            select call, list(opcode order by position) as operations,
                   coalesce(list(opcode order by position) filter (executed), []) as executed
            from operations semi join (
                select call from calls
                where procedure = 1 and (program = $nfs and version = 4 or program >= $transient)
            ) using (call)
            group by call
        ),
        ends as (
            select connection, max(greatest(call_frame, coalesce(reply_frame, 0))) as last_frame
            from calls group by connection
        )
        select connection, xid, program, version, procedure,
               call_first_frame, call_frame, call_time,
               reply_first_frame, reply_frame, srt, status, transmissions, undecoded,
               coalesce(missing_bytes + client_lost + server_lost > 0, false),
               coalesce(retransmitted + out_of_order > 0, false),
               coalesce(transport = 'UDP' and truncated_bytes > 0
                        or (undecoded is not null or reply_frame is null)
                           and last_time = call_time, false),
               coalesce(transport = 'TCP' and reply_frame = last_frame
                        and reply_bytes > $segment, false),
               coalesce({_UNSURE}, false),
               call_bytes,
               coalesce(compounds.operations, []), coalesce(compounds.executed, [])
        from calls left join compounds using (call) left join connections using (connection)
             left join ends using (connection)
        where call_frame <= $end
        order by call_first_frame, call_frame, call
        """,
        {"nfs": NFS, "transient": TRANSIENT, "end": end, "segment": SURE_BYTES},
    )
    while rows := cursor.fetchmany(_ROWS):
        for *values, operations, executed in rows:
            if values[_REPLY_FRAME] is not None and values[_REPLY_FRAME] > end:
                values[_REPLY_FRAME - 1 : _REPLY_FRAME + 3] = [None] * 4
                executed = []
            values += [tuple(operations), tuple(executed)]
            yield Call(*values)
    cursor.close()


def repeated(trace: Trace) -> frozenset[tuple[int, int]]:
    """Frame and xid of messages that were sent again though the call had its reply."""
    rows = trace.rows(
        "select frame, xid from notes "
        "where xid is not null and reason in ('retransmitted_call', 'duplicate_reply')"
    )
    return frozenset((frame, xid) for frame, xid in rows)


def orphans(trace: Trace) -> frozenset[tuple[int, int]]:
    """Frame and xid of replies without a call."""
    rows = trace.rows(
        "select frame, xid from notes where xid is not null and reason = 'reply_without_call'"
    )
    return frozenset((frame, xid) for frame, xid in rows)


def used_again(trace: Trace) -> frozenset[tuple[int, int]]:
    """Frame and xid of calls whose xid was that of another call on their connection.

    That one had its reply before, and was about something else, another part of it, or of another
    length: this one is not the same call sent again.
    """
    rows = trace.rows(
        """
        with again as materialized (
            select * from calls qualify count(*) over (partition by connection, xid) > 1
        ),
        asked as (
            select call,
                   list((position, name, "offset", cookie, text) order by position)::varchar as part
            from operations semi join again using (call) group by call
        ),
        following as (
            select call_frame, xid, call_first_frame,
                   [procedure::varchar, signature, call_bytes::varchar, file::varchar,
                    directory::varchar, part] as said,
                   lag(said) over same as said_before, lag(reply_frame) over same as answered
            from again left join asked using (call)
            window same as (partition by connection, xid order by call_first_frame, call)
        )
        select call_frame, xid from following
        where answered < call_first_frame and said_before is distinct from said
        """
    )
    return frozenset((frame, xid) for frame, xid in rows)


def unsure(trace: Trace) -> bool:
    """Whether any call may be one of which `Call.unsure` holds."""
    return bool(trace.rows(f"select 1 from connections where {_UNSURE} limit 1"))


def ports(trace: Trace) -> tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]:
    """Transport and port of every server and of every client that speaks RPC."""
    rows = trace.rows("select distinct lower(transport), server_port, client_port from connections")
    return (
        frozenset((transport, server) for transport, server, _ in rows),
        frozenset((transport, client) for transport, _, client in rows),
    )
