"""Replies without their call that show when a client asked again for what it was refused.

Takes a trace and some calls of its clients; gives for each when the first reply came after it whose
call is not in the capture, if the client sent that server nothing else before. What a client asks
for again is what it sends next, so that such a reply is probably the one to that.
"""

from __future__ import annotations

from pcapnfs import columns
from pcapnfs.analyses.captured.directions import ORPHAN_REPLY

READS = columns.of(
    calls="client server callback call_first_time",
    connections="connection client server",
    notes="reason connection time",
)
"""The columns that the queries here read."""


def next_of(asked: str) -> str:
    """SQL: `call` and `later`, when the next reply without its call came; no row for others.

    Args:
        asked: A query of calls: `call`, `client`, `server`, and from when on, `came`.
    """
    return f"""
        select call, later
        from (
                 select asked.*, lonely.time as later
                 from ({asked}) as asked asof join (
                          select connections.client, connections.server, notes.time
                          from notes join connections using (connection)
                          where reason = '{ORPHAN_REPLY}'
                      ) as lonely
                      on asked.client = lonely.client and asked.server = lonely.server
                         and lonely.time >= asked.came
             ) as told asof left join (
                 select client, server, call_first_time as sent from calls where not callback
             ) as others
             on told.client = others.client and told.server = others.server
                and others.sent >= told.came
        where sent is null or sent > later
    """
