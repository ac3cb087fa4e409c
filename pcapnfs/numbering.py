"""Numbers that are unique within a trace, and how several traces are numbered consecutively.

Takes the metadata of traces; gives their highest numbers, their order, and their metadata combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pcapnfs import meta
from pcapnfs.record import replace

if TYPE_CHECKING:
    from pcapnfs.store import Stored

FRAME = "frame"
"""The kind of number that packets have."""

NUMBERS = {
    "call": "call",
    "connection": "connection",
    "mount": "mount",
    "file": "file",
    "identity": "file",
    "directory": "file",
    "target_directory": "file",
    "parent": "file",
    "frame": FRAME,
    "first_frame": FRAME,
    "call_first_frame": FRAME,
    "call_frame": FRAME,
    "reply_first_frame": FRAME,
    "reply_frame": FRAME,
}
"""Columns with numbers that are unique within a trace only, each with the kind of its numbers."""


def highest(written: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[str, int]:
    """The highest number of each kind, from what `_core.Writer.finish` says of the columns."""
    found = {kind: 0 for kind in NUMBERS.values() if kind != FRAME}
    for table in written.values():
        for column, number in table["highest"].items():
            kind = NUMBERS.get(column)
            if kind in found:
                found[kind] = max(found[kind], number)
    return found


def span(part: Stored, kind: str) -> int:
    """How far a part's numbers reach."""
    if kind == FRAME:
        return sum(file.packets for file in part.meta.files)
    return part.highest.get(kind, 0) + 1


def in_order(parts: Sequence[Stored]) -> list[Stored]:
    """Traces in the order of their first packets; those without packets come last."""
    return sorted(parts, key=lambda part: (part.meta.start_ns is None, part.meta.start_ns or 0))


def together(parts: Sequence[Stored]) -> meta.Meta:
    """What the decoders said of all parts; frames are counted on from one to the next."""
    files: list[meta.CaptureFile] = []
    packets: dict[str, int] = {}
    limits: dict[str, int] = {}
    before = 0
    vain: list[meta.Vain] = []
    for part in parts:
        vain += [replace(each, frame=each.frame + before) for each in part.meta.vain]
        files += [_moved(file, before) for file in part.meta.files]
        before += span(part, FRAME)
        for sums, more in ((packets, part.meta.packets), (limits, part.meta.limits_hit)):
            for kind, number in more.items():
                sums[kind] = sums.get(kind, 0) + number
    return meta.Meta(
        files=tuple(files),
        packets=dict(sorted(packets.items())),
        limits_hit=dict(sorted(limits.items())),
        calls=sum(part.meta.calls for part in parts),
        undecoded=sum(part.meta.undecoded for part in parts),
        nfs_calls=sum(part.meta.nfs_calls for part in parts),
        vlan_tags=max((part.meta.vlan_tags for part in parts), default=0),
        hidden=any(part.meta.hidden for part in parts),
        silent_connections=sum(part.meta.silent_connections for part in parts),
        refused_connections=sum(part.meta.refused_connections for part in parts),
        vain=tuple(vain),
        copies_apart=sum(part.meta.copies_apart for part in parts),
        # One number for all: that of the part where most of them are.
        apart_ns=max(parts, key=lambda part: part.meta.copies_apart).meta.apart_ns,
        parts=tuple(len(part.meta.files) for part in parts) if len(parts) > 1 else (),
    )


def _moved(file: meta.CaptureFile, before: int) -> meta.CaptureFile:
    """A file whose frames are counted on behind others."""

    def counted_on(frame: int | None) -> int | None:
        return None if frame is None else frame + before

    return replace(
        file,
        first_frame=counted_on(file.first_frame),
        last_frame=counted_on(file.last_frame),
        set_back_frame=counted_on(file.set_back_frame),
        set_forward_frame=counted_on(file.set_forward_frame),
        untold_pause_frame=counted_on(file.untold_pause_frame),
    )
