"""Files of NFSv4 that were opened again and again, and the server had not granted a delegation yet.

Takes a trace; gives for each client and server the OPENs that a read delegation would have spared,
and as many CLOSEs: those of a file that the client had opened before, up to the first delegation,
or all where the server granted none. Only files count that nobody opened but to read, nobody
changed by a call of the capture, and of which the server told one change-ID: of others it could not
leave a delegation to anybody.

A server that says why it grants none (NONE_EXT) answers a client that said what it wants, and may
have wanted none. Such OPENs, and those whose answer is cut, leave it open what it does; then
nothing is told.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.caching import spared
from pcapnfs.analyses.caching.spared import Spared
from pcapnfs.analyses.captured import traffic
from pcapnfs.analyses.mounts.mount_verdict import ENOUGH
from pcapnfs.analyses.times import shares
from pcapnfs.operations import modifying_operations
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    shares.READS,
    traffic.READS,
    columns.of(
        calls="call mount callback op status minor file call_frame call_time",
        operations="call op status file delegation share_access create_mode change",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("OPEN",), statuses=(0,))
"""Without these nothing was opened."""


class OpenedAgain(Record):
    """What one client opened at one server that had not granted it a delegation."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    opens: int
    """Its OPENs that succeeded, of all files, up to the first that was granted one."""
    files: int
    """Files that it opened again though they stayed as they were."""
    again: int
    """OPENs of these but for the first of each."""
    spared: Spared
    """These, and CLOSEs but for the first of each file."""
    span_s: float
    """From its first OPEN to the last, seconds: for so long at least the server granted none."""
    called_back_apart: bool
    """With some of NFSv4.0, where a server calls back over a connection of its own."""
    later: int = 0
    """Its OPENs from the first on that was granted one."""


def opened_again(trace: Trace) -> tuple[OpenedAgain, ...]:
    """Count them, by client and server."""
    if not NEEDS.met(trace):
        return ()
    with closing(trace.cursor()) as cursor:
        cursor.execute(_UNGRANTED)
        if not any_ungranted(cursor):
            return ()
        shares.register(trace)
        cursor.execute(_unchanged())
        rows = cursor.execute(_AGAIN).fetchall()
    calls, mounts = traffic.answered(trace, NFS_PROGRAMS), traffic.mounts(trace)
    found = [
        OpenedAgain(
            *mounts[mount],
            calls=calls[mount],
            opens=integer(opens),
            files=integer(files),
            again=integer(again),
            spared=spared.of_row(values),
            span_s=(last - first) / NANOSECONDS,
            called_back_apart=bool(apart),
            later=integer(later),
        )
        for mount, opens, later, first, last, apart, files, again, *values in rows
    ]
    return tuple(sorted(found, key=lambda each: (each.client, each.server)))


def any_ungranted(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Whether there is a client that was granted nothing for a while."""
    return cursor.execute("select 1 from ungranted limit 1").fetchone() is not None


_UNGRANTED = f"""
    create temp table ungranted as
    with opened as materialized (
        select mount, minor, call_time, delegation
        from operations
             join (select call, mount, minor, callback, call_time from calls) using (call)
        where op = 'OPEN' and status = 0 and not callback
    ),
    mounts as (
        select mount, count(*) as whole,
               min(call_time) filter (delegation not in ('NONE', 'NONE_EXT')) as granted
        from opened group by mount
    )
    select mount, granted, count(*) as opens, any_value(whole) - count(*) as later,
           min(call_time) as first, max(call_time) as last, bool_or(minor = 0) as apart
    from opened join mounts using (mount)
    where granted is null or call_time < granted
    group by mount, granted
    having count(*) >= {ENOUGH} and bool_and(coalesce(delegation = 'NONE', false))
"""


def _unchanged() -> str:
    """SQL: makes the table of files that stayed as they were.

    Whoever opens a file to write it, or changes it, would have a delegation called back.
    """
    changing = [op for op in modifying_operations() if op != "OPEN"]  # That goes by what it asks.
    return f"""
    create temp table unchanged_files as
    with opened as (
        select file from operations where op = 'OPEN' and status = 0 and file is not null
        group by file
        having count(*) > 1 and bool_and(share_access = 1 and create_mode is null)
    )
    select file from operations semi join opened using (file)
    group by file
    having min(change) = max(change) and not bool_or({among("op", changing)})
"""


_AGAIN = f"""
    with steps as (
        select mount, file, call, call_frame, op,
               row_number() over (partition by mount, file, op order by call_time, call) > 1
                   as again
        from calls join (select mount, granted from ungranted) using (mount)
             semi join unchanged_files using (file)
        where not callback and op in ('OPEN', 'CLOSE') and status = 0
              and (granted is null or call_time < granted)
    ),
    timed as materialized (
        select mount, file, call_frame, op, share, pause
        from (from steps where again) join shares using (call)
    ),
    counted as (
        select mount, count(distinct file) filter (op = 'OPEN') as files,
               count(*) filter (op = 'OPEN') as again, {spared.columns("true")}
        from timed group by mount
    )
    select mount, opens, later, first, last, apart, files, again, {spared.names("spared")}
    from counted join ungranted using (mount) where again > 0
"""
