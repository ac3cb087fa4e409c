"""What calls took that neither the server nor the usual path did: it says nothing of other calls.

Takes the calls and their service times; takes from these, in their place, what TCP waited before it
sent again what was lost and what a path that was longer for a while added, and gives how much that
is; leaves out the few calls that stood still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import find
from pcapnfs.analyses.servers import stalled_calls as _stalled_calls
from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.long_pauses import PAUSE_S
from pcapnfs.analyses.times.outstanding import UNKNOWN
from pcapnfs.analyses.wire import slower_path as _slower_path
from pcapnfs.analyses.wire.slower_gaps import gaps
from pcapnfs.analyses.wire.slower_path import slower_paths
from pcapnfs.analyses.wire.tcp_timeouts import CUT_S
from pcapnfs.record import Record, replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.analyses.wire.slower_path import Slowed
    from pcapnfs.analyses.wire.tcp_stalls import Stalled
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

READS = columns.together(_slower_path.READS, _stalled_calls.CALLS_READS)
"""The columns that this reads."""


class Lost(Record):
    """For how long calls stood still until TCP sent again what was lost, seconds."""

    calls_s: float = 0.0
    """While they were outstanding, added up over calls."""
    transfer_s: float = 0.0
    """The part of it in which their own bytes were moving."""
    unknown_s: float = 0.0
    """The part of it of calls without a known outcome."""
    cut_s: float = 0.0
    """The part of it of calls that stood still for so long (`tcp_timeouts.CUT_S`) that the path was
    cut, whoever else was on it."""
    gaps_s: float = 0.0
    """Before they came by, while none was outstanding, in gaps that are no pauses."""
    pauses_s: float = 0.0
    """The same in pauses."""

    @property
    def idle_s(self) -> float:
        """Before they came by, while none was outstanding."""
        return self.gaps_s + self.pauses_s


class Longer(Record):
    """What calls took longer because the path was longer for a while, seconds."""

    calls_s: float = 0.0
    """In their service times, added up over calls."""
    calls: int = 0
    """How many calls these are."""
    unknown_s: float = 0.0
    """The part of it of calls without a known outcome."""
    full: bool = False
    """The clients' own data made it longer: it filled a link."""
    moving_s: float = 0.0
    """What calls waited for replies on a link that these filled, or was their own on it, seconds:
    in none of the others, but in the time in which their bytes were moving."""
    idle_s: float = 0.0
    """Between calls, while none was outstanding, of the way to the client."""

    @property
    def each_s(self) -> float:
        """What one of these calls took longer, mean, seconds; 0 without any."""
        return self.calls_s / self.calls if self.calls else 0.0


def losses(still: Stalled, calls: Outstanding, service: NDArray[np.int64], chosen: Flags) -> Lost:
    """Take from service times, ns, what calls stood still for what was lost; say how much."""
    places = find(calls.call, still.call)
    service[places] = np.maximum(service[places] - still.inside_ns, 0)
    longer = np.where(chosen[places], still.longer_ns, 0)
    unsure = (calls.kind[places] == UNKNOWN) & ~still.transfer
    return Lost(
        calls_s=float(longer.sum()) / NANOSECONDS,
        transfer_s=float(longer[still.transfer].sum()) / NANOSECONDS,
        unknown_s=float(longer[unsure].sum()) / NANOSECONDS,
        cut_s=float(longer[longer >= CUT_S * NANOSECONDS].sum()) / NANOSECONDS,
    )


def late(
    lost: Lost, still: Stalled, calls: Outstanding, order: NDArray[np.int32], idle_s: Floats
) -> Lost:
    """The same with how much later calls in order came for it, while none was outstanding."""
    late_s = _inside(idle_s, calls, order, still.call, still.late_ns)
    paused = idle_s >= PAUSE_S
    return replace(lost, gaps_s=float(late_s[~paused].sum()), pauses_s=float(late_s[paused].sum()))


def between_s(trace: Trace, calls: Outstanding, order: NDArray[np.int32], idle_s: Floats) -> float:
    """What a longer way to the client took before calls, while none was outstanding, seconds."""
    found = gaps(trace)
    return (
        0.0
        if found is None
        else float(_inside(idle_s, calls, order, found.call, found.path_ns).sum())
    )


def _inside(
    idle_s: Floats,
    calls: Outstanding,
    order: NDArray[np.int32],
    which: NDArray[np.uint64],
    taken_ns: NDArray[np.int64],
) -> Floats:
    """What was taken before calls in order of the time in which none was outstanding, seconds."""
    taken = np.zeros(len(calls.call))
    taken[find(calls.call, which)] = taken_ns
    return np.minimum(taken[order] / NANOSECONDS, idle_s)


def stood_still(trace: Trace, calls: Outstanding, shows: Flags) -> StoodStill:
    """What a few calls took while the server stood still: they show nothing of others."""
    found = _stalled_calls.excess(trace)
    if found is None:
        return StoodStill()
    shows[find(calls.call, found.call)] = False
    return StoodStill(calls_s=float(found.longer_ns.sum()) / NANOSECONDS, calls=len(found.call))


def longer_path(
    trace: Trace,
    slow: Slowed | None,
    calls: Outstanding,
    service: NDArray[np.int64],
    chosen: Flags,
) -> Longer:
    """Take from service times, ns, what they hold because the path was longer; say how much."""
    if slow is None:
        return Longer(full=gaps(trace) is not None and _full(trace))
    places = find(calls.call, slow.call)
    service[places] = np.maximum(service[places] - slow.inside_ns, 0)
    theirs = chosen[places] & ~slow.moving
    moving = chosen[places] & slow.moving
    unsure = theirs & (calls.kind[places] == UNKNOWN)
    return Longer(
        calls_s=float(slow.inside_ns[theirs].sum()) / NANOSECONDS,
        calls=int(theirs.sum()),
        unknown_s=float(slow.inside_ns[unsure].sum()) / NANOSECONDS,
        moving_s=float(slow.inside_ns[moving].sum()) / NANOSECONDS,
        full=_full(trace),
    )


def _full(trace: Trace) -> bool:
    """Whether data filled the links, where paths were longer and that cost something."""
    return all(path.full_bytes_per_s for path in slower_paths(trace) if path.calls or path.gaps)
