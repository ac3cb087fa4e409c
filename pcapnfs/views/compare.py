"""The screen of `compare`: what changed, what explains it, and how well it was foretold.

Takes a `Comparison`; gives renderables that fit 80 columns and use 140.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from pcapnfs import units
from pcapnfs.comparison.gaps import NOTICEABLE, broken_off
from pcapnfs.text import escape, sentence, some
from pcapnfs.views.columns import Column, FittedTable
from pcapnfs.views.parts import heading, note
from pcapnfs.views.words import lacks, one_way, plural, sealed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pcapnfs.comparison.comparing import Comparison, Run
    from pcapnfs.comparison.foretold import Foretold
    from pcapnfs.comparison.matching import FileChanges, FindingChange, PatternChanges
    from pcapnfs.comparison.waterfall import Step

NO_STEPS = "Not told: what the captures lack could make all of it."
"""Where there are no steps."""

CLOCK_S = 0.5e-9
"""Times are whole nanoseconds: what is less is what adding floats has left."""

NOTICED_S = 1.0
"""What mounting took is told from here on, seconds."""

OPERATIONS = 16
"""Operations on the screen; JSON has all."""

NOTHING = "Nothing that the traffic shows: neither settings nor storage."
NOTHING_TOLD = "Nothing that the traffic shows."
NOT_FORETOLD = "Not enough data: no files, or no round trip to go by, on both sides."
NO_FINDINGS = "None on either side."
MOUNTS_ALONE = "Both captures hold a mount alone, and no call for files"
NO_CALLS = "Neither capture holds a call for files"
"""What stands where there is nothing to list."""

SUBJECTS = {
    "version": "NFS version",
    "transport": "transport",
    "security": "security flavor",
    "attribute_cache": "attribute caching",
    "rsize": "rsize",
    "wsize": "wsize",
    "readdirplus": "directory listings",
    "sync": "sync",
    "nocto": "nocto",
    "stable_writes": "WRITEs",
    "storage": "the server's storage",
    "network_rtt": "network round trip",
}
"""What a cause is about."""

FACTORS = {
    "files": "files",
    "rpcs_per_file": "RPCs per file",
    "network_rtt_s": "network round trip",
    "server_s": "server, per small call",
    "rtt_s": "round trip",
    "syncops_per_file": "stable calls per file",
    "persist_s": "persistence of a stable call",
    "transfer_s": "transfer, per file",
    "waiting_s": "server not ready, per file",
    "other_s": "rest of the calls, per file",
    "concurrency": "calls at the same time",
    "client_s": "client, per call",
    "pauses_s": "pauses between calls",
}
"""What the factors are called."""

GIVEN = {
    "files": "the number of files",
    "set_up": "and AFTER's round trip and persistence",
    "calls": "and AFTER's calls per file",
}
"""What a forecast was given, one after the other."""


def screen(result: Comparison) -> RenderableType:
    """Both runs, causes, steps, forecasts, operations, files, patterns, findings."""
    return Group(
        _runs(result),
        note(in_a_sentence(result), indent=0, style="bold"),
        *(note(told, indent=0) for told in remarks(result)),
        heading("What must have changed"),
        *_causes(result),
        heading("What the difference is made of"),
        *_steps(result),
        heading("Foretold from BEFORE"),
        *_foretold(result.foretold),
        heading("Operations"),
        *_operations(result),
        heading("Files"),
        *_files(result.files),
        heading("Patterns"),
        *_patterns(result.patterns),
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
    rows = [_run("BEFORE", result.before), _run("AFTER", result.after)]
    return FittedTable(columns, rows)


def _run(title: str, run: Run) -> list[str]:
    return [
        title,
        units.duration(run_s(run)),
        units.count(run.files if run.calls else None),
        "mount" if mount_alone(run) else units.count(run.calls),
        units.count(run.stable_calls if run.calls else None),
        run.vantage,
        some(run.captures, 1),
    ]


def in_a_sentence(result: Comparison) -> str:
    """How the run time changed, or whose is not known."""
    runs = {"BEFORE": result.before, "AFTER": result.after}
    unknown = {title: run for title, run in runs.items() if not run.known}
    alone = {title: run for title, run in runs.items() if run.known and not run.calls}
    if len(alone) == len(runs):
        mounts = all(mount_alone(run) for run in runs.values())
        return f"{MOUNTS_ALONE if mounts else NO_CALLS}."
    if unknown or alone:
        each = [
            f"{title}'s run time is not known, since {_why_unknown(run)}"
            for title, run in unknown.items()
        ]
        each += [
            f"{title} holds {'a mount alone, and ' if mount_alone(run) else ''}no call for files"
            for title, run in alone.items()
        ]
        each += [
            f"{title} took {units.duration(run.run_s)}"
            for title, run in runs.items()
            if title not in unknown | alone
        ]
        return f"{'; '.join(each)}."
    before, after = units.duration(result.before.run_s), units.duration(result.after.run_s)
    if before == after:
        return f"Both runs took {after}."
    less = result.change_s < 0
    told = f"{before} became {after}: {units.duration(abs(result.change_s))} "
    told += "less" if less else "more"
    if result.factor:
        factor = 1 / result.factor if less else result.factor
        told += f", {units.number(factor)} times as {'fast' if less else 'long'}"
    return told + "."


def mount_alone(run: Run) -> bool:
    """Whether it was mounted, and nothing more."""
    return not run.calls and run.mounting_s > 0


def run_s(run: Run) -> float | None:
    """How long a run took, seconds; None where that is not known, or there was none."""
    return run.run_s if run.known and run.calls else None


def ran(result: Comparison) -> bool:
    """Whether there is a run on both sides: without calls for files there is none."""
    return bool(result.before.calls and result.after.calls)


def no_operations(result: Comparison) -> str:
    """What stands where no operation was answered."""
    if not (result.before.calls or result.after.calls):
        return "No call for files on either side."
    return "None was answered on either side."


def _why_unknown(run: Run) -> str:
    """Why nobody knows how long a run took, in a clause."""
    if not run.trust.matched:
        return "no call has its reply"
    if run.trust.mostly_unseen:
        return "most of its calls cannot be seen"
    return "its packets have no times"


def remarks(result: Comparison) -> list[str]:
    """What makes the sides unlike, besides what was changed."""
    told = []
    for title, run in (("BEFORE", result.before), ("AFTER", result.after)):
        if direction := one_way(run.trust):
            told.append(f"{title}: {direction[0].lower()}{direction[1:]}")
        told += [f"{title}: {sentence}" for sentence in sealed(run.trust)]
        missing = [
            *([] if direction else lacks(run.trust)),
            *(
                plural(number, one, many)
                for number, one, many in (
                    (run.trust.truncated_packets, "packet was cut", "packets were cut"),
                    (
                        run.trust.undecoded,
                        "message is not decoded to its end",
                        "messages are not decoded to their end",
                    ),
                )
                if number
            ),
        ]
        if missing:
            told.append(f"{title}: {', '.join(missing)}; what is counted there may be too little.")
    told += _mounting(result)
    vantages = {result.before.vantage, result.after.vantage}
    if len(vantages) > 1 and "unknown" not in vantages:
        told.append(
            "Captured at different places; times are those that the client saw, as far as known."
        )
    return told


def _mounting(result: Comparison) -> list[str]:
    """What mounting took, where users notice it and the capture shows it."""
    before, after = result.before.mounting_s, result.after.mounting_s
    known = result.before.known and result.after.known
    if not known or (max(before, after) < NOTICED_S and ran(result)):
        return []
    told = f"Mounting took {units.duration(before)} BEFORE and {units.duration(after)} AFTER"
    some = result.before.calls or result.after.calls
    return [f"{told}; it is no part of the run times." if some else f"{told}."]


def _causes(result: Comparison) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for cause in result.causes:
        title = Text(f"{SUBJECTS[cause.subject]}: ", style="bold")
        title.append(f"{escape(cause.before)} → {escape(cause.after)}", style="not bold")
        title.append(f" ({cause.confidence})", style="not bold dim")
        indented = Padding(title, (0, 0, 0, 2), expand=False)
        parts += [indented, note(f"{sentence(cause.evidence)}.", indent=4, style="dim")]
    return [*parts, *map(note, about_causes(result))]


def about_causes(result: Comparison) -> list[str]:
    """What is to be said where no cause is known, and of what is not known."""
    told = []
    if not result.causes:
        told.append(NOTHING_TOLD if result.left_open else NOTHING)
    if result.left_open:
        subjects = ", ".join(SUBJECTS[subject] for subject in result.left_open)
        told.append(f"Left open, as one side does not tell or has several: {subjects}.")
    return told


def no_steps(result: Comparison) -> str | None:
    """What stands where there are no steps; None where there are."""
    if not ran(result):
        return "Not told: without calls for files there is no run."
    return NO_STEPS if result.clear_from >= 1 else None


def _steps(result: Comparison) -> list[RenderableType]:
    if told := no_steps(result):
        return [note(told)]
    columns = [
        Column("", align="left"),
        Column("before"),
        Column("after"),
        Column("run time"),
        Column("90 % of resamples", 2, align="left"),
        Column("", 1, align="left"),
    ]
    shown = shown_steps(result)
    rows = [
        [
            FACTORS[step.factor],
            value(step.factor, step.before),
            value(step.factor, step.after),
            signed(step.change_s),
            interval(step),
            "clear" if step.clear else "",
        ]
        for step in shown
    ]
    rows.append(["together", "", "", signed(result.change_s), "", ""])
    return [FittedTable(columns, rows, indent=2), note(about_steps(result))]


def shown_steps(result: Comparison) -> list[Step]:
    """The steps of factors that differ."""
    return [
        step
        for step in result.steps
        if abs(step.change_s) >= CLOCK_S or abs(step.after - step.before) >= CLOCK_S
    ]


def about_steps(result: Comparison) -> str:
    """What the steps are."""
    whole = "" if result.by_file else "The sides count no files alike: each run is taken as one. "
    least = "a twentieth of the longer run or more"
    if result.clear_from > NOTICEABLE:
        least = (
            f"{units.share(result.clear_from)} of the longer run or more, as less may come of what "
            "the captures lack"
        )
    broken = ""
    if broken_off(result.before.trust, result.after.trust):
        broken = " As a capture is damaged, none is but those of single calls."
    return (
        f"{whole}The steps add up to the difference. Clear is one that is {least}, and no matter "
        f"of which files were slow.{broken}"
    )


def value(factor: str, number: float) -> str:
    """A factor with its unit."""
    return units.duration(number) if factor.endswith("_s") else units.number(number)


def signed(seconds: float | None) -> str:
    """A difference of times with its sign."""
    if seconds is None:
        return units.UNKNOWN
    if abs(seconds) < CLOCK_S:
        return units.duration(0.0)
    return f"+{units.duration(seconds)}" if seconds > 0 else units.duration(seconds)


def _both(before: str, after: str) -> str:
    """A figure on both sides."""
    return f"{before} → {after}"


def interval(step: Step) -> str:
    """What most resamples give for a step."""
    if step.low_s is None or step.high_s is None:
        return ""
    return f"{signed(step.low_s)} to {signed(step.high_s)}"


def _foretold(forecasts: tuple[Foretold, ...]) -> list[RenderableType]:
    if not forecasts:
        return [note(NOT_FORETOLD)]
    columns = [
        Column("given", align="left", least=24, cut="end"),
        Column("forecast"),
        Column("90 % of resamples", 1, align="left"),
        Column("measured"),
        Column("error"),
    ]
    rows = [
        [
            GIVEN[each.given],
            units.duration(each.forecast_s),
            ""
            if each.low_s is None
            else f"{units.duration(each.low_s)} to {units.duration(each.high_s)}",
            units.duration(each.measured_s),
            error(each.error),
        ]
        for each in forecasts
    ]
    return [FittedTable(columns, rows, indent=2)]


def error(part: float | None) -> str:
    """How far a forecast was off, with its sign."""
    if part is None:
        return units.UNKNOWN
    return f"+{units.share(part)}" if part > 0 else units.share(part)


def _operations(result: Comparison) -> list[RenderableType]:
    operations = result.operations
    if not operations:
        return [note(no_operations(result))]
    moved = [row for row in operations if row.verdict in ("faster", "slower")]
    others = [row for row in operations if row.verdict not in ("faster", "slower")]
    shown = (*moved, *others)[:OPERATIONS]
    # Without their version, two operations of one name could not be told apart.
    alike = len({row.op for row in shown}) < len(shown)
    columns = [
        Column("version", 0 if alike else 4, align="left"),
        Column("operation", align="left", least=16),
        Column("calls", 1),
        Column("p50", 0),
        Column("p95", 3),
        Column("shift"),
        Column("chance", 2),
        Column("", align="left"),
    ]
    rows = [
        [
            row.version,
            escape(row.op),
            _both(units.count(row.calls_before), units.count(row.calls_after)),
            _both(units.duration(row.p50_before_s), units.duration(row.p50_after_s)),
            _both(units.duration(row.p95_before_s), units.duration(row.p95_after_s)),
            signed(row.shift_s),
            units.share(row.p),
            row.verdict,
        ]
        for row in shown
    ]
    told = f"{plural(len(moved), 'operation', 'operations')} moved beyond chance."
    if len(operations) > OPERATIONS:
        told += f" {plural(len(operations) - OPERATIONS, 'more', 'more')} in JSON."
    return [FittedTable(columns, rows, indent=2), note(told)]


def about_files(files: FileChanges) -> str:
    """How paths were matched."""
    return (
        f"{plural(files.both, 'path', 'paths')} on both sides "
        f"({units.duration(files.both_before_s)} of service before, "
        f"{units.duration(files.both_after_s)} after), "
        f"{units.count(files.only_before)} only before "
        f"({units.duration(files.only_before_s)}), {units.count(files.only_after)} only after "
        f"({units.duration(files.only_after_s)})."
    )


def _files(files: FileChanges) -> list[RenderableType]:
    told = about_files(files)
    if not files.files:
        return [note(told)]
    columns = [
        Column("calls", 1),
        Column("stable", 2),
        Column("time"),
        Column("difference"),
        Column("path", align="left", least=20),
    ]
    rows = [
        [
            _both(units.count(row.calls_before), units.count(row.calls_after)),
            _both(units.count(row.stable_before), units.count(row.stable_after)),
            _both(units.duration(row.time_before_s), units.duration(row.time_after_s)),
            signed(row.time_after_s - row.time_before_s),
            escape(row.path),
        ]
        for row in files.files
    ]
    return [note(told), FittedTable(columns, rows, indent=2)]


def about_patterns(patterns: PatternChanges) -> str:
    """How patterns were matched."""
    return (
        f"{plural(patterns.both, 'pattern', 'patterns')} on both sides, "
        f"{units.count(patterns.came)} came, {units.count(patterns.went)} went."
    )


def _patterns(patterns: PatternChanges) -> list[RenderableType]:
    told = about_patterns(patterns)
    if not patterns.patterns:
        return [note(told)]
    columns = [
        Column("", align="left"),
        Column("files"),
        Column("time per file", 1),
        Column("kind", 2, align="left"),
        Column("pattern", align="left", least=24, cut="end"),
    ]
    rows = [
        [
            "" if row.where == "both" else row.where,
            _both(units.count(row.files_before), units.count(row.files_after)),
            _both(
                units.duration(row.time_per_file_before_s),
                units.duration(row.time_per_file_after_s),
            ),
            row.kind,
            escape(row.pattern),
        ]
        for row in patterns.patterns
    ]
    return [note(told), FittedTable(columns, rows, indent=2)]


def _findings(findings: tuple[FindingChange, ...]) -> list[RenderableType]:
    if not findings:
        return [note(NO_FINDINGS)]
    columns = [
        Column("", align="left"),
        Column("costs"),
        Column("", 2, align="left"),
        Column("finding", align="left", least=36, cut="end"),
        Column("rule", 3, align="left"),
    ]
    rows = [
        [
            "" if row.where == "both" else row.where,
            _both(units.duration(row.cost_before_s), units.duration(row.cost_after_s)),
            row.severity,
            sentence(row.title),
            row.id,
        ]
        for row in findings
    ]
    return [FittedTable(columns, rows, indent=2)]
