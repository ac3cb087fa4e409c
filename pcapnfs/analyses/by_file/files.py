"""How many files the capture is about, and what one of them costs in calls.

A file counts when at least one call addressed it by handle or name; entries that were only listed
do not. A call by name belongs to the child; callbacks belong to no file here. A file with several
handles is one. Where calls were cut or sealed before they told what they are about, that none is
known does not mean that there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import owners
from pcapnfs.analyses.asking.owners import OBJECTS, OWNED
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.captured.sealing import sealing
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.data import transfer_sizes
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    _directions.READS,
    _sealing.READS,
    owners.READS,
    transfer_sizes.MOVED_READS,
    _untold.READS,
    columns.of(calls="callback stability file", files="file role listed_only"),
)
"""The columns that the queries here read."""


class Distribution(Record):
    """How a count spreads over the regular files."""

    mean: float | None
    """Arithmetic mean; None without regular files."""
    p50: float | None
    """Median, exact and interpolated; None without regular files."""
    p95: float | None
    """95th percentile, exact and interpolated; None without regular files."""
    max: int | None
    """Largest; None without regular files."""


class Files(Record):
    """The objects that calls addressed."""

    regular: int | None
    """Regular files that at least one call addressed by handle or name; None when none is known,
    but there are calls, or objects, that do not tell."""
    directories: int | None
    """Directories that at least one call addressed; without those above an export; None as for
    regular files."""
    other: int | None
    """Symbolic links, devices and objects whose type the capture does not tell, addressed by a
    call; None when none is known, but there are calls that do not tell."""
    listed_only: int | None
    """Objects known from listings alone; in none of the numbers above. None when none is known,
    but there are calls that do not tell."""
    absent_names: int | None
    """Names that were looked for and never existed; in none of the numbers above. None when none is
    known, but there are calls, or names, that do not tell."""
    untold_names: int | None
    """Names of which no reply tells whether there is such an object: lost, cut before that, or one
    that refuses, or puts off; in none of the numbers above. None when none is known, but there are
    calls that do not tell."""
    calls_per_file: Distribution
    """Calls that belong to a regular file."""
    stable_per_file: Distribution
    """Stable calls that belong to a regular file; None when none is known to be, but of most calls
    it is not known."""
    bytes_read: int | None
    """File data read, bytes, as the replies say; None when not one says it of READs that there are
    or, where operations are cut or sealed, may be."""
    bytes_written: int | None
    """File data written, bytes, as the replies say; None when not one says it of WRITEs that there
    are or, where operations are cut or sealed, may be."""


def files(trace: Trace) -> Files:
    """Count the objects that calls addressed, and spread the calls over the regular files."""
    lacks = untold(trace)
    regular, directories, other, listed_only, absent, untold_names, untyped = trace.rows(
        """
        select count(*) filter (role = 'file' and not listed_only),
               count(*) filter (role = 'directory' and not listed_only),
               count(*) filter (role in ('other', 'unknown') and not listed_only),
               count(*) filter (listed_only),
               count(*) filter (role = 'absent' and not listed_only),
               count(*) filter (role = 'untold' and not listed_only),
               count(*) filter (role = 'unknown' and not listed_only)
        from files where file = identity
        """
    )[0]
    spread = trace.rows(
        f"""
        with {OWNED}, {OBJECTS},
        costs as (
            select file, count(*) as calls, count(*) filter (stability = 'stable') as stable
            from owned where file is not null group by file
        ),
        regular as (
            select coalesce(calls, 0) as calls, coalesce(stable, 0) as stable
            from objects left join costs using (file) where role = 'file' and not listed_only
        )
        select avg(calls), quantile_cont(calls, 0.5), quantile_cont(calls, 0.95), max(calls),
               avg(stable), quantile_cont(stable, 0.5), quantile_cont(stable, 0.95), max(stable)
        from regular
        """
    )[0]
    moved = transfer_sizes.moved(trace)
    unread = sealing(trace).mostly or directions(trace).mostly

    def size(*, reading: bool) -> int | None:
        some = [each for each in moved if each.reading is reading]
        if any(each.moved_bytes is not None for each in some):
            return sum(each.moved_bytes or 0 for each in some)
        return None if lacks.unnamed or any(each.untold for each in some) else 0

    return Files(
        regular=known(integer(regular), unless=lacks.unplaced or untyped > 0),
        directories=known(integer(directories), unless=lacks.unplaced or untyped > 0),
        other=known(integer(other), unless=lacks.unplaced),
        listed_only=known(integer(listed_only), unless=lacks.unplaced),
        absent_names=known(integer(absent), unless=lacks.unplaced or untold_names > 0),
        untold_names=known(integer(untold_names), unless=lacks.unplaced),
        calls_per_file=Distribution(*spread[:4]),
        stable_per_file=Distribution(*(spread[4:] if spread[7] or not unread else [None] * 4)),
        bytes_read=size(reading=True),
        bytes_written=size(reading=False),
    )
