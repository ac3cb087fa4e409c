"""Which calls a client need not have sent, had it asked in another way.

Takes a trace; gives the calls that larger WRITEs would save. Those that listings with attributes
would save are follow-ups (readdir.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given, population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.data import moves, transfer_sizes
from pcapnfs.analyses.data.moves import COMMITTING, WRITE_OPERATIONS
from pcapnfs.analyses.data.transfer_sizes import REACH
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    transfer_sizes.MOVED_READS,
    columns.of(
        calls="callback mount op stability file",
        files="file identity",
    ),
)
"""The columns that this reads."""

NEEDS = population.Operations(WRITE_OPERATIONS)
"""Files without a WRITE were not cut."""

LARGEST_WRITE = 1 << 20
"""The most that Linux takes in one WRITE, bytes: a larger file needs several in any case."""


class LargerWrites(Record):
    """What it would save to take each file in one WRITE."""

    files: int
    """Files that were written in several WRITEs though they would fit one."""
    write_bytes: int
    """The largest of them, bytes."""
    calls: int
    """Calls saved: all WRITEs and COMMITs of these files but one each."""
    stable_calls: int
    """Those of them that are stable."""


def larger_writes(trace: Trace) -> LargerWrites:
    """Find the files that the size of a WRITE has cut into pieces.

    It has where a file was written in pieces of the same size without holes, the last one aside,
    as clients do with data that is larger than wsize, and no other WRITE of the mount was larger:
    where one was, the program that wrote asked for these pieces (by fsync, say, or O_SYNC). So it
    did, or the mount with `sync`, where each piece was to be on stable storage at once: what the
    size of a WRITE cuts goes out UNSTABLE, but for a last piece.
    """
    if not (NEEDS.met(trace) and any_cuttable(trace)):
        return LargerWrites(0, 0, 0, 0)
    largest = {
        each.mount: each.largest_bytes or 0
        for each in transfer_sizes.moved(trace)
        if not each.reading
    }
    given_sizes = {"mounts": given.text(largest), "largest": given.text(largest.values())}
    ((files, largest_file, calls, stable),) = trace.rows(_LARGER, given_sizes)
    return LargerWrites(integer(files), integer(largest_file), integer(calls), integer(stable))


def any_cuttable(trace: Trace) -> bool:
    """Whether any file may have been cut.

    Most captures hold none, and it takes less to see that than to look how they were written.
    """
    moves.register(trace)
    return bool(trace.rows(f"with {_CUTTABLE} select 1 from cuttable limit 1"))


_WRITTEN = f"not reading and what < {moves.COMMIT}"

# As many WRITEs as pieces of the largest size take: few files that were written otherwise have so.
_CUTTABLE = f"""
    cuttable as (
        select identity as file, count(*) as writes, max(requested) as piece,
               max({REACH}) as reach
        from {moves.TABLE} join (select file, identity from files) as named using (file)
        where {_WRITTEN} and requested > 0 and "offset" is not null
        group by identity
        having writes > 1 and reach <= {LARGEST_WRITE} and writes = ceil(reach / piece)
    )
"""

_LARGER = f"""
    with mounts as (
        select {given.rows("mounts", "uinteger")} as mount,
               {given.rows("largest", "ubigint")} as largest
    ),
    {_CUTTABLE},
    named as (
        select files.file, cuttable.* exclude (file), identity
        from files join cuttable on identity = cuttable.file
    ),
    cut as (
        select identity
        from {moves.TABLE} join named using (file)
        where {_WRITTEN} and requested > 0 and "offset" is not null
        group by identity
        having count(distinct "offset") = any_value(writes)
               and count(*) filter (requested = piece) >= any_value(writes) - 1
               and count(*) filter (not unstable_asked) <= 1
    ),
    sent as (
        select any_value(reach) as reach, count(*) as calls,
               count(*) filter (stability = 'stable') as stable
        from calls join named using (file) semi join cut using (identity)
                   join mounts using (mount)
        where not callback and {among("op", (*WRITE_OPERATIONS, COMMITTING))}
        group by identity having max(largest) <= any_value(piece)
    )
    select count(*), max(reach), sum(calls - 1), sum(greatest(stable - 1, 0)) from sent
"""
