"""Files that several clients use by turns while one of them changes them.

Takes a trace; gives for each server the files that one client changed and another then used, again
and again. After each such turn what the other client had cached is void: it asks for attributes,
and reads again what it had read. Only what the capture shows of all clients counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import shares
from pcapnfs.analyses.files import READ_OPERATIONS, WRITE_OPERATIONS
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    shares.READS,
    columns.of(
        calls="call client server callback op file status call_frame call_time stability",
        operations="call op count",
        files="file identity path role",
    ),
)
"""The columns that the queries here read."""

CHANGES = (*WRITE_OPERATIONS, "SETATTR")
"""Operations by which a client changes a file, or its attributes."""

USES = (*CHANGES, *READ_OPERATIONS, "GETATTR", "ACCESS", "OPEN")
"""Operations by which a client uses a file, or asks for its attributes."""

FILES_SHOWN = 3
"""Files that are told."""

EXAMPLES = 5
"""Frames that are told."""


class SharedFile(Record):
    """A file that several clients use."""

    path: str
    """Its path; not escaped."""
    clients: tuple[str, ...]
    """Addresses of the clients that took turns."""
    turns: int
    """Times that one client changed it, and another was the next to use it."""


class SharedFiles(Record):
    """The files of one server that clients use by turns."""

    server: str
    """Address of the server."""
    files: int
    """Files that were changed by one client and then used by another."""
    turns: int
    """Times that this happened, on all of them."""
    most_turns: int
    """Turns of the file that has most."""
    shown: tuple[SharedFile, ...]
    """The files with most turns."""
    read_bytes: int
    """Bytes that clients read again right after another had changed a file, having read it
    before."""
    time_s: Mapping[str, float]
    """What the first READ, GETATTR or ACCESS after each turn took of the clock, of clients that had
    used the file before: seconds by row of the time budget."""
    frames: tuple[int, ...]
    """Example frames: of the first use after a turn, on the files with most turns."""


def shared_files(trace: Trace) -> tuple[SharedFiles, ...]:
    """Put together, for each server, most turns first."""
    several = "select count(distinct client) > 1 from calls where not callback"
    ((anything,),) = trace.sql(several).fetchall()
    if not anything:
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(
            _TURNS,
            {"uses": list(USES), "changes": list(CHANGES), "reads": list(READ_OPERATIONS)},
        )
        servers = cursor.execute(_SERVERS, {"examples": EXAMPLES}).fetchall()
        files = cursor.execute(_FILES, {"files": FILES_SHOWN}).fetchall()
        rows = cursor.execute(_ROWS).fetchall()
    shown: dict[str, list[SharedFile]] = {}
    for server, path, clients, turns in files:
        shown.setdefault(server, []).append(SharedFile(path, tuple(clients), integer(turns)))
    times: dict[str, dict[str, float]] = {}
    for server, row, time in rows:
        times.setdefault(server, {})[row] = seconds(time) or 0.0
    return tuple(
        SharedFiles(
            server=server,
            files=integer(number),
            turns=integer(turns),
            most_turns=integer(most),
            shown=tuple(shown.get(server, ())),
            read_bytes=integer(read),
            time_s=times.get(server, {}),
            frames=tuple(frames),
        )
        for server, number, turns, most, read, frames in servers
    )


# A turn is a use by another client than the one that changed the file last, the first since then.
_TURNS = """
    create temp table turns as
    with used as (
        select call, client, server, stability, op, call_frame as frame, call_time as moment,
               identity, list_contains($changes, op) as changes, list_contains($reads, op) as reads
        from calls join (select file, identity from files where role = 'file') using (file)
        where not callback and status = 0 and op in $uses
    ),
    shared as (
        select server, identity from used group by server, identity
        having min(client) <> max(client) and bool_or(changes)
    ),
    together as (
        select used.*, client <> lag(client, 1, client) over earlier as handed,
               last_value(case when changes then client end ignore nulls) over (
                   earlier rows between unbounded preceding and 1 preceding
               ) as changer,
               lag(client) over earlier as before
        from used semi join shared using (server, identity)
        window earlier as (partition by server, identity order by moment, call)
    ),
    first as (
        select server, identity, client, min((moment, call)) as first
        from together group by server, identity, client
    )
    select call, client, changer, server, stability, op, frame, moment, identity, reads,
           (moment, call) > first as known
    from together join first using (server, identity, client)
    where handed and before = changer
"""

_SERVERS = """
    with files as (
        select server, identity, count(*) as turns, list(frame order by moment, call) as frames
        from turns group by server, identity
    ),
    again as (
        select server, sum(count) as read
        from operations join (
            select call, server, op from turns where reads and known
        ) as reading on operations.call = reading.call and operations.op = reading.op
        group by server
    )
    select server, count(*), sum(turns), max(turns), any_value(read),
           flatten(list(frames[:$examples] order by turns desc, identity)[:$examples])[:$examples]
    from files left join again using (server) group by server order by sum(turns) desc, server
"""

_FILES = """
    with counted as (
        select server, identity, count(*) as turns,
               list_sort(list_distinct(list(client) || list(changer))) as clients
        from turns group by server, identity
    )
    select server, path, clients, turns
    from counted join (select file, path from files) on file = identity
    qualify row_number() over (partition by server order by turns desc, identity) <= $files
    order by server, turns desc, identity
"""

_ROWS = """
    with once as (
        select distinct call, server, stability from turns
        where known and (reads or op in ('GETATTR', 'ACCESS'))
    )
    select server, stability as row, sum(share)::bigint
    from once join shares using (call) group by server, stability having sum(share) > 0
"""
