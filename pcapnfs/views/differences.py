"""What changed between two runs, in the words that the screen and the report share.

Takes a `Comparison` or a part of it; gives sentences, escaped.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.changed_counts import with_files
from pcapnfs.comparison.changed_times import TIMES
from pcapnfs.comparison.gaps import NOTICEABLE, broken_off
from pcapnfs.comparison.side import SERVERS
from pcapnfs.text import some
from pcapnfs.views import counts
from pcapnfs.views.changed_figures import CLOCK_S
from pcapnfs.views.clients_compared import NAMED, OTHER_CLIENTS, several, whose_runs
from pcapnfs.views.trust import lacks, one_way, sealed

if TYPE_CHECKING:
    from pcapnfs.comparison.cause import Cause
    from pcapnfs.comparison.comparing import Comparison, Run
    from pcapnfs.comparison.foretold import Foretold
    from pcapnfs.comparison.waterfall import Step

NO_STEPS = "Not told: what the captures lack could make all of it."
"""Where there are no steps."""

OTHER_WORK = (
    "The runs hardly have a file or a pattern of calls in common: what each took is of other work."
)
"""Where they have less."""

NOTHING = "Nothing that the traffic shows: neither settings nor storage."
NO_SETTING = "No setting that the traffic shows."
PERSISTENCE = "Persistence moved (below), by less than what tells another storage."
PERSISTENCE_FAR = (
    "Persistence moved (below), but that tells no other storage: stable calls that both sides have "
    "are too few, moved too little or too differently, or no further than other calls."
)
"""The same where the means are so far apart that less would not be said of them."""
NOTHING_TOLD = "Nothing that the traffic shows."
NOTHING_WITHOUT_RUN = (
    "Nothing that the traffic shows: without calls for files there is little to tell it by."
)
NOTHING_BUT_COUNTS = "No setting that the traffic shows by itself."
NOTHING_TOGETHER = "Nothing that the traffic of each client, or of all together, shows."
BY_CLIENT = "See Clients above: figures of all taken together would fit none of them."
"""Where there are neither steps nor forecasts for that."""

NOT_FORETOLD = (
    "Not enough data: no files that calls go with, no round trip to go by, or no telling which "
    "calls were stable, on both sides."
)
NOT_FORETOLD_LACKING = "Not foretold: what the captures lack could make all of the difference."
FORETOLD_OF_NONE = (
    "Not enough data: of each client, fewer than 30 stable calls tell what storage takes."
)
NO_FINDINGS = "None on either side."
MOUNTS_ALONE = "Both captures hold a mount alone, and no call for files"
NO_CALLS = "Neither capture holds a call for files"
"""What stands where there is nothing to list."""

VERDICTS = {"few": "too few"}
"""What of an operation's change is said in more words than in JSON."""

SUBJECTS = {
    "version": "NFS version",
    "transport": "transport",
    "security": "security flavor",
    "connections": "connections of a client",
    "pnfs": "data (pNFS)",
    "streams": "programs",
    "client_software": "client's software",
    "server_software": "server's software",
    "delegations": "delegations",
    "attribute_cache": "attribute caching",
    "name_cache": "caching of names",
    "rsize": "rsize",
    "wsize": "wsize",
    "readdirplus": "directory listings",
    "acls": "ACLs",
    "local_lock": "locks",
    "sync": "sync",
    "nocto": "nocto",
    "stable_writes": "WRITEs",
    "storage": "the server's storage",
    "server_reads": "what the server reads",
    "network_rtt": "network round trip",
    "path": "the path",
    "loss": "the network's loss",
    "grace": "the server's grace period",
    "locks": "locks",
    "server_in_turn": "the server",
    "server_service": "what the server takes for each call",
    "bandwidth": "how fast data moves",
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
    "other_s": "rest of the calls, per file",
    "concurrency": "calls at the same time",
    "client_s": "client, per file",
    "pauses_s": "pauses between calls",
    "waiting_s": "waiting for the server",
    "lost_s": "waiting for lost packets",
    "locks_s": "waiting for locks",
}
"""What the factors are called."""

ALONE = "persistence of a call alone"
"""What it is called without what calls waited for others."""

OF_THE_RUN = {
    "rpcs_per_file": "calls",
    "syncops_per_file": "stable calls",
    "transfer_s": "transfer, all calls",
    "other_s": "rest of the calls",
    "client_s": "client, between calls",
}
"""What those are called that are for the run, where it is taken as one."""

ASIDE = ("pauses_s", "waiting_s")
"""Factors that are no matter of the work: run times are told without them as well."""

HELD = {"pauses_s": "pauses", "waiting_s": "wait for the server"}
"""What these are called where forecasts hold them."""

GIVEN = {
    "files": "the number of files",
    "set_up": "and AFTER's RTT, persistence",
    "calls": "and AFTER's calls per file",
    "overlap": "and as many at once as AFTER",
}
"""What a forecast was given, one after the other."""

GIVEN_OF_CLIENT = {
    "set_up": "AFTER's RTT, persistence",
    "calls": "and AFTER's calls",
    "overlap": "and as many at once",
}
"""The same of one of several clients, and of runs that tell of no files."""


def captures(result: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The captures of both runs, without the directories that all of them are in; not escaped."""
    runs = (result.before, result.after)
    paths = [[path.rstrip("/").split("/") for path in run.captures] for run in runs]
    folders = [path[:-1] for run in paths for path in run]
    shared = [*takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))]
    # Without the root alone, what is left would look relative.
    common = len(shared) if any(map(any, shared)) else 0
    before, after = (tuple("/".join(path[common:]) for path in run) for run in paths)
    return before, after


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
    if result.factor and not of_other_files:
        told += f", {_times(result.factor)}"
    return f"{told}{files}.{_without(result)}{for_each}"


def _times(factor: float) -> str:
    """How many times as long, or as fast."""
    less = factor < 1
    return f"{units.number(1 / factor if less else factor)} times as {'fast' if less else 'long'}"


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
    steps = _aside(result)
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
    ratio = f": {_times(each[1] / each[0])}" if each[0] > 0 and each[1] > 0 else ""
    return f" For each file, {before} became {after}{ratio}."


def _clear(result: Comparison, factor: str) -> Step | None:
    """The step of a factor, where it is a clear one."""
    found = (step for step in result.steps if step.factor == factor and step.clear)
    return next(found, None)


def _aside(result: Comparison) -> list[Step]:
    """The steps of what is no matter of the work, where they are clear."""
    return [step for factor in ASIDE if (step := _clear(result, factor)) is not None]


def _without(result: Comparison) -> str:
    """The run times without what is no matter of the work, where that makes a clear part."""
    steps = _aside(result)
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


def given(each: Foretold) -> str:
    """What a forecast was given, in words."""
    return (GIVEN_OF_CLIENT if each.files is None else GIVEN)[each.given]


def about_foretold(result: Comparison) -> list[str]:
    """What forecasts hold that may be no matter of the run; nothing where that is alike."""
    return [
        f"Each forecast holds BEFORE's {HELD[step.factor]}, {units.duration(step.before)}; AFTER "
        f"had {units.duration(step.after)} of {'them' if step.factor == 'pauses_s' else 'it'}."
        for step in _aside(result)
    ]


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


def no_operations(result: Comparison) -> str:
    """What stands where no operation was answered."""
    if not (result.before.of_files or result.after.of_files):
        return "No call for files on either side."
    return "None was answered on either side."


def no_steps(result: Comparison) -> str | None:
    """What stands where there are no steps; None where there are."""
    if not ran(result):
        return "Not told: without calls for files there is no run."
    if result.clear_from >= 1:
        return NO_STEPS
    return None if result.as_one else _by_client(result)


def not_foretold(result: Comparison) -> str:
    """What stands where nothing is foretold."""
    if ran(result) and result.clear_from >= 1:
        return NOT_FORETOLD_LACKING
    if result.as_one or not several(result):
        return NOT_FORETOLD
    both = any(row.where == "both" for row in result.clients)
    return FORETOLD_OF_NONE if both else OTHER_CLIENTS


def _by_client(result: Comparison) -> str:
    """Why steps and forecasts of all clients taken as one are not told."""
    both = any(row.where == "both" for row in result.clients)
    return BY_CLIENT if both else OTHER_CLIENTS


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
                units.counted(number, one, many)
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
    if result.in_common is not None and result.in_common < counts.COMMON:
        told.append(OTHER_WORK)
    told += _order(result) + _mounting(result) + _servers(result) + whose_runs(result)
    vantages = {result.before.vantage, result.after.vantage}
    if len(vantages) > 1 and "unknown" not in vantages:
        told.append(
            "Captured at different places; times are those that the client saw, as far as known; "
            "those of files and patterns as they were captured."
        )
    return told


def _order(result: Comparison) -> list[str]:
    """That the captures may have been named the wrong way round."""
    before, after = result.before.start, result.after.start
    # Beyond the calendar times are written otherwise.
    if before is None or after is None or before.startswith("@") or before <= after:
        return []
    # Two captures of one run, from both of its ends, have no order.
    apart = datetime.fromisoformat(before) - datetime.fromisoformat(after)
    if apart.total_seconds() < result.after.run_s:
        return []
    first, second = (units.moment(start) for start in (after, before))
    return [
        f"AFTER was captured first, at {first}, and BEFORE at {second} UTC: if they are the wrong "
        "way round, name them in the other order."
    ]


def sure(cause: Cause, result: Comparison) -> str:
    """How sure a cause is, and of several clients which it is told of."""
    if result.as_one:
        return cause.confidence
    both = sum(row.where == "both" for row in result.clients)
    if not cause.clients:
        whose = "all clients together" if both else "other clients on each side"
        return f"{cause.confidence}, of {whose}"
    whose = "each client" if 1 < both == len(cause.clients) else some(cause.clients, NAMED)
    return f"{cause.confidence}, of {whose}"


def about_causes(result: Comparison) -> list[str]:
    """What is to be said where no cause is known, and of what is not known."""
    told = []
    moved = _stored(result)
    if not result.causes and not result.as_one:
        told.append(NOTHING_TOGETHER)
    elif not result.causes:
        unchanged = NOTHING_TOLD if result.left_open else NOTHING
        if not ran(result):
            unchanged = NOTHING_WITHOUT_RUN
        often = counts.moved(result)
        if often is not None:
            unchanged = NOTHING_BUT_COUNTS
        elif unchanged == NOTHING and counts.other_work(result):
            unchanged = counts.OTHER_COUNTS
        told.append(f"{NO_SETTING} {moved}" if moved else unchanged)
        if often is not None:
            told.append(counts.told(often, result))
    else:
        subjects_told = {cause.subject for cause in result.causes}
        often = counts.moved(result) if result.as_one else None
        if often is not None and not subjects_told & counts.EXPLAIN_COUNTS:
            told.append(counts.told(often, result))
        if moved and "storage" not in subjects_told:
            told.append(moved)
    told += [
        f"{title} was not mounted: what the server refused stands among the findings."
        for title, run in (("BEFORE", result.before), ("AFTER", result.after))
        if run.refused
    ]
    if result.left_open:
        subjects = ", ".join(SUBJECTS[subject] for subject in result.left_open)
        both = any(row.where == "both" for row in result.clients)
        whose = "" if result.as_one or not both else " for some clients"
        told.append(
            f"Left open{whose}, because one side does not show it or shows several: {subjects}."
        )
    return told


def _stored(result: Comparison) -> str | None:
    """How far persistence moved, where it is a clear step."""
    for step in result.steps:
        if step.factor == "persist_s" and step.clear:
            shorter, longer = sorted((step.before, step.after))
            return PERSISTENCE if longer < TIMES * shorter else PERSISTENCE_FAR
    return None


def shown_steps(result: Comparison) -> list[Step]:
    """The steps of factors that differ."""
    return [
        step
        for step in result.steps
        if abs(step.change_s) >= CLOCK_S or abs(step.after - step.before) >= CLOCK_S
    ]


def factor(step: Step, result: Comparison) -> str:
    """What a step's factor is called."""
    whole = {} if result.by_file else OF_THE_RUN
    if step.alone:
        return ALONE
    return whole.get(step.factor, FACTORS[step.factor])


def about_steps(result: Comparison) -> str:
    """What the steps are."""
    whole = (
        ""
        if result.by_file
        else "Calls do not go with files on both sides: each run is taken as one. "
    )
    least = "a twentieth of the longer run or more"
    if result.clear_from > NOTICEABLE:
        least = (
            f"{units.share(result.clear_from)} of the longer run or more, as less may come of what "
            "the captures lack"
        )
    broken = ""
    if broken_off(result.before.trust, result.after.trust):
        broken = " As a capture is damaged, only steps of single calls can be clear."
    return (
        f"{whole}The steps add up to the difference. A step is clear if it is {least}, and does "
        "not depend on which files were slow; of network, server and persistence, if single calls "
        f"moved as well.{broken}"
    )


def about_operations(result: Comparison) -> str:
    """How many operations moved, and whose calls they are."""
    whose = _of_all(result, "Calls")
    if all(row.verdict in ("new", "gone") for row in result.operations):
        return f"{whose}No operation is on both sides."
    moved = sum(row.verdict in ("faster", "slower") for row in result.operations)
    if not moved:
        return f"{whose}No operation moved beyond chance."
    return f"{whose}{units.counted(moved, 'operation')} moved beyond chance."


def _of_all(result: Comparison, what: str) -> str:
    """Whose they are, where clients are told one by one elsewhere."""
    return "" if result.as_one else f"{what} of all clients together. "


def about_files(result: Comparison) -> str:
    """How paths were matched, and whose calls they are."""
    files = result.files
    alone = [
        f"{units.count(number)} only {when} ({units.duration(time_s)})"
        for number, when, time_s in (
            (files.only_before, "before", files.only_before_s),
            (files.only_after, "after", files.only_after_s),
        )
        if number
    ]
    told = (
        f"{units.counted(files.both, 'path')} on both sides "
        f"({units.duration(files.both_before_s)} of service before, "
        f"{units.duration(files.both_after_s)} after)"
    )
    return f"{_of_all(result, 'Calls')}{', '.join([told, *(alone or ['none on one side only'])])}."


def about_patterns(result: Comparison) -> str:
    """How patterns were matched, and whose files they are."""
    patterns = result.patterns
    return (
        f"{_of_all(result, 'Files')}{units.counted(patterns.both, 'pattern')} on both sides, "
        f"{units.count(patterns.came)} came, {units.count(patterns.went)} went."
    )


def _why_unknown(run: Run) -> str:
    """Why nobody knows how long a run took, in a clause."""
    if not run.trust.matched:
        return "no call has its reply"
    if run.trust.mostly_unseen:
        return "most of its calls cannot be seen"
    return "its packets have no times"


def _servers(result: Comparison) -> list[str]:
    """That the server is at another address, where that is so of all of them."""
    before, after = result.before.servers, result.after.servers
    if not before or not after or max(len(before), len(after)) >= SERVERS or {*before} & {*after}:
        return []
    is_or_are = "server is" if len(before) == len(after) == 1 else "servers are"
    return [f"The {is_or_are} {some(before, NAMED)} before and {some(after, NAMED)} after."]


def _mounting(result: Comparison) -> list[str]:
    """What mounting took, where users notice it and the capture shows it."""
    before, after = result.before.mounting_s, result.after.mounting_s
    known = result.before.known and result.after.known
    if not known or (ran(result) and not result.mounting_noticed):
        return []
    took = [(before, "BEFORE"), (after, "AFTER")]
    told = " and ".join(f"{units.duration(time_s)} {title}" for time_s, title in took if time_s)
    if not told:
        return []
    refused = result.before.refused or result.after.refused
    lacking = [f", {title} holds no mount" for time_s, title in took if not time_s and not refused]
    told = f"Mounting took {told}{''.join(lacking)}"
    some = result.before.of_files or result.after.of_files
    return [f"{told}; it is no part of the run times." if some else f"{told}."]
