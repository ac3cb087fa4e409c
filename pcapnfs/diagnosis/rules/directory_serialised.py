"""Programs of one client that make or remove files in one directory wait for one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import AS_IF_TWO, TWO, of_waiting
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.directory_order import DirectoryOrder
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "directory_serialised.least", 30, "calls",
    "changes of directories that waited beside calls about others, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

_ADVICE = (
    Advice(
        "Have each program work in a directory of its own (one for each worker, or by the first "
        "letters of names, as git and mail spools do): changes of different directories do not "
        "wait for one another. More programs in the same directory do not help."
    ),
    Advice("Or make fewer names: one file or archive for many small ones, written by one program."),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such directories."""
    for pair in material.directory_order:
        if not _waits(pair, values):
            continue
        claims = of_waiting(dict(pair.waited_s), programs=pair.programs)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Programs that make or remove files in one directory wait for one another",
            seen=_seen(pair),
            why="The kernel of a client changes a directory for one program at a time, and lets "
            "the others wait until the server has answered: a CREATE, OPEN that creates, REMOVE or "
            "RENAME there comes after the other, however many programs there are. An exclusive "
            "create is answered when the SETATTR is that completes it.",
            advice=_ADVICE,
            confidence="likely",
            data=units.counted(pair.changes, "change"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def waiting(material: Material, values: Values) -> Iterator[tuple[tuple[str, str], float]]:
    """The clients and servers with such directories, and for how long they were changed, seconds.

    More programs there do not help.
    """
    for pair in material.directory_order:
        if _waits(pair, values):
            yield (pair.client, pair.server), sum(seconds for _, seconds in pair.waited_s)


def _waits(pair: DirectoryOrder, values: Values) -> bool:
    return pair.handed_over >= values[LEAST.name]


def _seen(pair: DirectoryOrder) -> str:
    where = units.counted(pair.directories, "directory", "directories")
    places = f" ({wording.places(pair.places)})" if pair.places else ""
    return (
        f"{units.count(pair.followed)} of {units.counted(pair.changes, 'change')} of {where}"
        f"{places} were sent at the moment at which that of another file was answered, and no two "
        f"overlap: each had waited. Beside {units.count(pair.handed_over)} of them another file "
        "that is made or removed there was called for: more than one program is at it. These took "
        f"{units.duration(sum(seconds for _, seconds in pair.waited_s))}.{_as_if(pair.programs)}"
    )


def _as_if(programs: int) -> str:
    if programs == TWO:
        return AS_IF_TWO
    return (
        f" As changes were answered, {units.count(programs)} programs looked up names there "
        "at once, in the median of the times when several did, and had waited, too: what it costs "
        "is told as if so many waited."
    )


RULE = Rule(
    id="directory_serialised",
    title="Changes of one directory, one after the other",
    origin="practice: parallel creates in one directory; Linux: filesystems/directory-locking",
    judge=judge,
    thresholds=(LEAST,),
)
