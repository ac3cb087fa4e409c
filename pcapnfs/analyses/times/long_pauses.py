"""Pauses of a client that are none that a run is judged by: nothing was run, or nobody waited.

Takes when a client's calls were outstanding; gives its long pauses, if what lies between them is
work. Whether the client waited for anything meanwhile, others say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import units
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

LONG_PAUSE_S = 30.0
"""A pause of so many seconds lies between two commands, or two runs of a job: an hour of that
beside a minute of work would make anything little. It is half of the time after which an idle
client of NFSv4 renews its lease (Linux: 60 s), and longer than programs that are at work commonly
go without a look at any file."""

WORK_S = 1.0
"""What lies between two such pauses is work from so many seconds on: users notice it …"""

WORK_CALLS = 30
"""… or from so many calls on: whoever repeats a command of 0.8 s every minute waits for it, too. So
many also tell what a call takes (`showing.LEAST_CALLS`). Less is a look at the mount from time to
time (the renewal of a lease, a monitor that asks how full it is) …"""

MOSTLY_WORK = 0.5
"""… and the client is idle, not at work with pauses, where work is not so much of the rest."""

PAUSE_S = 1.0
"""A gap of so many seconds between calls is a pause of the program (a sleep, a user), not the time
that it takes for a call: it is counted once, not by call."""

FEW = 3
"""Pauses that are shorter than long ones may lie between two commands where there are no more of
them. A program that sleeps in a loop, or computes for a while between its files, makes many: they
are a part of what it does, and who waits for it waits for them."""


class Pauses(Record):
    """The pauses between a client's calls, of each kind together, seconds."""

    long_s: float = 0.0
    """The long ones; 0 where most of the rest are looks at the mount."""
    short_s: float = 0.0
    """All of a second or more that are not long."""
    few_s: float = 0.0
    """The same, in which perhaps nothing was run: 0 where they are many, and where most of the rest
    are looks at the mount."""


def pauses(begin: Times, end: Times) -> Pauses:
    """Add up the pauses between a client's calls.

    Args:
        begin: When each call began to be outstanding, ns.
        end: When that ended, ns.
    """
    if not len(begin):
        return Pauses()
    if (begin[1:] < begin[:-1]).any():
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
    reached = np.maximum.accumulate(end)
    gaps_s = (begin[1:] - reached[:-1]) / NANOSECONDS
    long, paused = gaps_s >= LONG_PAUSE_S, gaps_s >= PAUSE_S
    short_s = gaps_s[paused & ~long]
    whole_s = float(short_s.sum())
    few = len(short_s) <= FEW and _is_work(begin, reached, paused)
    return Pauses(
        long_s=float(gaps_s[long].sum()) if _is_work(begin, reached, long) else 0.0,
        short_s=whole_s,
        few_s=whole_s if few else 0.0,
    )


def _is_work(begin: Times, reached: Times, paused: NDArray[np.bool_]) -> bool:
    """Whether work is enough of what lies between pauses.

    Args:
        begin: When each call began, in this order.
        reached: Until when any of those up to it was outstanding.
        paused: Whether a pause is behind each but the last.
    """
    behind = np.flatnonzero(paused)
    # Where each stretch between these pauses begins and ends.
    first = np.concatenate(([0], behind + 1))
    last = np.concatenate((behind, [len(reached) - 1]))
    rest_s = (reached[last] - begin[first]) / NANOSECONDS
    work_s = rest_s[(rest_s >= WORK_S) | (last - first + 1 >= WORK_CALLS)].sum()
    return bool(work_s >= MOSTLY_WORK * rest_s.sum())


def long_enough(pauses_s: float, least_s: float = LONG_PAUSE_S) -> float:
    """What is left of pauses, seconds; 0 where that is not as long as one of them."""
    return pauses_s if pauses_s >= least_s else 0.0


def told(pauses_s: float) -> str:
    """Long pauses in words."""
    return f"{units.duration(pauses_s)} in pauses of {LONG_PAUSE_S:.0f} s or more"
