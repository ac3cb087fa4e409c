"""Files that several clients use in turn while one of them changes them.

Takes a trace; gives for each server the files that one client changed and another then used, again
and again. After each such turn what the other client had cached is void: it asks for attributes,
and reads again what it had read. Only what the capture shows of all clients counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import parts, paths
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.moves import READ_OPERATIONS, WRITE_OPERATIONS
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call client server mount callback op file status call_frame call_time stability",
        files="file identity path role",
    ),
)
"""The columns that the queries here read."""

CHANGES = (*WRITE_OPERATIONS, "SETATTR")
"""Operations by which a client changes a file, or its attributes."""

USES = (*CHANGES, *READ_OPERATIONS, "GETATTR", "ACCESS", "OPEN")
"""Operations by which a client uses a file, or asks for its attributes."""


class SharedFile(Record):
    """A file that several clients use."""

    path: str
    """Its path; not escaped."""
    clients: tuple[str, ...]
    """Addresses of the clients that took turns."""
    turns: int
    """Times that one client changed it, and another was the next to use it."""


class SharedFiles(Record):
    """The files of one server that clients use in turn."""

    server: str
    """Address of the server."""
    files: int
    """Files that were changed by one client and then used by another."""
    turns: int
    """Times that this happened, on all of them."""
    shown: tuple[SharedFile, ...]
    """The files with most turns."""
    time_s: Mapping[str, float]
    """What the first READ, GETATTR or ACCESS after each turn took of the clock, of clients that had
    used the file before: seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: of the first use after a turn, on the files with most turns."""


def shared_files(trace: Trace) -> tuple[SharedFiles, ...]:
    """Put together, for each server, most turns first."""
    if not traffic.several_clients(trace):
        return ()
    shares.register(trace)
    walk = walks.SharedFiles(kept=max(FILES_SHOWN, EXAMPLES))
    with closing(trace.cursor()) as cursor:
        cursor.execute(_PAIRS)
        for uses in parts.of(trace, cursor, _USES, by="server, file"):
            walk.add(uses)
        found = walk.found()
        if not found:
            return ()
        numbers = cursor.execute("select distinct s, server, c, client from pairs").fetchall()
        servers = {integer(number): str(server) for number, server, _, _ in numbers}
        clients = {integer(number): str(client) for _, _, number, client in numbers}
        cursor.register("walked", walk.known())
        cursor.execute(_KNOWN)
        rows = cursor.execute(_ROWS, {"asking": [*READ_OPERATIONS, "GETATTR", "ACCESS"]}).fetchall()
        shown = [most["file"] for each in found.values() for most in each["most"][:FILES_SHOWN]]
        known = paths.of(cursor, shown)
    times: dict[str, dict[str, float]] = {}
    for server, row, time in rows:
        times.setdefault(server, {})[row] = seconds(time) or 0.0
    shared = [
        SharedFiles(
            server=servers[server],
            files=integer(each["files"]),
            turns=integer(each["turns"]),
            shown=tuple(
                SharedFile(
                    path=known[most["file"]],
                    clients=tuple(clients[client] for client in most["clients"]),
                    turns=integer(most["turns"]),
                )
                for most in each["most"][:FILES_SHOWN]
            ),
            time_s=times.get(servers[server], {}),
            frames=tuple(frame for most in each["most"] for frame in most["frames"])[:EXAMPLES],
        )
        for server, each in found.items()
    ]
    return tuple(sorted(shared, key=lambda each: (-each.turns, each.server)))


# Numbers in the order of the addresses.
_PAIRS = """
    create temp table pairs as
    select mount, client, server, (dense_rank() over (order by client))::uinteger as c,
           (dense_rank() over (order by server))::uinteger as s
    from (
        select mount, any_value(client) as client, any_value(server) as server
        from calls where not callback group by mount
    )
"""

# A turn is a use by another client than the one that changed the file last, the first since then.
_USES = f"""
    with objects as (select file, identity from files where role = 'file')
    select s as server, c as client, identity as file, call_time as moment, call,
           call_frame as frame, {among("op", CHANGES)} as changes
    from calls join objects using (file) join (select mount, c, s from pairs) using (mount)
    where of_stretch(call) and not callback and status = 0 and {among("op", USES)}
"""

_KNOWN = """
    create temp table known as
    select call, server, op, stability from calls semi join walked using (call)
"""
"""The first uses after turns, by clients that had used the file before."""

_ROWS = """
    select server, stability as row, sum(share)
    from known join shares using (call)
    where op in $asking
    group by server, stability having sum(share) > 0
"""
