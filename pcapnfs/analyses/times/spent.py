"""What calls of each row of the time budget held up the clock for, all clients as one.

Takes what calls were outstanding for, and their shares of the clock; gives sums by row. Where calls
of one kind come one by one and those of another many at once, as reads and the write-back behind
them do, only by row is it known what of the clock a round trip of each was, or persistence: the
mean overlap of all calls books nearly all of it to those that were outstanding for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import pieces
from pcapnfs.analyses.times.outstanding import KINDS, WAITING
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Intervals, Shares


class Spent(Record):
    """Calls of NFS, NFSACL and the lock manager of one row, without transfer and waiting."""

    calls: int
    """How many."""
    waited_s: float
    """For how long they were outstanding, added up, seconds."""
    share_s: float
    """Their shares of the time in which calls were outstanding, added up, seconds."""

    def part_s(self, time_s: float) -> float:
        """What so much of each call's time held up the clock for, seconds.

        The row is divided as the mean time of its calls is.

        Args:
            time_s: What each call spends on it, seconds.
        """
        if not self.waited_s:
            return 0.0
        return self.share_s * min(1.0, self.calls * time_s / self.waited_s)


def spent(
    kind: NDArray[np.uint8], intervals: Intervals, given: Shares, which: NDArray[np.bool_]
) -> dict[str, Spent]:
    """Add up by row; without those that nothing but waiting is known of.

    Args:
        kind: What each call was outstanding for (`outstanding.KINDS`).
        intervals: When it was, and when its bytes moved or it waited for the server.
        given: Shares of the clock of both, ns.
        which: Those that are meant.
    """
    begin, end, share_ns = intervals.begin, intervals.end, given.whole
    rows = WAITING + 1
    calls, waited, shares = np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows)
    for piece in pieces(len(kind)):
        chosen = which[piece]
        kinds = kind[piece][chosen]
        calls += np.bincount(kinds, minlength=rows)
        lasted = (end[piece] - begin[piece])[chosen]
        waited += np.bincount(kinds, lasted, minlength=rows)
        shares += np.bincount(kinds, share_ns[piece][chosen], minlength=rows)
    for piece in pieces(len(intervals.part_of)):
        of = intervals.part_of[piece]
        theirs = which[of]
        kinds = kind[of][theirs]
        lasted = (intervals.part_end[piece] - intervals.part_begin[piece])[theirs]
        waited -= np.bincount(kinds, lasted, minlength=rows)
        shares -= np.bincount(kinds, given.parts[piece][theirs], minlength=rows)
    # What floats lose may leave less than nothing of a row whose calls are all transfer.
    waited, shares = np.maximum(waited, 0.0), np.maximum(shares, 0.0)
    return {
        row: Spent(int(calls[place]), waited[place] / NANOSECONDS, shares[place] / NANOSECONDS)
        for place, row in enumerate(KINDS)
        if calls[place]
    }


def divided(rows: Mapping[str, Spent], rtt_s: float, persist_s: float) -> tuple[float, float]:
    """What round trips, and persistence, held up the clock for, seconds.

    Args:
        rows: The calls by row.
        rtt_s: A round trip.
        persist_s: What a stable call takes longer than that.
    """
    round_trips_s = sum(row.part_s(rtt_s) for row in rows.values())
    stable = rows.get("stable")
    if stable is None:
        return round_trips_s, 0.0
    return round_trips_s, stable.part_s(rtt_s + persist_s) - stable.part_s(rtt_s)
