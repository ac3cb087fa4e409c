"""What each file cost: calls, time, bytes and errors, file by file.

A call belongs to the file of its main operation, an operation by name to the child; the parent's
`directory_calls` count it a second time, apart, so that totals over `calls` hold every call once.
A file with several handles is one file. Callbacks are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, spilled
from pcapnfs.analyses.asking import parts, paths
from pcapnfs.analyses.asking.owners import OBJECTS, OWNED
from pcapnfs.analyses.asking.sorts import FileSort
from pcapnfs.analyses.asking.values import seconds, whole
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
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

READS = columns.together(
    costs.READS,
    columns.of(
        calls="directory",
        operations="call target_directory",
        files="path export server handle fileid role type size removed",
    ),
)
"""The columns that the queries here read."""

_DOWN, _UP = "'desc nulls last'", "'asc nulls last'"
"""SQL: the way that a value of an order goes."""

_ORDER: Mapping[FileSort, str] = {
    "time": f"time, {_DOWN}, calls, {_DOWN}",
    "calls": f"calls, {_DOWN}, time, {_DOWN}",
    "stable": f"stable_calls, {_DOWN}, time, {_DOWN}",
    "stable-time": f"stable_time, {_DOWN}, time, {_DOWN}",
    "unstable-time": f"time - stable_time, {_DOWN}, time, {_DOWN}",
    "bytes": f"coalesce(bytes_read, 0) + coalesce(bytes_written, 0), {_DOWN}, time, {_DOWN}",
    "read": f"bytes_read, {_DOWN}, time, {_DOWN}",
    "written": f"bytes_written, {_DOWN}, time, {_DOWN}",
    "size": f"size, {_DOWN}, time, {_DOWN}",
    "errors": f"errors, {_DOWN}, time, {_DOWN}",
    "revalidations": f"revalidations, {_DOWN}, time, {_DOWN}",
    "resent": f"retransmitted, {_DOWN}, time, {_DOWN}",
    "parent": f"directory_calls, {_DOWN}, time, {_DOWN}",
    "first": f"first_time, {_UP}",
    "last": f"last_time, {_DOWN}",
    "lifetime": f"last_time - first_time, {_DOWN}, time, {_DOWN}",
    "name": f"true, {_UP}",
    "type": f"role, {_UP}, time, {_DOWN}",
}
"""SQL: what files are sorted by, each value with its way. Of equals, the first by its path comes
first."""


class FileCost(Record):
    """One file, directory or other object."""

    file: int
    """Its number in the table files."""
    path: str
    """Path, as in the table files; not escaped."""
    export: str | None
    """The export that the path is below; None when it is not known."""
    server: str
    """Address of the server."""
    handle: str | None
    """File handle in hexadecimal, the one of use last if there are several; None for a name that
    never had one."""
    fileid: int | None
    """File number in its file system; None when no attributes were seen."""
    role: str
    """`file`, `directory`, `other`, `unknown`, `absent`, `untold` or `pseudo`."""
    type: str | None
    """`REG`, `DIR`, `LNK` …; None when no attributes were seen."""
    size_bytes: int | None
    """Size when last seen, bytes; None when it never was."""
    removed: bool
    """It was removed or replaced during the capture."""
    calls: int
    """Calls that belong to it."""
    ops: Mapping[str, int]
    """Those calls by procedure or main operation, most frequent first."""
    stable_calls: int
    """Those of them that were stable."""
    directory_calls: int
    """Calls that named a child in it; they belong to the child and are not in `calls`."""
    time_s: float
    """Sum of the service times of `calls`, seconds."""
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
    """Questions whether it has changed, as `cache` counts them (docs/definitions.md)."""
    retransmitted: int
    """Calls that were sent more than once; counted once in `calls`, timed from the first
    transmission."""
    first_frame: int | None
    """First frame of its first call; None when it has no call of its own."""
    last_frame: int | None
    """Frame that completes its last reply (or call without one); None when it has no call of its
    own."""
    first_s: float | None
    """Time of its first call, seconds since the capture's start; None when it has no call of its
    own."""
    last_s: float | None
    """Time of its last reply (or call without one), likewise."""
    lifetime_s: float | None
    """From first_s to last_s, seconds; None when it has no call of its own."""


class PerFile(Record):
    """The files, and totals in which every call of a client is counted once."""

    files: Sequence[FileCost]
    """The files shown, in the order asked for."""
    sort: str
    """What they are sorted by."""
    shown: Total
    """The files shown."""
    listed: Total
    """All files, also those beyond the first `top`."""
    not_matched: Total
    """Files that the pattern asked for leaves out."""
    left_out: Total
    """Names not found and directories above an export, unless they were asked for."""
    without_file: Total
    """Calls that are about no file (NULL, EXCHANGE_ID …), or whose file is not known."""
    total: Total
    """All calls of clients: listed, not_matched, left_out and without_file together."""


def perfile(
    trace: Trace,
    *,
    top: int = 20,
    sort: FileSort = "time",
    show_all: bool = False,
    match: str | None = None,
) -> PerFile:
    """Add up what each file cost.

    Args:
        trace: The trace.
        top: Files to give; 0 for all.
        sort: What to sort by.
        show_all: Also names that were not found and directories above an export.
        match: A pattern for names (`*.o`), or with a slash for paths (`src/*`); None for all.

    Raises:
        UsageError: `sort` is unknown, or `top` is negative.
    """
    selection = Selection(top, sort, show_all, match)
    files = spilled.listed(file_costs(trace, selection), FileCost)
    return PerFile(
        files=files, sort=sort, shown=Total.of(files, files=len(files)), **totals(trace, selection)
    )


def file_costs(trace: Trace, selection: Selection) -> Iterator[FileCost]:
    """What each file cost, one after the other: any number of them, in little memory."""
    ops = _operations(trace)
    with closing(trace.cursor()) as cursor:
        prepare(
            cursor,
            _tables(len(ops)),
            {
                "chosen": selection.parameters(),
                "costs": {f"op{place}": op for place, op in enumerate(ops)},
            },
        )
        # Some at a time: the database does not spill all that it joins with.
        many = parts.number(trace, entries=True)
        pieces = [parts.within("file", range(part, part + 1), many) for part in range(many)]
        told = f"select *, create_sort_key({_ORDER[selection.sort]}) as standing"
        cursor.execute(f"create temp table told as {told} from ({_files('false')})")
        for some in pieces:
            cursor.execute(f"insert into told {told} from ({_files(some)})")
        best = f"""
            where standing <= (
                select max(standing) from (
                    select standing from told order by standing limit {selection.top}
                )
            )
        """
        cursor.execute(
            f"create temp table placed as "
            f"select file, standing from told {best if selection.top else ''}"
        )
        paths.number(cursor, "by_path", cursor.execute(_TIED).fetchnumpy()["file"])
        cursor.execute(
            f"create temp table shown as select file, row_number() over () as row from ("
            f"select file from placed left join by_path using (file) "
            f"order by standing, place, file limit {selection.top or 'all'})"
        )
        exports = dict(cursor.execute(_EXPORTS).fetchall())
        files = cursor.execute("select file from shown order by row").fetchnumpy()["file"]
        few = ["file in (select file from shown)"]
        shown = (
            _SHOWN.format(some=some, start=trace.meta.start_ns or 0)
            for some in (few if len(files) <= paths.HELD else pieces)
        )
        for row, path in paths.in_places(cursor, shown, files, files):
            yield _file_cost(row, path, exports.get(row["export"]), ops)


_TIED = """
    select file from placed semi join (
        select standing from placed group by standing having count(*) > 1
    ) using (standing)
"""

_EXPORTS = "select hash(export), any_value(export) from files where export is not null group by 1"

_SHOWN = """
    select told.* replace (
               lower(hex(handle)) as handle, first_time - {start} as first_time,
               last_time - {start} as last_time
           ),
           last_time - first_time as lifetime, times
    from (from told where {some}) as told
         left join (select file, times from costs where {some}) as counted using (file)
"""


def _files(some: str) -> str:
    """SQL: what some files cost, but for the calls of each kind, whose lists take room in joins.

    Args:
        some: A condition on files that are among them.
    """
    chosen, *others = (
        f"(from {table} where {some}) as {table}"
        for table in ("chosen", "costs", "bytes", "questions", "parents")
    )
    joined = " ".join(f"left join {other} using (file)" for other in others)
    return f"""
        select file, export, server, handle, fileid, role, type, size,
               removed, coalesce(calls, 0) as calls, coalesce(stable_calls, 0) as stable_calls,
               coalesce(directory_calls, 0) as directory_calls,
               coalesce(time, 0) as time, coalesce(stable_time, 0) as stable_time,
               case when bytes.file is null then 0 else bytes_read end as bytes_read,
               case when bytes.file is null then 0 else bytes_written end as bytes_written,
               coalesce(errors, 0) as errors, coalesce(revalidations, 0) as revalidations,
               coalesce(retransmitted, 0) as retransmitted,
               first_frame, last_frame, first_time, last_time
        from {chosen} {joined}
    """


def _tables(ops: int) -> dict[str, str]:
    """What is known of each file; `costs` counts its calls by so many operations."""
    numbers = ", ".join(f"count(*) filter (op = $op{place})" for place in range(ops))
    return {
        "chosen": f"""
            with {OBJECTS}, {PLACED}
            select file, hash(export) as export, server, handle, fileid, role, type, size, removed
            from placed where place = 'listed'
        """,
        "costs": f"""
            with {OWNED}
            select file, {SUMS}, [{numbers}] as times
            from owned where file is not null group by file
        """,
        "bytes": f"""
            with {DATA}
            select file, {MOVED}
            from data group by file
        """,
        "questions": f"""
            with {OWNED}, {REVALIDATED}
            select file, count(*) as revalidations from revalidated group by file
        """,
        "parents": f"""
            with {OWNED},
            named as (
                select call, directory from owned where directory is not null
                union
                select call, target_directory from operations where target_directory is not null
            )
            select identity as file, count(*) as directory_calls
            from named join files on files.file = named.directory group by identity
        """,
    }


def _operations(trace: Trace) -> tuple[str, ...]:
    """What calls on files were about.

    Each becomes a column, since rows of numbers can be spilled to disk and lists cannot.
    """
    rows = trace.rows(
        "select distinct op from calls where not callback and file is not null order by op"
    )
    return tuple(str(row[0]) for row in rows)


def _file_cost(row: Row, path: str, export: str | None, ops: tuple[str, ...]) -> FileCost:
    """Read a row of the query in `file_costs`."""
    pairs = zip(ops, row["times"], strict=True) if row["times"] else ()
    kinds = [(op, count) for op, count in pairs if count]
    kinds.sort(key=lambda kind: -kind[1])
    return FileCost(
        file=row["file"],
        path=path,
        export=export,
        server=row["server"],
        handle=row["handle"],
        fileid=row["fileid"],
        role=row["role"],
        type=row["type"],
        size_bytes=row["size"],
        removed=row["removed"],
        calls=row["calls"],
        ops=dict(kinds),
        stable_calls=row["stable_calls"],
        directory_calls=row["directory_calls"],
        time_s=seconds(row["time"]) or 0.0,
        stable_s=seconds(row["stable_time"]) or 0.0,
        unstable_s=seconds(row["time"] - row["stable_time"]) or 0.0,
        bytes_read=whole(row["bytes_read"]),
        bytes_written=whole(row["bytes_written"]),
        errors=row["errors"],
        revalidations=row["revalidations"],
        retransmitted=row["retransmitted"],
        first_frame=row["first_frame"],
        last_frame=row["last_frame"],
        first_s=seconds(row["first_time"]),
        last_s=seconds(row["last_time"]),
        lifetime_s=seconds(row["lifetime"]),
    )
