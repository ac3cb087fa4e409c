"""Copies that servers carried out in the background, and how they ended.

Takes a trace; makes a table of the COPYs whose reply tells no byte copied and of which the server
told the end (CB_OFFLOAD) for the same file: only there stands how many bytes were copied (RFC 7862
sections 4.8.1 and 16.1).
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
        operations="call op status count file",
        calls="call mount callback call_time reply_time",
    ),
)
"""The columns that this reads."""

TABLE = "offloads"
"""The table that `register` makes: `call`, that of the COPY; `told`, that by which the server told
its end; `done`, when it did, ns since 1970; `copied`, so many bytes."""

NEEDS = population.Operations(("CB_OFFLOAD",))
"""Without one no COPY is known to have gone on in the background."""


@once
def register(trace: Trace) -> bool:
    """Make the table `offloads` of a trace, and say whether there can be anything in it."""
    if not NEEDS.met(trace):
        return False
    with closing(trace.cursor()) as cursor:
        cursor.execute(_OFFLOADS)
    return True


_OFFLOADS = f"""
    create table {TABLE} as
    with begun as (
        select call, mount, operations.file, reply_time
        from operations join (
            select call, mount, reply_time from calls
            where not callback and reply_time is not null
        ) using (call)
        where operations.op = 'COPY' and operations.status = 0 and operations."count" = 0
    ),
    ended as (
        select call as told, mount, operations.file, call_time as done,
               operations."count" as copied
        from operations join (
            select call, mount, call_time from calls where callback
        ) using (call)
        where operations.op = 'CB_OFFLOAD'
    )
    select begun.call, told, done, copied
    from begun asof join ended on begun.mount = ended.mount and begun.file = ended.file
                                  and begun.reply_time <= ended.done
"""
