"""When clients and servers shook hands: a client that opens several connections does so in turn.

Takes a trace; gives by client the time from the SYN of each TCP connection to the ACK of its
handshake, as the client saw it. What took as long as a SYN that is sent again is left to
`late_connections`, which tells whether a call waited for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.stretches import by_owner
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.analyses.wire.late_connections import LATE_NS
from pcapnfs.analyses.wire.network_path import network_path

if TYPE_CHECKING:
    from pcapnfs.analyses.asking.stretches import Stretches
    from pcapnfs.trace import Trace

READS = columns.together(
    _network_path.READS, columns.of(connections="client server syn_time syn_ack_time ack_rtt")
)
"""The columns that this reads."""


def handshakes(trace: Trace, until_ns: int) -> dict[str, Stretches]:
    """By client, when those were that began until then; all times are ns since the capture's start.

    Args:
        trace: The trace.
        until_ns: The latest begin.
    """
    start_ns = trace.meta.start_ns or 0
    rows = trace.rows(_HANDSHAKES, {"late": LATE_NS, "until": until_ns + start_ns})
    added_ns = network_path(trace).added_ns if rows else {}
    # The client sent both packets earlier than they came by.
    return by_owner(
        (client, asked_ns - earlier_ns, opened_ns - earlier_ns)
        for client, server, asked_ns, opened_ns in rows
        for earlier_ns in (start_ns + added_ns.get((client, server), 0) // 2,)
    )


_HANDSHAKES = """
    select client, server, syn_time, syn_ack_time + ack_rtt as opened from connections
    where syn_time <= $until and opened > syn_time and opened < syn_time + $late
"""
