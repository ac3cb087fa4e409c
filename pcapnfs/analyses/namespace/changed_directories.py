"""In which directories calls changed something, or may have.

Takes a trace; makes a table of the directories that operations which modify were about, as they are
in the trace. Who asks joins it with its own calls.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.operations import modifying_operations

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(operations="call op executed stability directory target_directory")
"""The columns that this reads."""

TABLE = "changed_directories"
"""The table that `register` makes: `call` and `directory`, of clients and servers."""


@once
def register(trace: Trace) -> None:
    """Make the table `changed_directories` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_changed())


def _changed() -> str:
    """SQL: makes the table."""
    return f"""
        create table {TABLE} as
        with changing as (
            select call, directory, target_directory from operations
            where {among("op", modifying_operations())} and executed
                  and {among("stability", ("stable", "unstable_write", "unknown"))}
                  and coalesce(directory, target_directory) is not null
        ),
        each as (select call, unnest([directory, target_directory]) as directory from changing)
        from each where directory is not null
    """
