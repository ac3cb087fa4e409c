"""A clock booked: what a client waited for, and when it did not wait.

Every instant at which calls of a client are outstanding is shared equally among them and booked to
what each of them is outstanding for; an instant without any is the client's own. Promises that the
rows of a budget add up to its wall clock, to the nanosecond before they become seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import pieces
from pcapnfs.analyses.asking.equal_shares import equal_shares, turns, whole_nanoseconds
from pcapnfs.analyses.times.outstanding import KINDS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Shares
    from pcapnfs.analyses.times.outstanding import Outstanding

    Times = NDArray[np.int64]

ROWS = (*KINDS, "transfer", "waiting", "client")
"""The rows of a budget: `outstanding.KINDS`, its two kinds of parts, and the rest."""


class Budget(Record):
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
    """Waiting for the first byte of READs' replies, but for what of `transfer_s` is before it,
    seconds."""
    state_s: float
    """Waiting for operations that record client state (EXCHANGE_ID …), seconds."""
    unknown_s: float
    """Waiting for calls without reply, or whose outcome was cut, lost or encrypted and cannot be
    told from the call either, seconds; of a client most of whose traffic is under TLS also all
    time in which no call is seen; all time where `untold`."""
    transfer_s: float
    """Bytes of calls and replies of more than one segment on their way, from the first segment to
    the last, and replies that had to wait for those before them on their connection, seconds."""
    waiting_s: float
    """Waiting until the server was ready (DELAY, JUKEBOX, GRACE …: these calls, and the pauses
    until they came again) or could be reached again, seconds."""
    client_s: float
    """No call was outstanding: the client's own time, seconds."""
    concurrency: float | None
    """Calls outstanding, mean over the time in which any was; None when none was, or where
    `untold`."""
    calls: int
    """Calls, answered or not; callbacks are not among them."""
    added_s: float | None
    """What was added to each call for the round trip between client and capture point, mean over
    the client's calls, seconds; None without calls."""
    placed_share: float | None
    """Share of the client's calls, 0…1, of which TCP tells where they were captured. To the others
    nothing was added: if they were captured at the server, part of `client_s` is the network's.
    None without calls."""
    untold: bool = False
    """The capture's clocks do not tell when any call was outstanding: all of the clock is
    `unknown_s`."""

    def shares(self) -> tuple[tuple[str, float, float | None], ...]:
        """For each of `ROWS`, its name, seconds and share of the wall clock (0…1, None of none)."""
        times = ((row, float(getattr(self, f"{row}_s"))) for row in ROWS)
        return tuple(
            (row, time_s, time_s / self.wall_s if self.wall_s else None) for row, time_s in times
        )


class Booked(Record):
    """The calls of each client, added up."""

    waited_ns: Times
    """By client and row, without the last of `ROWS`: for what calls were outstanding, ns."""
    lengths_ns: Times
    """By client, for how long calls were, added up, ns."""
    calls: Times
    """By client, how many they are."""
    turns: NDArray[np.float64]
    """By client and row, without the last of `ROWS`, its calls, each by its share of the time for
    which it was outstanding: 1 where it was alone, a half beside another."""


def book(calls: Outstanding, given: Shares | None = None) -> Booked:
    """Add up for what the calls of each client were outstanding.

    Args:
        calls: What was outstanding when.
        given: The shares of the calls, where they are known already.
    """
    intervals = calls.intervals
    shares = given or equal_shares(intervals)
    lengths = np.zeros(intervals.groups, np.int64)
    np.add.at(lengths, intervals.group, intervals.end - intervals.begin)
    return Booked(
        waited_ns=_by_kind(calls, shares),
        lengths_ns=lengths,
        calls=np.bincount(intervals.group, minlength=len(calls.clients)),
        turns=_turns(calls, shares),
    )


def budgets(
    calls: Outstanding,
    booked: Booked | None = None,
    *,
    top: int = 0,
    beside_s: Mapping[str, float] | None = None,
) -> tuple[Budget, tuple[Budget, ...]]:
    """The budget of all clients together, and that of each, who waited longest first.

    Args:
        calls: What was outstanding when; their span may be a part of the capture's.
        booked: The same, added up, where it is known already.
        top: Clients that get a budget of their own; 0 for all.
        beside_s: By client, what of its own time it waited for other things than calls, for locks
            and connections, seconds: who waited longest is told with it.
    """
    added_up = booked or book(calls)
    waited, lengths, counts = added_up.waited_ns, added_up.lengths_ns, added_up.calls
    in_calls = waited.sum(axis=1)
    beside = np.array([(beside_s or {}).get(client, 0.0) for client in calls.clients], np.float64)
    own = np.minimum(beside * NANOSECONDS, np.maximum(0, calls.span_ns - in_calls))
    order = np.argsort(-(in_calls + own), kind="stable")

    def budget(client: str | None, which: list[int]) -> Budget:
        number = int(counts[which].sum())
        rows = waited[which].sum(axis=0)
        open_ns = int(rows.sum())
        wall_ns = len(which) * calls.span_ns
        times = dict(zip(ROWS, [*rows.tolist(), wall_ns - open_ns], strict=True))
        # Under TLS calls may be outstanding that nobody sees.
        hidden = [place for place in which if calls.sealed[place]]
        unseen_ns = len(hidden) * calls.span_ns - int(waited[hidden].sum())
        times["unknown"] += unseen_ns
        times["client"] -= unseen_ns
        if calls.untold:
            times = dict.fromkeys(ROWS, 0) | {"unknown": wall_ns}
        added_ns, placed = (
            float(each[which] @ counts[which]) for each in (calls.added_ns, calls.placed_share)
        )
        return Budget(
            client=client,
            clients=len(which),
            wall_s=wall_ns / NANOSECONDS,
            concurrency=None
            if calls.untold or not open_ns
            else int(lengths[which].sum()) / open_ns,
            calls=number,
            added_s=added_ns / number / NANOSECONDS if number else None,
            placed_share=placed / number if number else None,
            untold=calls.untold,
            **{f"{row}_s": time / NANOSECONDS for row, time in times.items()},
        )

    total = budget(None, list(range(len(calls.clients))))
    return total, tuple(
        budget(calls.clients[place], [place]) for place in order[: top or None].tolist()
    )


def _turns(calls: Outstanding, given: Shares) -> NDArray[np.float64]:
    """For each client, its calls by row, each by its share of the time it was outstanding."""
    intervals, rows = calls.intervals, len(ROWS) - 1
    found = np.zeros(intervals.groups * rows)
    for piece in pieces(len(calls.kind)):
        cell = intervals.group[piece].astype(np.int64) * rows + calls.kind[piece]
        lasted_ns = intervals.end[piece] - intervals.begin[piece]
        np.add.at(found, cell, turns(given.whole[piece], lasted_ns))
    return found.reshape(-1, rows)


def _by_kind(calls: Outstanding, given: Shares) -> Times:
    """For each client, ns by kind."""
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
        np.maximum(booked, 0.0),
        np.repeat(np.arange(intervals.groups, dtype=np.int32), kinds),
        given.open_ns,
    )
    return whole.reshape(-1, kinds)
