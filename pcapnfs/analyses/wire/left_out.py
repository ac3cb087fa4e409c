"""For how long acknowledgements left out calls that had been sent, by client and server.

One look at all calls for those who ask whether any arrived late, or what they waited for
(`late_arrivals`, `narrow_links`): mostly none did, and there is nothing more to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="client server callback call_first_time call_time unreceived_time unreceived_bytes "
    "call_bytes"
)
"""The columns that the query here reads."""

LONG_NS = 2_000_000
"""What is left out for less after its first byte was sent shows nothing: hosts and paths vary."""

BRINGS_BYTES = 4096
"""What a call brings that is more than a small one."""


class LeftOut(Record):
    """Calls of one client to one server that were left out for so long."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    longest_ns: int | None
    """The longest time after a call of `BRINGS_BYTES` was sent, ns; None without such a call."""
    partly: int
    """Calls of which some had arrived by then."""


@once
def left_out(trace: Trace) -> tuple[LeftOut, ...]:
    """Tell each client and server that has any."""
    return tuple(
        LeftOut(
            client=str(client),
            server=str(server),
            longest_ns=None if longest is None else integer(longest),
            partly=integer(partly),
        )
        for client, server, longest, partly in trace.rows(
            _LEFT_OUT, {"long": LONG_NS, "brings": BRINGS_BYTES}
        )
    )


_LEFT_OUT = """
    select client, server,
           max(unreceived_time - call_time) filter (call_bytes >= $brings),
           count(*) filter (unreceived_bytes < call_bytes)
    from calls where unreceived_time - call_first_time >= $long and not callback
    group by client, server order by client, server
"""
