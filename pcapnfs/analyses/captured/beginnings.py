"""What the capture has of the beginning of each client's work with a server.

Takes connections, calls and operations; gives for each client and server how many connections
already ran when the capture began, and whether a mount was seen: what only a mount shows (the root
handle, FSINFO, the session) is missing where it was not. A connection without a handshake whose
first call is one with which clients begin did not run yet: its first packets are missing. What the
handshake is to TCP is to RDMA the exchange of its connection manager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import joined
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.programs import NFS, ROCE_PORT
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    traffic.READS,
    columns.of(
        calls="call mount connection program op callback",
        connections="connection transport server_port handshake segment_size first_frame",
        operations="call op",
        files="server path role listed_only",
    ),
)
"""The columns that the queries here read."""

MOUNTING = ("MNT", "FSINFO", "PUTROOTFH", "EXCHANGE_ID", "SETCLIENTID", "CREATE_SESSION")
"""Operations that a client sends when it mounts, and hardly ever later."""


FIRST = ("NULL", "EXCHANGE_ID", "SETCLIENTID")
"""What clients call first on a new connection: to see that the server is there, or to log in."""


class Beginning(Record):
    """How the capture begins for one client and one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """Connections of TCP or RDMA with calls of NFS."""
    running: int
    """Those of them of whose handshake nothing is in the capture, and whose first call is none of
    `FIRST`: they ran when it began."""
    rdma_running: int
    """Those of `running` that are RDMA."""
    headless: int
    """Those without a handshake whose first call is one with which clients begin: packets of their
    beginning are missing."""
    rdma_headless: int
    """Those of `headless` that are RDMA."""
    calls: int
    """Calls of NFS on those of `running`."""
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
    """Look at each client and server with NFS over TCP or RDMA, most calls first."""
    between = _between(trace)
    if not between:
        return ()
    mounts = traffic.mounts(trace)
    mounted = {mounts[mount] for (mount,) in trace.rows(_MOUNTED)}
    known = {
        str(server): (integer(files), integer(unrooted))
        for server, files, unrooted in trace.rows(_KNOWN)
    }
    found = []
    for (client, server), used in between.items():
        files, unrooted = known.get(server, (0, 0))
        found.append(
            Beginning(
                client=client,
                server=server,
                connections=used.connections,
                running=used.running,
                rdma_running=used.rdma_running,
                headless=used.headless,
                rdma_headless=used.rdma_headless,
                calls=used.running_calls,
                versions=tuple(sorted(used.versions)),
                mounted=(client, server) in mounted,
                files=files,
                unrooted=unrooted,
                frames=tuple(used.frames),
            )
        )
    return tuple(
        sorted(
            found,
            key=lambda each: (
                -between[each.client, each.server].calls,
                each.client,
                each.server,
            ),
        )
    )


class _Used:
    """The connections of a client and a server."""

    def __init__(self) -> None:
        self.connections = 0
        self.calls = 0
        # Of those that were open before the capture began.
        self.running = 0
        self.rdma_running = 0
        self.running_calls = 0
        # Of those that were not, though their handshake is missing.
        self.headless = 0
        self.rdma_headless = 0
        self.versions: set[int] = set()
        # The first of them.
        self.frames: list[int] = []


def _between(trace: Trace) -> dict[tuple[str, str], _Used]:
    """The connections of TCP and RDMA with calls of NFS, by client and server."""
    known = trace.arrays(_CONNECTIONS)
    lines = traffic.of_clients(trace)
    numbers = lines.numbers
    connected = np.isin(numbers["connection"], known["connection"])
    lines = lines.where((numbers["program"] == NFS) & connected)
    found: dict[tuple[str, str], _Used] = {}
    before = None
    # They come in the order of connections, and so do these.
    places = np.searchsorted(known["connection"], lines.numbers["connection"])
    running, frames = known["running"][places], known["frame"][places]
    rdma = known["rdma"][places]
    begun = _begun(trace) if running.any() else np.zeros(0, np.int64)
    headless = running & np.isin(lines.numbers["connection"], begun)
    running &= ~headless
    for line, ran, cut, by_rdma, frame in zip(lines, running, headless, rdma, frames, strict=True):
        used = found.setdefault((line.client, line.server), _Used())
        another, before = (line.mount, line.connection) != before, (line.mount, line.connection)
        used.connections += another
        used.calls += line.calls
        used.headless += another and bool(cut)
        used.rdma_headless += another and bool(cut and by_rdma)
        if ran:
            used.running += another
            used.rdma_running += another and bool(by_rdma)
            used.running_calls += line.calls
            used.versions.add(line.version)
            if another:
                used.frames = sorted([*used.frames, int(frame)])[:EXAMPLES]
    return found


def _begun(trace: Trace) -> NDArray[np.int64]:
    """Connections that a client began within the capture, as their first call shows."""
    return trace.arrays(_BEGUN)["connection"].astype(np.int64)


_BEGUN = f"""
    select connection from calls
    where program = {NFS} and not callback
    group by connection having {among("arg_min(op, call)", FIRST)}
    order by connection
"""

# A segment size is announced with SYN alone: where only one direction was captured, it shows that
# the beginning was. Of RDMA the exchange of its connection manager tells the port of the service.
_CONNECTIONS = f"""
    select connection, transport = 'RDMA' as rdma,
           case when transport = 'RDMA' then server_port = {ROCE_PORT}
                else not handshake and segment_size is null end as running,
           first_frame as frame
    from connections where transport in ('TCP', 'RDMA') order by connection
"""

_MOUNTED = f"""
    select distinct mount from operations join calls using (call)
    where operations.op in {MOUNTING} and {joined.condition("not callback", other="operations.op")}
"""

_KNOWN = """
    select server, count(*) as files, count(*) filter (starts_with(path, '[')) as unrooted
    from files where role in ('file', 'directory', 'other') and not listed_only group by server
"""
