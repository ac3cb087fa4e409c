"""Where the time of each client went, by the clock: what it waited for, and when it did not wait.

Every instant at which calls of a client are outstanding is shared equally among them and booked to
what each of them is outstanding for (budget.py); an instant without any is the client's own. The
capture is also divided into what each client did one after the other (phases.py), each with a
budget of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import order
from pcapnfs.analyses.locks import lock_gaps as _lock_gaps
from pcapnfs.analyses.locks.lock_gaps import LockGaps, lock_gaps
from pcapnfs.analyses.mounts import first_use as _first_use
from pcapnfs.analyses.mounts.first_use import MountIdle, uses
from pcapnfs.analyses.times import phases as _phases
from pcapnfs.analyses.times.budget import Booked, Budget, budgets
from pcapnfs.analyses.times.idle_time import added_up
from pcapnfs.analyses.times.outstanding import outstanding
from pcapnfs.analyses.times.phases import Phase, phases
from pcapnfs.analyses.wire import slower_path as _slower_path
from pcapnfs.analyses.wire import tcp_stalls, unreached
from pcapnfs.analyses.wire.slower_path import SlowerPath, slower_paths
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

READS = columns.together(
    _first_use.READS,
    _lock_gaps.READS,
    _phases.READS,
    _slower_path.READS,
    tcp_stalls.STALLED_READS,
    unreached.READS,
)
"""The columns that this reads."""

CLIENTS = 20
"""Clients that have a budget of their own; the total has them all."""


class TimeBudget(Record):
    """The clocks of all clients over the capture's span."""

    total: Budget
    """All clients together: the sum of their clocks."""
    clients: tuple[Budget, ...]
    """Each client, the one that waited longest (for calls, locks and connections) first."""
    phases: tuple[Phase, ...]
    """What each of these clients did one after the other, client by client."""
    slower_paths: tuple[SlowerPath, ...] = ()
    """When the path between a client and a server was longer than otherwise, in order of time, and
    what of the rows calls took longer for it."""
    lock_gaps: tuple[LockGaps, ...] = ()
    """What of the row `client` clients waited for locks that others held: each that did, who waited
    longest first."""
    stood_still_s: Mapping[str, float] = {}
    """What of the rows calls stood still until something was sent again, all clients together,
    seconds by row: of a capture at the server also of `client`, since a call that was lost on its
    way is not there until then."""
    unreached_s: float = 0.0
    """What of the row `client` clients had no connection to a server for, all together, seconds."""
    mount_idle: MountIdle = MountIdle()
    """What of that row lies between the only client's mount and its first use, and between its last
    use and unmount."""


def time_budget(
    trace: Trace,
    calls: Outstanding | None = None,
    booked: Booked | None = None,
    gaps: tuple[LockGaps, ...] | None = None,
    *,
    top: int = CLIENTS,
) -> TimeBudget:
    """Book the capture's span, for each client, to what it waited for.

    Args:
        trace: The trace.
        calls: Its calls, where they are known already.
        booked: They added up, likewise.
        gaps: What clients waited for locks, likewise.
        top: Clients that get a budget and phases of their own; 0 for all.

    Raises:
        UsageError: `top` is negative or beyond 64 bits.
    """
    order.check("clients", top=top)
    found = calls or outstanding(trace)
    locks = lock_gaps(trace, found) if gaps is None else gaps
    connecting = unreached.unreached_s(trace), unreached.in_vain_s(trace)
    locked = {each.client: each.time_s for each in locks}
    total, clients = budgets(found, booked, top=top, beside_s=added_up(locked, *connecting))
    return TimeBudget(
        total=total,
        clients=clients,
        phases=phases(trace, found, [budget.client or "" for budget in clients]),
        slower_paths=slower_paths(trace),
        lock_gaps=locks,
        stood_still_s=added_up(*tcp_stalls.lost_by_client(trace).values()),
        unreached_s=min(sum(added_up(*connecting).values()), total.client_s),
        mount_idle=_mount_idle(trace, found),
    )


def _mount_idle(trace: Trace, calls: Outstanding) -> MountIdle:
    """For how long the only client did not use what it had mounted; nothing of several."""
    if len(calls.clients) != 1:
        return MountIdle()
    return uses(trace, calls).of_all().idle
