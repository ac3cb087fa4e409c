"""What the times of calls tell of storage, and of what a server had in its memory.

Takes two sides, or several clients of both, and how their operations moved; gives what differs,
with what says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import units
from pcapnfs.analyses.data.moves import READ_OPERATIONS
from pcapnfs.analyses.forecasts.verdict_reasons import when_slow
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.comparison.across_versions import shared, stable, together
from pcapnfs.comparison.cause import Cause, once, words
from pcapnfs.comparison.changed_protocol import times_at_once
from pcapnfs.comparison.changed_times import TIMES, few_served, served_s, service
from pcapnfs.comparison.changed_turns import SLOW, SLOW_S, one_by_one, turns
from pcapnfs.comparison.operations import RELEVANT, operation_changes, taken_s
from pcapnfs.comparison.waterfall import WAITED
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.comparison.each import Sides
    from pcapnfs.comparison.operations import OperationChange
    from pcapnfs.comparison.side import Side, Times

MOST = 0.5
"""Share of the stable calls' time by which storage must have moved."""

STORAGE = 1 - 1 / TIMES
"""Part of what the median stable call took beyond network and server, on the side where that is
longer, by which it must have moved beyond what these explain, so that twice as slow a disk is told
whatever its ticks: a busy server is a third slower the next day; one that no longer waits for its
disks is several times as fast …"""

NOTABLE = 0.25
"""… and part of the whole call by which it must have, so that a path which is long and not quite as
long each time is not taken for storage."""

SLOWER = "slower: sync export, without log device or write cache, slower disks or file system"
FASTER = "faster: async export, log device, write cache, faster disks or file system"
"""What storage may be; traffic cannot tell which of these."""

AS_USUAL = "as usual throughout"
"""What storage was where it was slow for some calls on the other side alone."""

FOR_A_WHILE = "slow for a while: other work for its disks, or a write cache that was full or off"
"""What it was there where these stand together in time …"""

FOR_SOME = "slow for some calls: other files or disks, or other work for these now and then"
"""… and where they do not."""

FEWEST = 8
"""Stable calls on each side, below which nothing is said of storage: a few that were slow for
another reason would be most of them."""

NEARLY_EACH = 0.95
"""Of pairs of a call before and one of its kind after, the share in which the same is the slower,
from which on a few calls tell storage …"""

FEW_TIMES = 3.0
"""… if those of each kind took so many times as long on that side, in the median, and `SLOW_S`."""

COLD = "slow: from its disks, or it is busy"
WARM = "fast: from its memory"
"""Where the server reads from."""

MANY = 100
"""Stable calls on each side from which on storage is likely to be what moved them: a machine that
is busy for some seconds slows a few dozen."""

HARDLY = 1.2
"""Times as long as the way without storage that stable calls take at most where storage has hardly
a part in them, so that none of a longer round trip can be hidden in its waits."""

QUICK_S = 0.001
"""Difference of the medians below which another storage is possible at most: a server that is busy,
or whose processors sleep or run slowly between calls, takes some hundred microseconds more one day
than another, with the same disks."""

QUICK = "; a server that is busy or has to wake up may take such parts of a millisecond as well"
"""What is said of that."""

OR_THE_SERVER = (
    "; or it is the server, which took as much longer for the few calls that need no storage"
)
"""What is said where these are too few to tell, but all moved as far."""

THE_SERVER_TOO = (
    "; or it is the server alone: calls that need no storage moved by half as much or more, and "
    "these may wait for its processor more than once"
)
"""What is said where small calls show that it was another server, or a busy one."""

AS_LONG = 0.5
"""Part of what stable calls moved by beyond network and server that small calls moved by at the
server, from which on the server may be all of it."""

BEHIND_OTHERS = (
    "; or calls waited for one another, as they did on the slower side, where other kinds did not "
    "move as far"
)
"""What is said where only the kinds moved of which many may have come at once, such as the SETATTRs
that go with returned delegations."""

IN_TURN = (
    "; or calls waited for a thread of the server, which worked on one at a time on the slower "
    "side alone"
)
"""What is said where calls of the slower side do not overtake one another, as others do."""

FEW_EACH = 10
"""Stable calls of one kind, below which its quantiles are single calls."""


def storages(
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
        (first, second, operation_changes(stable(first.times), stable(second.times)))
        for _, first, second in clients
    ]
    if any(_tested(rows) for *_, rows in moved):
        names = (client for client, *_ in clients)
        found = list(once(zip(names, starmap(_storage, moved), strict=True), words))
    else:
        found = list(_storage(before, after, operations))
    yield from found or _slow_for_some(before, after)


def reads(
    before: Side,
    after: Side,
    operations: tuple[OperationChange, ...],
    clients: Sequence[Sides],
) -> Iterator[Cause]:
    """Whether the server had in memory on one side what it read from its disks on the other.

    The second of two runs often finds warm what the first had to wait for.
    """
    if not clients:
        yield from _read(before, after, operations)
        return
    each = (
        (client, _read(first, second, operation_changes(_reads(first), _reads(second))))
        for client, first, second in clients
    )
    yield from once(each, words)


def _reads(side: Side) -> dict[tuple[str, str], Times]:
    return {key: of_one for key, of_one in side.times.items() if key[1] in READ_OPERATIONS}


def _read(before: Side, after: Side, operations: tuple[OperationChange, ...]) -> Iterator[Cause]:
    """Whether READs moved by more than the network explains, from a server that was slow."""
    if before.habits.largest_read_bytes != after.habits.largest_read_bytes:
        return  # More bytes take longer.
    if any(map(one_by_one, (*before.findings, *after.findings))) or turns(before, after):
        return  # Then READs wait for whatever is before them in the queue.
    way = way_of(before, after)
    for row in operations:
        if (
            row.op not in READ_OPERATIONS
            or row.verdict not in ("faster", "slower")
            or not _beyond(row, row.shift_s or 0.0, way)
        ):
            continue
        faster = row.verdict == "faster"
        if not any(found.id == SLOW for found in (before if faster else after).findings):
            continue
        quick = abs(_moved_s(row)) < QUICK_S
        if quick and _small_moved(before, after, row.verdict):
            continue
        yield Cause(
            "server_reads",
            COLD if faster else WARM,
            WARM if faster else COLD,
            "likely"
            if min(row.timed_before, row.timed_after) >= MANY and not quick
            else "possible",
            f"{row.op} took {units.duration(row.p50_before_s)} before and "
            f"{units.duration(row.p50_after_s)} after (medians); a run that comes after another "
            f"finds in the server's memory what that one read{QUICK if quick else ''}",
        )


def _tested(operations: tuple[OperationChange, ...]) -> bool:
    """Whether any kind of stable call is there often enough on both sides to say if it moved."""
    return any(row.stable and row.shift_s is not None for row in operations)


def _storage(before: Side, after: Side, operations: tuple[OperationChange, ...]) -> Iterator[Cause]:
    """Whether stable calls moved by more than the network explains.

    Those of another version must have moved several times as far: they ask the same of storage, but
    of the server something else besides.
    """
    way, at_once = way_of(before, after), times_at_once(before, after)
    few = few_served(before, after)
    in_turn = turns(before, after)
    queued = None if in_turn is None else "faster" if in_turn.slow is before else "slower"
    with_server = way
    if few is not None:
        with_server = replace(
            way, before_s=way.before_s + few.before_s, after_s=way.after_s + few.after_s
        )
    across = not shared(before, after)
    if across:
        before, after = (replace(side, times=together(side.times)) for side in (before, after))
        operations = operation_changes(before.times, after.times)
    every = [row for row in operations if row.stable and not _queue(row, at_once)]
    tested = [row for row in every if row.shift_s is not None]
    whole = sum(map(taken_s, tested))
    for direction in ("faster", "slower"):
        moved = [
            row
            for row in tested
            if row.verdict == direction and _beyond(row, row.shift_s or 0.0, way)
        ]
        if not tested:
            moved = _all_apart(every, direction, way) or _few_apart(
                before, after, every, direction, way
            )
            whole = sum(map(taken_s, moved))
        if across:
            moved = [row for row in moved if _several_times(row, direction)]
        if not moved or sum(map(taken_s, moved)) < MOST * whole:
            continue
        if _stood_still(*_slower_first(before, after, direction), moved):
            continue
        quick = all(abs(_moved_s(row)) < QUICK_S for row in moved)
        if quick and _small_moved(before, after, direction):
            continue
        doubts = {
            QUICK: quick,
            OR_THE_SERVER: few is not None
            and not any(_beyond(row, row.shift_s or _moved_s(row), with_server) for row in moved),
            THE_SERVER_TOO: (way.served_s if direction == "slower" else -way.served_s)
            >= AS_LONG * max(0.0, abs(_moved_s(_most(moved))) - abs(way.added_s))
            > 0,
            IN_TURN: queued == direction,
            BEHIND_OTHERS: len(moved) < len(tested) and _waited(before, after, direction),
        }
        said = "".join(words for words, held in doubts.items() if held)
        yield _stored(moved, direction, way, said)


def _stood_still(slow: Side, fast: Side, moved: list[OperationChange]) -> bool:
    """Whether calls took longer on the slow side for what they stood still there, and not storage.

    Where most calls of many segments meet a loss, their median is that of the loss. What is left of
    persistence without it then says whether storage was slower as well.
    """
    lost = slow.measured.lost
    longer_s = sum(abs(row.sum_after_s - row.sum_before_s) for row in moved)
    if lost.calls_s - lost.transfer_s <= MOST * longer_s:
        return False
    left_s, other_s = (side.measured.persist_s or 0.0 for side in (slow, fast))
    return left_s < TWICE * other_s


TWICE = 2
"""Persistence is as many times as long on the slow side, without what calls stood still, where its
storage is slower, too. Some calls that stood still are not told as such, and are left in it."""


def _slow_for_some(before: Side, after: Side) -> Iterator[Cause]:
    """Whether storage was slow on one side for some calls, which move no median.

    On the other, calls that took as long, for whatever reason, must have taken less by far.
    """
    for slow, other in ((before, after), (after, before)):
        stable = slow.measured.stable
        some = stable.slow
        if some is None or other.measured.stable.slow is not None:
            continue
        if min(slow.measured.stable_calls, other.measured.stable_calls) < FEW_EACH:
            continue
        late_s = other.measured.stable.late_part * (other.measured.persist_s or 0.0)
        if some.time_s / slow.measured.stable_calls < TIMES * late_s:
            continue
        was = FOR_A_WHILE if some.while_ns else FOR_SOME
        when = f", {when_slow(some)}" if some.while_ns else ""
        yield Cause(
            "storage",
            was if slow is before else AS_USUAL,
            AS_USUAL if slow is before else was,
            "likely" if some.calls >= MANY else "possible",
            f"{units.count(some.calls)} of "
            f"{units.counted(slow.measured.stable_calls, 'stable call')} "
            f"{'before' if slow is before else 'after'} took {units.duration(some.mean_s)} longer "
            f"than a small call{when}; most others of their kind were quick, and so were small "
            "calls right before them",
        )


class _Way(Record):
    """What each call takes without storage, also one that needs it."""

    before_s: float
    """How long that is before, seconds."""
    after_s: float
    """How long it is after, seconds."""
    adds_up: bool
    """On the longer side stable calls end on no clock of the storage, which could hide it."""
    served_s: float
    """What of `added_s` is the server's, seconds; 0 where nothing tells that it moved."""

    @property
    def added_s(self) -> float:
        """How much more it is after, seconds."""
        return self.after_s - self.before_s

    @property
    def longer_s(self) -> float:
        """How long it is on the side where it is longer, seconds."""
        return max(self.before_s, self.after_s)


def way_of(before: Side, after: Side) -> _Way:
    """What network and server take of each call: for a while, too, where the path was longer."""
    first, second = (_longer_s(side.measured) for side in (before, after))
    served = 0.0, 0.0
    if any(True for _ in service(before, after)):
        served = served_s(before) or 0.0, served_s(after) or 0.0
    first, second = first + served[0], second + served[1]
    if before.way.rtt_s is not None and after.way.rtt_s is not None:
        first, second = first + before.way.rtt_s, second + after.way.rtt_s
    longer = before if first > second else after
    return _Way(
        before_s=first,
        after_s=second,
        adds_up=longer.measured.absorbs is False,
        served_s=served[1] - served[0],
    )


def _longer_s(measured: Measurement) -> float:
    """What calls took longer for a longer path, where that is most of them; else nothing."""
    longer = measured.longer
    return longer.calls_s / longer.calls if 2 * longer.calls > measured.calls else 0.0


def _stored(moved: list[OperationChange], direction: str, way: _Way, doubt: str) -> Cause:
    shown = _most(moved)
    against = ""
    longest_s = max(shown.p50_before_s or 0.0, shown.p50_after_s or 0.0)
    if abs(way.added_s) >= RELEVANT * longest_s and (way.added_s < 0) == (direction == "slower"):
        more = "more" if way.added_s > 0 else "less"
        against = (
            f", though network and server took {units.duration(abs(way.added_s))} {more} for every "
            "call"
        )
    return Cause(
        "storage",
        SLOWER if direction == "faster" else FASTER,
        FASTER if direction == "faster" else SLOWER,
        "likely" if _calls(moved) >= MANY and not doubt else "possible",
        f"{', '.join(row.op for row in moved)} {direction}: {shown.op} took "
        f"{units.duration(shown.p50_before_s)} before and "
        f"{units.duration(shown.p50_after_s)} after (medians){against}; replies are the same, so "
        f"that traffic cannot tell which of these it was{doubt}",
    )


def _all_apart(every: list[OperationChange], direction: str, way: _Way) -> list[OperationChange]:
    """Kinds of stable calls too few for a test each, which together are enough; or none.

    Each has moved alike, and so far that hardly any of its calls on one side took as long as half
    of them on the other.
    """
    rows = [row for row in every if min(row.timed_before, row.timed_after) >= FEW_EACH]
    if not rows or _calls(rows) < LEAST_CALLS:
        return []
    if sum(map(taken_s, rows)) < MOST * sum(map(taken_s, every)):
        return []
    alike = all(_apart(row, direction) and _beyond(row, _moved_s(row), way) for row in rows)
    return rows if alike else []


def _few_apart(
    before: Side,
    after: Side,
    every: list[OperationChange],
    direction: str,
    way: _Way,
) -> list[OperationChange]:
    """Kinds of stable calls of which there are few, and too few together; or none.

    Nearly each took several times as long as those of its kind on the other side, and as long as
    storage does that has to be waited for.
    """
    rows = [row for row in every if row.timed_before and row.timed_after]
    if not rows or _calls(rows) < FEWEST:
        return []
    pairs = longer = 0
    for row in rows:
        slow, fast = (
            side.times[row.version, row.op].seconds
            for side in _slower_first(before, after, direction)
        )
        pairs += len(fast) * len(slow)
        longer += int(np.searchsorted(np.sort(fast), slow, "left").sum())
    if longer < NEARLY_EACH * pairs:
        return []
    moved = [
        row for row in rows if _beyond(row, _moved_s(row), way) and _several_times(row, direction)
    ]
    return moved if sum(map(taken_s, moved)) >= MOST * sum(map(taken_s, every)) else []


def _queue(row: OperationChange, at_once: float) -> bool:
    """Whether calls are slower on the side with more at once, by no more than waiting in turn."""
    before, after = row.p50_before_s or 0.0, row.p50_after_s or 0.0
    if at_once > 1:
        return before < after <= at_once * before
    return after < before <= after / at_once


def _several_times(row: OperationChange, direction: str) -> bool:
    slow, fast = row.p50_before_s or 0.0, row.p50_after_s or 0.0
    if direction == "slower":
        slow, fast = fast, slow
    return slow >= max(SLOW_S, FEW_TIMES * fast)


def _apart(row: OperationChange, direction: str) -> bool:
    slow, fast = row.p50_before_s or 0.0, row.p95_after_s or 0.0
    if direction == "slower":
        slow, fast = row.p50_after_s or 0.0, row.p95_before_s or 0.0
    return fast < slow


def _waited(before: Side, after: Side, direction: str) -> bool:
    """Whether stable calls waited for one another on the slower side alone."""
    slow, fast = (
        side.measured.stable.waited_share or 0.0 for side in _slower_first(before, after, direction)
    )
    return slow >= WAITED > fast


def _small_moved(before: Side, after: Side, direction: str) -> bool:
    """Whether calls that need no storage moved as far as tells another storage of those that do.

    Then the whole server was so many times as fast.
    """
    slow, fast = map(served_s, _slower_first(before, after, direction))
    return slow is not None and fast is not None and slow > 0 and slow >= TIMES * fast


def _slower_first(before: Side, after: Side, direction: str) -> tuple[Side, Side]:
    """Both sides, that whose calls took longer first."""
    return (before, after) if direction == "faster" else (after, before)


def _moved_s(row: OperationChange) -> float:
    return (row.p50_after_s or 0.0) - (row.p50_before_s or 0.0)


def _most(rows: list[OperationChange]) -> OperationChange:
    """The kind of calls that took most time."""
    return max(rows, key=taken_s)


def _calls(rows: list[OperationChange]) -> int:
    """Calls of the side that has fewer."""
    before, after = (row.timed_before for row in rows), (row.timed_after for row in rows)
    return min(sum(before), sum(after))


def _beyond(row: OperationChange, shift: float, way: _Way) -> bool:
    """Whether the shift is that of storage: larger than what network and server brought."""
    before, after = row.p50_before_s or 0.0, row.p50_after_s or 0.0
    brought = way.added_s if shift > 0 else -way.added_s
    rest = abs(shift) - max(0.0, brought)
    # Storage that works on a clock absorbs a longer round trip, so that what the network took away
    # need not have shortened calls: it counts where there was no such storage to hide it.
    if brought < 0 and (
        way.adds_up or (before if way.added_s < 0 else after) <= HARDLY * way.longer_s
    ):
        rest -= brought
    stored = max(before - way.before_s, after - way.after_s)
    return rest >= max(STORAGE * stored, NOTABLE * max(before, after))
