"""What calls took at each export before and after, where both sides show several.

Takes what was counted at the exports of each side; gives a row for each that is on either. A server
may have another address after it was moved: exports are paired by their paths.
"""

from __future__ import annotations

from pcapnfs.analyses.servers.exports import Exports, ExportTimes
from pcapnfs.record import Record


class ExportChange(Record):
    """One export on both sides."""

    export: str
    """Its path; with its server as in `10.0.0.1:/home` where two servers of one side have it."""
    calls_before: int
    """Calls on its files before; 0 where that side has none, as all that follows."""
    calls_after: int
    """The same after."""
    stable_before: int
    """Those of them that were stable before."""
    stable_after: int
    """The same after."""
    time_before_s: float
    """Sum of their service times before, seconds."""
    time_after_s: float
    """The same after, seconds."""
    beyond_before_s: float | None
    """What the median stable call took longer than the median small one before, seconds: wherever
    it was captured, the network is in both. None without either."""
    beyond_after_s: float | None
    """The same after, seconds; None likewise."""


def export_changes(before: Exports, after: Exports) -> tuple[ExportChange, ...]:
    """Pair the exports, the largest difference of time first; nothing where a side shows one."""
    if not before.exports or not after.exports:
        return ()
    unique = _unique(before) and _unique(after)
    sides = [
        {_path(each) if unique else each.export: each for each in side.exports}
        for side in (before, after)
    ]
    rows = [_change(name, *(side.get(name) for side in sides)) for name in sides[0] | sides[1]]
    return tuple(
        sorted(rows, key=lambda row: (-abs(row.time_after_s - row.time_before_s), row.export))
    )


def _unique(side: Exports) -> bool:
    """Whether no two servers have an export of one path."""
    return len({_path(each) for each in side.exports}) == len(side.exports)


def _path(each: ExportTimes) -> str:
    """The path of an export, without its server."""
    host = f"[{each.server}]" if ":" in each.server else each.server
    return each.export.removeprefix(f"{host}:")


def _change(name: str, before: ExportTimes | None, after: ExportTimes | None) -> ExportChange:
    return ExportChange(
        export=name,
        calls_before=before.calls if before else 0,
        calls_after=after.calls if after else 0,
        stable_before=before.stable_calls if before else 0,
        stable_after=after.stable_calls if after else 0,
        time_before_s=before.time_s if before else 0.0,
        time_after_s=after.time_s if after else 0.0,
        beyond_before_s=_beyond_s(before),
        beyond_after_s=_beyond_s(after),
    )


def _beyond_s(side: ExportTimes | None) -> float | None:
    if side is None or side.stable_median_s is None or side.small_median_s is None:
        return None
    return max(0.0, side.stable_median_s - side.small_median_s)
