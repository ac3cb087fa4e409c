"""READs of single pages that the client then wrote: read, modify, write by a client that caches.

Takes a trace; gives for each client and server the READs of one page of 4 KiB, away from those
before and after them in the file, after which the next call about that page is a WRITE of all of
it. Who changes a part of a page that the client does not have lets it read the page first; it
writes the whole page when the file is synced or closed, which may be much later. From then on it
has the page: only the first such READ of each counts, since who reads a page again and again, as
under a lock, wants to know what is in it. A file counts only where nearly all of these were
followed so: a database reads pages that it then leaves as they are. One that writes back each page
that it reads looks the same.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import joined
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.data.transfers import PAGE_BYTES
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.analyses.caching.spared import Spared
    from pcapnfs.trace import Trace

READS = columns.together(
    moves.READS,
    shares.READS,
    columns.of(calls="call mount callback call_frame call_time reply_time"),
)
"""The columns that the queries here read."""

MOST_PAGES = 16
"""WRITEs of more pages are of data in a row, and no changes here and there: neighbours among these
are put together, but few of them lie so close."""

SEVERAL = 2
"""A file that is read so once shows nothing; most small files are one page."""

WRITTEN_BACK = 0.9
"""Share of such READs of a file after which the page was written, from which on that is why they
came. Some changes may be written by the time that the capture is over."""


class PagesFirst(Record):
    """Those of one client, of one server."""

    reads: Spared
    """The READs that were followed by a WRITE of their page."""
    files: int
    """Files that they were of."""


NO_PAGES = PagesFirst(reads=spared.NONE, files=0)
"""None."""


def pages_first(trace: Trace) -> dict[int, PagesFirst]:
    """Find them, by mount (`calls.mount`); none of mounts without any."""
    moves.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_FILES)
        if not any_page(cursor):
            return {}
        shares.register(trace)
        return {
            integer(mount): PagesFirst(reads=spared.of_row(values), files=integer(files))
            for mount, files, *values in cursor.execute(_PAGES).fetchall()
        }


def any_page(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether any file was read so, and written."""
    return cursor.execute("select 1 from parted limit 1").fetchone() is not None


_DONE = "executed and status = 0 and file is not null"

_FILES = f"""
    create temp table parted as
    select file from moves where {_DONE} and what <> {moves.COMMIT}
    group by file
    having count(*) filter (reading and requested <= {PAGE_BYTES}
                            and "offset" % {PAGE_BYTES} = 0 and "count" > 0) >= {SEVERAL}
           and count(*) filter (not reading) >= {SEVERAL}
"""

_PAGES = f"""
    with done as (
        select call, file, reading, "offset" as start, "offset" + requested as stop,
               "offset" + "count" as brought
        from moves semi join parted using (file)
        where {_DONE} and what <> {moves.COMMIT} and requested > 0
    ),
    asked as (
        select call, mount, callback, call_frame, call_time, reply_time, share, pause
        from calls join shares using (call)
    ),
    moved as (
        select done.*, mount, call_frame, call_time, share, pause
        from done join asked using (call)
        where {joined.condition("not callback and reply_time is not null", "reading")}
    ),
    looked as (
        select *, lag(stop) over near is distinct from start
                  and lead(start) over near is distinct from stop as away
        from moved where reading window near as (partition by mount, file order by call_time, call)
    ),
    touched as (
        select mount, file, call, call_time, call_frame, share, pause, start, brought as stop,
               start // {PAGE_BYTES} as page, true as reading
        from looked
        where away and start % {PAGE_BYTES} = 0 and stop - start <= {PAGE_BYTES} and brought > start
        union all
        select mount, file, call, call_time, call_frame, share, pause, start, stop,
               unnest(range((start // {PAGE_BYTES})::bigint,
                            ((stop + {PAGE_BYTES} - 1) // {PAGE_BYTES})::bigint)), false
        from moved
        where not reading and stop - start <= {MOST_PAGES * PAGE_BYTES}
    ),
    followed as (
        select *, row_number() over (partition by mount, file, page, reading
                                     order by call_time, call) = 1 as first,
               coalesce(not lead(reading) over later and lead(start) over later <= start
                        and lead(stop) over later >= stop, false) as written
        from touched window later as (partition by mount, file, page order by call_time, call)
    ),
    counted as (
        select *, count(case when written then 1 end) over each as many, count(*) over each as every
        from followed where reading and first window each as (partition by mount, file)
    )
    select mount, count(distinct file), {spared.columns("true")}
    from counted where written and many >= {WRITTEN_BACK} * every and every >= {SEVERAL}
    group by mount
"""
