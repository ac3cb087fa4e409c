"""Data that moves through the metadata server although the client asks for layouts (pNFS).

Takes a trace; gives for each client and server that was asked for layouts what became of these, and
the READs and WRITEs that went to the same server (RFC 8881 section 12). To a server that is its
own data server, they may go by a layout: those do over a connection to a data server, as the ones
of NFSv3 do where layouts name it (RFC 8435).
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server connection callback call_frame op",
        operations="call op executed status_name count",
        connections="connection server_port role",
    ),
)
"""The columns that the queries here read."""

DATA = ("READ", "READ_PLUS", "WRITE")
"""Operations that move data."""

OF_DATA = "data server"
"""The role of a server on a connection that carries data by layouts and nothing else."""

DATA_SERVERS = (OF_DATA, "metadata and data server")
"""Roles of servers to which data goes by layouts. One that was asked for layouts, and is named in
them, is both, also where the capture lacks the EXCHANGE_ID that says so."""

NEEDS = population.Operations(("LAYOUTGET",))
"""Without one, a client moves its data as it always did."""


class Layouts(Record):
    """What one client asked one metadata server for."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    asked: int
    """Layouts that it asked for and had an answer."""
    granted: int
    """Those of them that it got."""
    statuses: tuple[str, ...]
    """The RFC's names of what the others were answered, in order of name."""
    through: int
    """READs and WRITEs to the port of the server at which it asked, but for those over connections
    to a data server there."""
    through_bytes: int
    """What they moved, bytes."""
    apart: int
    """Its READs and WRITEs to data servers; where nothing tells which these are, to any other."""
    frames: tuple[int, ...]
    """Frames of the first of these READs and WRITEs, or of layouts asked for."""
    vain: Spared = spared.NONE
    """Calls for a layout and nothing else that got none."""
    there: int = 0
    """READs and WRITEs to the address and port at which it asked, over connections to a data server
    alone; they count as `apart`, too. Of one that says to be both, nothing tells whether data goes
    there by a layout or past those that name other servers."""
    got: Spared = spared.NONE
    """Calls for a layout and nothing else that got one."""


def layouts(trace: Trace) -> tuple[Layouts, ...]:
    """Put together, for each client and server, the most data through it first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        rows = cursor.execute(_LAYOUTS, {"examples": EXAMPLES}).fetchall()
    return tuple(
        Layouts(
            client=client,
            server=server,
            asked=integer(asked),
            granted=integer(granted),
            statuses=tuple(statuses),
            through=integer(through),
            through_bytes=integer(moved),
            apart=integer(apart),
            frames=tuple(frames),
            there=integer(there),
            vain=spared.of_row(alone[:4]),
            got=spared.of_row(alone[4:]),
        )
        for (
            client, server, asked, granted, statuses, through, moved, apart, frames, there, *alone
        ) in rows
    )  # fmt: skip


# A metadata server is known by its EXCHANGE_ID, which comes before it names any data server: all
# of them are then known, and other servers are none.
_LAYOUTS = f"""
    with done as materialized (
        select call, client, server, server_port, role, op, status_name, count, call_frame,
               op = 'LAYOUTGET' as layout, op = main as alone,
               coalesce({among("role", DATA_SERVERS)}, false) as by_layout
        from operations join (
                 select calls.call, client, server, connection, call_frame, calls.op as main
                 from calls where not callback
             ) as sent using (call)
             left join (
                 select connections.connection, server_port, role from connections
             ) as over using (connection)
        where {among("op", ("LAYOUTGET", *DATA))} and executed
    ),
    asking as (
        select client, server, server_port, bool_or(not by_layout) as apart,
               bool_or(role is not null) filter (not by_layout) as known
        from done
        where layout
        group by client, server, server_port
    ),
    moving as (
        select client, case when apart and not by_layout then asking.server end as through, count,
               call_frame, by_layout, case when role = '{OF_DATA}' then asking.server end as there
        from done left join asking using (client, server, server_port)
        where not layout
    ),
    data as (
        select client, through as server, count(*) as calls, sum(count) as bytes,
               list(call_frame order by call_frame)[:$examples] as frames
        from moving where through is not null group by client, through
    ),
    others as (
        select client, count(*) as calls, count(*) filter (by_layout) as by_layout
        from moving where through is null group by client
    ),
    back as (
        select client, there as server, count(*) as calls
        from moving where there is not null group by client, there
    ),
    alone as (
        select client, server, {spared.columns("status_name <> 'NFS4_OK'", "vain")},
               {spared.columns("status_name = 'NFS4_OK'", "got")}
        from done join shares using (call)
        where layout and alone
        group by client, server
    ),
    told as (
        select client, server, count(*) as asked,
               count(*) filter (status_name = 'NFS4_OK') as granted,
               list(status_name order by call_frame) filter (status_name <> 'NFS4_OK') as refused,
               list(call_frame order by call_frame)[:$examples] as frames
        from done where layout group by client, server
    )
    select client, server, asked, granted, coalesce(list_sort(list_distinct(refused)), []),
           coalesce(data.calls, 0), coalesce(data.bytes, 0),
           coalesce(case when known then others.by_layout else others.calls end, 0),
           coalesce(data.frames, told.frames), coalesce(back.calls, 0), {spared.names("vain")},
           {spared.names("got")}
    from told left join data using (client, server) left join alone using (client, server)
         left join back using (client, server) left join others using (client)
         left join (
             select client, server, bool_and(known) as known from asking group by client, server
         ) as beginning using (client, server)
    order by 6 desc, client, server
"""
