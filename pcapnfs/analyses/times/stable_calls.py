"""What stable calls hold, and what else was under way: whether their time is that of one access.

A compound may hold many operations that must be stable; then its time is theirs together. Calls
that came while others were under way may have waited for these, for a thread, a lock or the disk;
those that came first did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import distinct, median
from pcapnfs.analyses.servers.slow_storage import LEAST_NS, SlowStorage
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call client stability callback executed reply_time", operations="call executed stability"
)
"""The columns that the query here reads."""

MANY = 10
"""Operations of a compound from which on its stable ones are counted: those of kernel clients have
fewer, and one that is stable."""

LONGER = 1.5
"""By so much the median of the stable calls that came behind others is that of the rest, where they
waited for these. That of calls that did not differs less: half as much is what luck makes of it."""


FAST_DIFFERENCE_S = 0.0003
"""Below this, a stable call costs no more beyond a small one than a log device or a cache would
take."""

QUICK = 0.25
"""Part of the calls of a kind from which on so quick ones are no exception of it: a disk without a
write cache lets none pass."""

STORING = (
    "CREATE", "LINK", "MKDIR", "MKNOD", "OPEN", "REMOVE", "RENAME", "RMDIR", "SYMLINK", "WRITE",
)  # fmt: skip
"""Stable operations that always have something to store: a COMMIT or a SETATTR may find that it was
stored, or changes nothing, and is quick with any disk."""


class StableCalls(Record):
    """The stable calls of all clients or of one."""

    operations: float = 1.0
    """Stable operations of each, mean."""
    crowded: bool = False
    """Most came while others were under way, and took longer than the rest, or there is no rest."""
    waited_share: float | None = None
    """What those that came while others were under way took longer than the mean of their kind that
    did not, as a share of the time of all, 0…1; None where nothing tells that of half of them."""
    shown: float = 1.0
    """The part of those that show persistence whose time tells what the storage is, 0…1: without
    `call_times.UNSTORED`."""
    late_part: float = 0.0
    """What those that took as long as a disk does, or longer, beyond a round trip took beyond it,
    for whatever reason: as a part of what all did, 0…1."""
    slow: SlowStorage | None = None
    """Those that waited for storage where their kind usually did not; None without any."""
    slow_part: float = 0.0
    """What these took longer, as a part of what all took beyond a round trip, 0…1."""

    uneven_part: float = 0.0
    """What those of kinds took of which a quarter and more were as fast as small calls, as a part
    of what all of kinds took that always have something to store, beyond a small call, 0…1; 0 where
    these are less than a quarter of what all kinds took."""

    @property
    def single(self) -> bool:
        """Whether the time of each is that of one operation, which waited for no other call."""
        return not self.crowded and not self.several and not self.waits

    @property
    def waits(self) -> bool:
        """Whether much of the mean is what few of them, that came behind others, took longer."""
        return (self.waited_share or 0.0) >= WAITS

    @property
    def several(self) -> bool:
        """Whether they hold several stable operations each."""
        return self.operations >= SEVERAL


WAITS = 0.25
"""Share of the time of all from which on the mean of stable calls is not what one takes that waits
for no other."""

FEW = 10
"""Calls of a kind that came first, below which their mean says nothing of the others."""

SEVERAL = 1.5
"""Stable operations of a call, mean: from here on more than one is usual."""


def crowded(
    service_s: NDArray[np.float64], behind: NDArray[np.bool_], *, untold: bool = True
) -> bool:
    """Whether most of some calls may have waited for others.

    Args:
        service_s: What they took, seconds.
        behind: Whether another call was under way when each came.
        untold: What it is where too few came first to compare the others with.
    """
    number = int(behind.sum())
    first = len(service_s) - number
    if number <= first:
        return False
    if first < LEAST_CALLS:
        return untold
    return median(service_s[behind]) >= LONGER * median(service_s[~behind])


def waited_share(
    service_s: NDArray[np.float64], behind: NDArray[np.bool_], operation: NDArray[np.int16]
) -> float | None:
    """What of the time of some calls those behind others took longer than the rest of their kind.

    Args:
        service_s: What they took, seconds.
        behind: Whether another call was under way when each came.
        operation: The kind of each.
    """
    whole = float(service_s.sum())
    longer, told, came = 0.0, 0, 0
    for kind in distinct(operation).tolist():
        mine = operation == kind
        first, others = service_s[mine & ~behind], service_s[mine & behind]
        if len(first) < FEW:
            continue
        told += len(first) + len(others)
        came += len(others)
        longer += float(others.sum()) - len(others) * float(first.mean())
    if whole <= 0 or 2 * told < len(service_s):
        return None
    # A few may have been larger than the rest.
    return max(0.0, longer / whole) if came >= LEAST_CALLS else 0.0


def uneven_part(
    service_s: NDArray[np.float64],
    operation: NDArray[np.int16],
    operations: tuple[str, ...],
    small_s: float,
) -> float:
    """What of the time of some calls those of kinds took of which many were as fast as small calls.

    Args:
        service_s: What they took, seconds.
        operation: The kind of each.
        operations: What kinds are called.
        small_s: What a call takes that needs no storage, seconds.
    """
    beyond = np.maximum(service_s - small_s, 0.0)
    whole, uneven = 0.0, 0.0
    for kind in distinct(operation).tolist():
        if operations[kind] not in STORING:
            continue
        mine = beyond[operation == kind]
        whole += float(mine.sum())
        if len(mine) >= FEW and float((mine < FAST_DIFFERENCE_S).mean()) >= QUICK:
            uneven += float(mine.sum())
    return uneven / whole if whole > 0 and whole >= QUICK * float(beyond.sum()) else 0.0


def more_operations(trace: Trace) -> dict[str, int]:
    """By client, the stable operations of its stable compounds beyond one each."""
    return {
        client: int(more)
        for client, more in trace.rows(
            f"""
            with long as (
                select call, client from calls
                where stability = 'stable' and not callback and executed >= {MANY}
                    and reply_time is not null
            )
            select client, count(*) - count(distinct call)
            from operations join long using (call)
            where operations.executed and operations.stability = 'stable'
            group by client
            """
        )
    }


def stable_calls(
    service_s: NDArray[np.float64],
    behind: NDArray[np.bool_],
    operation: NDArray[np.int16],
    calls: int,
    more: int,
    shows: NDArray[np.bool_],
    *,
    operations: tuple[str, ...] = (),
    rtt_s: float | None = None,
    small_s: float | None = None,
    slow: SlowStorage | None = None,
    untold: bool = True,
) -> StableCalls:
    """What some stable calls hold, and whether they waited for others.

    Args:
        service_s: What those took that show persistence, seconds.
        behind: Whether another call was under way when each of these came.
        operation: The kind of each of these.
        calls: All of them.
        more: Stable operations of theirs beyond one each.
        shows: Which of those that show persistence tell what the storage is.
        operations: What their kinds are called.
        rtt_s: The round trip, seconds; None when nothing tells.
        small_s: Median of the calls that need no storage, seconds; None without any.
        slow: Those for which storage was slow; None without any.
        untold: Whether they waited for others, where too few came first to tell.
    """
    beyond = service_s - (rtt_s or 0.0)
    whole = max(0.0, float(beyond.sum()))
    late = float(beyond[beyond >= LEAST_NS / NANOSECONDS].sum())
    return StableCalls(
        operations=1.0 + more / calls if calls else 1.0,
        crowded=crowded(service_s, behind, untold=untold),
        waited_share=waited_share(service_s, behind, operation),
        shown=float(shows.mean()) if len(shows) else 1.0,
        late_part=min(1.0, late / whole) if whole else 0.0,
        slow=slow,
        slow_part=min(1.0, slow.time_s / whole) if slow and whole else 0.0,
        uneven_part=0.0
        if small_s is None
        else uneven_part(service_s, operation, operations, small_s),
    )
