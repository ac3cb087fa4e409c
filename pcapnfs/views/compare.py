"""The screen of `compare`: what changed, what explains it, and how well it was foretold.

Takes a `Comparison`; gives renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pcapnfs import units
from pcapnfs.text import escape, rooted, sentence, some
from pcapnfs.views import changed_figures, clients_compared, differences, run_time_changed
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note
from pcapnfs.views.patterns import KINDS
from pcapnfs.views.remarks import remarks

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.comparison.clients import ClientForetold
    from pcapnfs.comparison.comparing import Comparison, Run
    from pcapnfs.comparison.matching import FindingChange

OPERATIONS = 16
"""Operations on the screen; JSON has all."""

EXPORTS = 8
"""Exports on the screen; JSON has all."""


def screen(result: Comparison) -> RenderableType:
    """Both runs, causes, steps, forecasts, operations, files, patterns, findings."""
    return Group(
        note(run_time_changed.in_a_sentence(result), indent=0, style="bold"),
        _runs(result),
        *(note(told, indent=0) for told in remarks(result)),
        *_clients(result),
        heading("What must have changed"),
        *_causes(result),
        heading("What the difference is made of"),
        *_steps(result),
        heading("Forecast from BEFORE"),
        *_foretold(result),
        heading("Operations"),
        *_operations(result),
        *_exports(result),
        heading("Files"),
        *_files(result),
        heading("Patterns"),
        *_patterns(result),
        heading("Findings"),
        *_findings(result.findings),
    )


def _runs(result: Comparison) -> RenderableType:
    columns = [
        Column("", align="left"),
        Column("run time"),
        Column("files", 1),
        Column("calls"),
        Column("stable", 2),
        Column("captured at", 3, align="left"),
        Column("capture", align="left", least=16),
    ]
    before, after = differences.captures(result)
    rows = [_run("BEFORE", result.before, before), _run("AFTER", result.after, after)]
    return FittedTable(columns, rows)


def _run(title: str, run: Run, captures: tuple[str, ...]) -> list[str]:
    return [
        title,
        units.duration(run_time_changed.run_s(run)),
        units.count(run.files if run.of_files else None),
        "mount" if run_time_changed.mount_alone(run) else units.count(run.calls),
        units.count(run.stable_calls if run.of_files else None),
        run.vantage,
        some(captures, 1),
    ]


def _clients(result: Comparison) -> list[RenderableType]:
    """A row for each of several clients; nothing of one."""
    if not clients_compared.several(result):
        return []
    columns = [
        Column("client", align="left", least=17, cut="wrap"),
        Column("run time"),
        Column("difference"),
        Column("calls", 2),
        Column("stable", 3),
        Column("made of", align="left", least=24, cut="wrap"),
    ]
    rows = [
        [
            clients_compared.client(row),
            _both(*(units.duration(run.run_s if run else None) for run in (row.before, row.after))),
            changed_figures.signed(row.change_s),
            _both(*(units.count(run.calls if run else None) for run in (row.before, row.after))),
            _both(
                *(units.count(run.stable_calls if run else None) for run in (row.before, row.after))
            ),
            clients_compared.made_of(row),
        ]
        for row in clients_compared.shown_clients(result)
    ]
    told = clients_compared.about_clients(result)
    if (more := len(result.clients) - clients_compared.CLIENTS) > 0:
        told.append(f"{units.counted(more, 'more', 'more')} in JSON.")
    return [
        heading("Clients"),
        FittedTable(columns, rows, indent=2),
        *(note(line) for line in told),
    ]


def _causes(result: Comparison) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for cause in result.causes:
        title = Text(f"{differences.SUBJECTS[cause.subject]}: ", style="bold")
        title.append(f"{escape(cause.before)} → {escape(cause.after)}", style="not bold")
        title.append(f" ({differences.sure(cause, result)})", style="not bold dim")
        indented = Padding(title, (0, 0, 0, 2), expand=False)
        parts += [indented, note(f"{sentence(cause.evidence)}.", indent=4, style="dim")]
    return [*parts, *map(note, differences.about_causes(result))]


def _steps(result: Comparison) -> list[RenderableType]:
    if told := differences.no_steps(result):
        return [note(told)]
    columns = [
        Column("", align="left"),
        Column("before"),
        Column("after"),
        Column("run time"),
        Column("90 % of resamples", 2, align="left"),
        Column("", 1, align="left"),
    ]
    shown = differences.shown_steps(result)
    rows = [
        [
            differences.factor(step, result),
            units.named(step.factor, step.before),
            units.named(step.factor, step.after),
            changed_figures.signed(step.change_s),
            changed_figures.interval(step),
            "clear" if step.clear else "",
        ]
        for step in shown
    ]
    rows.append(["together", "", "", changed_figures.signed(result.change_s), "", ""])
    return [FittedTable(columns, rows, indent=2), note(differences.about_steps(result))]


def _both(before: str, after: str) -> str:
    """A figure on both sides."""
    return f"{before} → {after}"


def _foretold(result: Comparison) -> list[RenderableType]:
    if clients := clients_compared.foretold_clients(result):
        more = clients_compared.more_foretold(result)
        return [_foretold_clients(clients), *([note(more)] if more else [])]
    if not result.foretold:
        return [note(differences.not_foretold(result))]
    columns = [
        Column("given", align="left", least=24, cut="end"),
        Column("forecast"),
        Column("four in five runs", 1, align="left"),
        Column("measured"),
        Column("error"),
    ]
    rows = [
        [
            differences.given(each),
            units.duration(each.forecast_s),
            f"{units.duration(each.low_s)} to {units.duration(each.high_s)}",
            units.duration(each.measured_s),
            changed_figures.error(each.error),
        ]
        for each in result.foretold
    ]
    return [FittedTable(columns, rows, indent=2), *map(note, differences.about_foretold(result))]


def _foretold_clients(forecasts: list[tuple[str, ClientForetold]]) -> RenderableType:
    columns = [
        Column("client", align="left", least=15),
        Column("given", align="left", least=24, cut="end"),
        Column("forecast"),
        Column("measured"),
        Column("error"),
    ]
    rows = [
        [
            escape(client),
            differences.GIVEN_OF_CLIENT[each.given],
            units.duration(each.forecast_s),
            units.duration(each.measured_s),
            changed_figures.error(each.error),
        ]
        for client, each in forecasts
    ]
    return FittedTable(columns, rows, indent=2)


def _operations(result: Comparison) -> list[RenderableType]:
    operations = result.operations
    if not operations:
        return [note(differences.no_operations(result))]
    moved = [row for row in operations if row.verdict in ("faster", "slower")]
    others = [row for row in operations if row.verdict not in ("faster", "slower")]
    shown = (*moved, *others)[:OPERATIONS]
    # Without their version, two operations of one name could not be told apart.
    alike = len({row.op for row in shown}) < len(shown)
    columns = [
        Column("version", 0 if alike else 4, align="left"),
        Column("operation", align="left", least=16),
        Column("calls", 1),
        Column("median", 0),
        Column("p95", 3),
        Column("shift"),
        Column("chance", 2),
        Column("per call", align="left"),
    ]
    rows = [
        [
            row.version,
            escape(row.op),
            _both(units.count(row.calls_before), units.count(row.calls_after)),
            _both(units.duration(row.p50_before_s), units.duration(row.p50_after_s)),
            _both(units.duration(row.p95_before_s), units.duration(row.p95_after_s)),
            changed_figures.signed(row.shift_s),
            units.share(row.p),
            differences.verdict(row, operations),
        ]
        for row in shown
    ]
    told = differences.about_operations(result)
    if len(operations) > OPERATIONS:
        told += f" {units.counted(len(operations) - OPERATIONS, 'more', 'more')} in JSON."
    return [FittedTable(columns, rows, indent=2), note(told)]


def _exports(result: Comparison) -> list[RenderableType]:
    """Where both sides show several; else nothing."""
    if not result.exports:
        return []
    columns = [
        Column("calls", 2),
        Column("stable", 3),
        Column("time"),
        Column("difference", 1),
        Column("stable beyond small"),
        Column("export", align="left", least=16),
    ]
    rows = [
        [
            _both(units.count(row.calls_before), units.count(row.calls_after)),
            _both(units.count(row.stable_before), units.count(row.stable_after)),
            _both(units.taken(row.time_before_s), units.taken(row.time_after_s)),
            changed_figures.signed(row.time_after_s - row.time_before_s),
            _both(units.duration(row.beyond_before_s), units.duration(row.beyond_after_s)),
            escape(row.export),
        ]
        for row in result.exports[:EXPORTS]
    ]
    parts: list[RenderableType] = [heading("Exports"), FittedTable(columns, rows, indent=2)]
    if (more := len(result.exports) - EXPORTS) > 0:
        parts.append(note(f"{units.counted(more, 'more', 'more')} in JSON."))
    return parts


def _files(result: Comparison) -> list[RenderableType]:
    files, told = result.files, differences.about_files(result)
    if not files.files:
        return [note(told)]
    columns = [
        Column("calls", 1),
        Column("stable", 2),
        Column("time"),
        Column("difference"),
        Column("path", align="left", least=20),
    ]
    rows = (
        [
            _both(units.count(row.calls_before), units.count(row.calls_after)),
            _both(units.count(row.stable_before), units.count(row.stable_after)),
            _both(units.duration(row.time_before_s), units.duration(row.time_after_s)),
            changed_figures.signed(row.time_after_s - row.time_before_s),
            escape(rooted(row.path)),
        ]
        for row in files.files
    )
    return [note(told), FittedTable(columns, rows, indent=2)]


def _patterns(result: Comparison) -> list[RenderableType]:
    patterns, told = result.patterns, differences.about_patterns(result)
    if not patterns.patterns:
        return [note(told)]
    columns = [
        Column("", align="left"),
        Column("files"),
        Column("time per file", 1),
        Column("kind", 2, align="left"),
    ]
    rows = [
        [
            "" if row.where == "both" else row.where,
            _both(units.count(row.files_before), units.count(row.files_after)),
            _both(
                units.duration(row.time_per_file_before_s),
                units.duration(row.time_per_file_after_s),
            ),
            KINDS[row.kind][0],
        ]
        for row in patterns.patterns
    ]
    # In a column of their own, patterns that begin alike would look alike.
    below = [[Text(escape(row.pattern), style="italic")] for row in patterns.patterns]
    return [note(told), FittedTable(columns, rows, indent=2, below=below)]


def _findings(findings: tuple[FindingChange, ...]) -> list[RenderableType]:
    if not findings:
        return [note(differences.NO_FINDINGS)]
    columns = [
        Column("", align="left"),
        Column("costs"),
        Column("", 2, align="left"),
        Column("finding", align="left", least=36, cut="wrap"),
        Column("rule", 3, align="left"),
    ]
    rows = [
        [
            "" if row.where == "both" else row.where,
            _cost(row),
            row.severity,
            sentence(row.title),
            row.id,
        ]
        for row in findings
    ]
    return [FittedTable(columns, rows, indent=2)]


def _cost(row: FindingChange) -> str:
    """What it cost on both sides; empty where it costs no time on either."""
    if row.cost_before_s is None and row.cost_after_s is None:
        return ""
    return _both(units.duration(row.cost_before_s), units.duration(row.cost_after_s))
