"""How many files the capture is about, and what one of them costs in calls.

A file counts when at least one call addressed it by handle or name; entries that were only listed
do not. A call by name belongs to the child; callbacks belong to no file here. A file with several
handles is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import owners, transfer_sizes
from pcapnfs.analyses.owners import OBJECTS, OWNED
from pcapnfs.analyses.service_time import integer
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    owners.READS,
    transfer_sizes.MOVED_READS,
    columns.of(
        calls="callback stability file",
        files="file role listed_only",
    ),
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

    regular: int
    """Regular files that at least one call addressed by handle or name."""
    directories: int
    """Directories that at least one call addressed; without those above an export."""
    other: int
    """Symbolic links, devices and objects whose type the capture does not tell, addressed by a
    call."""
    listed_only: int
    """Objects known from listings alone; in none of the numbers above."""
    absent_names: int
    """Names that were looked for and never existed; in none of the numbers above."""
    calls_per_file: Distribution
    """Calls that belong to a regular file."""
    stable_per_file: Distribution
    """Stable calls that belong to a regular file."""
    bytes_read: int
    """File data read, bytes, as the replies say."""
    bytes_written: int
    """File data written, bytes, as the replies say."""


def files(trace: Trace) -> Files:
    """Count the objects that calls addressed, and spread the calls over the regular files."""
    regular, directories, other, listed_only, absent = trace.rows(
        """
        select count(*) filter (role = 'file' and not listed_only),
               count(*) filter (role = 'directory' and not listed_only),
               count(*) filter (role in ('other', 'unknown') and not listed_only),
               count(*) filter (listed_only),
               count(*) filter (role = 'absent' and not listed_only)
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
    sizes = {True: 0, False: 0}
    for each in transfer_sizes.moved(trace):
        sizes[each.reading] += each.moved_bytes
    return Files(
        regular=integer(regular),
        directories=integer(directories),
        other=integer(other),
        listed_only=integer(listed_only),
        absent_names=integer(absent),
        calls_per_file=Distribution(*spread[:4]),
        stable_per_file=Distribution(*spread[4:]),
        bytes_read=sizes[True],
        bytes_written=sizes[False],
    )
