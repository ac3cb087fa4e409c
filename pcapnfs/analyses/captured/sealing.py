"""How much of the traffic is sealed, so that nothing tells what it was.

Takes connections and calls; gives what TLS hides (RFC 9289), of which not even calls are known, and
the calls whose operations Kerberos hides (RPCSEC_GSS privacy, RFC 2203 section 5.3.3.4): those are
timed, but whether they had to wait for storage is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.service_time import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback reply_frame stability undecoded",
    connections="tls sealed_bytes client_bytes server_bytes",
)
"""The columns that the queries here read."""

MOST = 0.5
"""Share from which on what can be read stands for nothing but itself."""


CLIENTS_READS = columns.of(
    connections="client sealed_bytes client_bytes server_bytes",
)
"""The columns that `sealed_clients` reads."""


class Sealing(Record):
    """What is sealed."""

    connections: int
    """Connections under TLS, from some time on or from before the capture."""
    sealed_bytes: int
    """Payload bytes under TLS."""
    bytes_share: float | None
    """These divided by the payload bytes of all connections, 0…1; None without any."""
    calls: int
    """Answered calls of which encryption hides whether they are stable."""
    calls_share: float | None
    """These divided by all answered calls of clients, 0…1; None without any."""

    @property
    def mostly(self) -> bool:
        """Whether most bytes, or most calls, are sealed."""
        return (self.bytes_share or 0.0) >= MOST or (self.calls_share or 0.0) >= MOST


@once
def sealing(trace: Trace) -> Sealing:
    """Count what is sealed, and what there is."""
    connections, sealed, payload, calls, answered = trace.rows(_SEALED)[0]
    return Sealing(
        connections=connections,
        sealed_bytes=integer(sealed),
        bytes_share=integer(sealed) / integer(payload) if payload else None,
        calls=calls,
        calls_share=calls / answered if answered else None,
    )


def sealed_clients(trace: Trace) -> frozenset[str]:
    """Addresses of the clients of whose payload most is under TLS, so that no call is seen."""
    return frozenset(client for (client,) in trace.rows(_CLIENTS, {"most": MOST}))


_CLIENTS = """
    select client from connections group by client
    having sum(sealed_bytes) > 0
        and sum(sealed_bytes) >= $most * sum(client_bytes::bigint + server_bytes::bigint)
"""

_SEALED = """
    select connections.*, calls.* from
        (select count(*) filter (tls), sum(sealed_bytes), sum(client_bytes + server_bytes)
         from connections) as connections,
        (select count(*) filter (undecoded = 'encrypted' and stability = 'unknown'), count(*)
         from calls where not callback and reply_frame is not null) as calls
"""
