"""What clients of NFSv4 waited for until the server knew them.

Takes a trace; gives for each client its calls that log in and their service times. They are no work
on files, and a server that looks names up, or is slow to store its records of clients, takes
seconds for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.mounts.preliminaries import LOGIN
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(population.CALLS_READS, columns.of(calls="client callback op srt"))
"""The columns that the query here reads."""

LOGGED_IN = population.Calls(ops=LOGIN)
"""Without such a call there is nothing to add up."""


class Logins(Record):
    """The calls of one client that log in, at any server."""

    calls: int = 0
    """Calls that were answered."""
    time_s: float = 0.0
    """Their service times, seconds."""

    def beyond_s(self, rtt_s: float) -> float:
        """What they took longer than a round trip each, seconds.

        Args:
            rtt_s: The round trip, seconds.
        """
        return max(0.0, self.time_s - self.calls * rtt_s)


@once
def logins(trace: Trace) -> dict[str, Logins]:
    """By client."""
    if not LOGGED_IN.met(trace):
        return {}
    return {
        client: Logins(integer(calls), seconds(time) or 0.0)
        for client, calls, time in trace.rows(_LOGINS)
    }


_LOGINS = f"""
    select client, count(*), sum(srt) from calls
    where {among("op", LOGIN)} and not callback and srt > 0
    group by client
"""
