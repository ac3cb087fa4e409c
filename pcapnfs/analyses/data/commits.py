"""What COMMITs take, against what had been written since the last one.

Takes a trace; gives for each client and server its COMMITs with the bytes that WRITEs answered
UNSTABLE had brought to the same file before each.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.service_time import integer, number, seconds
from pcapnfs.analyses.data import commit_places
from pcapnfs.analyses.data import transfers as _transfers
from pcapnfs.analyses.data.commit_places import Places
from pcapnfs.analyses.data.transfers import transfers
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(_transfers.READS, commit_places.READS)
"""The columns that this reads."""

NEEDS = population.Operations(("COMMIT",), statuses=(0,))
"""Files without a COMMIT that succeeded are none of these."""


class Commits(Record):
    """The COMMITs of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    commits: int
    """Calls with a COMMIT that succeeded."""
    files: int
    """Files that they were for."""
    written_bytes: int
    """What had been written UNSTABLE before them, bytes."""
    empty: int
    """Those before which nothing had been written in the capture."""
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
        cursor.register("told", walked.commits)
        rows = cursor.execute(_COMMITS, {"examples": EXAMPLES}).fetchall()
    placed = commit_places.places(trace, walked.commits)
    found = [
        Commits(
            client=walked.mounts[mount][0],
            server=walked.mounts[mount][1],
            commits=integer(calls),
            files=integer(files),
            written_bytes=integer(written),
            empty=integer(empty),
            time_s=seconds(time) or 0.0,
            mean_s=seconds(mean) or 0.0,
            longest_s=seconds(longest) or 0.0,
            fixed_s=None if intercept is None else max(0.0, seconds(intercept) or 0.0),
            rate_bytes=None if not slope or slope <= 0 else 1e9 / number(slope),
            frames=tuple(frames),
            places=placed.get(mount, commit_places.NOWHERE),
        )
        for (
            mount, calls, files, written, empty, time, mean, longest, intercept, slope, frames,
        ) in rows
    ]  # fmt: skip
    return tuple(
        sorted(found, key=lambda commits: (-commits.time_s, commits.client, commits.server))
    )


_COMMITS = """
    select mount, count(*), count(distinct file), sum(bytes), count(*) filter (bytes = 0),
           sum(share), avg(srt), max(srt),
           case when count(distinct bytes) > 1 then regr_intercept(srt, bytes::double) end,
           case when count(distinct bytes) > 1 then regr_slope(srt, bytes::double) end,
           arg_max(frame, (srt, -frame::bigint), $examples)
    from told group by mount
"""
