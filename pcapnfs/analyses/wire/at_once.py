"""How soon after a reply a client sends what it had ready: what had to wait for that reply.

Takes a trace; gives for each client and server the network's round trip between capture and client,
which lies between a reply and what follows it in a capture that was taken elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.times.call_times import BOUND
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = round_trip.READS
"""The columns that this reads."""

AT_ONCE_NS = 1_000_000
"""So soon after a reply a client sends what it had ready, beyond the way to it and back."""


def ways_ns(trace: Trace) -> dict[tuple[str, str], int]:
    """The way from the capture to each client, by client and server, and back, nanoseconds.

    Without those of which only an upper bound is known: by that, everything comes at once.
    """
    return {
        (pair.client, pair.server): round((pair.client_side.rtt_s or 0.0) * NANOSECONDS)
        for pair in round_trips(trace).pairs
        if pair.client_side.source != BOUND
    }
