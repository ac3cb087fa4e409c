"""How the run time changed between two runs, in the words that the screen and the report share.

Takes a `Comparison` or a part of it; gives sentences, escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.changed_counts import with_files
from pcapnfs.diagnosis.first import tells_of_failure
from pcapnfs.views import counts

if TYPE_CHECKING:
    from pcapnfs.comparison.comparing import Comparison, Run
    from pcapnfs.comparison.waterfall import Step

MOUNTS_ALONE = "Both captures hold a mount alone, and no call for files"
NO_CALLS = "Neither capture holds a call for files"
"""What stands where there is no run."""

ASIDE = ("pauses_s", "waiting_s")
"""Factors that are no matter of the work: run times are told without them as well."""

ONCE = 1.005
"""Less times as long reads as 1.00 times."""


def in_a_sentence(result: Comparison) -> str:
    """How the run time changed, or whose is not known."""
    runs = {"BEFORE": result.before, "AFTER": result.after}
    unknown = {title: run for title, run in runs.items() if not run.known}
    alone = {title: run for title, run in runs.items() if run.known and not run.of_files}
    if len(alone) == len(runs):
        mounts = all(mount_alone(run) for run in runs.values())
        return f"{MOUNTS_ALONE if mounts else NO_CALLS}."
    if unknown or alone:
        each = [
            f"{title}'s run time is not known, since {_why_unknown(run)}"
            for title, run in unknown.items()
        ]
        each += [f"{title} holds {_mount(run)}no call for files" for title, run in alone.items()]
        each += [
            f"{title} took {units.duration(run.run_s)}"
            for title, run in runs.items()
            if title not in unknown | alone
        ]
        return f"{'; '.join(each)}."
    before, after = units.duration(result.before.run_s), units.duration(result.after.run_s)
    if not result.same_clients:
        return f"BEFORE took {before} and AFTER {after}, but the clients are not the same."
    files = for_each = ""
    if of_other_files := _of_other_files(result):
        number = units.counted(result.after.files, "file")
        files = f", for {number} instead of {units.count(result.before.files)}"
        for_each = _for_each(result)
    if before == after:
        return f"Both runs took {after}{files}.{for_each}"
    less = result.change_s < 0
    told = f"{before} became {after}: {units.duration(abs(result.change_s))} "
    told += "less" if less else "more"
    if result.factor and not of_other_files and _of_equal_work(result):
        told += _times(", ", result.factor)
    return f"{told}{files}.{_without(result)}{for_each}"


def _times(before: str, factor: float) -> str:
    """How many times as long, or as fast, behind a mark; nothing where that reads as once."""
    less = factor < 1
    times = 1 / factor if less else factor
    if times < ONCE:
        return ""
    return f"{before}{units.number(times)} times as {'fast' if less else 'long'}"


def _of_equal_work(result: Comparison) -> bool:
    """Whether nothing tells that one run did other work, or was ended by calls that failed.

    What ends early is not faster, and what does something else is neither faster nor slower.
    """
    if result.in_common is not None and result.in_common < counts.COMMON:
        return False
    return not any(
        row.where != "both" and tells_of_failure(row.id, row.severity) for row in result.findings
    )


def _of_other_files(result: Comparison) -> bool:
    """Whether one run was of clearly more files than the other, and calls went with them.

    To do less is not to be faster. Of other work, files are not those of the other run.
    """
    if result.in_common is not None and result.in_common < counts.COMMON:
        return False
    files = result.before.files, result.after.files
    return _clear(result, "files") is not None and with_files(result.operations, files)


def _for_each(result: Comparison) -> str:
    """What each file took, of runs of other numbers of files."""
    steps = aside(result)
    each = [
        max(0.0, run.run_s - sum(aside)) / (run.files or 1)
        for run, aside in (
            (result.before, (step.before for step in steps)),
            (result.after, (step.after for step in steps)),
        )
    ]
    before, after = (units.duration(time_s) for time_s in each)
    if before == after:
        return f" That is {after} for each file on both sides."
    ratio = _times(": ", each[1] / each[0]) if each[0] > 0 and each[1] > 0 else ""
    return f" For each file, {before} became {after}{ratio}."


def _clear(result: Comparison, factor: str) -> Step | None:
    """The step of a factor, where it is a clear one."""
    found = (step for step in result.steps if step.factor == factor and step.clear)
    return next(found, None)


def aside(result: Comparison) -> list[Step]:
    """The steps of what is no matter of the work, where they are clear."""
    return [step for factor in ASIDE if (step := _clear(result, factor)) is not None]


def _without(result: Comparison) -> str:
    """The run times without what is no matter of the work, where that makes a clear part."""
    steps = aside(result)
    if not steps:
        return ""
    paused, waited = (_clear(result, factor) for factor in ASIDE)
    left = "pauses of a second or more, in which perhaps nothing was run," if paused else ""
    if waited:
        left += " and the wait" if left else "the wait"
        left += " for a server that was not ready or did not answer,"
    before = result.before.run_s - sum(step.before for step in steps)
    after = result.after.run_s - sum(step.after for step in steps)
    return (
        f" Without {left} {units.duration(max(0.0, before))} became "
        f"{units.duration(max(0.0, after))}."
    )


def _why_unknown(run: Run) -> str:
    """Why nobody knows how long a run took, in a clause."""
    if not run.trust.matched:
        return "no call has its reply"
    if run.trust.mostly_unseen:
        return "most of its calls cannot be seen"
    return "its packets have no times"


def _mount(run: Run) -> str:
    """What a capture without calls for files holds of a mount."""
    if run.refused:
        return "a mount that came to nothing, and "
    return "a mount alone, and " if mount_alone(run) else ""


def mount_alone(run: Run) -> bool:
    """Whether it was mounted, and nothing more."""
    return not run.of_files and (run.mounting_s > 0 or run.refused)


def run_s(run: Run) -> float | None:
    """How long a run took, seconds; None where that is not known, or there was none."""
    return run.run_s if run.known and run.of_files else None


def ran(result: Comparison) -> bool:
    """Whether there is a run on both sides: without calls for files there is none."""
    return result.before.of_files and result.after.of_files
