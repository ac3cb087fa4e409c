"""What each call took of the clock: its share of the time in which its client waited.

Every instant at which calls of a client are outstanding is shared equally among them. So the shares
of a client's calls add up to the time in which it had any call outstanding, to the nanosecond,
however much its calls overlap; service times would add up to more.

Beside it stands the pause of a call: what the client itself spent on it while nothing was
outstanding, to prepare it or to take its reply in. Whether a gap between two calls is that, or work
of the program that would have been done anyway, the packets do not tell; it is taken to be the
shorter of the gaps before and after the call, and nothing where both are longer than any client
takes for that. So leaving out a call saves its share and its pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import walks
from pcapnfs.analyses.asking import by_call, joined
from pcapnfs.analyses.asking.equal_shares import equal_shares, whole_nanoseconds
from pcapnfs.analyses.asking.once import answers
from pcapnfs.analyses.times import outstanding as _outstanding
from pcapnfs.analyses.times.outstanding import outstanding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.equal_shares import Shares
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

READS = _outstanding.READS
"""The columns that this reads."""

TABLE = "shares"
"""The table that `register` makes: `call`, as in the table calls, and `share` and `pause` in
nanoseconds."""

PAUSE_LIMIT_NS = 20_000_000
"""Longer gaps on both sides of a call are pauses of the program, or of whoever sits before it. A
client on an emulated processor, with a round trip of its own of 2 ms, took 1 to 8 ms."""


def shares(calls: Outstanding, given: Shares | None = None) -> NDArray[np.int64]:
    """The share of each of the calls, in their order, ns.

    Args:
        calls: The calls.
        given: The same as numbers that are not whole, where they are known already.
    """
    intervals = calls.intervals
    given = given or equal_shares(intervals)
    return whole_nanoseconds(given.whole, intervals.group, given.open_ns)


def pauses(calls: Outstanding) -> NDArray[np.int32]:
    """The pause of each of the calls, in their order, ns.

    It is 0 for the first and the last call of a client, for those beside which another one was
    outstanding at their begin or end, and for those that stand alone (`PAUSE_LIMIT_NS`).
    """
    each = calls.intervals
    found = np.zeros(len(each.begin), np.int32)
    times = (each.begin, each.end, each.group)
    walks.pauses(times, each.groups, limit_ns=PAUSE_LIMIT_NS, found=found)
    return found


def register(
    trace: Trace, calls: Outstanding | None = None, share: NDArray[np.int64] | None = None
) -> None:
    """Make the table `shares` of a trace, for other analyses to join, unless it is there.

    It has a row for each call of a client, answered or not, and none for callbacks.

    Args:
        trace: The trace.
        calls: Its calls, where they are known already.
        share: Their shares, likewise.
    """
    answers(trace).get(register, lambda: _fill(trace, calls or outstanding(trace), share))


def _fill(trace: Trace, found: Outstanding, share: NDArray[np.int64] | None) -> None:
    share = shares(found) if share is None else share
    by_call.create(trace, TABLE, found.call, share=share, pause=pauses(found))


def where(condition: str) -> str:
    """SQL: a condition on calls that are joined with the table of shares (joined.py).

    Callbacks have no share and need not be left out.
    """
    return joined.condition(condition, other="share")
