"""What groups of files cost: those of a directory or extension, or the calls of a client or user.

Calls, time, bytes and errors are those of `perfile`, added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from pcapnfs import columns, spilled
from pcapnfs.analyses.asking import named_rows, paths
from pcapnfs.analyses.asking.owners import OBJECTS, OWNED
from pcapnfs.analyses.asking.values import integer, seconds, whole
from pcapnfs.analyses.by_file import costs
from pcapnfs.analyses.by_file.costs import (
    DATA,
    MOVED,
    PLACED,
    REVALIDATED,
    SUMS,
    Selection,
    Total,
    prepare,
    totals,
)
from pcapnfs.errors import UsageError
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

READS = columns.together(costs.READS, columns.of(calls="client uid", files="server"))
"""The columns that the queries here read."""

By = Literal["directory", "export", "client", "uid", "extension"]
"""What files, or the calls on them, are grouped by."""


class GroupCost(Record):
    """The files of a directory, an export or an extension, or the calls of a client or a user."""

    group: str | None
    """Path of the directory, address of the server and export as in `10.0.0.1:/home`, address of
    the client, number of the user, or extension in small letters, without its point; None for files
    without extension or below no export that is known, and for calls without user."""
    files: int
    """Files with calls in the group. One that several clients or users called is in several."""
    calls: int
    """Calls on them."""
    stable_calls: int
    """Those of them that were stable."""
    time_s: float
    """Sum of the service times, seconds."""
    stable_s: float
    """The stable calls' part of it, seconds."""
    unstable_s: float
    """The other calls' part of it, seconds."""
    bytes_read: int | None
    """File data read, bytes; None when not one reply of its READs says it."""
    bytes_written: int | None
    """File data written, bytes; None likewise."""
    errors: int
    """Calls that were refused or answered with a status other than OK."""
    revalidations: int
    """Questions whether a file has changed, as in FileCost."""
    retransmitted: int
    """Calls that were sent more than once."""
    first_frame: int
    """First frame of the first call."""
    last_frame: int
    """Frame that completes the last reply (or call without one)."""
    first_s: float
    """Time of the first call, seconds since the capture's start."""
    last_s: float
    """Time of the last reply (or call without one), likewise."""


class PerGroup(Record):
    """The groups, and totals in which every call of a client is counted once."""

    by: str
    """What files are grouped by: `directory`, `export`, `client`, `uid` or `extension`."""
    groups: Sequence[GroupCost]
    """The groups shown, longest time first."""
    group_count: int
    """All groups."""
    listed: Total
    """All files in the groups."""
    not_matched: Total
    """Files that the pattern asked for leaves out."""
    left_out: Total
    """Names not found and directories above an export, unless they were asked for."""
    without_file: Total
    """Calls that are about no file, or whose file is not known."""
    total: Total
    """All calls of clients: listed, not_matched, left_out and without_file together."""


def pergroup(
    trace: Trace,
    by: By,
    *,
    top: int = 20,
    show_all: bool = False,
    match: str | None = None,
) -> PerGroup:
    """Add up what groups of files cost, longest time first.

    Args:
        trace: The trace.
        by: What to group by.
        top: Groups to give; 0 for all.
        show_all: Also names that were not found and directories above an export.
        match: A pattern for names, or with a slash for paths; None for all files.

    Raises:
        UsageError: `by` is unknown, or `top` is negative.
    """
    if by not in _GROUP:
        raise UsageError(f"files can be grouped by {', '.join(_GROUP)}, not by {by!r}")
    selection = Selection(top=top, show_all=show_all, match=match)
    with closing(trace.cursor()) as cursor:
        prepare(cursor, _tables(by), {"placed": selection.parameters()})
        cursor.execute(_STANDING)
        tied = cursor.execute(_TIED).fetchnumpy()["example"] if by in _NAMED else ()
        paths.number(cursor, "by_path", tied, _NAMED.get(by, "path"))
        cursor.execute(
            f"""
            create temp table shown as
            select costs.member, example, files, calls, stable_calls, time, stable_time,
                   case when moves is null then 0 else bytes_read end as bytes_read,
                   case when moves is null then 0 else bytes_written end as bytes_written,
                   errors, revalidations, retransmitted,
                   first_frame, last_frame, first_time - {trace.meta.start_ns or 0} as first,
                   last_time - {trace.meta.start_ns or 0} as last
            from standing as costs left join by_path on by_path.file = example
                 left join bytes on bytes.member is not distinct from costs.member
                 left join questions on questions.member is not distinct from costs.member
            order by standing, place, costs.member nulls last limit {top or "all"}
            """
        )
        groups = spilled.listed(_shown(cursor, by), GroupCost)
        ((count,),) = cursor.execute("select count(*) from costs").fetchall()
    return PerGroup(by=by, groups=groups, group_count=integer(count), **totals(trace, selection))


def _shown(cursor: duckdb.DuckDBPyConnection, by: By) -> Iterator[GroupCost]:
    """The groups that are told, in their order."""
    if by not in _NAMED:
        rows = named_rows.each(cursor.execute("from shown"), paths.HELD)
        yield from (_group_cost(row, row["member"]) for row in rows)
        return
    files = cursor.execute("select example from shown").fetchnumpy()["example"]
    for row, name in paths.in_order(cursor, "from shown", files, _NAMED[by]):
        yield _group_cost(row, name or None)


def _tables(by: By) -> dict[str, str]:
    """What is known of each group."""
    return {
        "placed": f"""
            with {OBJECTS}, {PLACED}
            select file, {_OF_FILE.get(by, "null")} as of_file from placed where place = 'listed'
        """,
        "members": f"""
            with {OWNED}
            select owned.call, {_GROUP[by]} as member from owned join placed using (file)
        """,
        "costs": f"""
            with {OWNED}
            select member, min(file) as example, count(distinct file) as files, {SUMS}
            from members join owned using (call) group by member
        """,
        "bytes": f"""
            with {DATA}
            select member, count(*) as moves, {MOVED}
            from data join members using (call) group by member
        """,
        "questions": f"""
            with {OWNED}, {REVALIDATED}
            select member, count(*) as revalidations
            from revalidated join members using (call) group by member
        """,
    }


_DIRECTORY = """
    case when path = export then path
         when path in ('.', '/') or not contains(path, '/') then '.'
         when starts_with(path, '/') and not contains(path[2:], '/') then '/'
         else regexp_replace(path, '/[^/]*$', '') end
"""
"""SQL: the directory that a file is in."""

_NAMED: Mapping[By, str] = {"directory": _DIRECTORY, "export": paths.AS_MOUNTED}
"""SQL: by what a file names its group, where that may be long."""

_OF_FILE: Mapping[By, str] = {
    **{by: f"hash({name})::varchar" for by, name in _NAMED.items()},
    "extension": """
        nullif(lower(regexp_extract(
            parse_filename(path, false, 'forward_slash'), '^.+[.]([^.]{1,16})$', 1)), '')
    """,
}
"""What each file is grouped under, where that is part of its path. Directories and exports are
compared by numbers that are made of their names; of a file of each, it is asked for in the end."""

_GROUP: Mapping[By, str] = {
    "directory": "of_file",
    "export": "of_file",
    "client": "client",
    "uid": "uid::varchar",
    "extension": "of_file",
}
"""What each call of a file is grouped under."""

_STANDING = """
    create temp table standing as
    select *, rank() over (order by time desc, calls desc) as standing from costs
"""

_TIED = """
    select example from standing semi join (
        select standing from standing group by standing having count(*) > 1
    ) using (standing)
"""


def _group_cost(row: Row, group: str | None) -> GroupCost:
    return GroupCost(
        group=group,
        files=integer(row["files"]),
        calls=integer(row["calls"]),
        stable_calls=integer(row["stable_calls"]),
        time_s=seconds(row["time"]) or 0.0,
        stable_s=seconds(row["stable_time"]) or 0.0,
        unstable_s=seconds(row["time"] - row["stable_time"]) or 0.0,
        bytes_read=whole(row["bytes_read"]),
        bytes_written=whole(row["bytes_written"]),
        errors=integer(row["errors"]),
        revalidations=integer(row["revalidations"]),
        retransmitted=integer(row["retransmitted"]),
        first_frame=integer(row["first_frame"]),
        last_frame=integer(row["last_frame"]),
        first_s=seconds(row["first"]) or 0.0,
        last_s=seconds(row["last"]) or 0.0,
    )
