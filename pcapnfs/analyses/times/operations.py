"""Which operations were called, how often, and how long the server took.

Three views of the same calls: by main operation, by signature (what sets compounds apart), and
every single operation counted. A compound's time belongs to the call and is never booked to each of
its operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import service_time
from pcapnfs.analyses.asking.service_time import COLUMNS, FAILED, ServiceTime
from pcapnfs.analyses.asking.values import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call minor protocol op signature srt transmissions rpc_status status stability",
    operations="call op executed status",
)
"""The columns that the queries here read."""

SIGNATURES_KEPT = 100
"""Signatures that are listed, longest time first; a hostile capture could hold one per call."""


class OperationTimes(Record):
    """Calls of one protocol version with one main operation."""

    version: str
    """Protocol: `3`, `4.0`, `4.1`, `4.2`, `nfsacl3`, `mount3` …"""
    op: str
    """Procedure; for NFSv4 the compound's main operation."""
    calls: int
    """Calls, answered or not; one that was retransmitted counts once."""
    errors: int
    """Calls that were refused or answered with a status other than OK."""
    stable_calls: int
    """Calls that the server had to put on stable storage before it replied."""
    retransmitted_calls: int
    """Calls that were sent more than once; their times are in srt, from the first transmission."""
    srt: ServiceTime
    """Service times of the calls with a reply."""


class SignatureTimes(Record):
    """NFSv4 calls with the same operations in the same order."""

    version: str
    """Protocol: `4.0`, `4.1`, `4.2` …"""
    op: str
    """The main operation."""
    signature: str
    """All operations in order, with what sets them apart."""
    calls: int
    """Calls, answered or not."""
    errors: int
    """Calls that were refused or answered with a status other than OK."""
    stable_calls: int
    """Calls that the server had to put on stable storage before it replied."""
    retransmitted_calls: int
    """Calls that were sent more than once; their times are in srt, from the first transmission."""
    srt: ServiceTime
    """Service times of the calls with a reply."""


class OperationCount(Record):
    """One operation, wherever it stood."""

    version: str
    """Protocol: `3`, `4.0`, `4.1`, `4.2`, `nfsacl3`, `mount3` …"""
    op: str
    """Name in the RFC."""
    count: int
    """How often it was in a call."""
    executed: int
    """How often a reply holds its result; a compound stops at the first operation that fails."""
    errors: int
    """How often the result was a status other than OK."""


def operation_times(trace: Trace) -> tuple[OperationTimes, ...]:
    """Service times by protocol and main operation, longest sum first."""
    rows = trace.rows(
        f"""
        select protocol, op, count(*), count(*) filter ({FAILED}),
               count(*) filter (stability = 'stable'), count(*) filter (transmissions > 1),
               {COLUMNS}
        from calls
        group by protocol, op
        order by coalesce(sum(srt), 0) desc, count(*) desc, protocol, op
        """
    )
    return tuple(
        OperationTimes(
            version=version,
            op=op,
            calls=integer(calls),
            errors=integer(errors),
            stable_calls=integer(stable),
            retransmitted_calls=integer(retransmitted),
            srt=service_time.of_row(srt),
        )
        for version, op, calls, errors, stable, retransmitted, *srt in rows
    )


def signature_times(trace: Trace, *, top: int = SIGNATURES_KEPT) -> tuple[SignatureTimes, ...]:
    """Service times of NFSv4 calls by signature, longest sum first, at most `top` of them."""
    rows = trace.rows(
        f"""
        select protocol, op, signature, count(*), count(*) filter ({FAILED}),
               count(*) filter (stability = 'stable'), count(*) filter (transmissions > 1),
               {COLUMNS}
        from calls
        where minor is not null
        group by protocol, op, signature
        order by coalesce(sum(srt), 0) desc, count(*) desc, protocol, op, signature
        limit $top
        """,
        {"top": top},
    )
    return tuple(
        SignatureTimes(
            version=version,
            op=op,
            signature=signature,
            calls=integer(calls),
            errors=integer(errors),
            stable_calls=integer(stable),
            retransmitted_calls=integer(retransmitted),
            srt=service_time.of_row(srt),
        )
        for version, op, signature, calls, errors, stable, retransmitted, *srt in rows
    )


def operation_counts(trace: Trace) -> tuple[OperationCount, ...]:
    """Every single operation, also those inside compounds, most frequent first."""
    rows = trace.rows(
        """
        select calls.protocol, operations.op, count(*), count(*) filter (operations.executed),
               count(*) filter (operations.executed and coalesce(operations.status, 0) <> 0)
        from operations join calls using (call)
        where calls.protocol <> ''  -- All: of operations that are looked up DuckDB makes the table.
        group by all
        order by count(*) desc, calls.protocol, operations.op
        """
    )
    return tuple(OperationCount(*row) for row in rows)
