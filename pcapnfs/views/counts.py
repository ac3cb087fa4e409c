"""What one run sent several times as often as the other, in words.

Takes a `Comparison`; gives sentences, escaped. What settings and programs can do to the number of
calls stands here; which operations moved says `changed_counts`.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.comparison.changed_counts import more_often, same_work
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.comparison.matching import VERSIONS
from pcapnfs.text import escape

if TYPE_CHECKING:
    from pcapnfs.comparison.changed_counts import Counts
    from pcapnfs.comparison.comparing import Comparison

COMMON = 0.1
"""Part of the work that both runs must have in common for them to be of the same work."""

OTHER_COUNTS = (
    "No setting that the traffic shows by itself: most calls are of operations of which one run "
    "sent more than the other, also for as many files."
)
KEPT = (
    "how long attributes are kept (noac, actimeo, acregmin, acdirmin: nfsstat -m), or, with NFSv3, "
    "whether opens ask (nocto), may have been changed, or how often programs look"
)
NAMES_KEPT = (
    "how long names and attributes are kept (lookupcache, noac, actimeo, acdirmin: nfsstat -m) may "
    "have been changed, or how often programs look"
)
LOCKED = "under a delegation a client locks by itself, or programs may lock less"
READ_AGAIN = "the client may have had the data in its memory, or programs may have read less"
ASKED = "what the client keeps may have been changed, or what programs ask for"
DONE = "what programs do may have been changed, or what the client keeps"
WHY_OFTEN = (
    (KEPT, frozenset(("GETATTR",))),
    (NAMES_KEPT, frozenset(("GETATTR", "ACCESS", "LOOKUP", "LOOKUP!"))),
    (READ_AGAIN, frozenset(("READ",))),
    (LOCKED, frozenset(("LOCK", "LOCKU", "LOCKT", "FREE_STATEID", "RELEASE_LOCKOWNER"))),
)
"""Why one run may have sent operations several times as often: the first that holds for all."""

OUTLASTED = (
    "how long attributes and names are kept (noac, actimeo, acregmin, acdirmin, lookupcache: "
    "nfsstat -m), or, with NFSv3, whether opens ask (nocto), may have been changed, or the longer "
    "run outlasted it (by default 3 s and more for files, 30 s for directories)"
)
"""The same of questions for attributes and names, where the run that asked more often was longer.
"""

NAMES_VOIDED = "voided_names"
"""The finding that somebody else's changes voided names."""

VOIDED = (
    "somebody else changed directories meanwhile, which voids the names in them (a finding below "
    "says so), or "
)
"""The same where that was found in the run that asked more often."""

LONGER_RUN = 1.5
"""How many times as long a run must be for that."""

OFTEN_SHOWN = 3
"""Of operations that one run sent several times as often, those that are named."""

EXPLAIN_COUNTS = frozenset(
    (
        "version", "pnfs", "delegations", "attribute_cache", "name_cache", "rsize", "wsize",
        "readdirplus", "acls", "local_lock", "sync", "nocto", "stable_writes", "streams",
    )
)  # fmt: skip
"""Subjects of causes that change how often a client calls: where one is told, counts are no riddle.
"""


def moved(result: Comparison) -> Counts | None:
    """The operations that one side sent several times as often, where both did the same work.

    None where the captures do not tell how often: they lack much, or are of other versions.
    """
    if not (result.before.of_files and result.after.of_files) or (
        result.in_common is not None and result.in_common < COMMON
    ):
        return None
    if result.clear_from > NOTICEABLE or _of_other_versions(result):
        return None
    return more_often(result.operations, (result.before.files, result.after.files))


def other_work(result: Comparison) -> bool:
    """Whether most calls stayed neither by the run nor by the number of files."""
    if result.clear_from > NOTICEABLE or _of_other_versions(result) or not result.operations:
        return False
    return not same_work(result.operations, (result.before.files, result.after.files))


def _of_other_versions(result: Comparison) -> bool:
    """Whether one side has calls of a version that the other has none of."""
    sides = [
        {row.version for row in result.operations if row.version in VERSIONS and calls(row)}
        for calls in (attrgetter("calls_before"), attrgetter("calls_after"))
    ]
    return sides[0] != sides[1]


def told(counts: Counts, result: Comparison) -> str:
    """How often operations were sent, and what may be why."""
    named = [
        f"{escape(each.op)}: {units.count(each.calls_before)} → {units.count(each.calls_after)}"
        for each in counts.moved[:OFTEN_SHOWN]
    ]
    if (more := len(counts.moved) - OFTEN_SHOWN) > 0:
        named.append(f"{units.counted(more, 'more operation')} likewise")
    whose = ""
    if counts.by_file:
        files = units.counted(result.after.files, "file")
        whose = f" for {units.count(result.before.files)} → {files}"
    ops = {each.op for each in counts.moved}
    alike = (why for why, known in WHY_OFTEN if ops <= known and counts.one_way)
    why = next(alike, ASKED)
    if why in (KEPT, NAMES_KEPT) and _longer_asks(counts, result):
        why = OUTLASTED
    if _names_voided(counts, result):
        why = f"{VOIDED}{why}"
    rest = "while most other calls stayed as they were"
    if not counts.stayed:
        rest, why = "and most other calls did not stay as they were either", DONE
    return f"{'; '.join(named)}{whose}, {rest}: {why} (possible)."


def _names_voided(counts: Counts, result: Comparison) -> bool:
    """Whether LOOKUPs are among what one run sent more often, and it alone had names voided."""
    more = {
        "came" if each.calls_before < each.calls_after else "went"
        for each in counts.moved
        if each.op == "LOOKUP"
    }
    return any(change.id == NAMES_VOIDED and change.where in more for change in result.findings)


def _longer_asks(counts: Counts, result: Comparison) -> bool:
    """Whether the run that asked more often took clearly longer than the other."""
    less, more = result.before.run_s, result.after.run_s
    if counts.moved[0].calls_before > counts.moved[0].calls_after:
        less, more = more, less
    return more >= LONGER_RUN * less
