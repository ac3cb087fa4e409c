"""What each call took of the clock: its share of the time in which its client waited.

Every instant at which calls of a client are outstanding is shared equally among them. So the shares
of a client's calls add up to the time in which it had any call outstanding, to the nanosecond,
however much its calls overlap; service times would add up to more.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs.analyses import outstanding as _outstanding
from pcapnfs.analyses.equal_shares import equal_shares, whole_nanoseconds
from pcapnfs.analyses.outstanding import outstanding

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.analyses.outstanding import Outstanding
    from pcapnfs.trace import Trace

READS = _outstanding.READS
"""The columns that this reads."""

TABLE = "shares"
"""The table that `register` makes: `call`, as in the table calls, and `share` in nanoseconds."""


def shares(calls: Outstanding) -> NDArray[np.int64]:
    """The share of each of the calls, in their order, ns."""
    intervals = calls.intervals
    given = equal_shares(intervals)
    return whole_nanoseconds(given.whole, intervals.group, given.open_ns)


def register(trace: Trace, calls: Outstanding | None = None) -> duckdb.DuckDBPyRelation:
    """The table `shares` of a trace, for other analyses to join; it is made when first asked for.

    It has a row for each call of a client, answered or not, and none for callbacks.

    Args:
        trace: The trace.
        calls: Its calls, where they are known already.
    """
    with closing(trace.cursor()) as cursor:
        made = "select 1 from duckdb_tables() where table_name = $name and not internal"
        if not cursor.execute(made, {"name": TABLE}).fetchall():
            found = calls or outstanding(trace)
            cursor.register("found", {"call": found.call, "share": shares(found)})
            cursor.execute(f"create table {TABLE} as select call, share from found")
            cursor.unregister("found")
    return trace.sql(f"from {TABLE}")
