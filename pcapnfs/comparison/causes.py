"""What must have been changed: mount options, the server's storage, the network.

Takes two sides and how their operations moved; gives the settings that differ, each with what says
so. A setting is named only where both sides tell it: what one of them leaves open is not known to
have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Literal

from pcapnfs import units
from pcapnfs.analyses.mounts import software
from pcapnfs.analyses.mounts.mount_options import ASKS_NEVER, ENOUGH, SMALL_WRITE_BYTES
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison.operations import operation_changes
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.software import Kind
    from pcapnfs.comparison.each import Sides
    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.side import Side, Times

Confidence = Literal["certain", "likely", "possible"]
"""`certain`: the packets say so themselves. `likely`: they have no other common cause. `possible`:
there is another one, or there is little data."""

MAINLY = 0.9
"""Share of the calls that tell it which makes a version, a transport or a flavor that of the
capture."""

TIMES = 1.8
"""How many times as long a round trip must be: halving it is a change that is made on purpose, and
less lies within what machines do from run to run."""

LEAST_S = 50e-6
"""Difference of round trips below which they are those of one machine or one switch."""

STORAGE = 0.5
"""Part of the longer median by which stable calls must have moved beyond what the network explains:
a busy server is a third slower the next day; one that no longer waits for its disks is several
times as fast."""

MOST = 0.5
"""Share of the stable calls' time, and of listings or writes, that makes a habit."""

SLOWER = "slower: sync export, without log device or write cache, slower disks or file system"
FASTER = "faster: async export, log device, write cache, faster disks or file system"
"""What storage may be; traffic cannot tell which of these."""

FEW = 3
"""Listings or WRITEs below which there is no habit."""

MISSED = 10
"""Entries that were looked up after their listing, below which it tells nothing by itself."""

MANY = 100
"""Stable calls on each side from which on storage is likely to be what moved them: a machine that
is busy for some seconds slows a few dozen."""

FEW_EACH = 10
"""Stable calls of one kind, below which its quantiles are single calls."""

CACHE = ("noac", "actimeo", "acdirmin", "acregmin")
"""What the options begin with that say how long attributes are kept."""


NO_NAMES = "lookupcache=none"
"""The option that keeps no names."""


class Cause(Record):
    """A setting that differs."""

    subject: str
    """`version`, `transport`, `security`; `client_software`, `server_software` (what they say they
    are); `attribute_cache`, `name_cache`, `rsize`, `wsize`,
    `readdirplus`, `sync`, `nocto` (mount options); `stable_writes` (what the client asks of the
    server for data); `storage` (sync or async export, or how fast it is), `network_rtt`."""
    before: str
    """What it was, in words."""
    after: str
    """What it became."""
    confidence: Confidence
    """`certain`: the packets say so themselves; `likely`: they have no other common cause;
    `possible`: there is another one, or there is little data."""
    evidence: str
    """What says so, in a sentence; of several clients, of the first of them."""
    clients: tuple[str, ...] = ()
    """Of several clients those of which it is told, by their addresses before; empty where it is
    told of all calls together."""


def causes(
    before: Side,
    after: Side,
    operations: tuple[OperationChange, ...],
    clients: Sequence[Sides] = (),
) -> tuple[Cause, ...]:
    """Name what must have been changed, in the order from protocol to storage.

    Args:
        before: The side before.
        after: The side after.
        operations: How their operations moved.
        clients: Several clients of both sides, each by itself: what differs of all their calls
            together need not have changed for any.
    """

    def told(ask: Callable[[Side, Side], Iterator[Cause]]) -> Iterator[Cause]:
        return _of_each(ask, clients) if clients else ask(before, after)

    return (
        *told(_protocol_changes),
        *_software("client_software", before.software.clients, after.software.clients),
        *_software("server_software", before.software.servers, after.software.servers),
        *told(_attribute_cache),
        *told(_name_cache),
        *told(partial(_size, "rsize")),
        *told(partial(_size, "wsize")),
        *_listings(before, after),
        *told(partial(_option, "sync")),
        *told(partial(_option, "nocto")),
        *told(_writes),
        *(_networks(clients) if clients else _network(before, after)),
        *_storages(before, after, operations, clients),
    )


def left_open(before: Side, after: Side, clients: Sequence[Sides] = ()) -> tuple[str, ...]:
    """Say which of version, transport and security flavor a side does not tell, of any client."""
    pairs = [(first, second) for _, first, second in clients] or [(before, after)]
    found = {
        subject
        for first, second in pairs
        for subject, *sides in _protocols(first, second)
        if any(_main(calls) is None for calls in sides)
    }
    return tuple(subject for subject, *_ in _protocols(before, after) if subject in found)


def _of_each(
    ask: Callable[[Side, Side], Iterator[Cause]], clients: Sequence[Sides]
) -> Iterator[Cause]:
    """What changed for some clients, once for all of whom the same did."""
    return _once(((client, ask(before, after)) for client, before, after in clients), _words)


def _words(cause: Cause) -> tuple[str, ...]:
    return cause.subject, cause.before, cause.after


def _once(
    told: Iterable[tuple[str, Iterator[Cause]]], alike: Callable[[Cause], Hashable]
) -> Iterator[Cause]:
    """What is told of some clients, once for all of whom it is alike."""
    found: dict[Hashable, list[tuple[str, Cause]]] = {}
    for client, its_causes in told:
        for cause in its_causes:
            found.setdefault(alike(cause), []).append((client, cause))
    for group in found.values():
        (first, cause), *more = group
        yield replace(
            cause,
            confidence=_weaker(*(each.confidence for _, each in group)),
            evidence=f"{first}: {cause.evidence}" if more else cause.evidence,
            clients=tuple(client for client, _ in group),
        )


def _protocols(
    before: Side, after: Side
) -> tuple[tuple[str, Mapping[str, int], Mapping[str, int]], ...]:
    """What calls have in common: its subject, and the calls of each side by it."""
    return (
        ("version", before.habits.versions, after.habits.versions),
        ("transport", before.habits.transports, after.habits.transports),
        ("security", before.habits.flavors, after.habits.flavors),
    )


def _protocol_changes(before: Side, after: Side) -> Iterator[Cause]:
    for subject, first, second in _protocols(before, after):
        yield from _mainly(subject, first, second)


def _mainly(subject: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Cause]:
    """What nearly all calls that tell it have in common, on each side."""
    first, second = _main(before), _main(after)
    if first is None or second is None:
        return
    # A capture that was cut may leave the minor version open: 4 is then any of 4.0, 4.1 …
    shorter, longer = sorted((first, second), key=len)
    if longer == shorter or longer.startswith(f"{shorter}."):
        return
    yield Cause(
        subject,
        first,
        second,
        "certain",
        f"{units.count(before[first])} of {units.counted(sum(before.values()), 'call')} before, "
        f"{units.count(after[second])} of {units.count(sum(after.values()))} after",
    )


def _main(calls: Mapping[str, int]) -> str | None:
    name = max(calls, key=calls.__getitem__, default=None)
    return None if name is None or calls[name] < MAINLY * sum(calls.values()) else name


class _Said(Record):
    """What is said of a mount option."""

    title: str
    confidence: Confidence
    evidence: str


def _verdicts(side: Side, *prefixes: str) -> list[_Said]:
    """What is said of the options that begin so, once for each title."""
    found: dict[str, _Said] = {}
    for mount in side.mounts:
        for verdict in mount.verdicts:
            if verdict.options[0].startswith(prefixes):
                sure: Confidence = "likely" if verdict.confidence == "likely" else "possible"
                found.setdefault(verdict.title, _Said(verdict.title, sure, verdict.evidence))
    return list(found.values())


def _software(subject: str, before: Sequence[Kind], after: Sequence[Kind]) -> Iterator[Cause]:
    """What hosts say they are: one kind went, and another came.

    Where only one of that happened, hosts may have joined or left.
    """
    if max(len(before), len(after)) >= software.KINDS:  # The rest is not known.
        return
    first, second = (
        {kind.software: kind for kind in side if kind.source == "implementation"}
        for side in (before, after)
    )
    gone = [kind for name, kind in first.items() if name not in second]
    come = [kind for name, kind in second.items() if name not in first]
    if not gone or not come:
        return
    names = software.apart(gone[0].software, come[0].software)
    told = [
        f"{_and_more(kind.addresses[0], kind.hosts)} in frame {kind.frame} {when}"
        for kind, when in ((gone[0], "before"), (come[0], "after"))
    ]
    yield Cause(
        subject,
        _and_more(names[0], len(gone)),
        _and_more(names[1], len(come)),
        "certain",
        f"EXCHANGE_ID of {told[0]}, of {told[1]}",
    )


def _and_more(name: str, all_of_them: int) -> str:
    return f"{name} and {units.count(all_of_them - 1)} more" if all_of_them > 1 else name


def _weaker(*all_of: Confidence) -> Confidence:
    order: tuple[Confidence, ...] = ("possible", "likely", "certain")
    return min(all_of, key=order.index)


def _attribute_cache(before: Side, after: Side) -> Iterator[Cause]:
    """How long attributes are kept; nothing where a side has too little to tell."""
    told = []
    for side in (before, after):
        found = _verdicts(side, *CACHE)
        if not found and all(mount.too_little is not None for mount in side.mounts):
            return
        told.append(found)
    first, second = told
    names = [" and ".join(each.title for each in found) or "default" for found in told]
    if names[0] == names[1] or _overlap(before, after):
        return
    yield Cause(
        "attribute_cache",
        names[0],
        names[1],
        _weaker(*(each.confidence for each in (*first, *second))),
        "; ".join(each.evidence for each in (second or first)),
    )


def _name_cache(before: Side, after: Side) -> Iterator[Cause]:
    """Whether names are kept; nothing where the side that may keep them has too little to tell."""
    first, second = _verdicts(before, NO_NAMES), _verdicts(after, NO_NAMES)
    if bool(first) == bool(second):
        return
    other = after if first else before
    kept = [
        mount
        for mount in other.mounts
        if mount.returns >= ENOUGH and mount.returns_looked_up <= ASKS_NEVER * mount.returns
    ]
    if not kept:
        return
    said = (first or second)[0]
    yield Cause(
        "name_cache",
        NO_NAMES if first else "default",
        "default" if first else NO_NAMES,
        said.confidence,
        f"{said.evidence}; in {units.count(kept[0].returns_looked_up)} of "
        f"{units.counted(kept[0].returns, 'move')} {'after' if first else 'before'}",
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


def _size(option: str, before: Side, after: Side) -> Iterator[Cause]:
    """A size of transfers: limited on one side, exceeded or limited otherwise on the other."""
    first, second = _verdicts(before, f"{option}="), _verdicts(after, f"{option}=")
    names = [" and ".join(each.title for each in found) for found in (first, second)]
    if option == "wsize" and not any(names):
        yield from _pieces(before, after)
    if names[0] == names[1]:
        return
    if all(names):
        sure = _weaker(*(each.confidence for each in (*first, *second)))
        yield Cause(option, names[0], names[1], sure, second[0].evidence)
        return
    said = (first or second)[0]
    other = after if first else before
    limit, largest = int(said.title.split("=", 1)[1].split()[0]), _largest(option, other)
    if largest is None or largest <= limit:
        return
    beyond = f"larger ({units.size(largest)} were moved at once)"
    yield Cause(
        option,
        said.title if first else beyond,
        beyond if first else said.title,
        said.confidence,
        f"{said.evidence}; the other capture has {units.size(largest)}",
    )


def _pieces(before: Side, after: Side) -> Iterator[Cause]:
    """Files of both sides that were written in small pieces on one of them only."""
    first, second = before.habits.largest_write_bytes, after.habits.largest_write_bytes
    if first is None or second is None or first == second:
        return
    smaller = before if first < second else after
    least, most = min(first, second), max(first, second)
    if least > SMALL_WRITE_BYTES or smaller.habits.writes_of_largest < FEW:
        return
    common = len(before.written & after.written)
    if not common or common < MOST * max(len(before.written), len(after.written)):
        return
    words = [
        f"wsize={size}" if size == least else f"larger ({units.size(size)} were moved at once)"
        for size in (first, second)
    ]
    yield Cause(
        "wsize",
        words[0],
        words[1],
        "possible",
        f"{units.counted(smaller.habits.writes_of_largest, 'WRITE')} of {units.size(least)} and "
        f"none larger; the other capture, with {units.counted(common, 'written path')} in common, "
        f"has {units.size(most)}",
    )


def _largest(option: str, side: Side) -> int | None:
    """The most that was asked for at once: on Linux, rsize also limits listings."""
    if option == "wsize":
        return side.habits.largest_write_bytes
    sizes = (side.habits.largest_read_bytes, side.largest_listing_bytes)
    return max((size for size in sizes if size is not None), default=None)


def _listings(before: Side, after: Side) -> Iterator[Cause]:
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


def _option(name: str, before: Side, after: Side) -> Iterator[Cause]:
    """An option that is only ever said to be there: its absence needs as much data to tell."""
    first, second = _verdicts(before, name), _verdicts(after, name)
    if bool(first) == bool(second):
        return
    other = after if first else before
    enough = (
        other.habits.writes_unstable >= FEW
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


def _writes(before: Side, after: Side) -> Iterator[Cause]:
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


def _networks(clients: Sequence[Sides]) -> Iterator[Cause]:
    """Round trips of each client: those that became longer, and those that became shorter.

    No two clients have the same to the microsecond: told are those of the first.
    """
    for longer in (True, False):
        chosen = (
            (client, _network(before, after))
            for client, before, after in clients
            if ((before.way.rtt_s or 0.0) < (after.way.rtt_s or 0.0)) is longer
        )
        yield from _once(chosen, lambda cause: cause.subject)


def _network(before: Side, after: Side) -> Iterator[Cause]:
    """Whether the round trip differs: the usual one as well as the shortest."""
    first, second = before.way, after.way
    if first.rtt_s is None or second.rtt_s is None:
        return
    # Gaps are an upper bound: of the shorter one that is enough, of the longer it says nothing.
    if (first if first.rtt_s > second.rtt_s else second).source == "gaps":
        return
    if first.floor_s is None or second.floor_s is None:
        return
    for one, other in ((first.rtt_s, second.rtt_s), (first.floor_s, second.floor_s)):
        longer, shorter = max(one, other), min(one, other)
        if longer < TIMES * shorter or longer - shorter < LEAST_S:
            return
    if (first.rtt_s < second.rtt_s) != (first.floor_s < second.floor_s):
        return
    yield Cause(
        "network_rtt",
        units.duration(first.rtt_s),
        units.duration(second.rtt_s),
        "likely",
        f"TCP's usual round trip ({_source(first.source)} before, {_source(second.source)} after); "
        f"the shortest went from {units.duration(first.floor_s)} to "
        f"{units.duration(second.floor_s)}",
    )


def _source(source: str) -> str:
    names = {"handshake": "handshake", "acks": "ACKs", "gaps": "gaps, at most"}
    return names.get(source, source)


def _storages(
    before: Side,
    after: Side,
    operations: tuple[OperationChange, ...],
    clients: Sequence[Sides],
) -> Iterator[Cause]:
    """Storage by the stable calls of each client; of all, where none has enough of them.

    Taken together, calls of one operation take other times where clients make more or fewer of
    them than before, though nothing changed for any.
    """
    # Of thousands of clients, the other calls would be tested for nothing.
    moved = [
        (first, second, operation_changes(_stable(first.times), _stable(second.times)))
        for _, first, second in clients
    ]
    if not any(_tested(rows) for *_, rows in moved):
        yield from _storage(before, after, operations)
        return
    names = (client for client, *_ in clients)
    yield from _once(zip(names, starmap(_storage, moved), strict=True), _words)


def _stable(times: Mapping[tuple[str, str], Times]) -> dict[tuple[str, str], Times]:
    """The stable operations."""
    return {key: of_one for key, of_one in times.items() if of_one.stable}


def _tested(operations: tuple[OperationChange, ...]) -> bool:
    """Whether any kind of stable call is there often enough on both sides to say if it moved."""
    return any(row.stable and row.shift_s is not None for row in operations)


def _storage(before: Side, after: Side, operations: tuple[OperationChange, ...]) -> Iterator[Cause]:
    """Whether stable calls moved by more than the network explains."""
    added = 0.0
    if before.way.rtt_s is not None and after.way.rtt_s is not None:
        added = after.way.rtt_s - before.way.rtt_s
    every = [row for row in operations if row.stable]
    stable = [row for row in every if row.shift_s is not None]
    whole = sum(map(_taken_s, stable))
    for direction in ("faster", "slower"):
        moved = [
            row
            for row in stable
            if row.verdict == direction and _beyond(row, row.shift_s or 0.0, added)
        ]
        if moved and sum(map(_taken_s, moved)) >= MOST * whole:
            yield _stored(moved, direction)
        elif not stable and (apart := _all_apart(every, direction, added)):
            yield _stored(apart, direction)


def _stored(moved: list[OperationChange], direction: str) -> Cause:
    shown = max(moved, key=_taken_s)
    return Cause(
        "storage",
        SLOWER if direction == "faster" else FASTER,
        FASTER if direction == "faster" else SLOWER,
        "likely" if _calls(moved) >= MANY else "possible",
        f"{', '.join(row.op for row in moved)} {direction}: {shown.op} took "
        f"{units.duration(shown.p50_before_s)} before and "
        f"{units.duration(shown.p50_after_s)} after (medians); replies are the same, so that "
        "traffic cannot tell which of these it was",
    )


def _all_apart(
    every: list[OperationChange], direction: str, added_s: float
) -> list[OperationChange]:
    """Kinds of stable calls too few for a test each, which together are enough; or none.

    Each has moved alike, and so far that hardly any of its calls on one side took as long as half
    of them on the other.
    """
    rows = [row for row in every if min(row.calls_before, row.calls_after) >= FEW_EACH]
    if not rows or _calls(rows) < LEAST_CALLS:
        return []
    if sum(map(_taken_s, rows)) < MOST * sum(map(_taken_s, every)):
        return []
    alike = all(_apart(row, direction) and _beyond(row, _moved_s(row), added_s) for row in rows)
    return rows if alike else []


def _apart(row: OperationChange, direction: str) -> bool:
    slow, fast = row.p50_before_s or 0.0, row.p95_after_s or 0.0
    if direction == "slower":
        slow, fast = row.p50_after_s or 0.0, row.p95_before_s or 0.0
    return fast < slow


def _moved_s(row: OperationChange) -> float:
    return (row.p50_after_s or 0.0) - (row.p50_before_s or 0.0)


def _taken_s(row: OperationChange) -> float:
    return row.sum_before_s + row.sum_after_s


def _calls(rows: list[OperationChange]) -> int:
    """Calls of the side that has fewer."""
    before, after = (row.calls_before for row in rows), (row.calls_after for row in rows)
    return min(sum(before), sum(after))


def _beyond(row: OperationChange, shift: float, added_s: float) -> bool:
    """Whether the shift is that of storage: larger than what the network brought."""
    median = max(row.p50_before_s or 0.0, row.p50_after_s or 0.0)
    # Storage that works on a clock absorbs a longer round trip: only what adds to it counts.
    rest = shift - max(0.0, added_s) if shift > 0 else -shift - max(0.0, -added_s)
    return rest >= STORAGE * median
