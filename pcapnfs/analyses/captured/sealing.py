"""How much of the traffic is sealed or cut off, so that nothing tells what it was.

Takes connections and calls; gives what TLS hides (RFC 9289), of which not even calls are known, and
the calls whose operations Kerberos hides (RPCSEC_GSS privacy, RFC 2203 section 5.3.3.4): those are
timed, but whether they had to wait for storage is not known; and connections to a port of RPC of
which packets were cut so short that no message can be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="connection callback reply_frame stability undecoded op",
    connections="connection tls sealed_bytes client_bytes server_bytes truncated_bytes",
)
"""The columns that the queries here read."""

MOST = 0.5
"""Share from which on what can be read stands for nothing but itself."""


CLIENTS_READS = columns.of(
    calls="connection",
    connections="connection client tls sealed_bytes client_bytes server_bytes truncated_bytes",
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
    named_calls: int
    """Answered calls of which encryption hides all but the procedure, as of NFSv3, which the header
    of a call tells: files, sizes, data and status. Of some of them, the part of `calls` that is
    `named_unknown`, whether they are stable."""
    named_share: float | None
    """These divided by all answered calls of clients, 0…1; None without any."""
    named_unknown: int
    """Part of calls and of named_calls: the procedure is known, not whether the call was stable."""

    cut_connections: int
    """Connections of which no call can be seen, since packets were cut before one tells what it
    is."""
    cut_bytes: int
    """Payload bytes of these, captured or not."""
    cut_share: float | None
    """These divided by the payload bytes of all connections, 0…1; None without any."""

    @property
    def hidden_share(self) -> float:
        """The share of the payload bytes of which not even calls can be seen."""
        return (self.bytes_share or 0.0) + (self.cut_share or 0.0)

    @property
    def mostly_cut(self) -> bool:
        """Whether most bytes are cut off."""
        return (self.cut_share or 0.0) >= MOST

    @property
    def mostly(self) -> bool:
        """Whether most bytes are sealed or cut off, or most calls are sealed."""
        return self.hidden_share >= MOST or (self.calls_share or 0.0) >= MOST


@once
def sealing(trace: Trace) -> Sealing:
    """Count what is sealed, and what there is."""
    connections, sealed, payload, calls, named, unknown, answered = trace.rows(_SEALED)[0]
    cut_short = unread(trace)
    cut = trace.rows(_CUT, {"unread": given.text(cut_short)})[0][0] if cut_short else 0
    return Sealing(
        connections=connections,
        sealed_bytes=integer(sealed),
        bytes_share=integer(sealed) / integer(payload) if payload else None,
        calls=calls,
        calls_share=calls / answered if answered else None,
        named_calls=named,
        named_share=named / answered if answered else None,
        named_unknown=unknown,
        cut_connections=len(cut_short),
        cut_bytes=integer(cut),
        cut_share=integer(cut) / integer(payload) if payload else None,
    )


def sealed_clients(trace: Trace) -> frozenset[str]:
    """Addresses of the clients of whose payload most is under TLS, or cut: no call is seen."""
    asked = {"most": MOST, "unread": given.text(unread(trace))}
    return frozenset(client for (client,) in trace.rows(_CLIENTS, asked))


@once
def unread(trace: Trace) -> list[int]:
    """Connections of which packets were cut so short that no call can be seen."""
    # Where nothing was cut, calls need not be asked.
    if not trace.rows(f"select 1 from connections where {_CUT_SHORT} limit 1"):
        return []
    return [connection for (connection,) in trace.rows(_UNREAD)]


_CUT_SHORT = "not tls and truncated_bytes > 0"

_UNREAD = f"""
    select connection from connections
    where {_CUT_SHORT} and connection not in (select connection from calls)
"""

_OF_UNREAD = f"connection in (select {given.rows('unread', 'uinteger')})"

_CLIENTS = f"""
    with hidden as (
        select client, client_bytes::bigint + server_bytes::bigint as payload,
               case when {_OF_UNREAD} then payload else sealed_bytes end as hidden_bytes
        from connections
    )
    select client from hidden group by client
    having sum(hidden_bytes) > 0 and sum(hidden_bytes) >= $most * sum(payload)
"""

_CUT = f"""
    select sum(client_bytes::hugeint + server_bytes) from connections where {_OF_UNREAD}
"""

_SEALED = """
    select connections.*, calls.* from
        (select count(*) filter (tls), sum(sealed_bytes), sum(client_bytes + server_bytes)
         from connections) as connections,
        (select count(*) filter (stability = 'unknown' and sealed),
                count(*) filter (op != 'COMPOUND' and sealed),
                count(*) filter (op != 'COMPOUND' and stability = 'unknown' and sealed), count(*)
         from (select op, stability, coalesce(undecoded = 'encrypted', false) as sealed
               from calls where not callback and reply_frame is not null)) as calls
"""
