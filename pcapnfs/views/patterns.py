"""The screen of `patterns`, and its block in `summarize`.

Takes a `Patterns`; gives renderables. Each class is a row of numbers with its pattern below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, rooted
from pcapnfs.views.columns import Below, Column, FittedTable
from pcapnfs.views.parts import frames, totals
from pcapnfs.views.prose import Prose

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.analyses.by_file.patterns import Example, PatternClass, Patterns, Run

IN_SUMMARY = 3
"""Classes that the block in `summarize` shows."""

RUNS_IN_SUMMARY = 12
"""Runs of a pattern that it shows."""

KINDS = {
    "file": ("file", "files"),
    "directory": ("directory", "directories"),
    "absent": ("name not found", "names not found"),
    "untold": ("name without an answer", "names without an answer"),
    "pseudo": ("above the export", "above the export"),
    "other": ("other object", "other objects"),
    "unknown": ("of unknown type", "of unknown type"),
}
"""What a role is called beside a number."""

_COLUMNS = (
    Column("", align="left"),
    Column("of time"),
    Column("time", 2),
    Column("calls each"),
    Column("stable each"),
    Column("time each"),
    Column("stable time", 5),
    Column("lifetime each", 4),
    Column("calls", 3),
)


def screen(result: Patterns) -> RenderableType:
    """All classes asked for, and the totals."""
    parts: list[RenderableType] = []
    if result.classes:
        rows = (_row(each) for each in result.classes)
        parts += [
            FittedTable(_COLUMNS, rows, below=Below(result.classes, _below), naming=True),
            Text(""),
        ]
    lines = []
    hidden = (result.class_count or 0) - len(result.classes)
    if hidden:
        lines.append(
            (units.counted(len(result.classes), "pattern shown", "patterns shown"), result.shown)
        )
        lines.append((units.counted(hidden, "other pattern"), result.others))
    else:
        lines.append((units.counted(len(result.classes), "pattern"), result.shown))
    if result.without_file.calls:
        lines.append(("calls on no file", result.without_file))
    if len(lines) > 1:
        lines.append(("total", result.total))
    parts.append(totals(lines))
    return Group(*parts)


def block(result: Patterns) -> RenderableType:
    """The classes that took longest."""
    columns = (
        Column("", align="left"),
        Column("of time"),
        Column("calls each"),
        Column("stable each"),
        Column("time each"),
    )
    rows, below = [], []
    for each in result.classes[:IN_SUMMARY]:
        cut = each.pattern.endswith("…") or len(each.runs) > RUNS_IN_SUMMARY
        rows.append(
            [
                _kind(each),
                units.share(each.time_share),
                units.number(each.calls_per_file),
                units.number(each.stable_per_file),
                units.taken(each.time_per_file_s),
            ]
        )
        below.append([Text(steps(each.runs[:RUNS_IN_SUMMARY], cut=cut), style="italic")])
    return FittedTable(columns, rows, indent=2, below=below)


def steps(runs: tuple[Run, ...], *, cut: bool) -> str:
    """A pattern in words: `CREATE SETATTR×3 WRITE[UNSTABLE]×2–17`."""
    return " ".join([*(_run(run) for run in runs), *(["…"] if cut else [])])


def _run(run: Run) -> str:
    step = escape(run.step)
    if run.most == 1:
        return step
    if run.least == run.most:
        return f"{step}×{run.most}"
    return f"{step}×{run.least}–{run.most}"


def _kind(each: PatternClass) -> str:
    return units.counted(each.files, *KINDS[each.kind])


def _row(each: PatternClass) -> list[str]:
    return [
        _kind(each),
        units.share(each.time_share),
        units.taken(each.time_s),
        units.number(each.calls_per_file),
        units.number(each.stable_per_file),
        units.taken(each.time_per_file_s),
        units.duration(each.stable_s),
        units.duration(each.lifetime_s),
        units.count(each.calls),
    ]


def _below(each: PatternClass) -> list[Text]:
    return [
        Text(steps(each.runs, cut=each.pattern.endswith("…")), style="italic"),
        Prose(_examples(each), style="dim"),
    ]


def _examples(each: PatternClass) -> str:
    first = _example(each.example)
    if each.files == 1 or each.slowest.file == each.example.file:
        return first
    return f"{first}; the slowest: {_example(each.slowest)}, {units.taken(each.slowest.time_s)}"


def _example(example: Example) -> str:
    return (
        f"{escape(rooted(example.path))} (frames {frames(example.first_frame, example.last_frame)})"
    )
