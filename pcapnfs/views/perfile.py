"""The screens of `perfile`: files, or groups of them, and totals that hold every call once.

Takes a `PerFile` or `PerGroup`; gives renderables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import REMOVED, escape, rooted
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import frames, totals, unless_zero, volume
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.costs import Total
    from pcapnfs.analyses.by_file.perfile import FileCost, PerFile
    from pcapnfs.analyses.by_file.pergroup import GroupCost, PerGroup

_FILE_COLUMNS = (
    Column("file", align="left", least=44),
    Column("calls"),
    Column("stable"),
    Column("time"),
    Column("stable time", 4),
    Column("as parent", 3),
    Column("read", 2),
    Column("written", 2),
    Column("size", 5),
    Column("errors", 1),
    Column("revalidated", 9),
    Column("resent", 6),
    Column("frames", 3),
    Column("lifetime", 7),
    Column("operations", 8, align="left", least=24, cut="end"),
)

_GROUP_COLUMNS = (
    Column("", align="left", least=30),
    Column("files"),
    Column("calls"),
    Column("stable"),
    Column("time"),
    Column("stable time", 4),
    Column("read", 1),
    Column("written", 1),
    Column("errors", 2),
    Column("revalidated", 3),
    Column("resent", 6),
    Column("frames", 5),
)

_NO_GROUP = {
    "export": "(export not known)",
    "extension": "(no extension)",
    "uid": "(no user)",
}
"""What the group is called that has no name."""

_GROUPS = {
    "directory": ("directory", "directories"),
    "export": ("export", "exports"),
    "client": ("client", "clients"),
    "uid": ("user", "users"),
    "extension": ("extension", "extensions"),
}


def files(result: PerFile) -> RenderableType:
    """A row for each file."""
    if not result.listed.files:
        return _none(result)
    rows = (_file_row(file) for file in result.files)
    more = (result.shown.files or 0) < (result.listed.files or 0)
    return Group(
        FittedTable(_FILE_COLUMNS, rows, naming=True),
        Text(""),
        _totals(result, [("shown", result.shown)] if more else []),
    )


def groups(result: PerGroup) -> RenderableType:
    """A row for each group."""
    if not result.listed.files:
        return _none(result)
    title = _GROUPS[result.by][0]
    columns = (Column(title, align="left", least=30), *_GROUP_COLUMNS[1:])
    parts: list[RenderableType] = [
        FittedTable(columns, (_group_row(result.by, group) for group in result.groups), naming=True)
    ]
    hidden = result.group_count - len(result.groups)
    if hidden:
        parts.append(
            Text(f"{units.counted(hidden, *_more(result.by))} (--top 0 shows all)", style="dim")
        )
    return Group(*parts, Text(""), _totals(result, []))


def _none(result: PerFile | PerGroup) -> RenderableType:
    """Why there is no row, and the totals."""
    if result.listed.files is None:
        why = "Which files is not known: calls do not tell, or their handles could not be read."
    elif result.not_matched.files:
        why = "No file matches."
    elif result.left_out.files:
        why = "No file but those that --all shows."
    else:
        why = "No call is about a file."
    return Group(Prose(why), Text(""), _totals(result, []))


def _more(by: str) -> tuple[str, str]:
    one, many = _GROUPS[by]
    return f"more {one}", f"more {many}"


def _totals(result: PerFile | PerGroup, shown: list[tuple[str, Total]]) -> RenderableType:
    matched = bool(result.not_matched.files or result.not_matched.calls)
    lines = [*shown, ("files that match" if matched else "all files", result.listed)]
    if matched:
        lines.append(("files that do not match", result.not_matched))
    if result.left_out.calls:
        lines.append(("not found, unnamed, above an export (--all)", result.left_out))
    if result.without_file.calls:
        lines.append(("calls on no file", result.without_file))
    if len(lines) > 1:
        lines.append(("total", result.total))
    return totals(lines)


def _file_row(file: FileCost) -> list[str]:
    return [
        escape(rooted(file.path)) + (REMOVED if file.removed else ""),
        units.count(file.calls),
        unless_zero(file.stable_calls),
        units.taken(file.time_s),
        units.taken(file.stable_s) if file.stable_calls else units.duration(0),
        unless_zero(file.directory_calls),
        volume(file.bytes_read),
        volume(file.bytes_written),
        units.size(file.size_bytes),
        unless_zero(file.errors),
        unless_zero(file.revalidations),
        unless_zero(file.retransmitted),
        frames(file.first_frame, file.last_frame),
        units.duration(file.lifetime_s),
        " ".join(f"{escape(op)} {number}" for op, number in file.ops.items()),
    ]


def _group_row(by: str, group: GroupCost) -> list[str]:
    return [
        _NO_GROUP[by] if group.group is None else escape(rooted(group.group)),
        units.count(group.files),
        units.count(group.calls),
        unless_zero(group.stable_calls),
        units.taken(group.time_s),
        units.taken(group.stable_s) if group.stable_calls else units.duration(0),
        volume(group.bytes_read),
        volume(group.bytes_written),
        unless_zero(group.errors),
        unless_zero(group.revalidations),
        unless_zero(group.retransmitted),
        frames(group.first_frame, group.last_frame),
    ]
