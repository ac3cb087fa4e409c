"""What goes into a support case: the summary, and what one looks up after having read it.

Takes a trace; gives a `Report`, which the views write as HTML, Markdown or JSON. Every figure of
the summary is the one of `summarize`; the rest is bounded, however large the capture is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs import summary as _summary
from pcapnfs.analyses.asking.side_by_side import side_by_side
from pcapnfs.analyses.by_file import perfile as _perfile
from pcapnfs.analyses.by_file import sequence as _sequence
from pcapnfs.analyses.times import course as _course
from pcapnfs.analyses.times import distributions as _distributions
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.by_file.patterns import Patterns
    from pcapnfs.analyses.by_file.perfile import PerFile
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.trace import Trace

READS = columns.together(
    _summary.READS,
    _course.READS,
    _distributions.READS,
    _perfile.READS,
    _sequence.READS,
)
"""The columns that all of these read."""

FILES = 40
"""Files that are named, those that cost most."""

SEQUENCES = 8
"""Files whose calls are told one by one."""

CALLS = 40
"""Calls of such a file that are told; the rest is counted."""


class Mark(Record):
    """A frame of a finding, and when it was."""

    finding: int
    """The finding's place among the findings, from 0."""
    frame: int
    """Number of the frame."""
    at_s: float
    """When it was, seconds from the first call."""


class Report(Record):
    """All that a report says."""

    redacted: bool
    """Whether names, addresses and users are pseudonyms, and files are called by numbers."""
    summary: _summary.Summary
    """What `summarize` says."""
    spreads: _distributions.Spreads
    """How the service times of each operation spread; the twelve that took longest."""
    course: _course.Course
    """What happened when."""
    marks: tuple[Mark, ...]
    """When the frames of the findings were; those that belong to no call are left out."""
    perfile: _perfile.PerFile
    """The forty files that cost most."""
    sequences: tuple[_sequence.FileSequence, ...]
    """The calls of the most expensive files, one by one: the slowest of each pattern that took
    longest, and the files that cost most; eight files, forty calls of each."""


def report(trace: Trace, *, values: Values | None = None, redacted: bool = False) -> Report:
    """Gather what a report says.

    Args:
        trace: The trace.
        values: The thresholds that findings are judged by; None for their own values.
        redacted: Whether it is one of `redacted.open`, which is to be said.
    """
    summary = _summary.summarize(trace, values=values)
    findings = summary.findings
    frames = {frame for found in findings for frame in found.frames}
    with side_by_side(trace) as asking:
        asked_costs = asking.ask(_perfile.perfile, top=FILES)
        spreads = asking.ask(_distributions.spreads)
        course = asking.ask(_course.course)
        times = _course.times_of(trace, frames)
        costs = asked_costs()
        sequences = tuple(
            _sequence.of_files(trace, _expensive(summary.patterns, costs), calls=CALLS)
        )
    return Report(
        redacted=redacted,
        summary=summary,
        spreads=spreads(),
        course=course(),
        marks=tuple(
            Mark(place, frame, times[frame])
            for place, found in enumerate(findings)
            for frame in found.frames
            if frame in times
        ),
        perfile=costs,
        sequences=sequences,
    )


def _expensive(patterns: Patterns, costs: PerFile) -> list[int]:
    """Numbers of the files to look at: half of them of different patterns, then the costliest."""
    slowest = [each.slowest.file for each in patterns.classes[: SEQUENCES // 2]]
    costliest = [each.file for each in costs.files if each.calls]
    return list(dict.fromkeys([*slowest, *costliest]))[:SEQUENCES]
