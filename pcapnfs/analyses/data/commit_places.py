"""Where COMMITs stand among the WRITEs of their file: behind all of them, or behind each piece.

Takes a trace and the COMMITs that are told of it (`commits`); gives for each mount those that
closing a file explains, and those of data that is written through in pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import parts
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.data import moves, written_back
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    moves.READS,
    written_back.READS,
    columns.of(calls="call mount callback call_frame call_time reply_time"),
)
"""The columns that the queries here read."""

FEW = 3
"""COMMITs of a file below which nothing is concluded from what came before each."""

STEADY = 0.8
"""Share of a file's COMMITs, without one for the rest at its end, that have as much before them as
most: a program writes through pieces of one size, while what a client sends in the background, or
what transactions of a database come to, varies."""


class Places(Record):
    """The COMMITs of one mount, by where they stand."""

    at_end: int = 0
    """Those that are the only one of their file and stand behind all of its WRITEs, of which there
    was one at least: what closing a file needs that was not stored as it was sent, and what a
    single fsync() before that brings as well."""
    pieces: int = 0
    """Those behind pieces that are written through: each comes when two WRITEs or more that lie
    side by side have been answered UNSTABLE, and no WRITE of the file follows before its reply;
    as much was written before it as before most others of its file. A file has three of these or
    more, four fifths of its COMMITs, and was closed or unlocked (`written_back`) less often."""
    piece_files: int = 0
    """Files that these belong to."""
    piece_bytes: int = 0
    """What had been written before them, bytes."""
    piece_time_s: float = 0.0
    """What they took of the clock (`shares`), seconds."""
    piece_saved_s: float = 0.0
    """The same without those that stay: one for each time that its file was closed or unlocked
    (`written_back`), and at least one, seconds."""
    piece_frames: tuple[int, ...] = ()
    """Example frames: the first ones."""


NOWHERE = Places()
"""Of a mount without any of these."""


def places(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> dict[int, Places]:
    """Put the COMMITs of each mount in their places.

    Args:
        trace: The trace, with the table `moves`.
        cursor: One with the table `told` of the COMMITs, as `walks.Transfers.commits` has them.
    """
    cursor.execute(_COMMITTED)
    parts.fill(trace, cursor, "placed", _PLACED)
    rows = cursor.execute(_PLACES).fetchall()
    return {
        integer(mount): Places(
            at_end=integer(at_end),
            pieces=integer(pieces),
            piece_files=integer(files),
            piece_bytes=integer(size),
            piece_time_s=seconds(time) or 0.0,
            piece_saved_s=seconds(saved) or 0.0,
            piece_frames=tuple(integer(frame) for frame in frames),
        )
        for mount, at_end, pieces, files, size, time, saved, frames in rows
    }


_COMMITTED = "create temp table committed as select distinct mount, file from told"

_PLACED = f"""
    with moved as (
        select call, position, file, what = {moves.COMMIT} as committing, "offset" as start,
               "count" as bytes, unstable_told
        from {moves.TABLE}
        where of_stretch(call) and not reading and executed and status = 0 and file is not null
    ),
    asked as (
        select call, mount, call_time, reply_time, call_frame as frame
        from calls where of_stretch(call) and not callback and reply_time is not null
    )
    select mount, file, committing, call, position, call_time, reply_time, frame, start, bytes,
           unstable_told
    from moved join asked using (call) semi join committed using (mount, file)
"""
"""WRITEs and COMMITs of the files that were committed."""

_PLACES = f"""
    with numbered as (
        select *, coalesce(sum(committing::integer) over earlier, 0) as piece
        from placed
        window earlier as (
            partition by mount, file order by call_time, call, position
            rows between unbounded preceding and 1 preceding
        )
    ),
    -- A piece is what was written since the COMMIT before, with its own where there is one.
    pieces as (
        select mount, file, piece, count(*) filter (not committing) as writes,
               sum(bytes) filter (not committing) as bytes,
               bool_and(unstable_told) filter (not committing) as unstable,
               max(start + bytes) filter (not committing) - min(start) filter (not committing)
                   as span,
               min(call_time) as began, max(reply_time) filter (not committing) as written,
               max(call_time) filter (committing) as asked,
               max(reply_time) filter (committing) as answered,
               max(frame) filter (committing) as frame
        from numbered group by mount, file, piece
    ),
    waited as (
        select *, coalesce(frame is not null and writes > 1 and unstable and span = bytes
                           and written <= asked
                           and coalesce(lead(began) over next >= answered, true), false) as alone
        from pieces window next as (partition by mount, file order by piece)
    ),
    files as (
        select mount, file, count(frame) as commits, mode(bytes) filter (alone) as usual,
               count(*) filter (frame is not null and writes > 0) as filled,
               count(*) filter (frame is null) as later
        from waited group by mount, file
    ),
    ended as ({written_back.ends("committed", by="mount, file")}),
    through as (
        select mount, file, count(*) as pieces, sum(waited.bytes) as bytes, sum(share) as share,
               greatest(coalesce(any_value(ends), 0), 1) as kept,
               min(told.frame::bigint, {EXAMPLES}) as frames
        from waited join files using (mount, file) left join ended using (mount, file)
             join told using (mount, file, frame)
        where alone and waited.bytes = usual and commits > 1 + coalesce(ends, 0)
        group by mount, file
        having count(*) >= greatest({FEW}, {STEADY} * (any_value(commits) - 1))
    ),
    ending as (
        select mount, count(*) filter (commits = 1 and filled = 1 and later = 0) as at_end
        from files group by mount
    ),
    piecewise as (
        select mount, sum(pieces) as pieces, count(*) as files, sum(bytes) as bytes,
               sum(share) as share, sum(share * (1 - least(kept / pieces, 1)))::bigint as saved,
               list_slice(list_sort(flatten(list(frames))), 1, {EXAMPLES}) as frames
        from through group by mount
    )
    select mount, at_end, coalesce(pieces, 0), coalesce(files, 0), coalesce(bytes, 0),
           coalesce(share, 0), coalesce(saved, 0), coalesce(frames, [])
    from ending left join piecewise using (mount)
"""
