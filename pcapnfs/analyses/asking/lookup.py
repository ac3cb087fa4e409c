r"""Which files a user means: by path, by handle, or by a pattern of names.

Takes what was typed; gives numbers of files (those that stand for each, see `files.identity`). A
path may be given below the export, with the export in front, or by its end; a name that a file had
earlier in the capture finds it too. A slash may follow it. It may be given as screens show it: with
`\x1b` for what cannot be seen, shortened by `…`, marked as removed. A handle is hexadecimal, whole
or its beginning, or the short form that paths and Wireshark show (`0x1f2e3d4c`, the CRC-32 of the
handle).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, units
from pcapnfs.analyses.asking import paths, wildcards
from pcapnfs.analyses.asking.values import integer
from pcapnfs.errors import UsageError
from pcapnfs.text import ELLIPSIS, escape, unescape, unmarked

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="callback call_first_time file",
    files="file identity handle path name export role",
    names="directory name file",
)
"""The columns that the queries here read."""

NEAREST = 3
"""Paths that are offered when none is the one asked for."""

LIKENESS = 0.75
"""How alike (Jaro-Winkler, 0 to 1) two paths are at least to be offered."""

_SHORT_HANDLE = re.compile(r"\[?0x([0-9a-f]{8})\]?", re.IGNORECASE)
_HANDLE = re.compile(r"(?:0x)?((?:[0-9a-f]{2}){4,128})", re.IGNORECASE)
_ROWS_AT_A_TIME = 100_000

_BY_PATH = f"""
    path = $wanted
    or ({paths.BELOW}) in ($wanted, ltrim($wanted, '/'), regexp_replace($wanted, '^[.]/', ''))
    or rtrim(export, '/') || '/' || path = $wanted or (path = '.' and export = $wanted)
"""
_BY_FORMER_PATH = f"""
    file in (
        select names.file
        from names semi join (
            select file as directory
            from (
                select file, path from files
                union all
                select file, {paths.BELOW} as path from files where path like '/%'
            )
            where (case when path = '.' then '' else path || '/' end)
                  || parse_filename($wanted, false, 'forward_slash')
                  in ($wanted, ltrim($wanted, '/'))
        ) using (directory)
        where parse_filename($wanted, false, 'forward_slash') = names.name
    )
"""
_BY_END = "ends_with(path, '/' || ltrim($wanted, '/'))"


def named(trace: Trace, wanted: str) -> tuple[int, ...]:
    """The files of a path or a handle, in order of their first call; most often one.

    Raises:
        UsageError: There is none; the message offers the nearest paths.
    """
    short = _SHORT_HANDLE.fullmatch(wanted)
    whole = _HANDLE.fullmatch(wanted)
    ways: list[tuple[str, Mapping[str, object]]] = [
        (_BY_PATH, {"wanted": wanted}),
        (_BY_FORMER_PATH, {"wanted": wanted}),
    ]
    if whole:
        ways.append(("starts_with(lower(hex(handle)), $digits)", {"digits": whole[1].lower()}))
    ways.append((_BY_END, {"wanted": wanted}))
    by_name = (_BY_PATH, _BY_FORMER_PATH, _BY_END)
    if (meant := unescape(unmarked(wanted))) != wanted:
        ways += [(way, {"wanted": meant}) for way in by_name]
    if (directory := meant.rstrip("/")) not in ("", meant):
        # As shells complete the name of a directory.
        ways += [(way, {"wanted": directory}) for way in by_name]
    if ELLIPSIS in meant:
        ways.append(("path glob $pattern", {"pattern": wildcards.shortened(meant)}))
    for condition, parameters in ways:
        if found := _files(trace, condition, parameters):
            return found
    if short:
        ids = list(_with_checksum(trace, int(short[1], 16)))
        if found := _files(trace, "list_contains($ids, file)", {"ids": ids}):
            return found
    raise UsageError(_nothing_like(trace, wanted))


def matching(trace: Trace, pattern: str) -> tuple[int, ...]:
    """The files whose name, or with a slash in the pattern whose path, is as the pattern says.

    What a pattern is, says `wildcards`.

    Raises:
        UsageError: There is none.
    """
    for given in dict.fromkeys((pattern, unescape(pattern))):
        found = _files(trace, wildcards.LIKE_PATTERN, {"pattern": wildcards.text(given)})
        if found:
            return found
    raise UsageError(f"no file is named like '{escape(pattern)}' in the capture")


def _files(trace: Trace, condition: str, parameters: Mapping[str, object]) -> tuple[int, ...]:
    """Files with calls before those without, then in order of time, names not found at the end."""
    rows = trace.rows(
        f"""
        with wanted as (select distinct identity as file from files where {condition}),
        begun as (
            select files.identity as file, min(call_first_time) as first
            from calls join files using (file) semi join wanted on wanted.file = files.identity
            where not callback group by files.identity
        )
        select wanted.file from wanted join files using (file) left join begun using (file)
        order by role in ('absent', 'untold'), first nulls last, wanted.file
        """,
        parameters,
    )
    return tuple(integer(row[0]) for row in rows)


def _with_checksum(trace: Trace, checksum: int) -> Iterator[int]:
    handles = trace.sql("select file, handle from files where handle is not null")
    while rows := handles.fetchmany(_ROWS_AT_A_TIME):
        for file, handle in rows:
            if zlib.crc32(handle) == checksum:
                yield integer(file)


def _nothing_like(trace: Trace, wanted: str) -> str:
    rows = trace.arrays(
        """
        with alike as (
            select min(file) as file, any_value(likeness) as likeness
            from (
                select file, hash(path) as place, jaro_winkler_similarity(path, $wanted) as likeness
                from files where role not in ('pseudo', 'absent', 'untold')
            )
            where likeness >= $least
            group by place
        )
        select 0 as key, file, rank() over (order by likeness) as times from alike
        qualify rank() over (order by likeness desc) <= $nearest
        """,
        {"wanted": wanted, "least": LIKENESS, "nearest": NEAREST},
    )
    if not len(rows["file"]):
        return (
            f"no file '{escape(wanted)}' in the capture, nor any like it; perfile lists them"
            f"{_nameless(trace)}"
        )
    with closing(trace.cursor()) as cursor:
        ((_, nearest),) = paths.most(cursor, rows, NEAREST).items()
    offered = ", ".join(nearest)
    return f"no file '{escape(wanted)}' in the capture; the nearest: {offered}{_nameless(trace)}"


def _nameless(trace: Trace) -> str:
    """That the file may be one of those whose name nothing told, where there are any."""
    ((files,),) = trace.rows(
        "select count(*) from files "
        "where name is null and role in ('file', 'other', 'unknown') and file = identity"
    )
    if not files:
        return ""
    if files == 1:
        return "; 1 file is known by handle alone: the capture does not tell its name"
    are = f"{units.count(integer(files))} files are"
    return f"; {are} known by handle alone: the capture does not tell their names"
