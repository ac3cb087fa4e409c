"""Files that clients made: each create that succeeded, with the file that it made.

Takes a trace; makes a table of them, once for all who ask.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call client server mount callback op file call_frame call_time reply_time",
        operations="call op create_mode created executed status",
    ),
)
"""The columns that the query here reads."""

TABLE = "new_files"
"""The table that `register` makes: columns of the table calls; `create_mode` and `created` of the
operation (tables calls and operations)."""

NEEDS = population.Operations(("CREATE", "OPEN"), statuses=(0,))
"""Without one that succeeded no file was made."""


@once
def register(trace: Trace) -> bool:
    """Make the table `new_files`, and say whether there is anything in it."""
    if not NEEDS.met(trace):
        return False
    with closing(trace.cursor()) as cursor:
        cursor.execute(_NEW_FILES)
        return cursor.execute(f"select 1 from {TABLE} limit 1").fetchone() is not None


_NEW_FILES = f"""
    create table {TABLE} as
    with made as (
        select call, create_mode, created from operations
        where create_mode is not null and executed and status = 0
    )
    select call, client, server, mount, file, op, call_frame, call_time, reply_time, create_mode,
           created
    from calls join made using (call) where not callback and file is not null
"""
