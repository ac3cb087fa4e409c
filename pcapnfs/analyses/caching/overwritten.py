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
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data.moves import WRITE_OPERATIONS
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    traffic.READS,
    columns.of(
        calls="call mount client callback op file status call_frame call_first_time reply_time",
        operations="call op executed status file offset count size set_size",
        files="file identity path role",
    ),
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
    if not traffic.several_clients(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        cursor.execute(_WRITTEN)
        if not any_written(cursor):
            return ()
        cursor.execute(_HOSTS, traffic.named(trace))
        cursor.execute(_APPENDED)
        cursor.execute(_ENDS)
        cursor.execute(_FILES, {"files": FILES_SHOWN})
        rows = cursor.execute(_SHOWN, {"examples": EXAMPLES}).fetchall()
        known = paths.of(cursor, [row[4] for row in rows])
    servers: dict[str, list[tuple[Any, ...]]] = {}
    for server, *row in rows:
        servers.setdefault(str(server), []).append(tuple(row))
    found = (
        Overwritten(
            server=server,
            appends=integer(files[0][0]),
            writes=integer(files[0][1]),
            shown=tuple(
                OverwrittenFile(known[file], tuple(clients), integer(writes))
                for _, _, writes, file, clients, _ in files
            ),
            frames=tuple(frame for *_, frames in files for frame in frames)[:EXAMPLES],
        )
        for server, files in servers.items()
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
        select identity from operations join objects using (file) where op in ('LOCK', 'LOCK_MSG')
    )
    select file, identity from objects semi join several using (identity)
                                       anti join locked using (identity)
"""
"""The files that several clients write and none locks."""

# Of addresses as texts, a set of them for each place in a file would be more than memory holds.
_HOSTS = f"""
    create temp table hosts as
    select mount, client, server, dense_rank() over (order by client) as who,
           dense_rank() over (order by server) as place
    from {traffic.NAMED}
"""
"""Numbers for the clients and servers, in their order."""

_APPENDED = f"""
    create temp table appended as
    with about as (
        select call, {among("op", WRITE_OPERATIONS)} as writes, identity, "offset", "count", size,
               set_size is not null as cuts
        from operations join written using (file)
        where executed and operations.status = 0
    ),
    asked as (
        select about.*, who, place, call_frame, call_first_time as sent, reply_time as answered
        from about
             join (select calls.call, mount, call_frame, call_first_time, reply_time from calls
                   where not callback and reply_time is not null) using (call)
             join hosts using (mount)
    ),
    told as (
        select who, identity, answered as told_at, size as believed
        from asked where size is not null
    ),
    cut as (select identity, sent as cut_at from asked where cuts),
    writes as (
        select writing.*, told_at, believed
        from (
            select call, who, place, identity, call_frame, sent, answered, "offset" as start,
                   "offset"::hugeint + "count" as stop
            from asked where writes
        ) as writing asof join told
             on writing.who = told.who and writing.identity = told.identity
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
    select call, who, place, identity, call_frame, sent, believed,
           told_at <= min(answered) over (partition by identity, believed) as alike
    from uncut
"""
"""The WRITEs that went on behind the end of the file as their client had been told it."""

_ENDS = """
    create temp table ends as
    with of_clients as (
        select place, identity, believed, who, min(sent) as first
        from appended where alike group by all
    )
    select place, identity, believed, count(*) - 1 as more, min(first) as first
    from of_clients group by place, identity, believed having count(*) > 1
"""
"""The ends from which several clients appended."""

_FILES = """
    create temp table shown as
    with appends as (
        select identity, count(*) as appends
        from appended semi join ends using (identity) group by identity
    ),
    of_files as (
        select place, identity, any_value(appends) as appends, sum(more)::bigint as writes
        from ends join appends using (identity) group by place, identity
    )
    select place, identity, writes, sum(appends) over whole as all_appends,
           sum(writes) over whole as all_writes
    from of_files
    window whole as (partition by place)
    qualify row_number() over (partition by place order by writes desc, identity) <= $files
"""
"""The files with most of them at each server, and what all of its files came to."""

# A file may have a million ends: of their clients and frames, those that are told are enough.
_SHOWN = """
    with between as (
        select place, identity, list_sort(list(client)) as clients
        from (
            select distinct place, identity, who
            from appended semi join ends using (place, identity, believed)
                          semi join shown using (place, identity)
            where alike
        ) join (select distinct who, client from hosts) using (who)
        group by place, identity
    ),
    first_ends as (
        select place, identity, believed, first from ends semi join shown using (place, identity)
        qualify row_number() over (
            partition by place, identity order by first, believed
        ) <= $examples
    ),
    examples as (
        select place, identity, list(call_frame order by first, believed, sent, call) as frames
        from (
            select appended.*, first
            from appended join first_ends using (place, identity, believed) where alike
            qualify row_number() over (
                partition by place, identity order by first, believed, sent, call
            ) <= $examples
        ) group by place, identity
    )
    select server, all_appends::bigint, all_writes::bigint, writes, identity, clients, frames
    from shown join between using (place, identity) join examples using (place, identity)
               join (select distinct place, server from hosts) using (place)
    order by server, writes desc, identity
"""
