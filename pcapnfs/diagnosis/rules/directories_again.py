"""Directories that are there are looked up again and again: mkdir -p before each file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.namespace.names_again import KEPT_S
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import left_out
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.mounted import without_names
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "directories_again.share", 0.1, "share", "calls that are such a LOOKUP", "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "directories_again.least", 50, "calls",
    "LOOKUPs of directories that the client knew, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
FILES = Threshold(
    "directories_again.files", 0.1, "share",
    "LOOKUPs of files that the client knew, to those of directories, above which it seems to keep "
    "no names",
    "Linux looks up again what is to be made, and hardly ever a file",
)  # fmt: skip
ENTERED = Threshold(
    "directories_again.entered", 0.2, "share",
    "calls by another name in a directory without a LOOKUP of it before, to the LOOKUPs, below "
    "which the client may keep no names",
    "mkdir -p before each file of an npm-like tree: 0.29; clients without a cache of names: 0.14 "
    "and less",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with many of them, unless the client keeps no names."""
    keeps_none = without_names(material)
    for pair in material.directories_again:
        again = pair.again
        if (
            again.calls < values[LEAST.name]
            or again.calls < values[SHARE.name] * pair.calls
            or pair.files > values[FILES.name] * again.calls
            or pair.entered < values[ENTERED.name] * again.calls
            or (pair.client, pair.server) in keeps_none
        ):
            continue
        claims = left_out(again)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Directories are looked up again and again, though they are there",
            seen=f"{units.count(again.calls)} of {units.counted(pair.calls, 'call')} are LOOKUPs "
            f"of {units.counted(pair.directories, 'directory', 'directories')} that the client had "
            f"found or made itself less than {units.duration(KEPT_S)} before, and that nobody else "
            f"had changed; {wording.places(pair.places[:1])} alone was looked up "
            f"{units.counted(pair.most, 'time')}.",
            why=_WHY,
            advice=_ADVICE,
            calls=again.calls,
            confidence="likely",
            data=units.counted(pair.calls, "call"),
            frames=again.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


_WHY = (
    "To go through a directory that it knows a client asks nothing. Where a program is to make one "
    "(mkdir), the client asks first whether the name is free, even if it knows that it is not. A "
    "program that makes all directories of a path before each file (mkdir -p, makedirs, recursive "
    "mkdir of package managers and unpackers) waits for a round trip for each of them each time."
)

_ADVICE = (
    Advice(
        "Have the program remember which directories it has made, or make one only after opening "
        "a file in it failed because it was missing.",
    ),
    Advice(
        "Let it work on a local disk (an installer's cache and staging directory, a build tree), "
        "and copy the result to the mount in one go, as an archive or with a parallel copy.",
        "the copy must be made again after each change.",
    ),
)

RULE = Rule(
    id="directories_again",
    title="Directories looked up again and again by who makes what there is",
    origin="practice: npm install, makedirs before each file; Linux fs/nfs/dir.c, revalidation of "
    "a name that is to be made",
    judge=judge,
    thresholds=(SHARE, LEAST, FILES, ENTERED),
)
