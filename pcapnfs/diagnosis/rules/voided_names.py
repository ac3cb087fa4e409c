"""Names of a directory that somebody else keeps changing are looked up again one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.questions import FILE_FRESH_S
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import without_names
from pcapnfs.diagnosis.severity import by_cost, takes_much
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.voided_names import VoidedNames
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "voided_names.share",
    0.1,
    "share",
    "calls that are such a LOOKUP; fewer are told where they cost "
    "a second and a hundredth of the time",
    "default of this tool",
)
LEAST = Threshold(
    "voided_names.least", 50, "calls",
    "LOOKUPs of known names after a change by somebody else, below which nothing is reported",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless the client keeps no names at all."""
    keeps_none = without_names(material)
    for pair in material.voided_names:
        asked = pair.asked
        claims = left_out(pair.kept)
        few = asked.calls < values[SHARE.name] * pair.calls
        if (
            asked.calls < values[LEAST.name]
            or (few and not takes_much(material, pair.client, claims))
            or (pair.client, pair.server) in keeps_none
        ):
            continue
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Names are looked up one by one, because somebody else changes their directory",
            seen=_seen(pair),
            why=_WHY,
            advice=_ADVICE,
            calls=pair.kept.calls,
            confidence="likely",
            data=units.counted(pair.calls, "call"),
            frames=asked.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: VoidedNames) -> str:
    asked, kept = pair.asked.calls, pair.kept.calls
    spared = "all" if kept == asked else units.count(kept) if kept else "none"
    late = (
        "."
        if kept == asked
        else f": a client believes the attributes of a file for {units.duration(FILE_FRESH_S)} at "
        "first, and then asks for these in any case; so it does at each open."
    )
    return (
        f"{units.count(asked)} of {units.counted(pair.calls, 'call')} are LOOKUPs of names that "
        "the client knew, from a listing with attributes or a call of its own, "
        f"{_where(pair)}. Before them the client learnt "
        f"{units.counted(pair.changes, 'time')} that another client, or somebody on the server, "
        f"had changed the directory. With names that it could keep, {spared} of these LOOKUPs "
        f"would have been spared{late}"
    )


def _where(pair: VoidedNames) -> str:
    places = wording.places(pair.places)
    if pair.directories == 1:
        return f"all in {places}"
    return f"in {units.count(pair.directories)} directories, most of them in {places}"


_WHY = (
    "A client trusts the names of a directory only while that is unchanged. One file that somebody "
    "else makes, renames or removes there voids all names in it, also those that a LOOKUP, or a "
    "listing with all attributes, told a moment ago: ls -l, find, git status or a program that "
    "opens files there then waits for a round trip for each name, and where the next change comes "
    "before the end, begins anew."
)

_ADVICE = (
    Advice(
        "Have those who write change that directory less often: temporary files, locks and logs in "
        "a directory of their own, where nobody lists, and finished files moved in many at a time. "
        "Writing into files that exist does not change the directory.",
        "programs that look for these files must know the new place; a rename is atomic only "
        "within one file system.",
    ),
    Advice(
        "Divide a large directory into several (by day, by host, by first letters): a change then "
        "voids the names of its own directory alone.",
        "programs that know the paths must be changed.",
    ),
    Advice(
        "In the program that reads: look again at fewer files; list names alone where that is "
        "enough (ls without -l and --color, find without -ls and -size), which looks no entry up; "
        "or do it when nobody writes, or on the server. No mount option keeps names across "
        "changes: longer timeouts (actimeo) do not help."
    ),
)

RULE = Rule(
    id="voided_names",
    title="Names looked up one by one because somebody else changes their directory",
    origin="practice: ls -l of a directory that others write to; nfs(5), section on directory "
    "entry caching",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
