"""What clients ask by their mount options: attributes with listings, ACLs, locks, and data at once.

Takes two sides; gives the settings that differ, each with what says so. A setting is named only
where both sides tell it: what one of them leaves open is not known to have changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.comparison.cause import Cause
from pcapnfs.comparison.changed_counts import counts, same_work
from pcapnfs.comparison.changed_protocol import MAINLY, mainly
from pcapnfs.comparison.changed_transfers import gathers
from pcapnfs.comparison.said import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pcapnfs.comparison.side import Side

MOST = 0.5
"""Share of the listings that makes a habit."""

FEW = 3
"""Listings below which there is no habit."""

MISSED = 10
"""Entries that were looked up after their listing, below which it tells nothing by itself."""

LOCKS, LOCKING = "nlm", ("LOCK", "UNLOCK")
"""The protocol for locks beside NFSv3, and its calls that lock and unlock."""

NOT_ASKED = "not asked of the server (nolock, local_lock)"
"""What a client does with locks that keeps them itself."""


def listings(before: Side, after: Side) -> Iterator[Cause]:
    """Whether directories are listed with attributes."""
    calls = [side.plain_listings + side.plus_listings for side in (before, after)]
    if not all(calls):
        return
    habits = [
        side.plus_listings / listings for side, listings in zip((before, after), calls, strict=True)
    ]
    if (min(habits) > 0 or max(habits) < MOST) or habits[0] == habits[1]:
        return
    few = min(calls) < FEW
    if few and not _missed(before, after):
        return
    words = ["with attributes" if habit >= MOST else "without attributes" for habit in habits]
    counts = [
        f"{units.count(side.plus_listings)} of "
        f"{units.count(side.plain_listings + side.plus_listings)}"
        for side in (before, after)
    ]
    yield Cause(
        "readdirplus",
        words[0],
        words[1],
        "certain" if max(habits) == 1 and not few else "likely",
        f"{counts[0]} listing calls asked for attributes before, {counts[1]} after",
    )


def _missed(before: Side, after: Side) -> bool:
    """Whether one listed without attributes what the other did with them, and then missed them.

    A client that needs no attributes may list without them; one that has to look up every entry
    would have had them from the listing, so that one directory tells as much as several.
    """
    plain = after if before.plus_listings else before
    return (
        plain.plain_entries >= MISSED
        and plain.plain_lookups >= MAINLY * plain.plain_entries
        and bool(before.listed & after.listed)
    )


def acls(before: Side, after: Side) -> Iterator[Cause]:
    """Whether a client of NFSv3 asks for ACLs, or was mounted without them.

    One that may ask asks at its mount whether the server has any; without that mount, no question
    may be a program's that wants no ACLs.
    """
    counts = [side.calls("nfsacl", "GETACL") for side in (before, after)]
    less = after if counts[0] > counts[1] else before
    if (
        max(counts) < ENOUGH
        or any(family == "nfsacl" for family, _ in less.times)
        or not less.calls("3", "FSINFO")
    ):
        return
    told, untold = "asked for", "not even asked whether there are any (noacl)"
    yield Cause(
        "acls",
        untold if less is before else told,
        told if less is before else untold,
        "likely",
        f"{units.counted(counts[0], 'GETACL')} before, {units.count(counts[1])} after; the capture "
        f"{'before' if less is before else 'after'} holds a mount without a call of NFSACL",
    )


def local_locks(before: Side, after: Side) -> Iterator[Cause]:
    """Whether locks of NFSv3 are asked of the server, or the client keeps them itself.

    NFSv4 knows no such option. A client with `nolock` sends no call of NLM at all. One whose
    programs lock nothing looks the same, so that both sides must have done the same otherwise.
    """
    calls = [sum(side.calls(LOCKS, op) for op in LOCKING) for side in (before, after)]
    less = after if calls[0] > calls[1] else before
    if (
        max(calls) < ENOUGH
        or any(family == LOCKS for family, _ in less.times)
        or any(mainly(side.habits.versions) != "3" for side in (before, after))
    ):
        return
    others = [row for row in counts(before.times, after.times) if row.version != LOCKS]
    if not same_work(others, (before.measured.files, after.measured.files)):
        return
    asked = f"asked of the server ({units.count(max(calls))} {' and '.join(LOCKING)})"
    first, second = (NOT_ASKED if side is less else asked for side in (before, after))
    yield Cause(
        "local_lock",
        first,
        second,
        "possible",
        f"{units.counted(calls[0], 'call')} of NLM that lock or unlock before, "
        f"{units.count(calls[1])} after, while most other calls stayed as they were; programs that "
        "do not lock, and a capture of port 2049 alone, show none either",
    )


def timer(before: Side, after: Side) -> Iterator[Cause]:
    """Whether a client sends calls again that are answered late, or waits for longer.

    The timer is shorter than what calls took that it sent again though nothing was lost, and longer
    than what calls took that it sent once. What of the way lies beyond the capture comes to both;
    the client's own part of it is added to the shorter one, as if all of it were.
    """
    for mine, other, first in ((before, after, True), (after, before, False)):
        shorter_s, longer_s = mine.habits.again_s, other.habits.once_s
        if shorter_s is None or longer_s is None:
            continue
        if longer_s <= shorter_s + (mine.way.rtt_s or 0.0):
            continue
        words = (f"shorter than {units.duration(shorter_s)}", f"{units.duration(longer_s)} or more")
        here, there = ("before", "after") if first else ("after", "before")
        again = units.counted(mine.habits.sent_again, "call")
        yield Cause(
            "timeo",
            *(words if first else words[::-1]),
            "likely",
            f"{here}, {again} came again over TCP though nothing was lost, some after less than "
            f"{units.duration(shorter_s)}; {there}, calls that took {units.duration(longer_s)} and "
            "more were sent once",
        )
        return


def option(name: str, before: Side, after: Side) -> Iterator[Cause]:
    """An option that is only ever said to be there: its absence needs as much data to tell."""
    first, second = verdicts(before, name), verdicts(after, name)
    if bool(first) == bool(second):
        return
    other = after if first else before
    enough = (
        gathers(after if second else before, other)
        if name == "sync"
        else any(mount.too_little is None for mount in other.mounts)
    )
    if not enough:
        return
    yield Cause(
        name,
        name if first else f"no {name}",
        f"no {name}" if first else name,
        "possible",
        (first or second)[0].evidence,
    )
