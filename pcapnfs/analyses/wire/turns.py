"""Whether programs take turns at a client that lets few calls through at once.

Takes a trace and the mounts of a client at a server; gives the calls with which a program goes on
with a file as soon as it has its answer: the READ behind an open or a look at the file, the SETATTR
behind its create. By itself a program sends these before anybody else sends much. Where more
programs are at it than calls may be under way, the calls of all the others come before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.data.moves import READ_OPERATIONS
from pcapnfs.programs import NFS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pcapnfs.trace import Trace

READS = columns.of(calls="call mount callback program op file call_first_time reply_time")
"""The columns that the query here reads."""

OPENS = ("ACCESS", "GETATTR", "LOOKUP", "OPEN")
"""Calls with which a program, or its client, begins to read a file: a READ goes on with it. Not a
READ behind a READ: a program may read several files in turn."""

MAKES = ("CREATE", "OPEN")
"""Calls that make a file."""

SETS = ("SETATTR",)
"""The call that goes on with it. Not WRITEs and COMMITs: clients send these when they like."""

MOST_CALLS = 1 << 17
"""So many calls of a client at a server are looked at, the first: more tell no more."""

OTHERS = 2
"""So many others for each call that may be under way come before those of programs that take turns.
Who compares two files (diff) opens both, and then reads both: between the open of the second and
its READ there is one call of its own, and with it one of each of the others."""

MOST_BETWEEN = 16
"""What came after more others than this, for each call that may be under way, was left for later by
its program, which went over many files before."""


class Turns(Record):
    """Calls with which programs go on with a file."""

    calls: int
    """So many of them."""
    soon: int
    """Those before which the client had sent few others since the answer that they follow: fewer
    than twice as many (`OTHERS`) as may be under way at once."""
    between: float
    """Calls that it had sent since that answer, median."""


def turns(trace: Trace, mounts: Iterable[int], most: int) -> Turns | None:
    """See who goes on first.

    Args:
        trace: The trace.
        mounts: Those of the client at the server (`calls.mount`).
        most: The most calls that were under way at once.

    Returns:
        None where there are no such calls.
    """
    ((calls, soon, between),) = trace.rows(
        _TURNS, {"mounts": list(mounts), "few": OTHERS * most, "longest": MOST_BETWEEN * most}
    )
    if not calls:
        return None
    return Turns(calls=integer(calls), soon=integer(soon), between=float(between))


_TURNS = f"""
    with asked as (
        select call, op, file, call_first_time as began, reply_time as ended
        from calls
        where mount in $mounts and not callback and program = {NFS} and reply_time is not null
        order by call_first_time, call limit {MOST_CALLS}
    ),
    numbered as (
        select *, rank() over in_time - 1 as before_it, count(*) over in_time as until_it,
               lag(op) over before as op_before, lag(ended) over before as answered
        from asked
        window in_time as (order by began),
               before as (partition by file order by began, call)
    ),
    going_on as (
        select before_it, answered from numbered
        where file is not null and answered <= began
              and ({among("op", READ_OPERATIONS)} and {among("op_before", OPENS)}
                   or {among("op", SETS)} and {among("op_before", MAKES)})
    ),
    others as (
        select greatest(going_on.before_it - numbered.until_it, 0) as many
        from going_on asof join numbered on going_on.answered >= numbered.began
    )
    select count(*), count(*) filter (many < $few), median(many)
    from others where many <= $longest
"""
