"""The operations that move data, as several analyses begin with them.

Takes a trace; makes a table of its READs, WRITEs and COMMITs. They are a small part of what mostly
are other operations, and what is told of them stands in columns that are NULL in all others: to
find them among all takes longer than to read this table, and several queries want them.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among, place

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    operations="call position op executed status stability file offset requested count "
    "stable_requested committed size"
)
"""The columns that this reads."""

TABLE = "moves"
"""The table that `register` makes: columns of the table operations; for the texts of it `what`, the
place in `KINDS`; `reading`, whether it is a READ; `stable`; `unstable_asked` and `unstable_told`,
whether a WRITE asked for UNSTABLE, and was granted no more. Numbers and Booleans alone: of captures
of little but data there are as many rows as calls."""

READ_OPERATIONS = ("READ", "READ_PLUS")
"""Operations that bring file data."""

WRITE_OPERATIONS = ("WRITE",)
"""Operations that take file data."""

MOVING = READ_OPERATIONS + WRITE_OPERATIONS
"""Both."""

COMMITTING = "COMMIT"
"""The one that makes sure of it."""

KINDS = (*MOVING, COMMITTING)
"""All of them."""

COMMIT = KINDS.index(COMMITTING)
"""The place of a COMMIT among them."""


@once
def register(trace: Trace) -> None:
    """Make the table `moves` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_MOVES)


_MOVES = f"""
    create table {TABLE} as
    select call, position, {place("op", KINDS)} as what,
           {among("op", READ_OPERATIONS)} as reading, executed, status, file, "offset", requested,
           "count", size, stability = 'stable' as stable,
           stable_requested = 'UNSTABLE' as unstable_asked,
           committed = 'UNSTABLE' as unstable_told
    from operations where {among("op", KINDS)}
"""
