"""Connections at whose end the client had not acknowledged what the server sent again and again.

Takes a trace; makes a table of them, with what the server had sent last and since when the client
had acknowledged nothing more. That it was sent again shows that it left the server; the client was
there, since it sent again what it had sent before, or made other calls meanwhile, which would have
acknowledged it: so it was lost on its way to the client, as large packets are where the path takes
only smaller ones.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.wire.tcp_timeouts import CUT_S
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

TABLE = "undelivered"
"""The table that `register` makes: `connection`, `server_unacked` of the table connections, and
`lost_time`: from when on what the server answered did not arrive."""

READS = columns.of(
    calls="connection callback call_time reply_time",
    connections="connection transport last_time client_resent server_resent server_unacked "
    "server_unacked_time",
)
"""The columns that this reads."""

RESENT = (5, 2)
"""Segments sent again by the server at least; and by the client, where it made no other call: one
side alone may be gone."""

CUT_NS = round(CUT_S * NANOSECONDS)
"""For how long it must last, which no five retransmissions of one segment take less than: a capture
may end just as any path loses a segment."""

_SUSPECT = f"""
    select connection, last_time, client_resent, server_unacked, server_unacked_time
    from connections
    where transport = 'TCP' and server_unacked > 0 and server_resent >= {RESENT[0]}
"""

_CONNECTIONS = f"""
    create table {TABLE} as
    with suspect as ({_SUSPECT})
    select connection, server_unacked,
           -- The end of what it sent is that of its last answer, which may have begun to arrive.
           case when coalesce(called > answered, false) then server_unacked_time
                else least(server_unacked_time, answered) end as lost_time
    from suspect left join (
             select connection, max(call_time) filter (not callback) as asked,
                    max(call_time) filter (callback) as called,
                    max(reply_time) filter (not callback) as answered
             from calls semi join suspect using (connection) group by connection
         ) using (connection)
    where asked - server_unacked_time >= {CUT_NS}
          or client_resent >= {RESENT[1]}
             and (answered is null or last_time - answered >= {CUT_NS})
"""


@once
def register(trace: Trace) -> bool:
    """Make the table `undelivered` of a trace, and say whether there is any in it."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_CONNECTIONS)
        return cursor.execute(f"select 1 from {TABLE} limit 1").fetchone() is not None
