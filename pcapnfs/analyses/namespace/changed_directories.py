"""In which directories calls changed something, or may have.

Takes a trace; makes a table of the directories that operations which modify were about, as they are
in the trace. Who asks joins it with its own calls; SQL for that gives when a client itself changed
a directory, and, with the table `learned` (`change_ids`), when it learnt of what others may have.
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

NEVER_NS = 2**63 - 1
"""The end of a change of which the capture shows none."""


@once
def register(trace: Trace) -> None:
    """Make the table `changed_directories` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_changed())


def by_client(directories: str, *columns: str) -> str:
    """SQL, where the table is there: when a client itself changed directories.

    A row has `mount`, `directory`, `call_time`, and `until`, when the last to end of its changes so
    far did.

    Args:
        directories: SQL: the numbers of those that are asked about.
        columns: What else is wanted; `steps` is the window of a client's changes of one directory.
    """
    return f"""
        select mount, changed.directory, call_time,
               max(coalesce(reply_time, {NEVER_NS})) over steps as until
               {"".join(f", {column}" for column in columns)}
        from {TABLE} as changed join calls using (call)
        where not callback and changed.directory in ({directories})
        window steps as (partition by mount, changed.directory order by call_time, call)
    """


def by_others(directories: str) -> str:
    """SQL, on a connection with `learned`: when a client learnt of what was not its own change.

    A row has `mount`, `directory`, `moment`, and `surely`: it was somebody else's; of the others
    nothing tells whose they were.

    Args:
        directories: SQL: the numbers of those that are asked about.
    """
    return f"""
        select mount, file as directory, reply_time as moment,
               finding = 'other'::finding as surely
        from learned
        where finding in ('other'::finding, 'unknown'::finding) and file in ({directories})
    """


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
