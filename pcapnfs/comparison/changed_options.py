"""Mount options, and what clients do that such options decide on: listings, ACLs, stable WRITEs.

Takes two sides; gives the settings that differ, each with what says so. A setting is named only
where both sides tell it: what one of them leaves open is not known to have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.by_file.sizes import KIBIBYTE
from pcapnfs.analyses.mounts.mount_options import ASKS_NEVER
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.comparison.cause import Cause, weaker
from pcapnfs.comparison.changed_counts import counts, more_often, same_work
from pcapnfs.comparison.changed_protocol import MAINLY, mainly
from pcapnfs.diagnosis.mounted import is_timeout
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.comparison.cause import Confidence
    from pcapnfs.comparison.moved_files import Sizes
    from pcapnfs.comparison.side import Side

MOST = 0.5
"""Share of the listings, and of the paths that are written on both sides, that makes a habit."""

FEW = 3
"""Listings or WRITEs below which there is no habit."""

MISSED = 10
"""Entries that were looked up after their listing, below which it tells nothing by itself."""

CACHE = ("noac", "actimeo", "acdirmin", "acregmin", "acregmax")
"""What the options begin with that say how long attributes are kept."""

CAUSED_BY = {
    "rsize": (
        "READ",
        "a smaller read-ahead of the client, or a program that reads past its cache,",
    ),
    "wsize": ("WRITE", "a program that makes sure of each piece"),
}
"""The calls that an option limits, and what else makes them smaller."""

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

LOCKS, LOCKING = "nlm", ("LOCK", "UNLOCK")
"""The protocol for locks beside NFSv3, and its calls that lock and unlock."""

NOT_ASKED = "not asked of the server (nolock, local_lock)"
"""What a client does with locks that keeps them itself."""

NO_NAMES = "lookupcache=none"
"""The option that keeps no names."""


class _Said(Record):
    """What is said of a mount option."""

    title: str
    confidence: Confidence
    evidence: str
    options: tuple[str, ...]


def _verdicts(side: Side, *prefixes: str) -> list[_Said]:
    """What is said of the options that begin so, once for each title."""
    found: dict[str, _Said] = {}
    for mount in side.mounts:
        for verdict in mount.verdicts:
            if verdict.options[0].startswith(prefixes):
                sure: Confidence = "likely" if verdict.confidence == "likely" else "possible"
                found.setdefault(
                    verdict.title, _Said(verdict.title, sure, verdict.evidence, verdict.options)
                )
    return list(found.values())


def attribute_cache(before: Side, after: Side) -> Iterator[Cause]:
    """How long attributes are kept.

    Where a side has too little to tell, it is known only if the other one, which tells that it
    keeps them for less, asks twice as often or more and does the same apart from that.
    """
    sides = before, after
    first, second = told = [_verdicts(side, *CACHE) for side in sides]
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
        calls = [sum(_calls(side, family, ASKS) for family in ("3", "4")) for side in sides]
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


def name_cache(before: Side, after: Side) -> Iterator[Cause]:
    """Whether names are kept; nothing where the side that may keep them has too little to tell."""
    first, second = _verdicts(before, NO_NAMES), _verdicts(after, NO_NAMES)
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
        len(of_one.seconds) for (_, op), of_one in side.times.items() if op.startswith("LOOKUP")
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


def transfer_size(option: str, before: Side, after: Side) -> Iterator[Cause]:
    """A size of transfers: limited on one side, exceeded or limited otherwise on the other."""
    first, second = _verdicts(before, f"{option}="), _verdicts(after, f"{option}=")
    names = [
        " and ".join(dict.fromkeys(each.options[0] for each in found)) for found in (first, second)
    ]
    if not any(names):
        yield from _pieces(option, before, after)
    if names[0] == names[1]:
        return
    if all(names):
        sure = weaker(*(each.confidence for each in (*first, *second)))
        yield Cause(option, names[0], names[1], sure, second[0].evidence)
        return
    said = (first or second)[0]
    other = after if first else before
    limit, largest = int(said.options[0].partition("=")[2]), _largest(option, other)
    if largest is None or largest <= limit:
        return
    beyond = f"larger ({units.size(largest)} were moved at once)"
    yield Cause(
        option,
        said.options[0] if first else beyond,
        beyond if first else said.options[0],
        said.confidence,
        f"{said.evidence}; the other capture has {units.size(largest)}",
    )


def _pieces(option: str, before: Side, after: Side) -> Iterator[Cause]:
    """Files of both sides that were moved in smaller pieces on one of them."""
    first, second = _moved_at_once(option, before), _moved_at_once(option, after)
    if first is None or second is None or first == second:
        return
    smaller, larger = (before, after) if first < second else (after, before)
    least, most = min(first, second), max(first, second)
    if (
        # What goes out at each write() is as large as the program makes it.
        (
            option == "wsize"
            and any(
                _waits(verdict.options) for mount in smaller.mounts for verdict in mount.verdicts
            )
        )
        # No client has a size of another kind: the program moved so much, or the client cut,
        # elsewhere.
        or least % KIBIBYTE
    ):
        return
    pieces, whole = _sizes(option, smaller).pieces, _sizes(option, larger).widest
    common = pieces & whole
    if not common or _sizes(option, smaller).calls < FEW:
        return
    words = [
        f"{option}={size}" if size == least else f"larger ({units.size(size)} were moved at once)"
        for size in (first, second)
    ]
    call, others = CAUSED_BY[option]
    yield Cause(
        option,
        words[0],
        words[1],
        "possible",
        f"{units.counted(len(common), 'file')} moved by {call}s of {units.size(least)}, one behind "
        f"the other, and none larger; the other capture has {call}s of {units.size(most)} for the "
        f"same; {others} does that as well",
    )


def _moved_at_once(option: str, side: Side) -> int | None:
    """The most that a READ, or a WRITE, asked for."""
    habits = side.habits
    return habits.largest_write_bytes if option == "wsize" else habits.largest_read_bytes


def _sizes(option: str, side: Side) -> Sizes:
    return side.moved.writes if option == "wsize" else side.moved.reads


def _waits(options: Sequence[str]) -> bool:
    """Whether one of these options has each write() wait for the server."""
    return any(option == "noac" or "sync" in option.split(",") for option in options)


def _written_on_both(before: Side, after: Side) -> int:
    """Paths that were written on both sides; 0 where those are not most of them."""
    common = len(before.moved.written & after.moved.written)
    return (
        common if common >= MOST * max(len(before.moved.written), len(after.moved.written)) else 0
    )


def _largest(option: str, side: Side) -> int | None:
    """The most that was asked for at once: on Linux, rsize also limits listings."""
    if option == "wsize":
        return side.habits.largest_write_bytes
    sizes = (side.habits.largest_read_bytes, side.largest_listing_bytes)
    return max((size for size in sizes if size is not None), default=None)


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
    counts = [_calls(side, "nfsacl", "GETACL") for side in (before, after)]
    less = after if counts[0] > counts[1] else before
    if (
        max(counts) < ENOUGH
        or any(family == "nfsacl" for family, _ in less.times)
        or not _calls(less, "3", "FSINFO")
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
    calls = [sum(_calls(side, LOCKS, op) for op in LOCKING) for side in (before, after)]
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


def _calls(side: Side, family: str, op: str) -> int:
    found = side.times.get((family, op))
    return 0 if found is None else len(found.seconds)


def option(name: str, before: Side, after: Side) -> Iterator[Cause]:
    """An option that is only ever said to be there: its absence needs as much data to tell."""
    first, second = _verdicts(before, name), _verdicts(after, name)
    if bool(first) == bool(second):
        return
    other = after if first else before
    enough = (
        _gathers(after if second else before, other)
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


def _gathers(through: Side, other: Side) -> bool:
    """Whether the other client gathers what is written: in WRITEs that need a COMMIT, or of more.

    A small file it sends in one WRITE that needs none, which is larger than the pieces in which
    one that writes through sends the same file.
    """
    pieces, gathered = through.habits.largest_write_bytes, other.habits.largest_write_bytes
    return other.habits.writes_unstable >= FEW or (
        pieces is not None
        and gathered is not None
        and pieces < gathered
        and _written_on_both(through, other) > 0
    )


def stable_writes(before: Side, after: Side) -> Iterator[Cause]:
    """Whether data is on stable storage when a WRITE is answered."""
    shares = []
    for side in (before, after):
        writes = side.habits.writes_stable + side.habits.writes_unstable
        if writes < FEW:
            return
        shares.append(side.habits.writes_stable / writes)
    if not min(shares) <= 1 - MAINLY or not max(shares) >= MAINLY:
        return
    words = ["stable" if share >= MAINLY else "unstable, with COMMIT" for share in shares]
    yield Cause(
        "stable_writes",
        words[0],
        words[1],
        "certain",
        f"{units.share(shares[0])} of the WRITEs were answered stable before, "
        f"{units.share(shares[1])} after",
    )
