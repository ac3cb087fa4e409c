"""Walks of the core over rows that the database gives, object by object in order of time.

Takes relations with the columns that each walk names; gives rows that a cursor can register. Rows
come and go as Arrow, without a copy in Python. What overlaps in time is gone over likewise; of that
some stands in arrays, which are read where they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs._core import Batch

    Intervals = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
    """Begin and end of each in nanoseconds, and its group."""

Walked = TypeVar("Walked")

CLASSES_AT_A_TIME = 1_000
"""Classes of files that come from the core at once: as text they take a kilobyte each."""


def learned(told: duckdb.DuckDBPyRelation, *, all_rows: bool) -> tuple[Batch, Batch]:
    """What clients learnt of change-IDs, and their questions about each object.

    Args:
        told: `mount`, `file`, `call`, `position`, `call_time`, `reply_time`, `change_id`, `before`,
            `question`, `modified`, `alone`, `verified`, as analyses/caching/told.py says.
        all_rows: Give all rows of what they learnt, not just questions and others' changes.

    Raises:
        duckdb.Error: The database could not give the rows.
    """
    from pcapnfs import _core

    return _walk(lambda: _core.learned(told, all_rows))


class Answered:
    """Calls that were answered, for what their replies said (analyses/caching/told.py)."""

    def __init__(self, calls: duckdb.DuckDBPyRelation) -> None:
        """Take them.

        Args:
            calls: `call`, `mount`, `about` (a file), `call_time`, `reply_time`, `purpose` (0
                GETATTR, 1 OPEN), `by_times`, `single`, `of_data`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        from pcapnfs import _core

        self._calls = _walk(lambda: _core.Answered(calls))

    def told(self, said: duckdb.DuckDBPyRelation) -> Batch:
        """What clients were told: the columns that `learned` takes.

        Args:
            said: `call`, `position`, `file`, `change_id`, `exact`, `before`, `exact_before`,
                `modified`, `modified_unless_v4`, `asked`, `refused`, `verified`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        return _walk(lambda: self._calls.told(said))

    def learned(self, said: duckdb.DuckDBPyRelation, *, all_rows: bool) -> tuple[Batch, Batch]:
        """What they learnt: `learned` of what `told` gives, without having all of it in memory."""
        return _walk(lambda: self._calls.learned(said, all_rows))


def put(cursor: duckdb.DuckDBPyConnection, table: str, rows: Batch) -> None:
    """Add the rows that a walk gave to a table with columns of these names."""
    cursor.register("walked", rows)
    cursor.execute(f"insert into {table} by name from walked")
    cursor.unregister("walked")


def held(moves: duckdb.DuckDBPyRelation, *, visit_s: float) -> Batch:
    """What clients read again of each file, and what they were spared: `reread`, `saved`, in bytes.

    Args:
        moves: `mount`, `file`, `moment`, `call`, `position`, `start`, `stop`, `reading`, `asked`,
            `opened`, `asked_at`, `valid`, `void`, as analyses/caching/cache.py says.
        visit_s: Questions so soon after the first of a visit are of that one, seconds; an OPEN
            begins one.

    Raises:
        duckdb.Error: The database could not give the rows.
    """
    from pcapnfs import _core

    return _walk(lambda: _core.held(moves, int(visit_s * NANOSECONDS)))


def under_way(
    rows: duckdb.DuckDBPyRelation, groups: Mapping[int, int], *, longest_ns: int
) -> dict[int | None, tuple[int, int, int, int]]:
    """How many intervals were open at once, of each group and of all together (None).

    Args:
        rows: `begin` and `end` in nanoseconds, `mount`.
        groups: The group of each mount; rows of others are left out.
        longest_ns: Later times after the first begin are taken for this.

    Returns:
        The time from the first begin to the last end, that in which any was open, the lengths of
        all added up (ns), and the most at one instant. Nothing without rows.

    Raises:
        duckdb.Error: The database could not give the rows.
    """
    from pcapnfs import _core

    return dict(_walk(lambda: _core.under_way(rows, dict(groups), longest_ns)))


def levels(
    rows: duckdb.DuckDBPyRelation, groups: Mapping[int, int], *, most: int, latest_ns: int
) -> dict[int, list[int]]:
    """For how long how many intervals of each group were open at once.

    Args:
        rows: `begin` and `end` in nanoseconds, `key`; an interval that ends before it begins is of
            no length.
        groups: The group of each key; rows of others are left out.
        most: More at once count as this many.
        latest_ns: Later times are taken for this.

    Returns:
        Of each group with rows, the time in which 0, 1, 2 … were open, in nanoseconds; the first is
        that between the first begin and the last end. What ends does so before others begin.

    Raises:
        duckdb.Error: The database could not give the rows.
    """
    from pcapnfs import _core

    return _walk(lambda: _core.levels(rows, dict(groups), most, latest_ns))


def share(
    intervals: Intervals,
    parts: Intervals,
    given: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Share each instant equally among the intervals of each group that are open.

    Args:
        intervals: Begin and end of each in nanoseconds, and its group; below 0: none.
        parts: Begin and end of each in nanoseconds, and the interval that it lies in.
        given: What is added to: for each interval and each part its share, and for each group the
            time in which any was open, in nanoseconds.

    Raises:
        ValueError: Columns are of different length.
        BufferError: A column's numbers are not side by side.
    """
    from pcapnfs import _core

    _core.equal_shares(intervals, parts, given)


def round_shares(
    shares: NDArray[np.float64],
    group: NDArray[np.int32],
    totals: NDArray[np.int64],
    rounded: NDArray[np.int64],
) -> None:
    """Round shares to whole numbers of which those of each group add up to its total.

    Args:
        shares: The shares, none less than 0.
        group: The group of each, from 0.
        totals: Of each group.
        rounded: What is added to: the whole number of each share.

    Raises:
        ValueError: Columns are of different length.
        BufferError: A column's numbers are not side by side.
    """
    from pcapnfs import _core

    _core.rounded_shares(shares, group, totals, rounded)


def pauses(intervals: Intervals, groups: int, *, limit_ns: int, found: NDArray[np.int32]) -> None:
    """Find the pause at each interval: the shorter one of the gaps before and behind it.

    There is none where another interval of its group is open at its begin or end, nor at a group's
    first and last one.

    Args:
        intervals: Begin and end of each in nanoseconds, and its group.
        groups: How many groups there are.
        limit_ns: Where both gaps are longer than this, there is none; below 2^31.
        found: What is added to: the pause of each, in nanoseconds.

    Raises:
        ValueError: Columns are of different length.
        BufferError: A column's numbers are not side by side.
    """
    from pcapnfs import _core

    _core.pauses(intervals, groups, limit_ns, found)


def put_in_order(intervals: Intervals, order: NDArray[np.int32], gaps: NDArray[np.int64]) -> None:
    """Put intervals in order of their begin; those that begin together stay as they are.

    Args:
        intervals: Begin and end of each in nanoseconds, and its group; below 0: none.
        order: What is added to: the places of those that are of any group.
        gaps: What is added to: the time between the last end of all before and each, in
            nanoseconds; less than 0 where one of them was still open.

    Raises:
        ValueError: Columns are of different length.
        BufferError: A column's numbers are not side by side.
    """
    from pcapnfs import _core

    _core.in_order(intervals, order, gaps)


def open_at_begin(intervals: Intervals, groups: int, found: NDArray[np.int32]) -> None:
    """Count how many intervals of its group were open when each began, itself included.

    Args:
        intervals: Begin and end of each in nanoseconds, and its group; below 0: none. One that ends
            before it begins is of no length.
        groups: How many groups there are.
        found: What is added to: the number of each.

    Raises:
        ValueError: Columns are of different length.
        BufferError: A column's numbers are not side by side.
    """
    from pcapnfs import _core

    _core.open_at_begin(intervals, groups, found)


class FollowUps:
    """Calls about entries that followed listings (analyses/namespace/readdir.py)."""

    def __init__(self, *, longest_s: float) -> None:
        """Nothing seen yet; a call that comes later than so many seconds did not follow."""
        from pcapnfs import _core

        self._walk = _core.FollowUps(int(longest_s * NANOSECONDS))

    def add(self, rows: duckdb.DuckDBPyRelation) -> None:
        """Walk over all rows of some directories.

        Args:
            rows: `mount`, `directory`, `title`, `moment`, `plus`, `op`, `reply_time`, `srt`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        _walk(lambda: self._walk.walk(rows))

    def followed(self) -> Batch:
        """What followed: `directory`, `plus`, `op`, `calls`, `time` in nanoseconds."""
        return self._walk.followed()

    def walls(self) -> tuple[int, int]:
        """For how long any call was under way after listings without and with attributes, ns."""
        plain, plus = self._walk.walls()
        return plain, plus


class OneByOne:
    """Calls about entries listed without attributes (analyses/namespace/listing_costs.py)."""

    def __init__(self, *, longest_s: float) -> None:
        """Nothing seen yet; after a pause of more seconds entries are not asked for one by one."""
        from pcapnfs import _core

        self._walk = _core.OneByOne(int(longest_s * NANOSECONDS))

    def asked(self, rows: duckdb.DuckDBPyRelation) -> Batch:
        """Walk over all rows of some directories; gives `call`, `first`, `spared`.

        Args:
            rows: `mount`, `directory`, `call`, `moment`, `reply_time`, `pause`, `title`, `listing`,
                `told`, `fresh`, `once`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        return _walk(lambda: self._walk.walk(rows))


class SharedFiles:
    """Turns of clients at files (analyses/caching/shared_files.py)."""

    def __init__(self, *, kept: int) -> None:
        """Nothing seen yet; so many files, and frames of each, are kept."""
        from pcapnfs import _core

        self._walk = _core.SharedFiles(kept)

    def add(self, rows: duckdb.DuckDBPyRelation) -> None:
        """Walk over all uses of some files.

        Args:
            rows: `server`, `client`, `file`, `moment`, `call`, `frame`, `changes`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        _walk(lambda: self._walk.walk(rows))

    def known(self) -> Batch:
        """The calls that were the first use after a turn, of clients that knew the file: `call`."""
        return self._walk.known()

    def found(self) -> dict[int, dict[str, Any]]:
        """The files with turns, by server.

        `files` and `turns` are numbers of all; `most` are those with most turns, each with `file`,
        `turns`, `clients`, `frames`.
        """
        return {int(server): found for server, found in json.loads(self._walk.found()).items()}


class Patterns:
    """Files folded into classes by their calls in order (analyses/by_file/patterns.py)."""

    def __init__(self, *, longest: int) -> None:
        """Nothing seen yet; so many runs tell classes apart."""
        from pcapnfs import _core

        self._walk = _core.Patterns(longest)

    def add(self, rows: duckdb.DuckDBPyRelation) -> None:
        """Walk over all calls of some files.

        Args:
            rows: `file`, `kind`, `code`, `call_time`, `call`, `call_first_frame`,
                `call_first_time`, `last_time`, `srt`, `stable`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        _walk(lambda: self._walk.walk(rows))

    def examples(self) -> list[int]:
        """Files that together have each code of any class."""
        return self._walk.examples()

    def finish(self, top: int) -> tuple[int, int]:
        """Files and classes in all; nothing can be added then.

        `classes` gives as many classes as asked for, those that took longest first; 0: all.
        """
        return self._walk.finish(top or None)

    def classes(self) -> Iterator[dict[str, Any]]:
        """The classes, as often as they are asked for.

        Each has `kind`, `codes`, `cut`, `least`, `most`, `files`, `calls`, `stable_calls`, `time`,
        `stable_time`, `lifetime` (ns), `example`, `slowest`.
        """
        for begin in count(0, CLASSES_AT_A_TIME):
            some = json.loads(self._walk.shown(begin, begin + CLASSES_AT_A_TIME))
            if not some:
                return
            yield from some


class Transfers:
    """READs, WRITEs and COMMITs of each file (analyses/data/transfers.py)."""

    def __init__(self, *, together_s: float, soon_s: float, page_bytes: int) -> None:
        """Nothing seen yet.

        Args:
            together_s: Calls of a run are closer together than this, seconds.
            soon_s: So is a READ to the WRITE that it was for.
            page_bytes: What caches and disks divide files into.
        """
        from pcapnfs import _core

        together, soon = (int(span * NANOSECONDS) for span in (together_s, soon_s))
        self._walk = _core.Transfers(together, soon, page_bytes)

    def add(self, rows: duckdb.DuckDBPyRelation) -> None:
        """Walk over all transfers of some files.

        Args:
            rows: `mount`, `file`, `what` (0 READ, 1 WRITE, 2 COMMIT), `call`, `position`,
                `call_time`, `reply_time`, `call_frame`, `start`, `requested`, `count`, `size`,
                `srt`, `share`, `pause`, `waiting`, `stable`, `sync`, `unstable`, `done`, `main`.

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        _walk(lambda: self._walk.walk(rows))

    def runs(self) -> Batch:
        """READs and WRITEs each of which begins where the one before ended, or single ones.

        `mount`, `file`, `reading`, `calls`, `largest` and `bytes` asked for, `share` (a float, less
        the time in which bytes were on their way) and `pause` in ns, `stable_share` of those on
        stable storage when answered, `frame` of the first; of those that asked for stable storage
        `sync` (their number), `sync_share`, `sync_pause`, `sync_bytes`.
        """
        return self._walk.runs()

    def commits(self) -> Batch:
        """COMMITs: `mount`, `file`, `frame`, `srt` and `share` in ns, `bytes` written before."""
        return self._walk.commits()

    def shapes(self) -> dict[int, dict[str, Any]]:
        """The WRITEs that succeeded, by mount.

        `writes`: all; `unaligned`: those that begin within a page, or end within one before the
        file's end, `files` and `bytes` of these, `appended`: those of them at the file's end;
        `read_first`: READs before such. Calls come as number, share and pause (ns), frames.
        """
        return {int(mount): found for mount, found in json.loads(self._walk.shapes()).items()}


class Steps:
    """How clients went through directories and came back to files.

    See analyses/mounts/mount_evidence.py.
    """

    def __init__(
        self,
        *,
        together_s: float,
        neighbours_s: float,
        at_once_s: float,
        pause_s: tuple[float, float],
        examples: int,
    ) -> None:
        """Nothing seen yet.

        The spans are what counts as one visit, as a move, as asked at once and as a pause.
        """
        from pcapnfs import _core

        together, neighbours, at_once, *pause = (
            int(span * NANOSECONDS) for span in (together_s, neighbours_s, at_once_s, *pause_s)
        )
        self._walk = _core.Steps(together, neighbours, at_once, (pause[0], pause[1]), examples)

    def add(self, rows: duckdb.DuckDBPyRelation, entries: duckdb.DuckDBPyRelation) -> None:
        """Walk over all calls about some of the objects.

        Args:
            rows: `mount`, `file`, `directory`, `call`, `call_frame`, `call_time`, `known_time`,
                `kind`, `v3`, `of_file`, `of_directory`. A call is about its file, if it has one of
                the last two, and about its directory, if it has one.
            entries: `mount`, `file`, `call`, `reply_time` of entries with attributes (NFSv3).

        Raises:
            duckdb.Error: The database could not give the rows.
        """
        # One after the other: a connection has one result at a time.
        _walk(lambda: self._walk.take(rows))
        _walk(lambda: self._walk.walk(entries))

    def found(self) -> Iterator[tuple[int, dict[str, object]]]:
        """What the steps of each mount show, by the names in `mount_evidence.MountEvidence`."""
        return ((mount, json.loads(found)) for mount, found in self._walk.found())


def _walk(walk: Callable[[], Walked]) -> Walked:
    """What a walk gives; a query that fails under way fails as any other does."""
    from pcapnfs import _core, database

    try:
        return walk()
    except _core.RowsError as error:
        raise database.OperationalError(str(error)) from error
