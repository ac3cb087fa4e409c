"""For how long clients had no call under way since they had no connection to a server.

Takes a trace; gives that time by client: until a connection could be used (`late_connections`),
while none came about (`vain_connections`), and while a server was not reached (`cut_off`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.stretches import by_owner
from pcapnfs.analyses.wire import cut_off, late_connections, vain_connections

if TYPE_CHECKING:
    from pcapnfs.analyses.asking.stretches import Stretches
    from pcapnfs.trace import Trace

READS = columns.together(cut_off.READS, late_connections.READS, vain_connections.TIMES_READS)
"""The columns that these read."""


def unreached_s(trace: Trace) -> dict[str, float]:
    """By client, the time between its calls, seconds."""
    found = late_connections.unreached_s(trace)
    for beside in (
        vain_connections.asked_in_vain_s(trace, after_all=False),
        cut_off.cut_off_s(trace),
    ):
        for client, time_s in beside.items():
            found[client] = found.get(client, 0.0) + time_s
    return found


def stretches(trace: Trace) -> dict[str, Stretches]:
    """By client, when that was between its calls, ns since the capture's start."""
    start_ns = trace.meta.start_ns or 0
    return by_owner(
        (client, begin - start_ns, end - start_ns)
        for client, begin, end in (
            *late_connections.unreached(trace),
            *vain_connections.between_calls(trace),
            *cut_off.stretches(trace),
        )
    )


def in_vain_s(trace: Trace) -> dict[str, float]:
    """By client, the time behind all of its calls, seconds: it never had one again."""
    return vain_connections.asked_in_vain_s(trace, after_all=True)
