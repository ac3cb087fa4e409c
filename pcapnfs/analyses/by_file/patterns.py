"""Files folded into classes by what was done to them, in which order.

A file's pattern is the sequence of its calls with runs collapsed: `CREATE SETATTR WRITE[FILE_SYNC]
SETATTR` (steps.py says how a call is written). Files of one kind with one pattern form a class,
however long their runs are: how often a step was repeated stands beside it. So hundreds of
thousands of files become a few lines. All of it happens in the database, which spills to disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from pcapnfs import columns, spilled, walks
from pcapnfs.analyses.asking import arrays, given, order, owners, parts, paths
from pcapnfs.analyses.asking.service_time import SUM
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.by_file import steps
from pcapnfs.analyses.by_file.costs import UNTOLD, Total
from pcapnfs.analyses.by_file.steps import CODE, STEPS, levels
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.captured.sealing import sealing
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.record import Record
from pcapnfs.spilled import Kept
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    _directions.READS,
    owners.READS,
    _sealing.READS,
    steps.READS,
    _untold.READS,
    columns.of(
        calls="call call_first_frame call_frame reply_frame call_first_time call_time reply_time "
        "srt stability",
        files="role path",
    ),
)
"""The columns that the queries here read."""

LONGEST = 24
"""Runs of a pattern; what comes after them does not tell classes apart.

A directory that is walked again and again, or a file under a database, goes on like that for
thousands of runs, no two alike.
"""


class Run(Record):
    """A step of a pattern, and how often it came in a row."""

    step: str
    """Procedure or main operation with its marks: `WRITE[FILE_SYNC]`, `OPEN(create)`, `LOOKUP!`."""
    least: int
    """Fewest times in a row, among the files of the class."""
    most: int
    """Most times in a row."""


class Example(Record):
    """A file of a class."""

    file: int
    """Its number in the table files."""
    path: str
    """Path, as in the table files; not escaped."""
    first_frame: int
    """First frame of its first call."""
    last_frame: int
    """Frame that completes its last reply (or call without one)."""
    time_s: float
    """Sum of the service times of its calls, seconds."""


class PatternClass(Record):
    """Files of one kind with one pattern."""

    pattern: str
    """The steps, runs collapsed, with a blank between them; `…` at the end when there were more
    runs than are told apart."""
    runs: tuple[Run, ...]
    """The same steps, with how often each came in a row."""
    kind: str
    """`file`, `directory`, `other`, `unknown`, `absent` (names not found), `untold` or
    `pseudo`."""
    files: int
    """Files in the class."""
    files_share: float
    """Their share of all objects with calls, 0 to 1."""
    calls: int
    """Calls that belong to them."""
    calls_per_file: float
    """The mean."""
    stable_calls: int | None
    """Those of the calls that were stable; None when none is known to be, and of some of the first
    file's, or the slowest one's, it is not known."""
    stable_per_file: float | None
    """The mean; None likewise, and when none is known to be, but of most calls of the capture it is
    not known: those of these files may be among them."""
    time_s: float
    """Sum of the service times, seconds."""
    time_share: float | None
    """Its share of the service time of all clients' calls, 0 to 1; None when that is 0."""
    time_per_file_s: float
    """The mean, seconds."""
    stable_s: float
    """The stable calls' part of time_s, seconds."""
    lifetime_s: float
    """Mean time from a file's first call to its last reply, seconds; it holds what lies between
    the calls too."""
    example: Example
    """The file whose first call came first."""
    slowest: Example
    """The file whose calls took longest."""


class Counted(Record):
    """A class as far as comparisons need it."""

    kind: str
    """As of `PatternClass`."""
    pattern: str
    """Likewise."""
    files: int
    """Likewise."""
    time_s: float
    """Likewise."""

    @property
    def time_per_file_s(self) -> float:
        """The mean, seconds."""
        return self.time_s / self.files


class Patterns(Record):
    """Classes of files, those that took longest first."""

    classes: Sequence[PatternClass]
    """The classes shown."""
    class_count: int | None
    """All classes; None when no file is known, but there are calls that do not tell."""
    shown: Total
    """The files of the classes shown."""
    others: Total
    """The files of the other classes."""
    without_file: Total
    """Calls that are about no file (NULL, EXCHANGE_ID …), or whose file is not known."""
    total: Total
    """All calls of clients: shown, others and without_file together."""


def patterns(trace: Trace, *, top: int = 20) -> Patterns:
    """Fold the files into classes.

    Args:
        trace: The trace.
        top: Classes to give; 0 for all.

    Raises:
        UsageError: `top` is negative.
    """
    order.check("classes", top=top)
    total, without_file = _totals(trace)
    unread = sealing(trace).mostly or directions(trace).mostly
    with closing(trace.cursor()) as cursor:
        walk, kinds, words = _folded(trace, cursor)
        files, class_count = walk.finish(top)
        witnesses = _witnesses(cursor, walk)
        classes = spilled.listed(
            (
                _class(each, kinds, words, both, files, total.time_s, unread=unread)
                for each, *both in zip(walk.classes(), witnesses, witnesses, strict=True)
            ),
            PatternClass,
        )
    unless = untold(trace).unplaced
    among_shown = sum(each.files for each in classes)
    shown = Total.of(classes, files=among_shown)
    calls = total.calls - without_file.calls - shown.calls
    stable = sum(each.stable_calls or 0 for each in (without_file, shown))
    others = Total(
        files=files - among_shown,
        calls=calls,
        stable_calls=known(
            (total.stable_calls or 0) - stable, unless=total.stable_calls is None and calls > 0
        ),
        time_s=total.time_s - without_file.time_s - shown.time_s if files > among_shown else 0.0,
    )
    return Patterns(
        classes=classes,
        class_count=known(class_count, unless=unless),
        shown=shown,
        others=others,
        without_file=without_file,
        total=Total(known(files, unless=unless), total.calls, total.stable_calls, total.time_s),
    )


def counted(trace: Trace) -> Kept[Counted]:
    """All classes in the order of kinds and patterns, without what else `patterns` tells of them.

    Any number of them: there may be as many as files.
    """
    with closing(trace.cursor()) as cursor:
        walk, kinds, words = _folded(trace, cursor)
    walk.finish(0)
    rows = spilled.ordered(
        (
            str(kinds[each["kind"]]),
            _pattern(" ".join(words[code] for code in each["codes"]), cut=each["cut"]),
            integer(each["files"]),
            seconds(each["time"]) or 0.0,
        )
        for each in walk.classes()
    )
    return Kept((Counted(*row) for row in rows), Counted)


def _folded(
    trace: Trace, cursor: duckdb.DuckDBPyConnection
) -> tuple[walks.Patterns, dict[int, str], dict[int, str]]:
    """The walk, through all calls about files; kinds by their number, and steps by their code."""
    walk = walks.Patterns(longest=LONGEST)
    cursor.execute(_KINDS)
    cursor.execute(_OBJECTS)
    for calls in parts.of(trace, cursor, _CALLS, by="file"):
        walk.add(calls)
    kinds = dict(cursor.execute("select kind, role from kinds").fetchall())
    return walk, kinds, dict(_asked(cursor, _WORDS, walk.examples()))


def _pattern(steps: str, *, cut: bool) -> str:
    return f"{steps} …" if cut else steps


_KINDS = """
    create temp table kinds as
    select role, (row_number() over (order by role) - 1)::utinyint as kind
    from (select distinct role from files)
"""
"""Kinds of files, by number."""

_OBJECTS = """
    create temp table objects as
    select file as own, identity, kind from files join kinds using (role) where file = identity
    union all
    select others.file, others.identity, kind
    from (select file, identity from files where file <> identity) as others
         join (select file, role from files) as named on named.file = others.identity
         join kinds using (role)
"""
"""Objects, each with the one that stands for its file, and the kind of that."""

_CALLS = f"""
    with {levels("of_stretch(call)")}
    select identity as file, kind, {CODE} as code, call_time, call, call_first_frame,
           call_first_time, coalesce(reply_time, call_time) as last_time, srt,
           stability = 'stable' as stable
    from calls join objects on calls.file = own left join levels using (call)
    where of_stretch(call) and not callback
"""
"""The calls of files, with a number for each step."""

_OF_FILES = f"""
    select identity as file, call, op, signature, call_first_frame, call_frame, reply_frame,
           reply_time, srt, rpc_status, status, stability
    from calls join (
        select file, identity from files
        where identity in (select {given.rows("files", "uinteger")})
    ) using (file)
    where not callback
"""
"""The calls of a few files, as `OWNED` has them."""

_WORDS = f"""
    with owned as ({_OF_FILES}), {STEPS}
    select {CODE} as code, any_value(step) from steps group by all
"""

_WITNESSES = f"""
    with owned as ({_OF_FILES})
    select file, min(call_first_frame) as first_frame,
           max(coalesce(reply_frame, call_frame)) as last_frame,
           {SUM} as time, bool_or({UNTOLD}) as untold
    from owned group by file order by file
"""


def _asked(cursor: duckdb.DuckDBPyConnection, query: str, files: Iterable[int]) -> list[Any]:
    """The rows of a query about a few files."""
    return cursor.execute(query, {"files": given.text(files)}).fetchall()


def _totals(trace: Trace) -> tuple[Total, Total]:
    """All calls of clients, and those on no file; files are not counted here."""
    (row,) = trace.rows(
        f"""
        select count(*), count(*) filter (stability = 'stable'),
               coalesce(bool_or({UNTOLD}), false), sum(srt),
               count(*) filter (file is null),
               count(*) filter (file is null and stability = 'stable'),
               coalesce(bool_or({UNTOLD}) filter (file is null), false),
               sum(srt) filter (file is null)
        from calls where not callback
        """
    )

    def total(calls: object, stable: object, some_untold: bool, time: object) -> Total:
        told = known(integer(stable), unless=some_untold)
        return Total(0, integer(calls), told, seconds(time) or 0.0)

    return total(*row[:4]), total(*row[4:])


def _class(
    found: dict[str, Any],
    kinds: dict[int, str],
    words: dict[int, str],
    witnesses: Sequence[tuple[Example, bool]],
    all_files: int,
    all_time_s: float,
    *,
    unread: bool,
) -> PatternClass:
    """Give a class its words."""
    steps = [words[code] for code in found["codes"]]
    number, calls = integer(found["files"]), integer(found["calls"])
    some_untold = any(is_untold for _, is_untold in witnesses)
    stable = known(integer(found["stable_calls"]), unless=some_untold)
    time_s = seconds(found["time"]) or 0.0
    return PatternClass(
        pattern=_pattern(" ".join(steps), cut=found["cut"]),
        runs=tuple(
            Run(step, integer(few), integer(many))
            for step, few, many in zip(steps, found["least"], found["most"], strict=True)
        ),
        kind=str(kinds[found["kind"]]),
        files=number,
        files_share=number / all_files,
        calls=calls,
        calls_per_file=calls / number,
        stable_calls=stable,
        stable_per_file=None if stable is None else known(stable / number, unless=unread),
        time_s=time_s,
        time_share=time_s / all_time_s if all_time_s else None,
        time_per_file_s=time_s / number,
        stable_s=seconds(found["stable_time"]) or 0.0,
        lifetime_s=(seconds(found["lifetime"]) or 0.0) / number,
        example=witnesses[0][0],
        slowest=witnesses[1][0],
    )


def _witnesses(
    cursor: duckdb.DuckDBPyConnection, walk: walks.Patterns
) -> Iterator[tuple[Example, bool]]:
    """Of each class in its turn two files: the one that came first, and the slowest.

    Each with whether nothing tells of some call whether it was stable.
    """
    names = ("example", "slowest")
    files = np.fromiter((each[name] for each in walk.classes() for name in names), dtype=np.uint32)
    asked = {"files": given.text(arrays.distinct(files).tolist())}
    about = cursor.execute(_WITNESSES, asked).fetchnumpy()
    told = np.searchsorted(about["file"], files)
    for place, file, path in zip(told, files.tolist(), paths.along(cursor, files), strict=True):
        example = Example(
            file=file,
            path=path,
            first_frame=int(about["first_frame"][place]),
            last_frame=int(about["last_frame"][place]),
            time_s=int(about["time"][place]) / NANOSECONDS,
        )
        yield example, bool(about["untold"][place])
