"""Which timeout of attributes a client's questions let one infer.

Takes what was counted of a client and a server (`mount_evidence`); gives verdicts, as
`mount_options` does of the options that send a question at each turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.caching.unopened import FILE_DEFAULT_S
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH, MANY, Confidence, MountVerdict

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.mount_evidence import MountEvidence

ASKS_EARLIER = 0.05
"""Share of questions about files that no timeout of a second or more explains, up to which one
explains the others."""

LONGEST = "acregmax"
"""The option that bounds for how long a file is believed."""

PAUSES = 2
"""Pauses after which a directory was asked for and used, below which nothing is concluded."""


def timeout(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`actimeo=N` and `acdirmin=N` between the ages that were trusted and those that were not."""
    if _expires(seen):
        yield from _timeout_of_files(seen)
        return
    if seen.files_early >= ENOUGH and seen.early_objects >= MANY:
        yield from _longest_of_files(seen)
        return
    asked, trusted = seen.pause_shortest_s, seen.unasked_longest_s
    if asked is None or trusted is None or trusted >= asked:
        return
    if seen.pauses_asked < PAUSES or not seen.pauses_asked_twice:
        return
    low, high = max(1, math.ceil(trusted)), math.floor(asked)
    if low > high:
        return
    yield _of_seconds(
        "acdirmin",
        range(low, high + 1),
        "likely" if seen.pauses_asked >= MANY else "possible",
        (
            "asked for a directory before it used it after "
            f"{units.counted(seen.pauses_asked, 'pause')} "
            f"({units.counted(seen.pauses_asked_twice, 'time')} twice), from an age of "
            f"{units.duration(asked)} on (the default is 30 s). It used none unasked beyond "
            f"{units.duration(trusted)}. Programs that open directories may do the same"
        ),
        seen.frames["pauses"],
    )


def is_longest(options: tuple[str, ...]) -> bool:
    """Whether a verdict says for how long files are believed at most, beyond the first time."""
    return any(option.startswith(f"{LONGEST}=") for option in options)


def _expires(seen: MountEvidence) -> bool:
    """Whether files are asked for that were known for a second or two, and no younger ones."""
    return (
        seen.files_aged >= ENOUGH
        and seen.aged_objects >= MANY
        and seen.files_young <= ASKS_EARLIER * seen.files_aged
    )


def _timeout_of_files(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`actimeo=N` and `acregmin=N` below the 3 s of the default.

    A client that believes nothing asks for the same files where nobody uses them again sooner.
    """
    shortest = seen.aged_shortest_s or 0.0
    # A client that believes nothing asks behind each LOOKUP, too.
    found = seen.files_just_found > ASKS_EARLIER * seen.files_aged
    believes = (seen.visits >= ENOUGH or seen.moves >= ENOUGH) and not found
    fresh = "" if believes else ". Nothing was used again sooner: with noac it would look the same"
    if found:
        fresh = (
            f". {units.counted(seen.files_just_found, 'question')} right behind the LOOKUP that "
            "brought the file, as some clients always send, are not counted: with acregmin=0 it "
            "may look the same"
        )
    yield _of_seconds(
        "acregmin",
        range(1, max(1, math.floor(shortest)) + 1),
        "likely" if believes and not seen.opens_ask else "possible",
        f"asked {units.counted(seen.files_aged, 'time')} for "
        f"{units.counted(seen.aged_objects, 'file')} that it had known for "
        f"{units.duration(shortest)} to {units.duration(FILE_DEFAULT_S)}, with no call about them "
        f"meanwhile, and {_rarely(seen.files_young)} for one known for less. By default it "
        f"believes a file for 3 s, and only an open {_OPENS[seen.opens_ask]}{fresh}",
        seen.frames["aged"],
    )


_OPENS = {
    False: "of NFSv4 asks sooner",
    True: "asks sooner; but for its rights to these files, or their data, it never asked",
}
"""Why it was no open, by whether an open sends such a question."""


def _longest_of_files(seen: MountEvidence) -> Iterator[MountVerdict]:
    """`actimeo=N` and `acregmax=N`: what is believed does not become longer."""
    shortest = seen.early_shortest_s or 0.0
    yield _of_seconds(
        LONGEST,
        range(1, max(1, math.floor(shortest)) + 1),
        "possible",
        f"asked {units.counted(seen.files_early, 'time')} for "
        f"{units.counted(seen.early_objects, 'file')} known for {units.duration(shortest)} or "
        "longer, though it had asked as early before, and nothing had changed. By default it would "
        "have believed them for twice as long each time, up to 60 s. A client that does not double "
        "its timeouts, and programs that open files without reading them, do the same",
        seen.frames["early"],
    )


def _rarely(number: int) -> str:
    return units.counted(number, "time") if number else "never"


def _of_seconds(
    option: str,
    seconds: range,
    confidence: Confidence,
    evidence: str,
    frames: tuple[int, ...],
) -> MountVerdict:
    """A timeout of that many seconds: of all objects, or by an option for some."""
    low, high = units.count(seconds[0]), units.count(seconds[-1])
    span = low if low == high else f"{low}\u2026{high}"
    return MountVerdict(
        options=tuple(f"{name}={value}" for name in ("actimeo", option) for value in seconds),
        title=f"actimeo={span} or {option}={span}",
        confidence=confidence,
        evidence=evidence,
        frames=frames,
    )
