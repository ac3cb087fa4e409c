"""Where each client and server were captured, for queries that depend on it: SQL, and its values.

Takes what tells of their round trips (`round_trip`); gives a CTE, and the parameters that it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import given
from pcapnfs.analyses.wire import round_trip

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = round_trip.READS
"""The columns that tell it."""

PLACED = f"""
    placed as (
        select {given.rows("clients", "varchar")} as client,
               {given.rows("servers", "varchar")} as server,
               {given.rows("vantages", "varchar")} as vantage
    )
"""
"""SQL: a CTE with the vantage point of each client and server."""


def values(trace: Trace) -> dict[str, object]:
    """The parameters of `PLACED`."""
    pairs = round_trip.round_trips(trace).pairs
    return {
        "clients": given.text(pair.client for pair in pairs),
        "servers": given.text(pair.server for pair in pairs),
        "vantages": given.text(pair.vantage for pair in pairs),
    }
