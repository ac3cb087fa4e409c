"""Files folded into classes by what was done to them, in which order.

A file's pattern is the sequence of its calls with runs collapsed: `CREATE SETATTR WRITE[FILE_SYNC]
SETATTR` (steps.py says how a call is written). Files of one kind with one pattern form a class,
however long their runs are: how often a step was repeated stands beside it. So hundreds of
thousands of files become a few lines. All of it happens in the database, which spills to disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pcapnfs import columns
from pcapnfs.analyses import order, owners, steps
from pcapnfs.analyses.costs import Total
from pcapnfs.analyses.owners import OBJECTS, OWNED
from pcapnfs.analyses.service_time import integer, seconds
from pcapnfs.analyses.steps import STEPS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    owners.READS,
    steps.READS,
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
    """`file`, `directory`, `other`, `unknown`, `absent` (names not found) or `pseudo`."""
    files: int
    """Files in the class."""
    files_share: float
    """Their share of all objects with calls, 0 to 1."""
    calls: int
    """Calls that belong to them."""
    calls_per_file: float
    """The mean."""
    stable_calls: int
    """Those of the calls that were stable."""
    stable_per_file: float
    """The mean."""
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


class Patterns(Record):
    """Classes of files, those that took longest first."""

    classes: tuple[PatternClass, ...]
    """The classes shown."""
    class_count: int
    """All classes."""
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
    rows = trace.sql(_CLASSES.format(top=top or "all"), {"longest": LONGEST}).fetchall()
    class_count, files = (integer(rows[0][0]), integer(rows[0][1])) if rows else (0, 0)
    classes = tuple(_class(row[2:], files, total.time_s) for row in rows)
    shown = Total.of(classes, files=sum(each.files for each in classes))
    others = Total(
        files=files - shown.files,
        calls=total.calls - without_file.calls - shown.calls,
        stable_calls=total.stable_calls - without_file.stable_calls - shown.stable_calls,
        time_s=total.time_s - without_file.time_s - shown.time_s if files > shown.files else 0.0,
    )
    return Patterns(
        classes=classes,
        class_count=class_count,
        shown=shown,
        others=others,
        without_file=without_file,
        total=Total(files, total.calls, total.stable_calls, total.time_s),
    )


_CLASSES = f"""
    with {OWNED}, {OBJECTS}, {STEPS},
    numbered as (
        select file, hash(step) as code, row_number() over its_calls as place,
               lag(hash(step)) over its_calls as before
        from steps where file is not null
        window its_calls as (partition by file order by call_time, call)
    ),
    runs as materialized (
        select file, code, place, row_number() over its_runs as run,
               lead(place) over its_runs as next_place
        from numbered where code is distinct from before
        window its_runs as (partition by file order by place)
        qualify run <= $longest + 1
    ),
    costs as (
        select file, count(*) as calls, count(*) filter (stability = 'stable') as stable_calls,
               coalesce(sum(srt), 0) as time,
               coalesce(sum(srt) filter (stability = 'stable'), 0) as stable_time,
               min(call_first_frame) as first_frame,
               max(coalesce(reply_time, call_time)) - min(call_first_time) as lifetime
        from owned where file is not null group by file
    ),
    folded as (
        select file, bit_xor(hash(code, run)) as shape, bit_xor(hash(run, code)) as proof
        from (select file, least(run, $longest + 1) as run,
                     case when run <= $longest then code else 0 end as code from runs)
        group by file
    ),
    placed as materialized (
        select file, role as kind, shape, proof, costs.* exclude (file)
        from folded join costs using (file) join objects using (file)
    ),
    classes as (
        select kind, shape, proof, count(*) as files, sum(calls) as calls,
               sum(stable_calls) as stable_calls, sum(time) as time,
               sum(stable_time) as stable_time, sum(lifetime) as lifetime,
               arg_min(file, first_frame) as example, arg_max(file, (time, -file)) as slowest,
               count(*) over () as class_count, sum(count(*)) over () as all_files
        from placed group by kind, shape, proof
        order by time desc, files desc, example limit {{top}}
    ),
    members as materialized (
        select file, placed.calls, example
        from placed join (select kind, shape, proof, example from classes)
             using (kind, shape, proof)
    ),
    lengths as (
        select example, run,
               min(coalesce(next_place, members.calls + 1) - place) as least,
               max(coalesce(next_place, members.calls + 1) - place) as most
        from runs join members using (file)
        group by example, run
    ),
    words as (
        select file as example, run, step
        from (from runs where file in (select example from classes))
             join (select file, step from steps where file in (select example from classes))
             using (file)
        where hash(step) = code
        group by file, run, step
    ),
    shown as (
        select example, list(step order by run) as steps, list(least order by run) as least,
               list(most order by run) as most
        from lengths join words using (example, run) group by example
    ),
    witnesses as (
        select file, min(call_first_frame) as first_frame,
               max(coalesce(reply_frame, call_frame)) as last_frame, coalesce(sum(srt), 0) as time
        from owned
        where file in (select example from classes union all select slowest from classes)
        group by file
    )
    select class_count, all_files, kind, steps, least, most, classes.files, classes.calls,
           classes.stable_calls, classes.time, classes.stable_time, classes.lifetime,
           example, (select path from objects where file = example),
           first.first_frame, first.last_frame, first.time,
           slowest, (select path from objects where file = slowest),
           slow.first_frame, slow.last_frame, slow.time
    from classes join shown using (example) join witnesses as first on first.file = example
         join witnesses as slow on slow.file = slowest
    order by classes.time desc, classes.files desc, example
"""
"""The classes, with totals over all of them in front.

`place` numbers a file's calls, `run` its runs. A pattern is compared by two hashes of 64 bits,
since the database can spill rows of numbers to disk but no lists and texts that it is gathering;
only the classes shown get words.
"""


def _totals(trace: Trace) -> tuple[Total, Total]:
    """All calls of clients, and those on no file; files are not counted here."""
    (row,) = trace.sql(
        """
        select count(*), count(*) filter (stability = 'stable'), sum(srt),
               count(*) filter (file is null),
               count(*) filter (file is null and stability = 'stable'),
               sum(srt) filter (file is null)
        from calls where not callback
        """
    ).fetchall()
    calls, stable, time, no_file, no_file_stable, no_file_time = row
    return (
        Total(0, integer(calls), integer(stable), seconds(time) or 0.0),
        Total(0, integer(no_file), integer(no_file_stable), seconds(no_file_time) or 0.0),
    )


def _class(row: tuple[Any, ...], all_files: int, all_time_s: float) -> PatternClass:
    """Read a row of `_CLASSES` from the column `kind` on."""
    kind, steps, least, most, files, calls, stable, time, stable_time, lifetime = row[:10]
    cut = len(steps) > LONGEST
    number = integer(files)
    time_s = seconds(time) or 0.0
    return PatternClass(
        pattern=" ".join([*steps[:LONGEST], *(["…"] if cut else [])]),
        runs=tuple(
            Run(str(step), integer(few), integer(many))
            for step, few, many in zip(steps, least, most, strict=True)
        )[:LONGEST],
        kind=str(kind),
        files=number,
        files_share=number / all_files,
        calls=integer(calls),
        calls_per_file=integer(calls) / number,
        stable_calls=integer(stable),
        stable_per_file=integer(stable) / number,
        time_s=time_s,
        time_share=time_s / all_time_s if all_time_s else None,
        time_per_file_s=time_s / number,
        stable_s=seconds(stable_time) or 0.0,
        lifetime_s=(seconds(lifetime) or 0.0) / number,
        example=_example(row[10:15]),
        slowest=_example(row[15:20]),
    )


def _example(row: tuple[Any, ...]) -> Example:
    file, path, first_frame, last_frame, time = row
    return Example(
        file=integer(file),
        path=str(path),
        first_frame=integer(first_frame),
        last_frame=integer(last_frame),
        time_s=seconds(time) or 0.0,
    )
