"""The block of `summarize` on exports, where a capture shows several of a server.

Takes `Exports`; gives a renderable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group

from pcapnfs import units
from pcapnfs.text import escape
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import note, unless_zero

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.servers.exports import Exports, ExportTimes

SHOWN = 5
"""Exports that have a row; the others are counted."""

_COLUMNS = (
    Column("", align="left", least=24),
    Column("clients", 3),
    Column("calls"),
    Column("stable"),
    Column("time", 1),
    Column("of clock", 4),
    Column("median small"),
    Column("median stable"),
)


def several(result: Exports) -> bool:
    """Whether calls were made at more than one."""
    return len(result.exports) > 1


def block(result: Exports) -> RenderableType:
    """Those that took longest, with the medians of small and of stable calls."""
    shown = result.exports[:SHOWN]
    parts: list[RenderableType] = [FittedTable(_COLUMNS, [_row(each) for each in shown], indent=2)]
    if told := more(result, len(shown)):
        parts.append(note(f"Not shown: {told} (perfile --by export --top 0)."))
    return Group(*parts)


def more(result: Exports, shown: int) -> str:
    """How many are not shown; nothing where all are."""
    hidden = result.export_count - shown
    return units.counted(hidden, "more export") if hidden > 0 else ""


def _row(each: ExportTimes) -> list[str]:
    return [
        escape(each.export),
        units.count(each.clients),
        units.count(each.calls),
        unless_zero(each.stable_calls),
        units.taken(each.time_s),
        units.taken(each.clock_s),
        "" if each.small_median_s is None else units.duration(each.small_median_s),
        "" if each.stable_median_s is None else units.duration(each.stable_median_s),
    ]
