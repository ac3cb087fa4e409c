"""How long clients keep what they know of files: attributes and names.

Takes two sides; gives the settings that differ, each with what says so. A setting is named only
where both sides tell it: what one of them leaves open is not known to have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.mount_options import ASKS_NEVER
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.comparison.cause import Cause, weaker
from pcapnfs.comparison.changed_counts import counts, more_often
from pcapnfs.comparison.said import verdicts
from pcapnfs.diagnosis.mounted import is_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.comparison.side import Side

CACHE = ("noac", "actimeo", "acdirmin", "acregmin", "acregmax")
"""What the options begin with that say how long attributes are kept."""

LONGER = "longer: default, or more"
KEPT = "kept (default, or another timeout)"
"""How long attributes are kept where nothing is said of it: against a timeout of the other side,
and against a side that keeps none. A timeout of a second shows in few runs, so that no call says
that it is the default."""

ASKS = "GETATTR"
"""What a client asks for attributes with."""

WITH_IT = (ASKS, "ACCESS", "LOOKUP", "LOOKUP!")
"""What it sends the more often the sooner it forgets them: rights and names go by them."""

OFTENER = 2.0
"""How many times as often a side that keeps attributes for less must ask for them, to tell that the
other keeps them for longer: its own calls say the one half already."""

NO_NAMES = "lookupcache=none"
"""The option that keeps no names."""


def attribute_cache(before: Side, after: Side) -> Iterator[Cause]:
    """How long attributes are kept.

    Where a side has too little to tell, it is known only if the other one, which tells that it
    keeps them for less, asks twice as often or more and does the same apart from that.
    """
    sides = before, after
    first, second = told = [verdicts(side, *CACHE) for side in sides]
    untold = [
        not found and all(mount.too_little is not None for mount in side.mounts)
        for found, side in zip(told, sides, strict=True)
    ]
    seldom = None
    if any(untold):
        seldom = _asked_seldom(before, after)
        if all(untold) or seldom is None or untold != [seldom is before, seldom is after]:
            return
    names = [" and ".join(each.title for each in found) for found in told]
    # One that is longer shows in no call.
    timeout = any(is_timeout(each.options) for each in (*first, *second))
    names = [name or (LONGER if timeout else KEPT) for name in names]
    if names[0] == names[1] or _overlap(before, after):
        return
    sure = weaker(*(each.confidence for each in (*first, *second)))
    evidence = [each.evidence for each in (second or first)]
    if seldom is not None:
        # A program that looks less often asks as seldom.
        sure = weaker(sure, "possible")
        calls = [sum(side.calls(family, ASKS) for family in ("3", "4")) for side in sides]
        evidence.append(
            f"{units.counted(calls[0], ASKS)} before, {units.count(calls[1])} after, while most "
            "other calls stayed as they were"
        )
    yield Cause("attribute_cache", names[0], names[1], sure, "; ".join(evidence))


def _asked_seldom(before: Side, after: Side) -> Side | None:
    """The side that asked for attributes half as often or less while it did the same; if any."""
    found = more_often(
        counts(before.times, after.times),
        (before.measured.files, after.measured.files),
        several=OFTENER,
    )
    if found is None or not (found.stayed and found.one_way):
        return None
    # A program that does something else as well may be why.
    asked = [row for row in found.moved if row.op == ASKS]
    if not asked or any(row.op not in WITH_IT for row in found.moved):
        return None
    return before if asked[0].calls_before < asked[0].calls_after else after


def _overlap(before: Side, after: Side) -> bool:
    """Whether one option would explain both sides."""
    sets = [
        {
            option
            for mount in side.mounts
            for verdict in mount.verdicts
            for option in verdict.options
            if option.startswith(CACHE)
        }
        for side in (before, after)
    ]
    return bool(sets[0] & sets[1])


def name_cache(before: Side, after: Side) -> Iterator[Cause]:
    """Whether names are kept; nothing where the side that may keep them has too little to tell."""
    first, second = verdicts(before, NO_NAMES), verdicts(after, NO_NAMES)
    if bool(first) == bool(second):
        return
    other = after if first else before
    kept = next(_keeps_names(other), None)
    if kept is None:
        return
    said = (first or second)[0]
    yield Cause(
        "name_cache",
        NO_NAMES if first else "default",
        "default" if first else NO_NAMES,
        said.confidence,
        f"{said.evidence}; {kept} {'after' if first else 'before'}",
    )


def _keeps_names(side: Side) -> Iterator[str]:
    """What shows that a client looks directories up once, however often it uses names in them."""
    for mount in side.mounts:
        if mount.returns >= ENOUGH and mount.returns_looked_up <= ASKS_NEVER * mount.returns:
            yield (
                f"in {units.count(mount.returns_looked_up)} of "
                f"{units.counted(mount.returns, 'move')}"
            )
    # One that forgets them looks up every child before it is asked about.
    moves = sum(mount.moves for mount in side.mounts)
    looked_up = sum(
        of_one.calls for (_, op), of_one in side.times.items() if op.startswith("LOOKUP")
    )
    if moves >= ENOUGH and looked_up <= ASKS_NEVER * moves:
        yield (
            f"{units.counted(looked_up, 'LOOKUP')} for "
            f"{units.counted(moves, 'move')} from one child of a directory to the next"
        )
    # What names it keeps it does not look up: of moves between them there is nothing to see.
    used, again = side.habits.names_used, side.habits.directories_again
    if used >= ENOUGH and again <= ASKS_NEVER * used:
        yield (
            f"{units.counted(again, 'time')} for {units.counted(used, 'call')} by names in such "
            "directories"
        )
