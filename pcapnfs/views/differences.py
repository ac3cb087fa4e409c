"""What changed between two runs, in the words that the screen and the report share.

Takes a `Comparison` or a part of it; gives sentences, escaped.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.changed_times import TIMES
from pcapnfs.comparison.gaps import NOTICEABLE, broken_off
from pcapnfs.text import some
from pcapnfs.views import counts
from pcapnfs.views.changed_figures import CLOCK_S
from pcapnfs.views.clients_compared import NAMED, OTHER_CLIENTS, several
from pcapnfs.views.run_time_changed import aside, ran

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcapnfs.comparison.cause import Cause
    from pcapnfs.comparison.comparing import Comparison
    from pcapnfs.comparison.foretold import Foretold
    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.waterfall import Step

NO_STEPS = "Not told: what the captures lack could make all of it."
"""Where there are no steps."""

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
    "calls_at_once": "calls at once",
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
    "timeo": "timer for replies (timeo)",
    "sync": "sync",
    "nocto": "nocto",
    "stable_writes": "WRITEs",
    "storage": "the server's storage",
    "server_reads": "what the server reads",
    "network_rtt": "network round trip",
    "network_or_server": "network round trip or the server's storage",
    "path": "the path",
    "loss": "the network's loss",
    "window": "TCP window",
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
    "rtt_or_server_s": "round trip or server",
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


def given(each: Foretold) -> str:
    """What a forecast was given, in words."""
    return (GIVEN_OF_CLIENT if each.files is None else GIVEN)[each.given]


def about_foretold(result: Comparison) -> list[str]:
    """What forecasts hold that may be no matter of the run; nothing where that is alike."""
    away = {"BEFORE": result.before.away_s, "AFTER": result.after.away_s}
    long = [f"{units.duration(time_s)} of {title}" for title, time_s in away.items() if time_s]
    told = [f"All without pauses of 30 s or more: {' and '.join(long)}."] if long else []
    longest_s = max(run.run_s - run.away_s for run in (result.before, result.after))
    for step in aside(result):
        before, after = step.before, step.after
        if step.factor == "pauses_s":
            before, after = before - away["BEFORE"], after - away["AFTER"]
        if max(before, after) < NOTICEABLE * longest_s:
            continue
        what, those = HELD[step.factor], "them" if step.factor == "pauses_s" else "it"
        first, second = (units.duration(time_s) if time_s > 0 else "" for time_s in (before, after))
        held = f"Each forecast holds BEFORE's {what}, {first}"
        if not first:
            held = f"No forecast holds any {what}, since BEFORE had none"
        told.append(f"{held}; AFTER had {f'{second} of {those}' if second else 'none'}.")
    return told


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
        return f"{whose}By time per call, no operation moved beyond chance."
    return f"{whose}By time per call, {units.counted(moved, 'operation')} moved beyond chance."


def verdict(row: OperationChange, rows: Sequence[OperationChange]) -> str:
    """How the time that a call takes changed, in a word or two.

    What one side has in one version and the other side in another neither came nor went; but for
    CREATE, which makes files in NFSv3 and everything else in NFSv4.
    """
    other = {"new": "gone", "gone": "new"}.get(row.verdict)
    if row.op != "CREATE" and any(each.op == row.op and each.verdict == other for each in rows):
        return "other version"
    return VERDICTS.get(row.verdict, row.verdict)


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
