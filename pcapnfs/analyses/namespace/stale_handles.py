"""Handles that the server no longer knew: their last good use, and who removed the object.

Takes a trace; gives for each client and server the calls answered STALE or FHEXPIRED, and for the
files that they named what the capture shows of their end.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.service_time import integer, seconds, text, whole
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.untold import untold
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    _untold.READS,
    columns.of(
        calls="call client server callback op call_frame call_time reply_time program status",
        operations="call op status file directory target_directory name executed",
        names="file directory name",
        files="file identity path",
    ),
)
"""The columns that the queries here read."""

STALE = (70, 10014)
"""NFS3ERR_STALE and NFS4ERR_STALE, NFS4ERR_FHEXPIRED (RFC 1813 section 2.6, RFC 8881 section
15.1)."""

NEEDS = population.Calls(statuses=STALE)
"""Without a call that was refused so there is none."""

FILES_MOST = 60
"""Files that are told of all clients and servers: each is looked for among all removals, and many
may have had the same name."""


class StaleFile(Record):
    """A file whose handle was refused."""

    path: str
    """Its path; not escaped."""
    calls: int
    """Calls that were refused for it."""
    operations: tuple[str, ...]
    """Their operations."""
    last_use_frame: int | None
    """Frame of the last call before them with which any client used the handle successfully; None
    when the capture has none."""
    unused_s: float | None
    """From the reply to it to the first refusal, seconds; None likewise."""
    next_use_frame: int | None
    """Frame of the first call after the first refusal with which any client used the handle
    successfully; None when the capture has none: the file is gone."""
    remover: str | None
    """Address of the client that removed or replaced it before; None when the capture does not
    show it."""
    remover_op: str | None
    """`REMOVE`, `RMDIR` or `RENAME` (another file took its name); None likewise."""
    remover_frame: int | None
    """Frame of that call; None likewise."""


class StaleHandles(Record):
    """The handles of one client that one server no longer knew."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """Calls that were refused."""
    files: int
    """Files that they named; those whose handles were cut off do not count."""
    expired: int
    """Those calls that were answered FHEXPIRED: the server's handles are volatile."""
    shown: tuple[StaleFile, ...]
    """The files refused most often."""
    frames: tuple[int, ...]
    """Example frames: of the calls refused."""
    told: bool = True
    """Every call in the capture tells what it is about. Else one that does not may have removed a
    file, or have used its handle well."""


def stale_handles(trace: Trace) -> tuple[StaleHandles, ...]:
    """Put together, for each client and server, most calls first."""
    if not NEEDS.met(trace):
        return ()
    told = not untold(trace).unplaced
    with closing(trace.cursor()) as cursor:
        cursor.execute(_FAILED)
        cursor.execute(_REFUSED)
        pairs = cursor.execute(_PAIRS, {"examples": EXAMPLES}).fetchall()
        cursor.execute(_FIRST, {"files": FILES_SHOWN, "most": FILES_MOST})
        cursor.execute(_NAMED)
        cursor.execute(_TOUCHED)
        cursor.execute(_UNBOUND)
        rows = cursor.execute(_FILES).fetchall()
        objects = cursor.execute("select identity, file from named order by all").fetchall()
        known = paths.of(cursor, (file for _, file in objects))
    least: dict[int, str] = {}
    for identity, file in objects:
        least[identity] = min(known[file], least.get(identity, known[file]))
    shown: dict[tuple[str, str], list[StaleFile]] = {}
    for client, server, identity, calls, ops, use, unused, later, remover, removal, frame in rows:
        shown.setdefault((client, server), []).append(
            StaleFile(
                path=least[identity],
                calls=integer(calls),
                operations=tuple(ops),
                last_use_frame=whole(use),
                unused_s=seconds(unused),
                next_use_frame=whole(later),
                remover=text(remover),
                remover_op=text(removal),
                remover_frame=whole(frame),
            )
        )
    return tuple(
        StaleHandles(
            client=client,
            server=server,
            calls=integer(calls),
            files=integer(files),
            expired=integer(expired),
            shown=tuple(shown.get((client, server), ())),
            frames=tuple(frames),
            told=told,
        )
        for client, server, calls, files, expired, frames in pairs
    )


_FAILED = f"""
    create temp table failed as
    select call, client, server, op, status, call_frame, call_time from calls
    where status in {STALE} and program = {NFS} and not callback
"""

# A compound fails at the operation that names the handle (PUTFH, mostly), an NFSv3 call as a whole.
# The handle of an operation by name is its directory's; of two that are not one, any may be it.
_REFUSED = f"""
    create temp table refused as
    with handles as (
        select call, case when op <> 'LINK' and target_directory <> directory then null
                          when op <> 'LINK' and directory is not null then directory
                          else file end as file
        from operations semi join failed using (call)
        where operations.status in {STALE}
    ),
    named as (
        select call, min(identity) as identity
        from handles join (select file, identity from files) using (file) group by call
    )
    select call, client, server, op, status = 10014 as expired, identity, call_frame, call_time
    from failed left join named using (call)
"""

_PAIRS = """
    select client, server, count(distinct call), count(distinct identity),
           count(distinct call) filter (expired),
           list_sort(list_distinct(
               list(call_frame order by call_frame)[:2 * $examples]))[:$examples]
    from refused group by client, server order by 3 desc, client, server
"""

_FIRST = """
    create temp table first as
    select client, server, identity, count(distinct call) as calls, min(call_time) as refused,
           list_sort(list(distinct op)) as ops
    from refused where identity is not null group by client, server, identity
    qualify row_number() over (
        partition by client, server order by count(distinct call) desc, identity
    ) <= $files
    order by calls desc, client, server, identity limit $most
"""

# Few files are told. With tables of what concerns them, no later join is with all operations.
_NAMED = """
    create temp table named as
    select file, identity from files semi join first using (identity)
"""

# Of a compound that worked, every operation did, also those whose results were cut off.
_TOUCHED = """
    create temp table touched as
    with told as (
        select call, op, status, executed, file as child, file
        from operations where file in (select file from named)
        union
        select call, op, status, executed, file, directory
        from operations where directory in (select file from named)
        union
        select call, op, status, executed, file, target_directory
        from operations where target_directory in (select file from named)
    )
    select call, op, executed or told.status is null as executed, identity,
           file is not distinct from child as itself
    from told join named using (file)
         join (select call, status as of_call from calls) as calls using (call)
    where coalesce(told.status, of_call) = 0
"""

_UNBOUND = f"""
    create temp table unbound as
    with bound as (
        select distinct directory, name, identity from names join named using (file)
    )
    select call, op, identity
    from operations join bound using (directory, name)
    where {among("op", ("REMOVE", "RMDIR"))} and status = 0
    union all
    select call, op, identity from touched where {among("op", ("REMOVE", "RMDIR"))} and itself
"""

_FILES = """
    with uses as (
        select identity, call_frame as frame, reply_time as used
        from touched join (
                 select call, call_frame, reply_time from calls where not callback
             ) using (call)
             anti join refused using (call)
        where executed and reply_time is not null
              and not (op in ('REMOVE', 'RMDIR') and itself)
    ),
    removals as (
        select identity, call_frame as frame, call_time as removed, client as remover, unbound.op
        from unbound join (
                 select call, client, call_frame, call_time from calls where not callback
             ) using (call)
    ),
    told as (
        select first.*, uses.frame as used_frame, refused - used as unused
        from first asof left join uses
             on first.identity = uses.identity and first.refused > uses.used
    ),
    revived as (
        select told.*, uses.frame as later_frame
        from told asof left join uses
             on told.identity = uses.identity and told.refused < uses.used
    ),
    ended as (
        select revived.*, remover, removals.op as removal, removals.frame as removal_frame
        from revived asof left join removals
             on revived.identity = removals.identity and revived.refused >= removals.removed
    )
    select client, server, identity, calls, ops, used_frame, unused, later_frame, remover, removal,
           removal_frame
    from ended order by client, server, calls desc, identity
"""
