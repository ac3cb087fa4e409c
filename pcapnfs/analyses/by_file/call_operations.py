"""The operations of calls, in order: one, or those of a compound.

Takes a trace and numbers of calls; gives what each operation named, asked for and got.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.data import offloads
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    offloads.READS,
    columns.of(
        operations="call position op executed status_name stability name new_name offset requested "
        "count stable_requested committed set_size",
    ),
)
"""The columns that the queries here read."""


class Operation(Record):
    """One operation of a call."""

    op: str
    """Name in the RFC."""
    executed: bool
    """The reply holds a result of it."""
    status: str | None
    """The RFC's name of its status; None when it was not executed or not captured."""
    stability: str
    """`stable`, `unstable`, `unstable_write`, `read`, `state` or `unknown`."""
    name: str | None
    """The name that it gives, as CREATE, LOOKUP, RENAME (the old one) do; None for others."""
    new_name: str | None
    """RENAME: the new name; None for others."""
    offset_bytes: int | None
    """Where in the file, bytes; None for operations without a place."""
    requested_bytes: int | None
    """Bytes asked for; None for operations without a length."""
    done_bytes: int | None
    """Bytes read or written, as the reply says, or, of a COPY in the background, CB_OFFLOAD; None
    for others, and without reply."""
    requested_level: str | None
    """WRITE: `UNSTABLE`, `DATA_SYNC` or `FILE_SYNC` as asked for; None for others."""
    committed_level: str | None
    """WRITE, COPY: the level granted, in the end; None for others, and without reply."""
    set_size_bytes: int | None
    """The size that SETATTR, CREATE or OPEN set; None when none."""


def call_operations(trace: Trace, calls: list[int]) -> dict[int, tuple[Operation, ...]]:
    """Give those of each call, which the capture holds, by its number in the table calls."""
    done, ended = '"count", stable_requested, operations.committed', ""
    if offloads.register(trace):
        its = "op = 'COPY' and offloads.call is not null"
        done = f"""
            case when {its} then copied else "count" end, stable_requested,
            case when {its} then ended.committed else operations.committed end
        """
        ended = f"""
            left join {offloads.TABLE} using (call)
            left join (
                select call as told, committed from operations where op = 'CB_OFFLOAD'
            ) as ended using (told)
        """
    rows = trace.rows(
        f"""
        -- behind the call what an Operation has, in its order
        select call, op, executed, status_name, stability, name, new_name, "offset", requested,
               {done}, set_size
        from (from operations where call between $least and $most) as operations
             semi join (select {given.rows("calls", "ubigint")} as call) using (call) {ended}
        order by call, position
        """,
        # Where these are few of all, most of the table need not be read.
        {"calls": given.text(calls), "least": min(calls), "most": max(calls)},
    )
    found: dict[int, list[Operation]] = {}
    for call, *values in rows:
        # Whole numbers and texts, as they are: there may be millions.
        found.setdefault(integer(call), []).append(Operation(*values))
    return {call: tuple(operations) for call, operations in found.items()}
