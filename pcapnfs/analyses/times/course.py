"""What happened when: calls, service times and calls under way over the time of the capture.

Takes the calls of clients that were answered; gives them in the equal parts of `concurrency`, at
most sixty, however long the capture is. `times_of` says when a frame was in the same measure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.times import concurrency
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    concurrency.READS,
    columns.of(
        calls="callback call_first_frame call_frame reply_first_frame reply_frame "
        "call_first_time call_time reply_first_time reply_time srt stability"
    ),
)
"""The columns that the queries here read."""


class Part(Record):
    """A part of the time."""

    at_s: float
    """When it begins, seconds from the first call."""
    calls: int
    """Answered calls that were sent in it."""
    stable_calls: int
    """Those of them that had to be on stable storage before the reply."""
    outstanding: float
    """Calls under way, on average over this part."""
    p50_s: float | None
    """Median service time of these calls, seconds, exact and interpolated; None without calls."""
    p95_s: float | None
    """95th percentile, likewise."""


class Course(Record):
    """The time from the first call to the last reply."""

    start_s: float | None
    """When the first call began, seconds from the capture's start; None without answered calls."""
    part_s: float | None
    """How long each part is, seconds; None without answered calls."""
    parts: tuple[Part, ...]
    """The parts, in order and without gaps; empty without answered calls."""


def course(trace: Trace) -> Course:
    """Divide the time into equal parts, and say what happened in each."""
    span = concurrency.span(trace)
    if span is None:
        return Course(None, None, ())
    found = {
        integer(place): (integer(stable), seconds(p50), seconds(p95))
        for place, stable, p50, p95 in trace.rows(
            """
            select (least(call_first_time, $end) - $start) // $width,
                   count(*) filter (stability = 'stable'),
                   quantile_cont(srt, 0.5), quantile_cont(srt, 0.95)
            from calls where not callback and reply_time is not null group by 1
            """,
            {"start": span.start_ns, "end": span.end_ns, "width": span.part_ns},
        )
    }
    parts = []
    for place, moment in enumerate(concurrency.timeline(trace)):
        stable, p50, p95 = found.get(place, (0, None, None))
        parts.append(Part(moment.at_s, moment.calls, stable, moment.outstanding, p50, p95))
    begin = trace.meta.start_ns
    return Course(
        start_s=None if begin is None else (span.start_ns - begin) / NANOSECONDS,
        part_s=span.part_ns / NANOSECONDS,
        parts=tuple(parts),
    )


def times_of(trace: Trace, frames: Collection[int]) -> Mapping[int, float]:
    """When each of these frames was, seconds from the first call.

    Only frames that begin or complete a call or a reply are known; the others are left out, as are
    those outside the time from the first answered call to the last reply.
    """
    span = concurrency.span(trace)
    if span is None or not frames:
        return {}
    rows = trace.rows(
        f"""
        with wanted as (select {given.rows("frames", "ubigint")} as frame),
        known as (
            select call_first_frame as frame, call_first_time as time from calls
            union all select call_frame, call_time from calls
            union all select reply_first_frame, reply_first_time from calls
            union all select reply_frame, reply_time from calls
        )
        select frame, min(time) from known semi join wanted using (frame)
        where time between $start and $end group by frame order by frame
        """,
        {"frames": given.text(sorted(set(frames))), "start": span.start_ns, "end": span.end_ns},
    )
    return {integer(frame): (integer(time) - span.start_ns) / NANOSECONDS for frame, time in rows}
