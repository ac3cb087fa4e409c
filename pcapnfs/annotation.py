"""A capture with comments where something happened, for Wireshark to show.

Takes a trace; gives a pcapng file with the packets of its captures, frames numbered as reports
number them, and comments at the frames of the findings, at the slowest calls and their replies, and
at the first call of each phase. Promises that the file is written whole or not at all, and that its
packets are those of the captures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pcapnfs import columns, rewriting, usage
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.times import phases as _phases
from pcapnfs.analyses.times import slowest as _slowest
from pcapnfs.diagnosis import judging
from pcapnfs.errors import CaptureError
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.times.phases import Phase
    from pcapnfs.analyses.times.slowest import SlowCall
    from pcapnfs.diagnosis.finding import Finding
    from pcapnfs.diagnosis.thresholds import Values
    from pcapnfs.trace import Trace

READS = columns.together(
    judging.READS, _phases.READS, _slowest.READS, columns.of(calls="call call_frame")
)
"""The columns that the remarks are made of."""

SLOWEST = 20
"""Calls that are marked for having taken longest."""


class Begun(Record):
    """A phase of a client's work, and where it begins."""

    phase: Phase
    """The phase."""
    place: int
    """Its place among the phases of its client, from 1."""
    phases: int
    """Phases of its client."""
    frame: int
    """Frame that completes its first call."""


class Remarks(Record):
    """What there is to say at certain frames."""

    findings: tuple[Finding, ...]
    """Findings that have frames to show, gravest first."""
    slowest: tuple[SlowCall, ...]
    """The slowest calls, slowest first."""
    phases: tuple[Begun, ...]
    """The phases of each client that has several."""


class Annotation(Record):
    """A capture that was annotated."""

    packets: int
    """Packets written: all of the captures, in order of time."""
    frames: int
    """Frames with a comment of ours."""
    comments: int
    """Comments of ours; those that the captures had already are not counted."""
    findings: int
    """Findings that the comments show."""
    slowest: int
    """Slow calls that the comments show, each at the call and at the reply."""
    phases: int
    """Phases whose beginning the comments show."""
    damage: tuple[str, ...]
    """For each capture that breaks off or contradicts itself: where and why, and what was read, and
    written, all the same."""


def remarks(trace: Trace, *, top: int = SLOWEST, values: Values | None = None) -> Remarks:
    """Choose what to say, and where.

    Args:
        trace: The trace.
        top: How many of the slowest calls to mark.
        values: The thresholds that findings are judged by; None for their own values.

    Raises:
        UsageError: `top` is negative.
    """
    judged = judging.findings(trace, values=values)
    return Remarks(
        findings=tuple(found for found in judged.findings if found.frames),
        slowest=_slowest.slowest(trace, top=top) if top else (),
        phases=_begun(trace),
    )


def annotate(
    trace: Trace,
    target: usage.PathLike,
    *,
    top: int = SLOWEST,
    values: Values | None = None,
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Annotation:
    """Write the captures of a trace as one pcapng file with comments.

    Args:
        trace: The trace; its captures are read once more, so they must be files.
        target: The annotated capture, compressed as its name says.
        top: How many of the slowest calls to mark; 0: none.
        values: The thresholds that findings are judged by; None for their own values.
        overwrite: Replace what is at `target`.
        progress: Called now and then with bytes done and bytes in all.

    Raises:
        CaptureError: A capture cannot be opened, or is not what it was when the trace was made. One
            that breaks off is no error: see `Annotation.damage`.
        UsageError: The target is there, is a capture, or has a name that cannot be served; a
            capture is no file; `top` is negative.
        PcapnfsError: The target cannot be written.
    """
    captures, out = rewriting.named(trace.captures()), Path(target)
    rewriting.check(captures, out, overwrite=overwrite)
    from pcapnfs import _core
    from pcapnfs.views.comments import by_frame

    said = remarks(trace, top=top, values=values)
    comments = by_frame(said)
    with rewriting.writing(out) as new:
        told = json.loads(
            _core.annotate(
                [str(capture) for capture in captures],
                str(new),
                comments,
                rewriting.packing(out),
                rewriting.reporter(progress, captures),
            )
        )
        wanted = sum(map(len, comments.values()))
        if told["comments"] != wanted:
            names = ", ".join(map(str, captures))
            raise CaptureError(f"{names}: not what it was when it was decoded")
    return Annotation(
        packets=told["packets"],
        frames=len(comments),
        comments=wanted,
        findings=len(said.findings),
        slowest=len(said.slowest),
        phases=len(said.phases),
        damage=tuple(f"{path}: {what}" for path, what in told["damage"]),
    )


_FRAMES = f"""
    select call, call_frame from calls
    where call in (select {given.rows("calls", "ubigint")})
"""


def _begun(trace: Trace) -> tuple[Begun, ...]:
    """The phases of clients with several; one alone divides nothing."""
    found = _phases.begun(trace)
    by_client: dict[str, list[tuple[Phase, int]]] = {}
    for phase, call in found:
        by_client.setdefault(phase.client, []).append((phase, call))
    several = [each for each in by_client.values() if len(each) > 1]
    calls = [call for each in several for _, call in each]
    frames = dict(trace.rows(_FRAMES, {"calls": given.text(calls)}) if calls else ())
    return tuple(
        Begun(phase, place, len(each), frames[call])
        for each in several
        for place, (phase, call) in enumerate(each, 1)
    )
