"""Questions for attributes that a client asks since it got a lock.

A lock is where clients see each other's changes: who got one believes nothing that it knew of the
file before (RFC 8881 section 10.3.2), whatever timeouts say and though nobody opened the file.
Takes a trace; makes the table `asked_after_locks`, of the first GETATTR for a file after each LOCK
that was granted, as long as it is not unlocked.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.locks.lock_waits import GRANTED, LOCK

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(calls="call mount callback op status_name file call_frame call_time reply_time"),
)
"""The columns that this reads."""

NEEDS = population.Operations(LOCK, names=GRANTED)
"""Without a lock that was granted nobody asks for that reason."""


@once
def register(trace: Trace) -> None:
    """Make the table `asked_after_locks` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_ASKED if NEEDS.met(trace) else _NONE)


_COLUMNS = "call, mount, call_frame, file"

_NONE = f"create table asked_after_locks as select {_COLUMNS} from calls limit 0"

_ASKED = f"""
    create table asked_after_locks as
    with granted as (
        select {_COLUMNS}, reply_time as moment, true as got, false as asks
        from calls
        where {among("op", LOCK)} and {among("status_name", GRANTED)} and not callback
              and file is not null and reply_time is not null
    ),
    others as (
        select {_COLUMNS}, call_time as moment, false as got,
               op = 'GETATTR' and reply_time is not null as asks
        from calls
        where op in ('GETATTR', 'LOCKU', 'UNLOCK', 'UNLOCK_MSG') and not callback
              and (mount, file) in (select (mount, file) from granted)
    ),
    steps as (
        select *, lag(got, 1, false) over (partition by mount, file order by moment, call) as since
        from (from granted union all from others)
    )
    select {_COLUMNS} from steps
    where since and asks
"""
