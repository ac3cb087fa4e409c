"""What COMMITs take, against what had been written since the last one.

Takes a trace; gives for each client and server its COMMITs with the bytes that WRITEs and COPYs
answered UNSTABLE had brought to the same file before each. A COMMIT in the compound of a COPY is
none of these: it stores what that has copied, and has no round trip of its own (Linux sends both in
one where it waits for the COPY). CLONE leaves nothing unstable.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, number, seconds
from pcapnfs.analyses.data import commit_places, offloads
from pcapnfs.analyses.data import transfers as _transfers
from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.analyses.data.transfers import transfers
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _transfers.READS,
    commit_places.READS,
    population.OPERATIONS_READS,
    offloads.READS,
    columns.of(
        operations="call op executed status file count committed",
        calls="call mount callback call_frame",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("COMMIT",), statuses=(0,))
"""Files without a COMMIT that succeeded are none of these."""

COPIED = population.Operations(("COPY",), statuses=(0,))
"""Without one all data came by WRITEs."""


class Commits(Record):
    """The COMMITs of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    commits: int
    """Calls with a COMMIT that succeeded, and without a COPY."""
    files: int
    """Files that they were for."""
    written_bytes: int
    """What had been written or copied UNSTABLE before them, bytes."""
    empty: int
    """Those before which nothing had been written or copied so in the capture."""
    copied: int
    """Those before which COPYs had brought more than WRITEs."""
    time_s: float
    """What they took of the clock (`shares`), seconds."""
    mean_s: float
    """Mean service time, seconds."""
    longest_s: float
    """The longest, seconds."""
    fixed_s: float | None
    """What a COMMIT takes however little was written: the intercept of the line through service
    times over bytes, seconds; None when all had as much before them."""
    rate_bytes: float | None
    """The bytes a second by which it grows, from the slope of that line; None when it does not
    grow."""
    frames: tuple[int, ...]
    """Example frames: those that took longest."""
    places: Places
    """Where they stand among the WRITEs of their files."""


def commits(trace: Trace) -> tuple[Commits, ...]:
    """Follow each file's WRITEs and COMMITs, costliest client and server first."""
    if not NEEDS.met(trace):
        return ()
    walked = transfers(trace)
    with closing(trace.cursor()) as cursor:
        cursor.register("walked", walked.commits)
        cursor.execute(_with_copies(trace))
        rows = cursor.execute(_COMMITS, {"examples": EXAMPLES}).fetchall()
        placed = commit_places.places(trace, cursor)
    found = [
        Commits(
            client=walked.mounts[mount][0],
            server=walked.mounts[mount][1],
            commits=integer(calls),
            files=integer(files),
            written_bytes=integer(written),
            empty=integer(empty),
            copied=integer(copied),
            time_s=seconds(time) or 0.0,
            mean_s=seconds(mean) or 0.0,
            longest_s=seconds(longest) or 0.0,
            fixed_s=None if intercept is None else max(0.0, seconds(intercept) or 0.0),
            rate_bytes=None if not slope or slope <= 0 else NANOSECONDS / number(slope),
            frames=tuple(frames),
            places=placed.get(mount, commit_places.NOWHERE),
        )
        for (
            mount, calls, files, written, empty, copied, time, mean, longest, intercept, slope,
            frames,
        ) in rows
    ]  # fmt: skip
    return tuple(
        sorted(found, key=lambda commits: (-commits.time_s, commits.client, commits.server))
    )


def _with_copies(trace: Trace) -> str:
    """SQL: the table `told` of the COMMITs that are told."""
    if not COPIED.met(trace):
        return "create temp table told as select *, 0::ubigint as copied from walked"
    copied, level, ended = 'operations."count"', "operations.committed", ""
    if offloads.register(trace):
        copied, level = f"coalesce(copied, {copied})", f"coalesce(ended.committed, {level})"
        ended = f"""
            left join {offloads.TABLE} using (call)
            left join (
                select call as told, committed from operations where op = 'CB_OFFLOAD'
            ) as ended using (told)
        """
    return _TOLD.format(copied=copied, level=level, ended=ended)


# Frames are in the order of time. That of a COPY is that of a COMMIT in the same compound.
_TOLD = """
    create temp table told as
    with copies as (
        select mount, operations.file, call_frame as frame, {copied} as bytes,
               {level} = 'UNSTABLE' as unstable
        from operations
             join (select call, mount, call_frame from calls where not callback) using (call)
             {ended}
        where op = 'COPY' and executed and status = 0
    ),
    stored as (
        select walked.mount, walked.file, walked.frame,
               sum(copies.bytes) filter (unstable) as copied
        from copies asof join walked
             on copies.mount = walked.mount and copies.file = walked.file
                and copies.frame <= walked.frame
        group by all
    )
    select walked.* replace ((bytes + coalesce(copied, 0))::ubigint as bytes),
           coalesce(copied, 0)::ubigint as copied
    from walked left join stored using (mount, file, frame)
         anti join copies using (mount, file, frame)
"""

_COMMITS = """
    select mount, count(*), count(distinct file), sum(bytes), count(*) filter (bytes = 0),
           count(*) filter (copied > bytes - copied), sum(share), avg(srt), max(srt),
           case when count(distinct bytes) > 1 then regr_intercept(srt, bytes::double) end,
           case when count(distinct bytes) > 1 then regr_slope(srt, bytes::double) end,
           arg_max(frame, (srt, -frame::bigint), $examples)
    from told group by mount
"""
