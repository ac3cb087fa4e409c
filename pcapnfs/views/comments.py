"""Remarks as the comments of packets that Wireshark shows.

Takes `Remarks`; gives text by frame. Each comment is one line and begins with `pcapnfs`, so that
the display filter `frame.comment contains "pcapnfs"` finds them among others; text from the capture
is escaped, and none is longer than Wireshark shows well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import escape, rooted, sentence
from pcapnfs.views.columns import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.analyses.times.slowest import SlowCall
    from pcapnfs.annotation import Begun, Remarks
    from pcapnfs.diagnosis.finding import Finding

LONGEST = 2000
"""Characters of a comment; of a longer one the end is cut off."""

LONGEST_PATH = 200
"""Characters of a path in it; of a longer one the middle is cut out."""


def by_frame(remarks: Remarks) -> dict[int, list[str]]:
    """The comments of each frame: findings first, then slow calls, then beginnings of phases."""
    comments: dict[int, list[str]] = {}
    for frame, comment in _all(remarks):
        comments.setdefault(frame, []).append(shorten(comment, LONGEST, "end"))
    return comments


def _all(remarks: Remarks) -> Iterator[tuple[int, str]]:
    for found in remarks.findings:
        first, *others = dict.fromkeys(found.frames)
        yield first, _finding(found)
        title = f"pcapnfs {found.severity} {found.id}: {sentence(found.title)}"
        yield from ((frame, f"{title}; see frame {first}.") for frame in others)
    for place, slow in enumerate(remarks.slowest, 1):
        which = f"pcapnfs slow call {place} of {len(remarks.slowest)}: {_what(slow)}"
        took, usual = units.duration(slow.srt_s), _usual(slow)
        if slow.reply_frame == slow.call_frame:
            yield slow.call_frame, f"{which} took {took} ({usual})."
            continue
        yield slow.call_frame, f"{which} takes {took} ({usual}), to frame {slow.reply_frame}."
        yield slow.reply_frame, f"{which} took {took} ({usual}), from frame {slow.call_frame}."
    for begun in remarks.phases:
        yield begun.frame, _phase(begun)


def _finding(found: Finding) -> str:
    title = sentence(found.title)
    parts = [f"pcapnfs {found.severity} {found.id}: {title}."]
    if found.about:
        parts.append(f"{' → '.join(escape(address) for address in found.about)}.")
    if found.cost_s is not None:
        share = "" if found.cost_share is None else f", {units.share(found.cost_share)} of the time"
        parts.append(f"Costs {units.duration(found.cost_s)}{share}.")
    parts += [sentence(found.evidence), sentence(found.why)]
    parts += [f"Do: {sentence(advice.action)}" for advice in found.advice[:1]]
    return " ".join(part for part in parts if part)


def _what(slow: SlowCall) -> str:
    if slow.path is None:
        return escape(slow.op)
    return f"{escape(slow.op)} of {shorten(escape(rooted(slow.path)), LONGEST_PATH)}"


def _usual(slow: SlowCall) -> str:
    """What others of its operation took; how often it was sent, if more than once."""
    if slow.answered == 1:
        usual = "the only one of its kind"
    else:
        usual = (
            f"99th percentile {units.duration(slow.p99_s)}, median {units.duration(slow.p50_s)} "
            f"of {units.counted(slow.answered, 'call')}"
        )
    again = f", sent {units.count(slow.transmissions)} times" if slow.transmissions > 1 else ""
    return usual + again


def _phase(begun: Begun) -> str:
    phase = begun.phase
    text = (
        f"pcapnfs phase {begun.place} of {begun.phases} of {escape(phase.client)}: "
        f"{escape(phase.name)}; {units.counted(phase.calls, 'call')}"
    )
    if phase.files:
        text += f" on {units.counted(phase.files, 'file')}"
    text += f" in {units.duration(phase.budget.wall_s)}"
    if phase.pause_s > 0:
        text += f", after a pause of {units.duration(phase.pause_s)}"
    return f"{text}."
