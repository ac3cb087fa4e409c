"""What a trace holds at all: which operations, with which statuses.

Most questions are about something that most captures lack: locks, delegations, listings, stale
handles. To find nothing costs their queries as much as finding something, since a small capture's
time goes into planning them. So an analysis names beside its `READS` what must be there at least
(`NEEDS`), and gives its empty answer where it is not. One scan of each table tells all of them.

What is named follows from the filters of the analysis' own SQL and nothing else: a need that was
narrower than they are would hide what they find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pcapnfs.trace import Trace

OPERATIONS_READS = columns.of(operations="op status status_name")
"""The columns that `Operations` reads."""

CALLS_READS = columns.of(calls="op status status_name rpc_status")
"""The columns that `Calls` reads."""

MOST = 1000
"""Kinds that are remembered. A status is whatever the packet says: where there are more kinds than
this, everything counts as present."""


class Operations(Record):
    """Needs one operation of some kind, in a call or in a callback."""

    ops: tuple[str, ...]
    """Names of the operations, any of which will do."""
    statuses: tuple[int, ...] | None = None
    """Its status, any of these, as a number; None: whatever it is, or if there is none."""
    names: tuple[str, ...] | None = None
    """The same by name; None likewise."""

    def met(self, trace: Trace) -> bool:
        """Whether the trace has one."""
        kinds = _operations(trace)
        return kinds is None or any(
            op in self.ops and _among(status, self.statuses) and _among(name, self.names)
            for op, status, name in kinds
        )


class Calls(Record):
    """Needs one call of some kind, by a client or by a server."""

    ops: tuple[str, ...] | None = None
    """Names of its main operation, any of which will do; None: whatever it is."""
    statuses: tuple[int, ...] | None = None
    """Its status, any of these, as a number; None: whatever it is, or if there is none."""
    names: tuple[str, ...] | None = None
    """The same by name, where there is none that of RPC; None likewise."""

    def met(self, trace: Trace) -> bool:
        """Whether the trace has one."""
        kinds = _calls(trace)
        return kinds is None or any(
            _among(op, self.ops) and _among(status, self.statuses) and _among(name, self.names)
            for op, status, name in kinds
        )


def _among(value: object, wanted: Sequence[object] | None) -> bool:
    return wanted is None or value in wanted


@once
def _operations(trace: Trace) -> list[tuple[str | None, int | None, str | None]] | None:
    """Each operation with each of its statuses; None: too many to tell."""
    return _kinds(trace, "select distinct op, status, status_name from operations")


@once
def _calls(trace: Trace) -> list[tuple[str | None, int | None, str | None]] | None:
    """Each main operation with each of its statuses; None: too many to tell."""
    return _kinds(trace, "select distinct op, status, coalesce(status_name, rpc_status) from calls")


def _kinds(trace: Trace, query: str) -> list[tuple[Any, ...]] | None:
    found = trace.rows(f"{query} limit {MOST + 1}")
    return found if len(found) <= MOST else None
