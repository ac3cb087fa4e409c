"""Numbers that were worked out for calls, as a table for queries to join.

Takes arrays; gives a table of the trace's database with a row for each call.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace


def create(trace: Trace, table: str, call: NDArray[Any], **numbers: NDArray[Any]) -> None:
    """Make the table.

    Args:
        trace: The trace.
        table: Its name.
        call: The calls, by number: its column `call`.
        numbers: Its other columns, whole numbers.
    """
    # Arrays are as narrow as their numbers; who joins the table need not know.
    columns = ", ".join(f"{name}::bigint as {name}" for name in numbers)
    with closing(trace.cursor()) as cursor:
        cursor.register("found", {"call": call, **numbers})
        cursor.execute(
            f"create table {table} as select call::ubigint as call, {columns} from found"
        )
        cursor.unregister("found")
