"""Paths of the files that are told, looked up at the end.

Takes numbers of files; gives their paths. Paths may be thousands of bytes long, and together larger
than the memory that the database has; it can spill little of what it groups, sorts or joins with
texts so long. So queries group and sort by numbers of files, and paths are asked for when it is
known which files are told: the database then goes over the table of files, and holds some rows.
What is to be in an order of paths is sorted outside of the database (spilled.py).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import database, spilled
from pcapnfs.analyses.asking import arrays, given, named_rows

if TYPE_CHECKING:
    from typing import Any

    import duckdb
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.named_rows import Row

    Files = Sequence[int] | NDArray[Any]
    """Numbers of files, each once."""

TOGETHER = 100_000
"""Numbers of files that are handed over together: as a text, they take less than 1 MB."""

HELD = 1_000
"""Paths that are fetched at a time; of more files than that, all paths are looked at. One has 4,096
bytes, a name and an export more, or four times as many where each byte is none of UTF-8."""

BELOW = """
    case when path = export then '.'
         when starts_with(path, rtrim(export, '/') || '/') and starts_with(path, '/')
         then substr(path, length(rtrim(export, '/')) + 2) else path end
"""
"""SQL: the path of a row of `files` below its export, also where the capture shows several exports,
so that paths begin with theirs."""

AS_MOUNTED = """
    case when export is null then ''
         when contains(server, ':') then '[' || server || ']:' || export
         else server || ':' || export end
"""
"""SQL: the export that a row of `files` is in, as it is mounted; empty where it is not known."""

HASHED = "(select file, hash(path) as place from files)"
"""SQL: a number for the path of each file, to group by."""


def each(
    cursor: duckdb.DuckDBPyConnection, files: Files, part: str = "path"
) -> Iterator[tuple[int, str]]:
    """Files and their paths, in any order; nothing else may be asked of the cursor meanwhile.

    Args:
        cursor: A connection to the trace.
        files: The files.
        part: SQL: what of a path is wanted.
    """
    for rows in together(cursor, files, part):
        yield from rows


def together(
    cursor: duckdb.DuckDBPyConnection, files: Files, part: str
) -> Iterator[list[tuple[int, str]]]:
    """The same, as many at a time as are fetched together, at least one."""
    # Without parameters: the database holds the whole result of a query that has any.
    if len(files) <= HELD:
        if len(files):
            few = f"select file, {part} from files where file in ({given.text(files)})"
            yield cursor.execute(few).fetchall()
        return
    with closing(cursor.cursor()) as own:
        own.execute(database.AHEAD)
        wanted = np.zeros(int(np.max(files)) + 1, dtype=np.bool_)
        wanted[files] = True
        own.execute(f"select file, {part} from files where file < {len(wanted)}")
        while rows := own.fetchmany(HELD):
            if some := [row for row in rows if wanted[row[0]]]:
                yield some


def of(cursor: duckdb.DuckDBPyConnection, files: Iterable[int | None]) -> dict[int, str]:
    """The paths of a few files; None among them is passed over."""
    return dict(each(cursor, list({file for file in files if file is not None})))


def told(
    cursor: duckdb.DuckDBPyConnection, lists: Iterable[Iterable[int | None]], most: int
) -> Iterator[tuple[str, ...]]:
    """Of each of several lists of a few files, the first paths that differ, so many at most.

    None among the files is passed over.
    """
    numbers = [[file for file in files if file is not None] for files in lists]
    paths = of(cursor, (file for files in numbers for file in files))
    return (tuple(dict.fromkeys(paths[file] for file in files))[:most] for files in numbers)


def most(
    cursor: duckdb.DuckDBPyConnection, rows: Mapping[str, NDArray[Any]], number: int
) -> dict[int, list[str]]:
    """The paths of the files that come most often, of equals those that come first as paths.

    Args:
        cursor: A connection to the trace.
        rows: For each `key`, a number, every `file` and how many `times` it comes: all that come as
            often as the last that is wanted, at least.
        number: How many of each key.
    """
    found: dict[int, list[tuple[int, str]]] = {}
    for place, path in _placed(cursor, rows["file"], "path"):
        best = found.setdefault(int(rows["key"][place]), [])
        insort(best, (-int(rows["times"][place]), path))
        del best[number:]
    return {key: [path for _, path in best] for key, best in found.items()}


def most_in(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    number: int,
    *,
    key: str = "mount",
    file: str = "directory",
) -> dict[int, list[str]]:
    """The same of the rows of a table, each of which is one time.

    Args:
        cursor: A connection that has the table.
        table: Its name.
        number: How many of each key.
        key: The column with the key.
        file: That with the file; rows without any do not count.
    """
    query = f"""
        select {key} as key, {file} as file, count(*) as times from {table}
        where {file} is not null
        group by {key}, {file}
        qualify rank() over (partition by {key} order by count(*) desc) <= $number
    """
    return most(cursor, cursor.execute(query, {"number": number}).fetchnumpy(), number)


def _placed(
    cursor: duckdb.DuckDBPyConnection, files: NDArray[Any], part: str
) -> Iterator[tuple[int, str]]:
    """Each place of some files, which may be there several times, and the path; in any order."""
    order = np.argsort(files, kind="stable").astype(np.min_scalar_type(len(files)))
    own = files[order]
    for rows in together(cursor, arrays.distinct(own), part):
        # Some at a time and of the same type: a number alone, or one of another type, would have
        # all of them copied.
        some = np.fromiter((file for file, _ in rows), own.dtype, len(rows))
        begins = np.searchsorted(own, some).tolist()
        ends = np.searchsorted(own, some, "right").tolist()
        for (_, path), begin, end in zip(rows, begins, ends, strict=True):
            for place in order[begin:end].tolist():
                yield place, path


def best(
    cursor: duckdb.DuckDBPyConnection,
    query: str,
    top: int,
    *,
    file: str = "file",
    then: Sequence[str] = (),
) -> Iterator[tuple[Row, str]]:
    """The first rows in the order of their `standing`, of equals in that of paths; each with its.

    Any number of them, one after the other; nothing else may be asked of the cursor meanwhile.

    Args:
        cursor: A connection to the trace.
        query: A query without parameters about files: all rows that stand like the last that is
            wanted, at least.
        top: How many are wanted; 0 for all.
        file: The name of their column with the file.
        then: Columns that tell which comes first of those with the same path.
    """
    cursor.execute(f"create or replace temp table candidates as {query}")
    few = cursor.execute(f"from candidates limit {HELD + 1}")
    rows = list(named_rows.by_name(few))
    if len(rows) <= HELD:
        known = of(cursor, (row[file] for row in rows))
        rows.sort(
            key=lambda row: (row["standing"], known[row[file]], *(row[name] for name in then))
        )
        yield from ((row, known[row[file]]) for row in rows[: top or None])
        return
    rows.clear()
    tied = cursor.execute(_TIED.format(file=file)).fetchnumpy()[file]
    number(cursor, "by_path", tied)
    keys = ", ".join(("standing", "place", *then))
    limit = top or "all"
    cursor.execute(
        f"create or replace temp table told_first as select its.rowid as number, its.{file} "
        f"from candidates as its left join by_path on by_path.file = its.{file} "
        f"order by {keys} limit {limit}"
    )
    first = cursor.execute("from told_first").fetchnumpy()
    told = ["select rowid, * from candidates"]
    yield from in_places(cursor, told, first["number"], first[file])


def in_order(
    cursor: duckdb.DuckDBPyConnection, query: str, files: NDArray[Any], part: str = "path"
) -> Iterator[tuple[Row, str]]:
    """The rows of a query in its order, each with the path of its file.

    Any number of them, one after the other; nothing else may be asked of the cursor meanwhile.

    Args:
        cursor: A connection to the trace.
        query: A query without parameters, whose rows have an order.
        files: The file of each row.
        part: SQL: what of a path is wanted.
    """
    rows = named_rows.each(cursor.execute(query), HELD)
    with closing(cursor.cursor()) as other:
        yield from zip(rows, along(other, files, part), strict=True)


def in_places(
    cursor: duckdb.DuckDBPyConnection,
    queries: Iterable[str],
    numbers: NDArray[Any],
    files: NDArray[Any],
) -> Iterator[tuple[Row, str]]:
    """Rows of queries in the order of their numbers, each with the path of its file.

    Any number of them, one after the other; nothing else may be asked of the cursor meanwhile. Rows
    of many columns are not sorted in the database, which holds too many of them for that.

    Args:
        cursor: A connection to the trace.
        queries: Queries without parameters, whose rows come in any order and begin with a number
            of their own, from 0; those of other numbers than are wanted are passed over.
        numbers: The numbers, each once, in the order that is wanted.
        files: The file of each.
    """
    none = len(numbers)
    place = np.full(int(numbers.max(initial=0)) + 1, none, np.min_scalar_type(none))
    place[numbers] = np.arange(none)
    names: list[str] = []

    def placed() -> Iterator[tuple[Any, ...]]:
        for query in queries:
            answer = cursor.execute(query)
            names[:] = [str(name) for name, *_ in answer.description or ()]
            while rows := answer.fetchmany(HELD):
                known = (row for row in rows if row[0] < len(place))
                yield from ((at, *row) for row in known if (at := int(place[row[0]])) < none)

    rows = spilled.ordered(placed())
    with closing(cursor.cursor()) as other:
        for (_, *row), path in zip(rows, along(other, files), strict=True):
            yield dict(zip(names, row, strict=True)), path


_TIED = """
    select distinct {file} from candidates semi join (
        select standing from candidates group by standing having count(*) > 1
    ) using (standing)
"""


def ranks(cursor: duckdb.DuckDBPyConnection, files: Files) -> dict[int, int]:
    """The place of each file's path in the order of paths; the same where paths are."""
    return {file: rank for rank, file in _ranked(ordered(cursor, files))}


def ordered(
    cursor: duckdb.DuckDBPyConnection, files: Files, part: str = "path"
) -> Iterator[tuple[str, int]]:
    """Any number of files in the order of their paths, those that share one by their numbers.

    Args:
        cursor: A connection to the trace.
        files: The files.
        part: SQL: what of a path counts.
    """
    return spilled.ordered((path, file) for file, path in each(cursor, files, part))


def along(
    cursor: duckdb.DuckDBPyConnection, files: NDArray[Any], part: str = "path"
) -> Iterator[str]:
    """The paths of any number of files, in the order that these are given in, again and again.

    Args:
        cursor: A connection to the trace.
        files: The files; one may be there several times.
        part: SQL: what of a path is wanted.
    """
    return (path for _, path in spilled.ordered(_placed(cursor, files, part)))


def number(cursor: duckdb.DuckDBPyConnection, table: str, files: Files, part: str = "path") -> None:
    """Make a temporary table of files and the `place` that each path has in the order of paths.

    Args:
        cursor: A connection to the trace.
        table: The name of the table.
        files: The files.
        part: SQL: what of a path counts.
    """
    cursor.execute(f"create or replace temp table {table} (place uinteger, file uinteger)")
    with closing(cursor.cursor()) as other:
        ranked = _ranked(ordered(other, files, part))
        while some := list(islice(ranked, TOGETHER)):
            places, numbers = zip(*some, strict=True)
            asked = {"places": given.text(places), "files": given.text(numbers)}
            cursor.execute(f"insert into {table} {_NUMBERED}", asked)


def _ranked(ordered_files: Iterable[tuple[str, int]]) -> Iterator[tuple[int, int]]:
    """The place of each path in their order, the same of equal ones, and the file."""
    before, rank = "", 0
    for path, file in ordered_files:
        rank += path != before
        before = path
        yield rank, file


_NUMBERED = f"""
    select {given.rows("places", "uinteger")}, {given.rows("files", "uinteger")}
"""
