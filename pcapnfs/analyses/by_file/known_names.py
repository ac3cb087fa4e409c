"""Which names files had, and for how long.

Takes a trace and numbers of files; gives for each its names in order of time: from the reply that
taught one to the reply by which it denotes something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING

from pcapnfs import columns, spilled
from pcapnfs.analyses.asking import given, paths
from pcapnfs.analyses.asking.values import integer, seconds, whole
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call call_frame call_time reply_frame reply_time",
    files="file identity path",
    names="call position directory name file",
)
"""The columns that the queries here read."""


class KnownName(Record):
    """A name that the file had."""

    path: str
    """Path of the directory as known at the end, and the name."""
    from_frame: int
    """Frame of the reply that taught it."""
    from_s: float
    """Its time, seconds since the capture's start."""
    until_frame: int | None
    """Frame of the reply by which it was taken away; None when it was not."""
    until_s: float | None
    """Its time, likewise."""


def known_names(trace: Trace, files: Sequence[int]) -> dict[int, Sequence[KnownName]]:
    """Each name from the reply that taught it to the one by which it denotes something else."""
    with closing(trace.cursor()) as cursor:
        asked = {"files": given.text(files), "start": trace.meta.start_ns}
        cursor.execute(f"create temp table spans as {_SPANS}", asked)
        directories = cursor.execute("select directory from spans").fetchnumpy()["directory"]
        rows = paths.in_order(cursor, "from spans", directories)
        by_file = groupby(rows, lambda row: integer(row[0]["identity"]))
        return {
            file: spilled.listed((_known_name(*each) for each in its), KnownName)
            for file, its in by_file
        }


_SPANS = f"""
    with wanted as (select {given.rows("files", "ubigint")} as file),
    bound as (select * from names where file in (
        select files.file from files semi join wanted on wanted.file = files.identity
    )),
    events as (
        select names.call, names.position, directory, name, identity,
               coalesce(reply_frame, call_frame) as frame,
               coalesce(reply_time, call_time) - $start as time
        from names semi join bound using (directory, name)
             join calls using (call) left join files on files.file = names.file
    ),
    changes as (
        select *, lag(identity) over its_name as before from events
        window its_name as (partition by directory, name order by call, position)
        qualify identity is distinct from before
    ),
    spans as (
        select *, lead(frame) over its_name as until_frame, lead(time) over its_name as until
        from changes
        window its_name as (partition by directory, name order by call, position)
    )
    select identity, directory, name, frame, time, until_frame, until
    from spans semi join (select file as directory from files) using (directory)
    where identity in (select file from wanted)
    order by identity, call, position
"""
"""Each name and for how long it was a file's, file by file."""


def _known_name(row: Row, directory: str) -> KnownName:
    within = "" if directory == "." else f"{directory.rstrip('/')}/"
    return KnownName(
        path=within + str(row["name"]),
        from_frame=integer(row["frame"]),
        from_s=seconds(row["time"]) or 0.0,
        until_frame=whole(row["until_frame"]),
        until_s=seconds(row["until"]),
    )
