"""What happened to a file, call by call, in order of time.

Each step has its frames, the gap to the one before, its service time, whether it was stable, how
it ended, and all its operations. Calls by name (LOOKUP, CREATE, REMOVE …) are steps of the file
that they name; callbacks are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Numbers
from contextlib import closing
from itertools import groupby, islice
from math import ceil
from operator import itemgetter
from typing import TYPE_CHECKING

from pcapnfs import columns, database, spilled
from pcapnfs.analyses.asking import given, lookup, named_rows, owners, paths
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.owners import OWNED
from pcapnfs.analyses.asking.values import integer, seconds, text, whole
from pcapnfs.analyses.by_file import call_operations as _call_operations
from pcapnfs.analyses.by_file import known_names as _known_names
from pcapnfs.analyses.by_file import steps
from pcapnfs.analyses.by_file.call_operations import Operation, call_operations
from pcapnfs.analyses.by_file.known_names import KnownName, known_names
from pcapnfs.analyses.by_file.steps import STEPS
from pcapnfs.errors import UsageError
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace


READS = columns.together(
    _call_operations.READS,
    _known_names.READS,
    lookup.READS,
    owners.READS,
    steps.READS,
    columns.of(
        calls="call client protocol call_first_frame call_frame reply_first_frame reply_frame "
        "call_first_time call_time reply_time srt transmissions rpc_status status status_name uid "
        "stability",
        files="file server handle fileid identity size path export role removed",
    ),
)
"""The columns that the queries here read."""


class Step(Record):
    """One call."""

    call: int
    """Its number in the table calls."""
    step: str
    """Procedure or main operation with its marks, as in patterns: `WRITE[FILE_SYNC]`, `LOOKUP!`."""
    version: str
    """`3`, `4.0`, `4.1`, `4.2`, `nfsacl3` …"""
    call_first_frame: int
    """Frame with the call's first byte."""
    call_frame: int
    """Frame that completes the call."""
    reply_first_frame: int | None
    """Frame with the reply's first byte; None without reply."""
    reply_frame: int | None
    """Frame that completes the reply; None without reply."""
    start_s: float
    """When the call was complete, seconds since the capture's start."""
    gap_s: float | None
    """From the latest reply to an earlier call on this file to the first frame of this one,
    seconds: the client, or calls on other files. Negative when this call was sent before that
    reply; None for the first step."""
    srt_s: float | None
    """Service time, seconds; None without reply."""
    stability: str
    """`stable`, `unstable`, `unstable_write`, `read`, `state` or `unknown`."""
    status: str | None
    """Why it failed: the RFC's name of the status, or RPC's refusal; None when it did not, or has
    no reply."""
    client: str
    """Address of the client."""
    uid: int | None
    """AUTH_SYS user who asked; None under another flavor."""
    transmissions: int
    """How often it was sent."""
    operations: tuple[Operation, ...]
    """All operations in order: one, or those of a compound."""


class FileSequence(Record):
    """A file and its steps."""

    file: int
    """Its number in the table files."""
    path: str
    """Path, as in the table files; not escaped."""
    export: str | None
    """The export that the path is below; None when it is not known."""
    server: str
    """Address of the server."""
    handles: tuple[str, ...]
    """Its file handles in hexadecimal; none for a name that never had one."""
    fileid: int | None
    """File number in its file system; None when no attributes were seen."""
    role: str
    """`file`, `directory`, `other`, `unknown`, `absent`, `untold` or `pseudo`."""
    size_bytes: int | None
    """Size when last seen, bytes; None when it never was."""
    removed: bool
    """It was removed or replaced during the capture."""
    names: Numbers[KnownName]
    """The names it had, in order of time: more than one after a rename or with hard links."""
    calls: int
    """Its calls, also those not among the steps."""
    stable_calls: int
    """Those of them that were stable."""
    time_s: float
    """Sum of their service times, seconds."""
    stable_s: float
    """The stable calls' part of it, seconds."""
    lifetime_s: float | None
    """From the first call's first frame to the last reply, seconds; None without calls."""
    steps: Numbers[Step]
    """Its first calls, up to the number asked for."""


class Wanted(Record):
    """Which files were meant."""

    matches: int
    """How many these are."""
    others: tuple[str, ...]
    """Paths of the first of those beyond `files`."""
    files: tuple[int, ...]
    """Numbers of those to be told (table files), in order of their first call."""
    calls: int
    """Calls to be told of each; 0 for all."""


class Sequence(Record):
    """The files asked for."""

    matches: int
    """Files that were meant."""
    others: tuple[str, ...]
    """Paths of the first of those that are not in `files`."""
    files: tuple[FileSequence, ...]
    """The first of them, in order of their first call."""


OTHERS_NAMED = 10
"""Paths that are told of files that matched and are not shown."""

TOGETHER = 1000
"""Files that are asked for at once, of few: each question looks at all calls."""

STEPS_TOGETHER = 10_000
"""Steps that are asked for at once, unless one file has more: each takes a kilobyte or two."""

OPERATIONS = 6
"""Operations of a step, on average, up to which so many are asked for at once: compounds may have a
thousand, each of which takes a kilobyte on its way."""

PASSES = 100
"""How often all calls are looked at for each question: of more files, or calls, than that allows,
so many are asked for at once. Otherwise a trace of twice the files took four times as long."""

WANTED = f"wanted as (select {given.rows('files', 'ubigint')} as file)"
"""SQL: a row for each of the files."""


def wanted(
    trace: Trace,
    *,
    file: str | None = None,
    name: str | None = None,
    top: int = 3,
    calls: int = 100,
) -> Wanted:
    """Find the files that `sequence` gives, with the same arguments and failures."""
    if (file is None) == (name is None):
        raise UsageError("say which file: either by its path or handle, or by a pattern of names")
    if top < 0 or calls < 0:
        raise UsageError("a number of files or calls cannot be negative; 0 shows all")
    found = lookup.named(trace, file) if file is not None else lookup.matching(trace, name or "")
    chosen = found[:top] if top else found
    others = _paths(trace, found[len(chosen) :][:OTHERS_NAMED])
    return Wanted(matches=len(found), others=others, files=chosen, calls=calls)


def sequence(
    trace: Trace,
    *,
    file: str | None = None,
    name: str | None = None,
    top: int = 3,
    calls: int = 100,
) -> Sequence:
    """Give the calls of one file, or of several, in order of time.

    Args:
        trace: The trace.
        file: A path, the end of one, or a handle.
        name: A pattern for names, or with a slash for paths.
        top: Files to give; 0 for all.
        calls: Calls of each file to give; 0 for all.

    Raises:
        UsageError: Not exactly one of `file` and `name` is given, none is found, or a number is
            negative.
    """
    found = wanted(trace, file=file, name=name, top=top, calls=calls)
    return Sequence(
        matches=found.matches,
        others=found.others,
        files=tuple(of_files(trace, found.files, calls=calls)),
    )


def of_files(trace: Trace, files: Numbers[int], *, calls: int) -> Iterator[FileSequence]:
    """The first calls of files that are known by their number in the table files.

    One file after the other: any number of them, in the memory of a hundredth.

    Args:
        trace: The trace.
        files: The files, in the order in which they are given.
        calls: Calls of each file to give; 0 for all.
    """
    together = max(TOGETHER, ceil(len(files) / PASSES))
    for begin in range(0, len(files), together):
        yield from _together(trace, files[begin : begin + together], calls)


def _paths(trace: Trace, files: Numbers[int]) -> tuple[str, ...]:
    with closing(trace.cursor()) as cursor:
        known = paths.of(cursor, files)
    return tuple(known[file] for file in files)


def _together(trace: Trace, files: Numbers[int], limit: int) -> Iterator[FileSequence]:
    rows = named_rows.rows(
        trace,
        f"""
        with {OWNED}, {WANTED},
        sums as (
            select file, count(*) as calls, count(*) filter (stability = 'stable') as stable,
                   sum(srt) as time, sum(srt) filter (stability = 'stable') as stable_time,
                   max(coalesce(reply_time, call_time)) - min(call_first_time) as lifetime
            from owned semi join wanted using (file) group by file
        ),
        known as (
            select identity as file, list(lower(hex(handle)) order by files.file) as handles
            from files semi join wanted on wanted.file = files.identity
            where handle is not null group by identity
        )
        select file, path, export, server, fileid, role, size, removed, handles,
               coalesce(calls, 0) as calls, coalesce(stable, 0) as stable, time, stable_time,
               lifetime
        from files semi join wanted using (file)
             left join sums using (file) left join known using (file)
        """,
        {"files": given.text(files)},
    )
    about = {integer(row["file"]): row for row in rows}
    names = known_names(trace, files)
    calls = {file: integer(told["calls"]) for file, told in about.items()}
    many = max(STEPS_TOGETHER, trace.meta.calls // PASSES) // _times_usual(trace)
    for some in _few_steps(files, calls, limit, many):
        by_file = groupby(_steps(trace, some, limit), itemgetter(0))
        steps = {file: spilled.listed((step for _, step in its), Step) for file, its in by_file}
        for file in some:
            yield _file(about[file], names.get(file, ()), steps.get(file, ()))


@once
def _times_usual(trace: Trace) -> int:
    """How many times as many operations as usual the calls have, on average, but at least 1."""
    ((operations,),) = trace.rows("select count(*) from operations")
    return max(1, ceil(integer(operations) / (OPERATIONS * max(1, trace.meta.calls))))


def _few_steps(
    files: Numbers[int], calls: Mapping[int, int], limit: int, together: int
) -> Iterator[Numbers[int]]:
    """The files in groups that do not have more steps together."""
    begin = steps = 0
    for place, file in enumerate(files):
        mine = min(calls[file], limit or calls[file])
        if place > begin and steps + mine > together:
            yield files[begin:place]
            begin, steps = place, 0
        steps += mine
    yield files[begin:]


def _file(about: Row, names: Numbers[KnownName], steps: Numbers[Step]) -> FileSequence:
    return FileSequence(
        file=about["file"],
        path=str(about["path"]),
        export=text(about["export"]),
        server=str(about["server"]),
        handles=tuple(about["handles"] or ()),
        fileid=whole(about["fileid"]),
        role=str(about["role"]),
        size_bytes=whole(about["size"]),
        removed=bool(about["removed"]),
        names=names,
        calls=integer(about["calls"]),
        stable_calls=integer(about["stable"]),
        time_s=seconds(about["time"]) or 0.0,
        stable_s=seconds(about["stable_time"]) or 0.0,
        lifetime_s=seconds(about["lifetime"]),
        steps=steps,
    )


def _steps(trace: Trace, files: Numbers[int], limit: int) -> Iterator[tuple[int, Step]]:
    """The steps of some files, file by file; a file may have any number of them."""
    with closing(trace.cursor()) as cursor:
        # The answer to a query with parameters would be held as a whole.
        cursor.execute(
            f"create temp table told as {_told(limit)}",
            {"files": given.text(files), "start": trace.meta.start_ns},
        )
        cursor.execute(database.AHEAD)
        # Those of several files are few enough, and not one after the other in the tables.
        together = STEPS_TOGETHER if len(files) == 1 else None
        rows = named_rows.each(cursor.execute("from told"), STEPS_TOGETHER)
        while some := list(islice(rows, together)):
            for few in _few_operations(trace, some):
                operations = call_operations(trace, [integer(row["call"]) for row in few])
                for row in few:
                    step = _step(row, operations.get(integer(row["call"]), ()))
                    yield integer(row["file"]), step


def _few_operations(trace: Trace, some: list[Row]) -> Iterator[list[Row]]:
    """The steps in groups whose calls do not have more operations together than usual."""
    calls = [integer(row["call"]) for row in some]
    counted = trace.rows(
        f"""
        select call, count(*) from (from operations where call between $least and $most)
             semi join (select {given.rows("calls", "ubigint")} as call) using (call)
        group by call
        """,
        {"calls": given.text(calls), "least": min(calls), "most": max(calls)},
    )
    each = {integer(call): integer(number) for call, number in counted}
    few: list[Row] = []
    held, most = 0, OPERATIONS * max(STEPS_TOGETHER, len(some))
    for row, call in zip(some, calls, strict=True):
        number = each.get(call, 0)
        if few and held + number > most:
            yield few
            few, held = [], 0
        few.append(row)
        held += number
    yield few


def _told(limit: int) -> str:
    """SQL: what is told of each call of the files, up to so many; 0: all."""
    return f"""
        with {OWNED}, {STEPS}, {WANTED}
        select file, call, step, protocol, call_first_frame, call_frame, reply_first_frame,
               reply_frame, call_time - $start as start,
               call_first_time - max(coalesce(reply_time, call_time)) over (
                   in_order rows between unbounded preceding and 1 preceding) as gap,
               srt, stability,
               case when coalesce(rpc_status, 'SUCCESS') <> 'SUCCESS' then rpc_status
                    when coalesce(status, 0) <> 0 then coalesce(status_name, status::varchar) end
                   as status,
               client, uid, transmissions
        from steps semi join wanted using (file)
        window in_order as (partition by file order by call_time, call)
        {f"qualify row_number() over in_order <= {limit}" if limit else ""}
        order by file, call_time, call
    """


def _step(row: Row, operations: tuple[Operation, ...]) -> Step:
    return Step(
        call=integer(row["call"]),
        step=str(row["step"]),
        version=str(row["protocol"]),
        call_first_frame=integer(row["call_first_frame"]),
        call_frame=integer(row["call_frame"]),
        reply_first_frame=whole(row["reply_first_frame"]),
        reply_frame=whole(row["reply_frame"]),
        start_s=seconds(row["start"]) or 0.0,
        gap_s=seconds(row["gap"]),
        srt_s=seconds(row["srt"]),
        stability=str(row["stability"]),
        status=text(row["status"]),
        client=str(row["client"]),
        uid=whole(row["uid"]),
        transmissions=integer(row["transmissions"]),
        operations=operations,
    )
