"""A clock booked: what a client waited for, and when it did not wait.

Every instant at which calls of a client are outstanding is shared equally among them and booked to
what each of them is outstanding for; an instant without any is the client's own. Promises that the
rows of a budget add up to its wall clock, to the nanosecond before they become seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.equal_shares import equal_shares, whole_nanoseconds
from pcapnfs.analyses.outstanding import KINDS
from pcapnfs.analyses.service_time import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.equal_shares import Shares
    from pcapnfs.analyses.outstanding import Outstanding

    Times = NDArray[np.int64]

ROWS = (*KINDS, "transfer", "waiting", "client")
"""The rows of a budget: `outstanding.KINDS`, its two kinds of parts, and the rest."""


@dataclass(frozen=True, slots=True)
class Budget:
    """One client's clock, or those of several: `stable_s` to `client_s` add up to `wall_s`."""

    client: str | None
    """Address of the client; None for all clients."""
    clients: int
    """Clients whose clocks it adds up."""
    wall_s: float
    """Time in all, seconds; of several clients the sum of their clocks, as if one had run after
    the other."""
    stable_s: float
    """Waiting for calls that succeeded and had to be on stable storage before the reply, seconds;
    a compound when one of its ops had to."""
    unstable_s: float
    """Waiting for all calls that are in no other row, seconds: nothing had to be persisted."""
    unstable_write_s: float
    """Waiting for WRITEs answered UNSTABLE, seconds."""
    read_s: float
    """Waiting for the first byte of READs' replies, seconds."""
    state_s: float
    """Waiting for operations that record client state (EXCHANGE_ID …), seconds."""
    unknown_s: float
    """Waiting for calls without reply, or whose outcome was cut, lost or encrypted and cannot be
    told from the call either, seconds."""
    transfer_s: float
    """Bytes of calls and replies of more than one segment on their way, from the first segment to
    the last, seconds."""
    waiting_s: float
    """Waiting until the server was ready (DELAY, JUKEBOX, GRACE …: these calls, and the pauses
    until they came again) or could be reached again, seconds."""
    client_s: float
    """No call was outstanding: the client's own time, seconds."""
    concurrency: float | None
    """Calls outstanding, mean over the time in which any was; None when none was."""
    calls: int
    """Calls, answered or not; callbacks are not among them."""

    def shares(self) -> tuple[tuple[str, float, float | None], ...]:
        """For each of `ROWS`, its name, seconds and share of the wall clock (0…1, None of none)."""
        times = ((row, float(getattr(self, f"{row}_s"))) for row in ROWS)
        return tuple(
            (row, time_s, time_s / self.wall_s if self.wall_s else None) for row, time_s in times
        )


def budgets(
    calls: Outstanding, given: Shares | None = None, *, top: int = 0
) -> tuple[Budget, tuple[Budget, ...]]:
    """The budget of all clients together, and that of each, who waited longest first.

    Args:
        calls: What was outstanding when; their span may be a part of the capture's.
        given: The shares of the calls, where they are known already.
        top: Clients that get a budget of their own; 0 for all.
    """
    booked, lengths = _booked(calls, given or equal_shares(calls.intervals))
    counts = np.bincount(calls.intervals.group, minlength=len(calls.clients))
    order = np.argsort(-booked.sum(axis=1), kind="stable")
    total = _budget(
        None,
        len(calls.clients),
        len(calls.clients) * calls.span_ns,
        booked.sum(axis=0),
        int(lengths.sum()),
        int(counts.sum()),
    )
    return total, tuple(
        _budget(
            calls.clients[place],
            1,
            calls.span_ns,
            booked[place],
            int(lengths[place]),
            int(counts[place]),
        )
        for place in order[: top or None].tolist()
    )


def _booked(calls: Outstanding, given: Shares) -> tuple[Times, Times]:
    """For each client, ns by kind; and the lengths of its calls' intervals, added up, ns."""
    intervals = calls.intervals
    kinds = len(ROWS) - 1
    cells = intervals.groups * kinds
    row = intervals.group.astype(np.int64) * kinds
    owner = intervals.part_of
    booked = np.bincount(row + calls.kind, given.whole, cells)
    booked -= np.bincount(row[owner] + calls.kind[owner], given.parts, cells)
    booked += np.bincount(row[owner] + calls.part_kind, given.parts, cells)
    # Taking the parts away may leave less than nothing of a kind, by what floats lose.
    whole = whole_nanoseconds(
        np.maximum(booked, 0.0), np.repeat(np.arange(intervals.groups), kinds), given.open_ns
    )
    lengths = np.zeros(intervals.groups, np.int64)
    np.add.at(lengths, intervals.group, intervals.end - intervals.begin)
    return whole.reshape(-1, kinds), lengths


def _budget(
    client: str | None, clients: int, wall_ns: int, booked: Times, outstanding_ns: int, calls: int
) -> Budget:
    open_ns = int(booked.sum())
    times = dict(zip(ROWS, [*booked.tolist(), wall_ns - open_ns], strict=True))
    return Budget(
        client=client,
        clients=clients,
        wall_s=wall_ns / NANOSECONDS,
        concurrency=outstanding_ns / open_ns if open_ns else None,
        calls=calls,
        **{f"{row}_s": time / NANOSECONDS for row, time in times.items()},
    )
