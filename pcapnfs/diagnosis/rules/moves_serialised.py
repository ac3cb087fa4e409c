"""Programs of one client that move files between directories wait for one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import AS_IF_TWO, of_waiting
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.namespace.move_order import MoveOrder, Route
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "moves_serialised.least", 30, "calls",
    "moves between directories that waited beside calls about others, below which nothing is "
    "reported",
    "default of this tool",
)  # fmt: skip

_ADVICE = (
    Advice(
        "Make each file in the directory in which it is to stay, under a temporary name, and "
        "rename it there: a RENAME within a directory waits for changes of that directory alone. "
        "More programs, or more directories in the same file system, do not help."
    ),
    Advice(
        "Or spread the directories over several file systems of the server (exports with an fsid "
        "of their own), each with both ends of its moves, or the programs over several clients: "
        "each client moves one name at a time in each file system.",
        "from one file system into another nothing is renamed: it is copied.",
    ),
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server with such moves."""
    for pair in material.move_order:
        if not _waits(pair, values):
            continue
        claims = of_waiting(dict(pair.waited_s))
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Programs that move files between directories wait for one another",
            seen=_seen(pair),
            why="The kernel of a client moves one name at a time from a directory into another one "
            "of a file system (Linux: s_vfs_rename_mutex), and lets the others wait until the "
            "server has answered, whichever directories they are about.",
            advice=_ADVICE,
            confidence="likely",
            data=units.counted(pair.moves, "move"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def waiting(material: Material, values: Values) -> Iterator[tuple[tuple[str, str], float]]:
    """The clients and servers with such moves, and for how long files were moved, seconds.

    More programs there do not help.
    """
    for pair in material.move_order:
        if _waits(pair, values):
            yield (pair.client, pair.server), sum(seconds for _, seconds in pair.waited_s)


def _waits(pair: MoveOrder, values: Values) -> bool:
    return pair.handed_over >= values[LEAST.name]


def _seen(pair: MoveOrder) -> str:
    return (
        f"{units.count(pair.followed)} of {units.counted(pair.moves, 'RENAME')} from one directory "
        "into another were sent at the moment at which that of another file was answered, and no "
        f"two overlap: each had waited. Beside {units.count(pair.handed_over)} of them another "
        "file that is moved was called for: more than one program is at it. These took "
        f"{units.duration(sum(seconds for _, seconds in pair.waited_s))}: {_between(pair)}."
        f"{AS_IF_TWO}"
    )


def _between(pair: MoveOrder) -> str:
    """The pairs of directories, costliest first; not escaped."""
    told = [_route(route) for route in pair.routes]
    if more := pair.pairs - len(told):
        told.append(f"and {units.counted(more, 'more pair')} of directories")
    return "; ".join(told)


def _route(route: Route) -> str:
    source, target = (wording.places([path]) for path in (route.source, route.target))
    return f"{source} → {target} ({units.count(route.moves)}, {units.duration(route.time_s)})"


RULE = Rule(
    id="moves_serialised",
    title="Moves between directories, one after the other",
    origin="Linux: s_vfs_rename_mutex, filesystems/directory-locking",
    judge=judge,
    thresholds=(LEAST,),
)
