"""Under which name calls met a file that had several in the course of the capture.

Takes a trace; makes a table of its LOOKUPs, GETATTRs and ACCESSes about such files. The table files
has one name of each, the latest: what a listing told of a file is to be found by a name that it
had then. Of several that it had at once, hard links, that is the one that a listing told last.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call callback program op reply_time file directory",
        operations="call position op file directory name",
        names="call position directory name file",
        entries="call directory name",
    ),
)
"""The columns that this reads."""

_LINKS = population.Operations(("LINK",))
"""What gives a file several names at once. Without it, what was told of a file last is its name: a
third of the work."""

TABLE = "former_names"
"""The table that `register` makes: `call`, and the `directory` and `name` of its file then. Calls
on files that had one name all the time are not in it."""

MOST_NAMES = 100
"""How many names a file may have had, one after the other or at once, for which those that it had
at a time are looked for. Each call on the file is held against each; of more, the latest counts."""


def title(name: str = "name") -> str:
    """SQL: a number in place of a name, so that rows of many names stay narrow; NULL without one.

    It is a hash of 64 bits: two names of a directory share one with a probability below 10^-9.

    Args:
        name: The name.
    """
    return f"case when {name} is not null then hash({name}) end"


CALLS = f"""
    calls join (
        select file, parent, {title()} as title, role = 'directory' as is_directory from files
    ) as files using (file) left join (
        select call, directory, {title()} as title from {TABLE}
    ) as former using (call)
"""
"""SQL: calls about a file, with the file, and with its name then."""

DIRECTORY = "coalesce(former.directory, calls.directory, parent)"
"""SQL: the directory that the file of one of these was in then, as far as that is known."""

TITLE = "coalesce(former.title, files.title)"
"""SQL: its name there, as `title` gives it."""


@once
def register(trace: Trace) -> None:
    """Make the table `former_names` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_SEVERAL)
        cursor.execute(_ABOUT)
        if _LINKS.met(trace):
            cursor.execute(_SPANS)
            cursor.execute(_former(_by_spans(MOST_NAMES)))
        else:
            cursor.execute(_former(_BY_TURNS))


# A hash of 64 bits instead of the name: two have the same one with a probability below 10^-9.
_SEVERAL = """
    create temp table several as
    select file from names where file is not null group by file
    having min(hash(directory, name)) <> max(hash(directory, name))
"""

_ABOUT = f"""
    create temp table about as
    select call, op, file, directory from calls
    where {among("op", ("LOOKUP", "GETATTR", "ACCESS"))} and not callback and program = {NFS}
          and reply_time is not null and file in (select file from several)
"""

# A name is a file's until it denotes nothing, or another one.
_SPANS = """
    create temp table spans as
    with shared as (
        select distinct directory, name from names where file in (select file from several)
    ),
    turns as (
        select call, position, directory, name, file from names
        semi join shared using (directory, name)
        qualify file is distinct from lag(file) over (
            partition by directory, name order by call, position)
    ),
    spans as (
        select file, directory, name, call, lead(call) over (
                   partition by directory, name order by call, position) as until
        from turns
    ),
    listed as (
        select spans.directory, spans.name, spans.call, min(entries.call) as listed
        from (select call, directory, name from entries semi join shared using (directory, name))
             as entries asof join spans
             on entries.directory = spans.directory and entries.name = spans.name
                and entries.call >= spans.call
        group by all
    )
    select file, directory, name, call, until, listed
    from spans left join listed using (directory, name, call)
    where file in (select file from several)
"""

_BY_TURNS = """
    known as (
        select call, file, min({'directory': directory, 'name': name}) as place
        from names where file in (select file from several) group by call, file
    ),
    placed as (
        select about.call, place
        from about asof join known on about.file = known.file and about.call >= known.call
        where op <> 'LOOKUP'
    )
"""
"""SQL: the same where a file has one name at a time: what was told of it last."""

# A LOOKUP says the name itself.
_LOOKED_UP = """
    looked_up as (
        select about.call, operations.directory, arg_min(name, position) as name
        from about join operations on operations.call = about.call
             and operations.file = about.file and operations.directory = about.directory
        where about.op = 'LOOKUP' and operations.op = 'LOOKUP' and name is not null
        group by all
    )
"""


def _former(placed: str) -> str:
    """SQL: makes the table, with what gives `placed`."""
    return f"""
        create table {TABLE} as
        with {_LOOKED_UP}, {placed}
        from looked_up union all by name
        select call, place.directory as directory, place.name as name from placed
    """


def _by_spans(most: int) -> str:
    """SQL: the place that each call met, by what was a name of the file then."""
    return f"""
        few as (select file from spans group by file having count(*) <= {most}),
        met as (
            select about.call, spans.directory, name, spans.call as since,
                   coalesce(listed <= about.call, false) as listed
            from about join spans on about.file = spans.file
                 and about.call between spans.call and coalesce(until - 1, about.call)
            where op <> 'LOOKUP' and about.file in (from few)
            union all
            select about.call, spans.directory, name, spans.call, false
            from about asof join spans on about.file = spans.file and about.call >= spans.call
            where op <> 'LOOKUP' and about.file not in (from few)
        ),
        placed as (
            select call,
                   max_by(
                       {{'directory': directory, 'name': name}},
                       {{'listed': listed, 'since': since, 'place': hash(directory, name)}}
                   ) as place
            from met group by call
        )
    """
