"""TCP windows that were full, on one side or with another size.

Takes two sides; gives the window that changed, with how long its sender stood. A window is told
only where a finding says that it cost time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.wire.full_windows import GROWN
from pcapnfs.comparison.cause import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.analyses.wire.full_windows import FullWindow
    from pcapnfs.comparison.side import Side

FINDING = "full_window"
"""The finding on a window that held data down."""

MOVED = 0.5
"""Part of what the side with the full window moved that the other must have, to tell that none was
full there."""


def window(before: Side, after: Side) -> Iterator[Cause]:
    """The costliest full window, where the other side had none, or one of another size.

    Of windows less than `GROWN` times apart nothing is said: a buffer as large gives either.
    """
    found = _told(before) or _told(after)
    if found is None:
        return
    first, second = (_told(side, found) for side in (before, after))
    if first is None or second is None:
        mine, other = (after, before) if first is None else (before, after)
        if other.moved_bytes < MOVED * mine.moved_bytes or not other.windows_told:
            return
        if not _is_slower(found, other):
            return
    elif max(first.window_bytes, second.window_bytes) < GROWN * min(
        first.window_bytes, second.window_bytes
    ):
        return
    sender = "server" if found.receiver == "client" else "client"
    yield Cause(
        "window",
        _words(first, found),
        _words(second, found),
        "likely",
        f"the {sender} stood for {_stood(first)} before and {_stood(second)} after since that "
        "window was full",
    )


def _is_slower(window: FullWindow, other: Side) -> bool:
    """Whether such a window would let data through slower than it moved on the other side.

    Over that side's path and connections: where the same window lets as much through, the path or
    the connections are what changed. Where less moved though nothing of these did, another change
    left the window as the next limit, as where segments are lost no more.
    """
    rtt_s = other.way.rtt_s or window.rtt_s
    turn_s = window.turn_s * min(1.0, rtt_s / window.rtt_s)
    connections = max(window.busy_connections, other.habits.connections or 1)
    most = window.window_bytes / turn_s * connections
    return most * other.measured.moving_s < other.moved_bytes


def _told(side: Side, like: FullWindow | None = None) -> FullWindow | None:
    """The costliest of a side of which a finding tells, of the same receiver as another."""
    if like is None and not any(found.id == FINDING for found in side.findings):
        return None
    alike = (
        each
        for each in side.measured.full_windows
        if like is None or each.receiver == like.receiver
    )
    return next(alike, None)


def _words(window: FullWindow | None, like: FullWindow) -> str:
    if window is None:
        return "none that was full"
    return f"the {like.receiver}'s, full at {units.size(window.window_bytes)}"


def _stood(window: FullWindow | None) -> str:
    return "no time" if window is None else units.duration(window.stood_s)
