"""What the capture has of the beginning of each client's work with a server.

Takes connections, calls and operations; gives for each client and server how many connections
already ran when the capture began, and whether a mount was seen: what only a mount shows (the root
handle, FSINFO, the session) is missing where it was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.service_time import integer
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client server connection callback program version",
    connections="connection transport handshake first_frame",
    operations="call op",
    files="server path role listed_only",
)
"""The columns that the queries here read."""

MOUNTING = ("MNT", "FSINFO", "PUTROOTFH", "EXCHANGE_ID", "SETCLIENTID", "CREATE_SESSION")
"""Operations that a client sends when it mounts, and hardly ever later."""


class Beginning(Record):
    """How the capture begins for one client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """TCP connections with calls of NFS."""
    running: int
    """Those of them whose handshake is not in the capture: they ran when it began."""
    calls: int
    """Calls of NFS on those."""
    versions: tuple[int, ...]
    """Versions of NFS, 3 or 4, on those."""
    mounted: bool
    """The capture has operations that a mount makes."""
    files: int
    """Files and directories of this server that calls addressed."""
    unrooted: int
    """Those of them whose path to the export's root is not known."""
    frames: tuple[int, ...]
    """The first frame of each running connection; the first five."""


def beginnings(trace: Trace) -> tuple[Beginning, ...]:
    """Look at the beginning for each client and server with NFS over TCP, most calls first."""
    rows = trace.sql(_BEGINNINGS, {"nfs": NFS, "mounting": list(MOUNTING)}).fetchall()
    return tuple(
        Beginning(
            client=client,
            server=server,
            connections=integer(connections),
            running=integer(running),
            calls=integer(calls),
            versions=tuple(versions),
            mounted=bool(mounted),
            files=integer(files),
            unrooted=integer(unrooted),
            frames=tuple(frames),
        )
        for (
            client,
            server,
            connections,
            running,
            calls,
            versions,
            mounted,
            files,
            unrooted,
            frames,
        ) in rows
    )


_BEGINNINGS = """
    with used as (
        select client, server, connection, count(*) as calls, list(distinct version) as versions
        from calls where not callback and program = $nfs group by client, server, connection
    ),
    placed as (
        select used.*, not handshake as running, first_frame
        from used join connections using (connection) where transport = 'TCP'
    ),
    mounts as (
        select distinct client, server
        from operations join calls using (call)
        where operations.op in $mounting and not callback
    ),
    known as (
        select server, count(*) as files,
               count(*) filter (starts_with(path, '[')) as unrooted
        from files where role in ('file', 'directory', 'other') and not listed_only group by server
    )
    select client, server, count(*), count(*) filter (running),
           sum(calls) filter (running),
           list_sort(coalesce(list_distinct(flatten(list(versions) filter (running))), [])),
           any_value(mounts.client) is not null, coalesce(any_value(files), 0),
           coalesce(any_value(unrooted), 0),
           coalesce((list(first_frame order by first_frame) filter (running))[:5], [])
    from placed left join mounts using (client, server) left join known using (server)
    group by client, server order by sum(calls) desc, client, server
"""
