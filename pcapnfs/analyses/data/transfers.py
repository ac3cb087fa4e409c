"""READs, WRITEs and COMMITs of each file in order, walked over once for all who ask about them.

Takes a trace; gives the answers of the walk (`core/src/walk/transfers/`) to the questions of
`transfer_runs`, `write_shapes` and `commits`, which say what they mean.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from pcapnfs import columns, walks
from pcapnfs.analyses.asking import joined, parts
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.by_file.visits import TOGETHER_S
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import queued_replies
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import duckdb

    from pcapnfs._core import Batch
    from pcapnfs.analyses.mounts.mounts_apart import Division
    from pcapnfs.trace import Trace

READS = columns.together(
    moves.READS,
    queued_replies.READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback op call_frame call_first_time call_time "
        "reply_first_time reply_time srt first_arrived",
    ),
)
"""The columns that the queries here read."""

PAGE_BYTES = 4096
"""Pages and blocks of most clients and servers."""

SOON_S = 1.0
"""A READ that came longer before a WRITE was for something else."""


class Transfers(Record):
    """What the walk found."""

    mounts: Mapping[int, tuple[str, str]]
    """Addresses of client and server of each mount (`calls.mount`) with calls that were answered
    or not."""
    runs: Batch
    """READs and WRITEs that follow one another (`walks.Transfers.runs`)."""
    commits: Batch
    """COMMITs that succeeded (`walks.Transfers.commits`)."""
    shapes: dict[int, dict[str, Any]]
    """How the WRITEs of each mount lie on pages (`walks.Transfers.shapes`)."""


@once
def transfers(trace: Trace) -> Transfers:
    """Walk over them, file by file."""
    return _walked(trace, traffic.mounts(trace), None)


def of_parts(trace: Trace, division: Division) -> Transfers:
    """The same, with parts of pairs of client and server in place of mounts."""
    return _walked(trace, division.addresses(trace), division.begin)


def _walked(
    trace: Trace,
    mounts: Mapping[int, tuple[str, str]],
    begin: Callable[[duckdb.DuckDBPyConnection], None] | None,
) -> Transfers:
    moves.register(trace)
    shares.register(trace)
    walk = walks.Transfers(together_s=TOGETHER_S, soon_s=SOON_S, page_bytes=PAGE_BYTES)
    query = _ROWS.format(queues=f"from ({queued_replies.rows(trace)}) where of_stretch(call)")
    with closing(trace.cursor()) as cursor:
        if begin is not None:
            begin(cursor)
        for rows in parts.of(trace, cursor, query, by="mount, file"):
            walk.add(rows)
    return Transfers(
        mounts=mounts,
        runs=walk.runs(),
        commits=walk.commits(),
        shapes=walk.shapes(),
    )


# `waiting` is the part of a call's interval in which nothing was moving, of it or of replies before
# its own. What was sent again waited for that, of whatever size it was.
_ROWS = f"""
    with moving as (
        select call, position, file, "offset" as start, size,
               case when reading then 0 when what = {moves.COMMIT} then 2 else 1 end::utinyint
                   as what,
               -- A READ that was refused brought nothing, nor did one behind the file's end.
               if((status <> 0 or "count" = 0) and reading, 0, requested) as requested, "count",
               stable,
               -- What was refused waited for no storage; cut off, it is taken for a success.
               not unstable_asked and coalesce(executed and status = 0, true) as sync,
               unstable_told as unstable, executed and status = 0 as done
        from {moves.TABLE} where of_stretch(call) and file is not null
    ),
    queues as ({{queues}}),
    asked as (
        select call, mount, callback, call_first_time, call_time, reply_first_time, reply_time,
               call_frame, srt, first_arrived, {among("op", MOVING)} as main
        from calls where of_stretch(call)
    )
    select mount, file, what, call, position, call_time, reply_time, call_frame, start, requested,
           "count", size, srt, if(first_arrived, share, 0) as share, pause,
           coalesce(least(greatest(reply_first_time - call_time - coalesce(queued, 0), 0)
                          / greatest(reply_time - call_first_time, 1), 1), 1)::double as waiting,
           stable, sync, unstable, done, main
    from moving join asked using (call) join shares using (call) left join queues using (call)
    where of_stretch(shares.call)
          and {joined.condition("not callback and reply_time is not null", "what")}
"""
