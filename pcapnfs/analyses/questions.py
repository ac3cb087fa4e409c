"""What clients asked the server though they knew it: how many calls, and what they took.

Takes a trace; gives for each client and server the GETATTRs whose answer was what the client knew,
and those of them that the attribute cache of a default mount would have spared: the client had
known for less than the smallest timeout (Linux: 3 s for files, 30 s for directories). An open asks
whatever the client knows (close-to-open consistency): for NFSv3, of the questions about a file
that are less than a second apart the first is taken for that, so that what is told is rather too
little. An OPEN of NFSv4 brings its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses import change_ids as _change_ids
from pcapnfs.analyses import shares, spared
from pcapnfs.analyses.change_ids import age_s, change_ids
from pcapnfs.analyses.mount_evidence import TOGETHER_S
from pcapnfs.analyses.service_time import NANOSECONDS, integer
from pcapnfs.analyses.spared import Spared
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

READS = columns.together(
    _change_ids.READS,
    shares.READS,
    columns.of(calls="call_frame", files="file role"),
)
"""The columns that the queries here read."""

FILE_FRESH_S = 3.0
"""Knowledge of a file, or of anything but a directory, that is younger is not asked for by default:
acregmin of Linux. Other clients have the same or more."""

DIRECTORY_FRESH_S = 29.5
"""The same of a directory: acdirmin of Linux is 30 s, less the rounding of a kernel's clock."""

TIMEOUT_S = 1.0
"""The smallest timeout that is not 0. Knowledge that is younger does not expire."""


class Questions(Record):
    """What one client asked one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    calls: int
    """All its answered calls of NFS."""
    asked: int
    """Those that did nothing but ask for attributes: GETATTR; of NFSv4 those that ask for the
    change attribute or the times."""
    compared: int
    """Those of them whose answer could be compared with what the client knew."""
    unchanged: Spared
    """Those whose answer was what the client knew."""
    fresh_files: Spared
    """Those about files that default timeouts would have spared."""
    fresh_directories: Spared
    """The same about directories."""
    early: Spared
    """Those of both whose answer the client had known for a second or longer: a timeout that is
    shorter than the default, but not 0, explains them."""


def questions(trace: Trace) -> tuple[Questions, ...]:
    """Count, for each client and server, most questions first."""
    with change_ids(trace) as cursor:
        return of_learned(trace, cursor)


def of_learned(trace: Trace, cursor: duckdb.DuckDBPyConnection) -> tuple[Questions, ...]:
    """The same, on a connection with the tables of `change_ids`."""
    shares.register(trace)
    rows = cursor.execute(_QUESTIONS, {"programs": NFS_PROGRAMS}).fetchall()
    return tuple(
        Questions(
            client=str(client),
            server=str(server),
            calls=integer(calls),
            asked=integer(asked),
            compared=integer(compared),
            unchanged=spared.of_row(values[0:4]),
            fresh_files=spared.of_row(values[4:8]),
            fresh_directories=spared.of_row(values[8:12]),
            early=spared.of_row(values[12:16]),
        )
        for client, server, calls, asked, compared, *values in rows
    )


_QUESTIONS = f"""
    with asked as (
        select mount, file, call, call_time, finding, {age_s()} as age,
               role in ('directory', 'pseudo') as directory,
               coalesce({age_s()} between 0 and case
                   when role in ('directory', 'pseudo') then {DIRECTORY_FRESH_S}
                   else {FILE_FRESH_S} end and finding = 'unchanged', false) as fresh
        from learned join files using (file)
        where question = 'getattr' and alone
    ),
    timed as (
        select asked.*, call_frame, version, share, pause,
               call_time - lag(call_time) over (partition by asked.mount, asked.file
                   order by call_time, call) < {TOGETHER_S * NANOSECONDS} as soon
        from asked join calls using (call, call_time) join shares using (call)
    ),
    told as (
        select *, finding = 'unchanged' as unchanged,
               fresh and directory as fresh_directory,
               fresh and not directory and (version = 4 or coalesce(soon, false)) as fresh_file
        from timed
    ),
    counted as (
        select mount, count(*) as asked, count(*) filter (finding <> 'first') as compared,
               {spared.columns("unchanged", "unchanged")},
               {spared.columns("fresh_file", "fresh_file")},
               {spared.columns("fresh_directory", "fresh_directory")},
               {spared.columns(f"(fresh_file or fresh_directory) and age >= {TIMEOUT_S}", "early")}
        from told group by mount
    ),
    calls_of as (
        select mount, count(*) as calls
        from calls
        where not callback and reply_time is not null and list_contains($programs, program)
        group by mount
    )
    select client, server, calls, counted.* exclude (mount)
    from counted join calls_of using (mount) join mounts using (mount)
    order by asked desc, client, server
"""
