"""A comparison of two runs as sections of a report: the same content as the screen, sortable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.text import rooted
from pcapnfs.views import (
    changed_figures,
    clients_compared,
    differences,
    numbered,
    run_time_changed,
)
from pcapnfs.views.patterns import KINDS
from pcapnfs.views.remarks import remarks
from pcapnfs.views.report.blocks import (
    Cell,
    Column,
    Facts,
    Paragraph,
    Section,
    count,
    name,
    quoted,
    share,
    steps,
    table,
    time,
    told,
    total,
    words,
)

if TYPE_CHECKING:
    from pcapnfs.comparison.clients import ClientForetold
    from pcapnfs.comparison.comparing import Comparison
    from pcapnfs.comparison.exports import ExportChange
    from pcapnfs.comparison.matching import FileChange
    from pcapnfs.views.report.blocks import Block


def title(result: Comparison) -> str:
    """What was compared."""
    before, after = map(_capture, differences.captures(result))
    return f"{before} and {after}"


def numbers(result: Comparison) -> str:
    """What its frame numbers mean."""
    if all(len(captures) < 2 for captures in differences.captures(result)):
        return numbered.OF_ONE
    return "Frame numbers of several captures are counted on from one to the next."


def sections(result: Comparison) -> tuple[Section, ...]:
    """The sections, from both runs to findings."""
    return (
        Section("runs", "Runs", _runs(result), ("calls", "stable")),
        *_clients(result),
        Section("causes", "What must have changed", _causes(result)),
        Section("steps", "What the difference is made of", _steps(result), ("persistence",)),
        Section("foretold", "Forecast from the run before", _foretold(result)),
        Section("operations", "Operations", _operations(result), ("srt",)),
        *_exports(result),
        Section("files", "Files", _files(result)),
        Section("patterns", "Patterns", _patterns(result)),
        Section("findings", "Findings", _findings(result)),
    )


def _capture(captures: tuple[str, ...]) -> str:
    if not captures:
        return "trace"
    more = f" and {len(captures) - 1} more" if len(captures) > 1 else ""
    return f"{told(captures[0], 40)}{more}"


def _runs(result: Comparison) -> tuple[Block, ...]:
    columns = (
        Column("run", "words"),
        Column("run time"),
        Column("files"),
        Column("calls"),
        Column("stable"),
        Column("captured at", "words"),
        Column("capture", "long"),
    )
    rows = [
        (
            words(title),
            time(run_time_changed.run_s(run)),
            total(run.files if run.of_files else None),
            words("mount") if run_time_changed.mount_alone(run) else total(run.calls),
            total(run.stable_calls if run.of_files else None),
            words(run.vantage),
            Cell(_capture(captures)),
        )
        for title, run, captures in zip(
            ("before", "after"),
            (result.before, result.after),
            differences.captures(result),
            strict=True,
        )
    ]
    return (
        Paragraph(run_time_changed.in_a_sentence(result), "verdict"),
        table("Both runs", columns, rows),
        *(Paragraph(remark, "warning") for remark in remarks(result)),
    )


def _clients(result: Comparison) -> tuple[Section, ...]:
    """A section for several clients; none of one."""
    if not clients_compared.several(result):
        return ()
    columns = (
        Column("client", "name"),
        Column("run time before"),
        Column("after"),
        Column("difference"),
        Column("made of", "long"),
        Column("calls before"),
        Column("after"),
        Column("stable before"),
        Column("after"),
    )
    rows = []
    # The sum comes first: of thousands of rows, a page has the first ones.
    for row in (*([result.together] if result.together else []), *result.clients):
        runs = (row.before, row.after)
        rows.append(
            (
                words(clients_compared.client(row)),
                *(time(run.run_s if run else None) for run in runs),
                Cell(changed_figures.signed(row.change_s), row.change_s),
                words(clients_compared.made_of(row)),
                *(total(run.calls if run else None) for run in runs),
                *(total(run.stable_calls if run else None) for run in runs),
            )
        )
    told = tuple(Paragraph(line, "note") for line in clients_compared.about_clients(result))
    found = table("What changed for each client", columns, rows)
    return (Section("clients", "Clients", (found, *told), ("calls", "stable")),)


def _causes(result: Comparison) -> tuple[Block, ...]:
    open_or_none = tuple(Paragraph(told) for told in differences.about_causes(result))
    if not result.causes:
        return open_or_none
    return (
        Facts(
            tuple(
                pair
                for cause in result.causes
                for pair in (
                    (
                        differences.SUBJECTS[cause.subject],
                        f"{quoted(cause.before)} → {quoted(cause.after)} "
                        f"({differences.sure(cause, result)})",
                    ),
                    ("", quoted(cause.evidence)),
                )
            )
        ),
        *open_or_none,
    )


def _steps(result: Comparison) -> tuple[Block, ...]:
    if nothing_told := differences.no_steps(result):
        return (Paragraph(nothing_told),)
    columns = (
        Column("factor", "words"),
        Column("before"),
        Column("after"),
        Column("run time"),
        Column("90 % of resamples"),
        Column("clear", "words"),
    )
    rows = [
        (
            words(differences.factor(step, result)),
            Cell(units.named(step.factor, step.before), step.before),
            Cell(units.named(step.factor, step.after), step.after),
            Cell(changed_figures.signed(step.change_s), step.change_s),
            words(changed_figures.interval(step)),
            words("clear" if step.clear else ""),
        )
        for step in differences.shown_steps(result)
    ]
    nothing, together = words(""), Cell(changed_figures.signed(result.change_s), result.change_s)
    rows.append((words("together"), nothing, nothing, together, nothing, nothing))
    return table("Steps from one run time to the other", columns, rows), Paragraph(
        differences.about_steps(result), "note"
    )


def _foretold(result: Comparison) -> tuple[Block, ...]:
    if clients := clients_compared.foretold_clients(result):
        more = clients_compared.more_foretold(result)
        found = _foretold_clients(clients)
        return (found, Paragraph(more, "note")) if more else (found,)
    if not result.foretold:
        return (Paragraph(differences.not_foretold(result)),)
    columns = (
        Column("given", "words"),
        Column("forecast"),
        Column("least"),
        Column("most"),
        Column("measured"),
        Column("error"),
    )
    rows = [
        (
            words(differences.given(each)),
            time(each.forecast_s),
            time(each.low_s),
            time(each.high_s),
            time(each.measured_s),
            Cell(changed_figures.error(each.error), each.error),
        )
        for each in result.foretold
    ]
    return (
        table("Forecasts of the run after, with what four in five runs take", columns, rows),
        *(Paragraph(line, "note") for line in differences.about_foretold(result)),
    )


def _foretold_clients(forecasts: list[tuple[str, ClientForetold]]) -> Block:
    columns = (
        Column("client", "name"),
        Column("given", "words"),
        Column("forecast"),
        Column("measured"),
        Column("error"),
    )
    rows = [
        (
            name(client),
            words(differences.GIVEN_OF_CLIENT[each.given]),
            time(each.forecast_s),
            time(each.measured_s),
            Cell(changed_figures.error(each.error), each.error),
        )
        for client, each in forecasts
    ]
    return table("Forecasts by client, made from the run before", columns, rows)


def _operations(result: Comparison) -> tuple[Block, ...]:
    columns = (
        Column("operation", "name"),
        Column("version", "words"),
        Column("calls before"),
        Column("after"),
        Column("median before"),
        Column("after"),
        Column("p95 before"),
        Column("after"),
        Column("shift"),
        Column("chance"),
        Column("time per call", "words"),
    )
    rows = [
        (
            name(row.op),
            words(row.version),
            count(row.calls_before),
            count(row.calls_after),
            time(row.p50_before_s),
            time(row.p50_after_s),
            time(row.p95_before_s),
            time(row.p95_after_s),
            Cell("" if row.shift_s is None else changed_figures.signed(row.shift_s), row.shift_s),
            share(row.p),
            words(differences.verdict(row, result.operations)),
        )
        for row in result.operations
    ]
    if not rows:
        return (Paragraph(differences.no_operations(result)),)
    return (
        table("Operations of either side", columns, rows),
        Paragraph(differences.about_operations(result), "note"),
    )


_COSTS = (
    Column("calls before"),
    Column("after"),
    Column("stable before"),
    Column("after"),
    Column("time before"),
    Column("after"),
    Column("difference"),
)
"""What calls on a file, or at an export, came to."""


def _calls(row: ExportChange | FileChange) -> tuple[Cell, ...]:
    return (
        count(row.calls_before),
        count(row.calls_after),
        count(row.stable_before),
        count(row.stable_after),
    )


def _difference(row: ExportChange | FileChange) -> Cell:
    difference_s = row.time_after_s - row.time_before_s
    return Cell(changed_figures.signed(difference_s), difference_s)


def _exports(result: Comparison) -> tuple[Section, ...]:
    """A section where both sides show several; else none."""
    if not result.exports:
        return ()
    columns = (
        Column("export", "name"),
        *_COSTS,
        Column("stable beyond small before"),
        Column("after"),
    )
    rows = (
        (
            name(row.export),
            *_calls(row),
            time(row.time_before_s or None),
            time(row.time_after_s or None),
            _difference(row),
            time(row.beyond_before_s),
            time(row.beyond_after_s),
        )
        for row in result.exports
    )
    found = table("Exports of either side", columns, rows)
    return (Section("exports", "Exports", (found,), ("export", "stable")),)


def _files(result: Comparison) -> tuple[Block, ...]:
    columns = (
        Column("path", "name"),
        *_COSTS,
    )
    rows = (
        (
            name(rooted(row.path)),
            *_calls(row),
            time(row.time_before_s),
            time(row.time_after_s),
            _difference(row),
        )
        for row in result.files.files
    )
    found = (table("Files whose time differs most", columns, rows),) if result.files.files else ()
    return (Paragraph(differences.about_files(result)), *found)


def _patterns(result: Comparison) -> tuple[Block, ...]:
    columns = (
        Column("pattern", "long"),
        Column("kind", "words"),
        Column("files before"),
        Column("after"),
        Column("time per file before"),
        Column("after"),
        Column("side", "words"),
    )
    rows = (
        (
            steps(row.pattern),
            words(KINDS[row.kind][0]),
            count(row.files_before),
            count(row.files_after),
            time(row.time_per_file_before_s),
            time(row.time_per_file_after_s),
            words("" if row.where == "both" else row.where),
        )
        for row in result.patterns.patterns
    )
    found = (table("Patterns of most files", columns, rows),) if result.patterns.patterns else ()
    return (Paragraph(differences.about_patterns(result)), *found)


def _findings(result: Comparison) -> tuple[Block, ...]:
    if not result.findings:
        return (Paragraph(differences.NO_FINDINGS),)
    columns = (
        Column("finding", "long"),
        Column("side", "words"),
        Column("severity", "words"),
        Column("cost before"),
        Column("after"),
        Column("rule", "name"),
    )
    rows = [
        (
            words(quoted(row.title)),
            words("" if row.where == "both" else row.where),
            words(row.severity),
            time(row.cost_before_s),
            time(row.cost_after_s),
            words(row.id),
        )
        for row in result.findings
    ]
    return (table("Findings of either side", columns, rows),)
