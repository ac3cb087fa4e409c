"""Paths of the files that are told, looked up at the end.

Takes numbers of files; gives their paths. Paths may be thousands of bytes long, and together larger
than the memory that the database has; it can spill little of what it groups, sorts or joins with
texts so long. So queries group and sort by numbers of files, and paths are asked for when it is
known which files are told: the database then goes over the table of files, and holds some rows.
What is to be in an order of paths is sorted outside of the database (spilled.py).
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pcapnfs import database, spilled
from pcapnfs.analyses.asking import given

if TYPE_CHECKING:
    from typing import Any

    import duckdb
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.named_rows import Row

    Files = Sequence[int] | NDArray[Any]
    """Numbers of files, each once."""

Key = TypeVar("Key")

TOGETHER = 100_000
"""Numbers of files that are handed over together: as a text, they take less than 1 MB."""

HELD = 1_000
"""Paths that are fetched at a time; of more files than that, all paths are looked at. One has 4,096
bytes and a name more, or four times as many where each byte is none of UTF-8."""

HASHED = "(select file, hash(path) as place from files)"
"""SQL: a number for the path of each file, to group by."""


def each(cursor: duckdb.DuckDBPyConnection, files: Files) -> Iterator[tuple[int, str]]:
    """Files and their paths, in any order; nothing else may be asked of the cursor meanwhile."""
    # Without parameters: the database holds the whole result of a query that has any.
    if len(files) <= HELD:
        if len(files):
            yield from cursor.execute(_PATHS.format(given.text(files))).fetchall()
        return
    with closing(cursor.cursor()) as own:
        own.execute(database.AHEAD)
        wanted = np.zeros(int(max(files)) + 1, dtype=np.bool_)
        wanted[files] = True
        own.execute(f"select file, path from files where file < {len(wanted)}")
        while rows := own.fetchmany(HELD):
            yield from (row for row in rows if wanted[row[0]])


def of(cursor: duckdb.DuckDBPyConnection, files: Iterable[int | None]) -> dict[int, str]:
    """The paths of a few files; None among them is passed over."""
    return dict(each(cursor, list({file for file in files if file is not None})))


def told(
    cursor: duckdb.DuckDBPyConnection, lists: Iterable[Iterable[int]], most: int
) -> Iterator[tuple[str, ...]]:
    """Of each of several lists of a few files, the first paths that differ, so many at most."""
    numbers = [list(files) for files in lists]
    paths = of(cursor, (file for files in numbers for file in files))
    return (tuple(dict.fromkeys(paths[file] for file in files))[:most] for files in numbers)


def most(
    cursor: duckdb.DuckDBPyConnection, rows: Iterable[tuple[Key, int, int]], number: int
) -> dict[Key, list[str]]:
    """The paths of the files that come most often, of equals those that come first as paths.

    Args:
        cursor: A connection to the trace.
        rows: For each key files, and how often they come: all that come as often as the last that
            is wanted, at least.
        number: How many of each key.
    """
    wanted: dict[int, list[tuple[Key, int]]] = {}
    for key, file, times in rows:
        wanted.setdefault(file, []).append((key, times))
    found: dict[Key, list[tuple[int, str]]] = {}
    for file, path in each(cursor, list(wanted)):
        for key, times in wanted[file]:
            best = found.setdefault(key, [])
            insort(best, (-times, path))
            del best[number:]
    return {key: [path for _, path in best] for key, best in found.items()}


def best(
    cursor: duckdb.DuckDBPyConnection,
    rows: list[Row],
    top: int,
    *,
    file: str = "file",
    then: Sequence[str] = (),
) -> list[tuple[Row, str]]:
    """The first rows in the order of their `standing`, of equals in that of paths; each with its.

    Args:
        cursor: A connection to the trace.
        rows: Rows about files: all that stand like the last that is wanted, at least.
        top: How many are wanted; 0 for all.
        file: The name of their column with the file.
        then: Columns that tell which comes first of those with the same path.
    """
    order: Mapping[int, str | int]
    if len(rows) <= HELD:
        order = of(cursor, (row[file] for row in rows))
    else:
        stand = Counter(row["standing"] for row in rows)
        tied = list({row[file]: None for row in rows if stand[row["standing"]] > 1})
        order = defaultdict(int, ranks(cursor, tied))
    rows.sort(key=lambda row: (row["standing"], order[row[file]], *(row[name] for name in then)))
    told = rows[: top or None]
    known = of(cursor, (row[file] for row in told))
    return [(row, known[row[file]]) for row in told]


def ranks(cursor: duckdb.DuckDBPyConnection, files: Files) -> dict[int, int]:
    """The place of each file's path in the order of paths; the same where paths are."""
    found: dict[int, int] = {}
    before, rank = "", 0
    for path, file in ordered(cursor, files):
        rank += path != before
        before = path
        found[file] = rank
    return found


def ordered(
    cursor: duckdb.DuckDBPyConnection, files: Files, part: Callable[[str], str] = str
) -> Iterator[tuple[str, int]]:
    """Any number of files in the order of their paths, those that share one by their numbers.

    Args:
        cursor: A connection to the trace.
        files: The files.
        part: What of a path counts.
    """
    return spilled.ordered((part(path), file) for file, path in each(cursor, files))


def along(cursor: duckdb.DuckDBPyConnection, files: NDArray[Any]) -> Iterator[str]:
    """The paths of any number of files, in the order that these are given in."""
    place = np.zeros(int(files.max(initial=0)) + 1, dtype=np.uint32)
    place[files] = np.arange(len(files), dtype=np.uint32)
    return (
        path
        for _, path in spilled.ordered((int(place[f]), path) for f, path in each(cursor, files))
    )


def number(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    files: Files,
    part: Callable[[str], str] = str,
) -> None:
    """Make a temporary table of files and the `place` that each has in the order of paths.

    Args:
        cursor: A connection to the trace.
        table: The name of the table.
        files: The files.
        part: What of a path counts.
    """
    cursor.execute(f"create temp table {table} (place uinteger, file uinteger)")
    place = 0
    with closing(cursor.cursor()) as other:
        sorted_files = (file for _, file in ordered(other, files, part))
        while some := list(islice(sorted_files, TOGETHER)):
            asked = {"files": given.text(some), "place": place}
            cursor.execute(f"insert into {table} {_NUMBERED}", asked)
            place += len(some)


_NUMBERED = f"""
    select $place + {given.places("files")}, {given.rows("files", "uinteger")}
"""

_PATHS = "select file, path from files where file in ({})"
