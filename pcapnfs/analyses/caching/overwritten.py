"""Appends of one client that wrote over what another had appended.

Takes a trace; gives for each server the WRITEs that began at or before the end of the file as their
client had last been told it, and went on behind it, when another client had appended from that same
end, or was about to. NFS has no append: a client writes where it believes the end to be, and of two
that believe the same the later one puts its bytes on those of the other (open(2), O_APPEND).

Not counted are files that anybody locks, and WRITEs between whose client's latest news of the file
and their reply somebody set its size: it may have been meant to be written anew. So may an empty
one. Who rewrites what is there shows nothing: that may be meant, or be agreed upon elsewhere.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses.asking import paths
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.service_time import integer
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured.traffic import several_clients
from pcapnfs.analyses.data.moves import WRITE_OPERATIONS
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client server callback op file status call_frame call_first_time reply_time",
    operations="call op executed status file offset count size set_size",
    files="file identity path role",
)
"""The columns that the queries here read."""


class OverwrittenFile(Record):
    """A file with such WRITEs."""

    path: str
    """Its path; not escaped."""
    clients: tuple[str, ...]
    """Addresses of the clients that appended from the same end."""
    writes: int
    """WRITEs beyond the first from the same end."""


class Overwritten(Record):
    """What was written over at one server."""

    server: str
    """Address of the server."""
    appends: int
    """WRITEs that appended to such files."""
    writes: int
    """Those of them that appended from the same end as one of another client before."""
    shown: tuple[OverwrittenFile, ...]
    """The files with most of them."""
    frames: tuple[int, ...]
    """Example frames: of the WRITEs that appended from the same end."""


def overwritten(trace: Trace) -> tuple[Overwritten, ...]:
    """Look at each file that several clients write."""
    if not several_clients(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        cursor.execute(_WRITTEN)
        if not any_written(cursor):
            return ()
        cursor.execute(_APPENDED)
        rows = cursor.execute(_BY_FILE, {"examples": EXAMPLES}).fetchall()
        shown: dict[str, list[tuple[Any, ...]]] = {}
        for server, *row in rows:
            shown.setdefault(str(server), []).append(tuple(row))
        known = paths.of(
            cursor, [row[0] for files in shown.values() for row in files[:FILES_SHOWN]]
        )
    found = (
        Overwritten(
            server=server,
            appends=sum(integer(appends) for _, _, appends, _, _ in files),
            writes=sum(integer(writes) for _, _, _, writes, _ in files),
            shown=tuple(
                OverwrittenFile(known[file], tuple(clients), integer(writes))
                for file, clients, _, writes, _ in files[:FILES_SHOWN]
            ),
            frames=tuple(frame for *_, frames in files for frame in frames)[:EXAMPLES],
        )
        for server, files in shown.items()
    )
    return tuple(sorted(found, key=lambda each: (-each.writes, each.server)))


def any_written(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are files that several clients write, on a connection with their table."""
    return cursor.execute("select 1 from written limit 1").fetchone() is not None


# Of most captures nothing is left here, and no operation is looked at.
_WRITTEN = f"""
    create temp table written as
    with objects as (select file, identity from files where role = 'file'),
    several as (
        select identity from calls join objects using (file)
        where {among("op", WRITE_OPERATIONS)} and not callback and status = 0
        group by identity having count(distinct client) > 1
    ),
    locked as (
        select identity from operations join objects using (file) where op = 'LOCK'
    )
    select file, identity from objects semi join several using (identity)
                                       anti join locked using (identity)
"""
"""The files that several clients write and none locks."""

_APPENDED = f"""
    create temp table appended as
    with about as (
        select call, op, identity, "offset", "count", size, set_size
        from operations join written using (file)
        where executed and operations.status = 0
    ),
    asked as (
        select about.*, client, server, call_frame, call_first_time as sent, reply_time as answered
        from about join calls using (call) where not callback and reply_time is not null
    ),
    told as (
        select client, identity, answered as told_at, size as believed
        from asked where size is not null
    ),
    cut as (select identity, sent as cut_at from asked where set_size is not null),
    writes as (
        select writing.*, told_at, believed
        from (
            select call, client, server, identity, call_frame, sent, answered, "offset" as start,
                   "offset"::hugeint + "count" as stop
            from asked where {among("op", WRITE_OPERATIONS)}
        ) as writing asof join told
             on writing.client = told.client and writing.identity = told.identity
                and writing.sent >= told.told_at
        where believed > 0 and start <= believed and stop > believed
    ),
    uncut as (
        select writes.* from writes asof left join cut
             on writes.identity = cut.identity and writes.answered >= cut.cut_at
        where coalesce(cut_at < told_at, true)
    )
    -- What a client was told after the first was answered, it may have been told of a file that was
    -- cut and had grown again.
    select *, told_at <= min(answered) over (partition by identity, believed) as alike from uncut
"""
"""The WRITEs that went on behind the end of the file as their client had been told it."""

_BY_FILE = """
    with ends as (
        select server, identity, believed, count(distinct client) - 1 as more,
               list(distinct client) as clients, list(call_frame order by sent, call) as frames
        from appended where alike group by server, identity, believed
        having count(distinct client) > 1
    ),
    of_files as (
        select identity, count(*) as appends from appended group by identity
    )
    select server, identity, list_sort(list_distinct(flatten(list(clients)))), any_value(appends),
           sum(more)::bigint as writes,
           flatten(list(frames order by frames[1]))[:$examples]
    from ends join of_files using (identity)
    group by server, identity order by server, writes desc, identity
"""
