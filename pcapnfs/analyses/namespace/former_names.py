"""Under which name calls met a file that had several in the course of the capture.

Takes a trace; makes a table of its LOOKUPs, GETATTRs and ACCESSes about such files. The table files
has one name of each, the latest: what a listing told of a file is to be found by the name that it
had then.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.programs import NFS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call callback program op reply_time file directory",
    operations="call position op file directory name",
    names="call directory name file",
)
"""The columns that this reads."""

TABLE = "former_names"
"""The table that `register` makes: `call`, and the `directory` and `name` of its file then. Calls
on files that had one name all the time are not in it."""

CALLS = f"calls join files using (file) left join {TABLE} as former using (call)"
"""SQL: calls about a file, with the file, and with its name then."""

DIRECTORY = "coalesce(former.directory, calls.directory, parent)"
"""SQL: the directory that the file of one of these was in then, as far as that is known."""

NAME = "coalesce(former.name, files.name)"
"""SQL: its name there."""


@once
def register(trace: Trace) -> None:
    """Make the table `former_names` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_SEVERAL)
        cursor.execute(_ABOUT)
        cursor.execute(_FORMER)


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

# A LOOKUP says the name itself. Else it is the latest; a listing may tell two of a file at once.
_FORMER = f"""
    create table {TABLE} as
    with looked_up as (
        select about.call, operations.directory, arg_min(name, position) as name
        from about join operations on operations.call = about.call
             and operations.file = about.file and operations.directory = about.directory
        where about.op = 'LOOKUP' and operations.op = 'LOOKUP' and name is not null
        group by all
    ),
    known as (
        select call, file, min(struct_pack(directory, name)) as place
        from names where file in (select file from several) group by call, file
    ),
    placed as (
        select about.call, place.directory as directory, place.name as name
        from about asof join known on about.file = known.file and about.call >= known.call
        where about.op <> 'LOOKUP'
    )
    from looked_up union all by name from placed
"""
