"""Files removed while open: the client renames them, and removes them when they are closed.

Takes a trace; gives for each client and server its RENAMEs to the names that clients make up for
this (`.nfs` and a number in hexadecimal: 24 digits on Linux, fewer on Solaris, BSD and macOS), the
path that each file had, and whether the REMOVE that has to follow is in the capture. Before the
RENAME the client looks for a name that is free, and after it asks for the file's attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    columns.of(
        calls="call client server op callback call_frame call_time stability file",
        operations="call op status directory target_directory name new_name",
        files="file path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("RENAME",), statuses=(0,))
"""Without a RENAME that succeeded there is none."""

SILLY_NAME = r"\.nfs[0-9A-Fa-f.]{4,32}"
"""The names that clients make up."""


class SillyRenames(Record):
    """What one client removed while it was open."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    renames: int
    """Successful RENAMEs to such a name."""
    removed: int
    """Those of them whose file the same client removed later by that name."""
    longest_s: float | None
    """The longest time from RENAME to REMOVE, seconds; None without any removed."""
    paths: tuple[str, ...]
    """Paths that the files had, in the order of time; not escaped."""
    left: tuple[str, ...]
    """Paths of those that were not removed in the capture, under their new name; not escaped."""
    time_s: float
    """What RENAME and REMOVE of each that was removed took of the clock without the longer of both,
    seconds: a REMOVE alone would have done."""
    beside: Spared
    """The LOOKUPs that found no such name before these RENAMEs, and the GETATTRs that were the next
    calls about the files: a REMOVE needs neither."""
    frames: tuple[int, ...]
    """Example frames: of the RENAMEs."""


def silly_renames(trace: Trace) -> tuple[SillyRenames, ...]:
    """Put together, for each client and server, most first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_RENAMED, {"silly": SILLY_NAME})
        rows = cursor.execute(_RENAMES, {"files": FILES_SHOWN, "examples": EXAMPLES}).fetchall()
        beside = {
            (client, server): spared.of_row(values)
            for client, server, *values in cursor.execute(_BESIDE).fetchall()
        }
        known = paths.of(cursor, (each["directory"] for row in rows for each in (*row[5], *row[6])))
    return tuple(
        SillyRenames(
            client=client,
            server=server,
            renames=integer(renames),
            removed=integer(removed),
            longest_s=seconds(longest),
            paths=tuple(_path(each, known) for each in old),
            left=tuple(_path(each, known) for each in new),
            time_s=seconds(time) or 0.0,
            beside=beside.get((client, server), spared.NONE),
            frames=tuple(frames),
        )
        for client, server, renames, removed, longest, old, new, time, frames in rows
    )


def _path(named: Mapping[str, Any], directories: Mapping[int, str]) -> str:
    """The path of a name in a directory; the name alone where the directory is not known."""
    directory = directories.get(named["directory"], "")
    inside = "" if directory in ("", ".") else f"{directory.rstrip('/')}/"
    return f"{inside}{named['name']}"


_RENAMED = """
    create temp table silly_renamed as
    select call, client, server, call_frame as frame, call_time as renamed, calls.file,
           operations.directory, name,
           coalesce(target_directory, operations.directory) as target,
           new_name
    from operations join (
        select call, client, server, call_frame, call_time, file from calls where not callback
    ) as calls using (call)
    where op = 'RENAME' and status = 0 and regexp_full_match(new_name, $silly)
"""

_BESIDE = f"""
    with looked as (
        select call, client, server, operations.directory as target, name as new_name, call_time
        from operations join (
            select call, client, server, call_time from calls where not callback and op = 'LOOKUP'
        ) using (call)
        where op = 'LOOKUP' and status <> 0 and starts_with(name, '.nfs')
    ),
    followed as (
        select call, lead(call) over its_file as next_call, lead(op) over its_file as next_op
        from calls
        where not callback and file in (select file from silly_renamed)
        window its_file as (partition by client, server, file order by call_time, call)
    ),
    sought as materialized (
        select renamed.client, renamed.server, looked.call
        from silly_renamed as renamed asof join looked
             on renamed.client = looked.client and renamed.server = looked.server
                and renamed.target = looked.target and renamed.new_name = looked.new_name
                and renamed.renamed >= looked.call_time
    ),
    asked as materialized (
        select client, server, next_call as call
        from silly_renamed join followed using (call) where next_op = 'GETATTR'
    ),
    beside as (from sought union all from asked)
    select client, server, {spared.columns("true", "beside")}
    from beside join shares using (call) join (select call, call_frame from calls) using (call)
    group by client, server
"""

_RENAMES = """
    with removals as (
        select call as removal, client, server, directory as target, name as new_name,
               call_time as removed
        from operations join (
            select call, client, server, call_time from calls where not callback
        ) using (call)
        where op = 'REMOVE' and status = 0 and starts_with(name, '.nfs')
    ),
    told as (
        select renamed.*, removed, removal
        from silly_renamed as renamed asof left join removals
             on renamed.client = removals.client and renamed.server = removals.server
                and renamed.target = removals.target and renamed.new_name = removals.new_name
                and renamed.renamed <= removals.removed
    ),
    placed as (
        select told.*, case when removal is null then 0
                            else least(coalesce(renaming.share, 0), coalesce(removing.share, 0)) end
                       as share
        from told left join shares as renaming using (call)
             left join shares as removing on removing.call = removal
    )
    select client, server, count(*), count(removed), max(removed - renamed),
           (list({'directory': directory, 'name': name}
                 order by frame, directory, name))[:$files],
           coalesce((list({'directory': target, 'name': new_name}
                          order by frame, target, new_name)
                filter (removed is null))[:$files], []),
           sum(share), (list(frame order by frame))[:$examples]
    from placed group by client, server order by count(*) desc, client, server
"""
