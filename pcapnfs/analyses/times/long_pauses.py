"""Pauses of a client that are none that a run is judged by: nothing was run, or nobody waited.

Takes when a client's calls were outstanding; gives its long pauses, if what lies between them is
work. Whether the client waited for anything meanwhile, others say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import units
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]
    Seconds = NDArray[np.float64]

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


def long_pauses_s(begin: Times, end: Times) -> float:
    """The long pauses between a client's calls, together, seconds.

    0 without any, and where most of the rest are looks at the mount.

    Args:
        begin: When each call began to be outstanding, ns.
        end: When that ended, ns.
    """
    pauses_s, work_s, rest_s = _between(begin, end, LONG_PAUSE_S)
    return float(pauses_s.sum()) if work_s >= MOSTLY_WORK * rest_s else 0.0


def few_pauses_s(begin: Times, end: Times) -> float:
    """Shorter pauses in which perhaps nothing was run, together, seconds.

    Those of a second or more that are not long. 0 where they are many, and where most of the rest
    are looks at the mount.

    Args:
        begin: When each call began to be outstanding, ns.
        end: When that ended, ns.
    """
    pauses_s, work_s, rest_s = _between(begin, end, PAUSE_S)
    short_s = pauses_s[pauses_s < LONG_PAUSE_S]
    if len(short_s) > FEW or work_s < MOSTLY_WORK * rest_s:
        return 0.0
    return float(short_s.sum())


def short_pauses_s(begin: Times, end: Times) -> float:
    """All pauses of a second or more that are not long, together, seconds.

    Args:
        begin: When each call began to be outstanding, ns.
        end: When that ended, ns.
    """
    pauses_s, _, _ = _between(begin, end, PAUSE_S)
    return float(pauses_s[pauses_s < LONG_PAUSE_S].sum())


def _between(begin: Times, end: Times, least_s: float) -> tuple[Seconds, float, float]:
    """A client's pauses of so many seconds or more, and what of the rest is work, and all of it."""
    if not len(begin):
        return np.zeros(0), 0.0, 0.0
    if (begin[1:] < begin[:-1]).any():
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], end[order]
    reached = np.maximum.accumulate(end)
    pauses_s = (begin[1:] - reached[:-1]) / NANOSECONDS
    long = np.flatnonzero(pauses_s >= least_s)
    # Where each stretch between these pauses begins and ends.
    first, last = np.concatenate(([0], long + 1)), np.concatenate((long, [len(reached) - 1]))
    rest_s = (reached[last] - begin[first]) / NANOSECONDS
    work_s = rest_s[(rest_s >= WORK_S) | (last - first + 1 >= WORK_CALLS)].sum()
    return pauses_s[long], float(work_s), float(rest_s.sum())


def long_enough(pauses_s: float, least_s: float = LONG_PAUSE_S) -> float:
    """What is left of pauses, seconds; 0 where that is not as long as one of them."""
    return pauses_s if pauses_s >= least_s else 0.0


def told(pauses_s: float) -> str:
    """Long pauses in words."""
    return f"{units.duration(pauses_s)} in pauses of {LONG_PAUSE_S:.0f} s or more"
