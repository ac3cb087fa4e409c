"""What each file cost: calls, time, bytes and errors, file by file.

A call belongs to the file of its main operation, an operation by name to the child; the parent's
`directory_calls` count it a second time, apart, so that totals over `calls` hold every call once.
Callbacks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from pcapnfs.analyses.files import READ_OPERATIONS, WRITE_OPERATIONS
from pcapnfs.analyses.service_time import FAILED, integer, seconds
from pcapnfs.errors import UsageError

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

Sort = Literal["time", "calls", "stable", "bytes", "name"]
"""What the files are sorted by; all but the name from the largest down."""

LEFT_OUT_ROLES = ("pseudo", "absent")
"""Directories above an export, and names that were looked for and not found."""

_ORDER: Mapping[Sort, str] = {
    "time": "time desc, calls desc, path, file",
    "calls": "calls desc, time desc, path, file",
    "stable": "stable_calls desc, time desc, path, file",
    "bytes": "bytes_read + bytes_written desc, time desc, path, file",
    "name": "path, file",
}


@dataclass(frozen=True, slots=True)
class FileCost:
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
    """File handle in hexadecimal; None for a name that never had one."""
    fileid: int | None
    """File number in its file system; None when no attributes were seen."""
    role: str
    """`file`, `directory`, `other`, `unknown`, `absent` or `pseudo`."""
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
    bytes_read: int
    """File data read, bytes."""
    bytes_written: int
    """File data written, bytes."""
    errors: int
    """Calls that were refused or answered with a status other than OK."""
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


@dataclass(frozen=True, slots=True)
class Total:
    """A group of calls."""

    files: int
    """Files in the group; those without a call of their own are in `listed` alone."""
    calls: int
    """Calls."""
    stable_calls: int
    """Those of them that were stable."""
    time_s: float
    """Sum of their service times, seconds."""


@dataclass(frozen=True, slots=True)
class PerFile:
    """The files, and totals in which every call of a client is counted once."""

    files: tuple[FileCost, ...]
    """The files shown, in the order asked for."""
    sort: str
    """What they are sorted by: `time`, `calls`, `stable`, `bytes` or `name`."""
    shown: Total
    """The files shown."""
    listed: Total
    """All files, also those beyond the first `top`."""
    left_out: Total
    """Names not found and directories above an export, unless they were asked for."""
    without_file: Total
    """Calls that are about no file (NULL, EXCHANGE_ID …), or whose file is not known."""
    total: Total
    """All calls of clients: listed, left_out and without_file together."""


def perfile(trace: Trace, *, top: int = 20, sort: Sort = "time", show_all: bool = False) -> PerFile:
    """Add up what each file cost.

    Args:
        trace: The trace.
        top: Files to give; 0 for all.
        sort: What to sort by.
        show_all: Also names that were not found and directories above an export.

    Raises:
        UsageError: `sort` is unknown, or `top` is negative.
    """
    if sort not in get_args(Sort):
        raise UsageError(f"files can be sorted by {', '.join(get_args(Sort))}, not by {sort!r}")
    if top < 0:
        raise UsageError("the number of files cannot be negative; 0 shows all")
    roles_left_out = () if show_all else LEFT_OUT_ROLES
    start = trace.meta.start_ns
    rows = trace.sql(
        f"""
        {_LISTED},
        kinds as (
            select file, list(op order by n desc, op) as ops, list(n order by n desc, op) as times
            from (select file, op, count(*) as n from calls where not callback group by file, op)
            group by file
        ),
        work as (
            select directory as file, count(distinct call) as directory_calls
            from (
                select call, directory from calls where not callback
                union all
                select call, target_directory
                from operations join calls using (call) where not callback
            )
            group by directory
        ),
        data as (
            select file, sum("count") filter (op in $reads) as bytes_read,
                   sum("count") filter (op in $writes) as bytes_written
            from operations group by file
        )
        select listed.file, path, export, server, lower(hex(handle)), fileid, role, type, size,
               removed, calls, ops, times, stable_calls, coalesce(directory_calls, 0),
               time, stable_time, time - stable_time,
               coalesce(bytes_read, 0) as bytes_read, coalesce(bytes_written, 0) as bytes_written,
               errors, retransmitted, first_frame, last_frame,
               first_time - $start, last_time - $start, last_time - first_time
        from listed left join kinds using (file) left join work using (file)
             left join data using (file)
        order by {_ORDER[sort]}
        limit {top if top else "all"}
        """,
        {
            "left_out": roles_left_out,
            "reads": READ_OPERATIONS,
            "writes": WRITE_OPERATIONS,
            "start": start,
        },
    ).fetchall()
    files = tuple(_file_cost(row) for row in rows)
    totals = _totals(trace, roles_left_out)
    return PerFile(
        files=files,
        sort=sort,
        shown=Total(
            files=len(files),
            calls=sum(file.calls for file in files),
            stable_calls=sum(file.stable_calls for file in files),
            time_s=sum(file.time_s for file in files),
        ),
        **totals,
    )


_LISTED = f"""
    with owned as (
        select file, count(*) as calls,
               count(*) filter (stability = 'stable') as stable_calls,
               coalesce(sum(srt), 0) as time,
               coalesce(sum(srt) filter (stability = 'stable'), 0) as stable_time,
               count(*) filter ({FAILED}) as errors,
               count(*) filter (transmissions > 1) as retransmitted,
               min(call_first_frame) as first_frame,
               max(coalesce(reply_frame, call_frame)) as last_frame,
               min(call_first_time) as first_time,
               max(coalesce(reply_time, call_time)) as last_time
        from calls where not callback and file is not null group by file
    ),
    listed as (
        select files.*, coalesce(calls, 0) as calls, coalesce(stable_calls, 0) as stable_calls,
               coalesce(time, 0) as time, coalesce(stable_time, 0) as stable_time,
               coalesce(errors, 0) as errors, coalesce(retransmitted, 0) as retransmitted,
               first_frame, last_frame, first_time, last_time
        from files left join owned using (file)
        where not listed_only and not list_contains($left_out, role)
    )
"""
"""The files that calls addressed, with what a group-by over their calls gives."""


def _totals(trace: Trace, roles_left_out: tuple[str, ...]) -> dict[str, Total]:
    """Each call of a client under exactly one of listed, left_out and without_file."""
    rows = trace.sql(
        f"""
        {_LISTED},
        placed as (
            select case when calls.file is null then 'without_file'
                        when listed.file is null then 'left_out' else 'listed' end as place,
                   calls.file, calls.stability, calls.srt
            from calls left join listed using (file) where not calls.callback
        )
        select place, count(distinct file), count(*), count(*) filter (stability = 'stable'),
               sum(srt)
        from placed group by place
        """,
        {"left_out": roles_left_out},
    ).fetchall()
    found = {
        place: Total(integer(files), integer(calls), integer(stable), seconds(time) or 0.0)
        for place, files, calls, stable, time in rows
    }
    ((files_listed,),) = trace.sql(
        f"{_LISTED} select count(*) from listed", {"left_out": roles_left_out}
    ).fetchall()
    nothing = Total(0, 0, 0, 0.0)
    listed = replace(found.get("listed", nothing), files=files_listed)
    left_out = found.get("left_out", nothing)
    without_file = found.get("without_file", nothing)
    parts = (listed, left_out, without_file)
    return {
        "listed": listed,
        "left_out": left_out,
        "without_file": without_file,
        "total": Total(
            files=sum(part.files for part in parts),
            calls=sum(part.calls for part in parts),
            stable_calls=sum(part.stable_calls for part in parts),
            time_s=sum(part.time_s for part in parts),
        ),
    }


def _file_cost(row: tuple[Any, ...]) -> FileCost:
    """Read a row of the query in `perfile`, column by column."""
    (
        file, path, export, server, handle, fileid, role, type_, size, removed,
        calls, ops, times, stable_calls, directory_calls, time, stable_time, unstable_time,
        bytes_read, bytes_written, errors, retransmitted,
        first_frame, last_frame, first, last, lifetime,
    ) = row  # fmt: skip
    return FileCost(
        file=integer(file),
        path=str(path),
        export=_text(export),
        server=str(server),
        handle=_text(handle),
        fileid=_whole(fileid),
        role=str(role),
        type=_text(type_),
        size_bytes=_whole(size),
        removed=bool(removed),
        calls=integer(calls),
        ops=dict(zip(ops or (), times or (), strict=True)),
        stable_calls=integer(stable_calls),
        directory_calls=integer(directory_calls),
        time_s=seconds(time) or 0.0,
        stable_s=seconds(stable_time) or 0.0,
        unstable_s=seconds(unstable_time) or 0.0,
        bytes_read=integer(bytes_read),
        bytes_written=integer(bytes_written),
        errors=integer(errors),
        retransmitted=integer(retransmitted),
        first_frame=_whole(first_frame),
        last_frame=_whole(last_frame),
        first_s=seconds(first),
        last_s=seconds(last),
        lifetime_s=seconds(lifetime),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _whole(value: object) -> int | None:
    return None if value is None else integer(value)
