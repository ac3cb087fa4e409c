"""Clients of most of whose answered calls the capture does not tell the status.

Takes a trace; gives their addresses. A reply that was cut before its status, lost or sealed may
have put its call off (DELAY, JUKEBOX, GRACE): the pause until the call came again is then no time
of the client's own, and nothing in the capture tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.captured.sealing import MOST
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _trust.READS,
    traffic.READS,
    columns.of(calls="mount callback program op reply_time status"),
)
"""The columns that this reads."""


@once
def statuses_untold(trace: Trace) -> frozenset[str]:
    """Find them."""
    if not any_cut(trace):
        return frozenset()
    answered: dict[str, list[int]] = {}
    pairs = traffic.mounts(trace)
    for mount, calls, told in trace.rows(_ANSWERED):
        sums = answered.setdefault(pairs[integer(mount)][0], [0, 0])
        sums[0] += integer(calls)
        sums[1] += integer(told)
    return frozenset(
        client for client, (calls, told) in answered.items() if calls - told >= MOST * calls
    )


def any_cut(trace: Trace) -> bool:
    """Whether messages enough were not decoded to their end."""
    told = trust(trace)
    return told.undecoded > 0 and 2 * told.undecoded >= told.matched


_ANSWERED = f"""
    select mount, count(*), count(status) from calls
    where not callback and program = {NFS} and op <> 'NULL' and reply_time is not null
    group by mount
"""
