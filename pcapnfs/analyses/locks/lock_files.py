"""Lock files that programs waited for: names that they tried to make until nobody had them.

Takes a trace; gives for each client and server the waits for such names. Mail programs (dot locks),
and others that must exclude each other without locks, make a file, a link or a directory of a known
name, and are refused while it exists (EXIST). They sleep and try again, which looks like the
client's own time. A wait is of one client for one name; it begins with the first refusal and ends
when the name was made. Without that, nobody waits: who makes what is there already goes on.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.locks.lock_waits import POLLED_NS, Waits, alone, waited
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    columns.of(
        calls="call mount client server callback call_frame call_time reply_time",
        operations="call op status directory name",
    ),
)
"""The columns that the queries here read."""

EXIST = 17
"""NFSERR_EXIST, NFS3ERR_EXIST, NFS4ERR_EXIST."""

MAKES = ("LINK", "CREATE", "OPEN", "MKDIR", "SYMLINK")
"""Operations that make a name, and are refused where it is there."""

FREES = ("REMOVE", "RMDIR", "RENAME")
"""Operations that free one."""

NEEDS = population.Operations(MAKES, statuses=(EXIST,))
"""Without one that was refused nobody waited."""

LEAST = 2
"""Refusals of a wait: who is refused once may only look whether the name is there."""


class LockFiles(Record):
    """What one client waited for lock files on one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    waits: int
    """Times that it waited for a name."""
    refused: int
    """Tries of these waits that were refused."""
    interval_s: float
    """Median time from one try of a wait to the next, seconds."""
    waited_s: float
    """What the waits took of time, seconds; where several ran at once, counted once."""
    longest_s: float
    """The longest wait, seconds."""
    holders: tuple[str, ...]
    """Addresses of other clients that freed these names meanwhile."""
    names: tuple[str, ...]
    """The names, the one waited for longest first; not escaped."""
    frames: tuple[int, ...]
    """Example frames: of the first try of each wait, the longest first."""


def lock_files(trace: Trace) -> tuple[LockFiles, ...]:
    """Put together, for each client and server that waited, the longest first."""
    if not NEEDS.met(trace):
        return ()
    _register(trace)
    if not trace.rows("select 1 from lock_file_tries limit 1"):
        return ()
    with closing(trace.cursor()) as cursor:
        asked = {"names": FILES_SHOWN, "examples": EXAMPLES}
        rows = list(by_name(cursor.execute(_WAITED, asked)))
    return tuple(
        LockFiles(
            client=row["client"],
            server=row["server"],
            waits=integer(row["waits"]),
            refused=integer(row["refused"]),
            interval_s=seconds(row["interval"]) or 0.0,
            waited_s=seconds(row["waited"]) or 0.0,
            longest_s=seconds(row["longest"]) or 0.0,
            holders=tuple(row["holders"]),
            names=tuple(row["names"]),
            frames=tuple(row["frames"]),
        )
        for row in rows
    )


def waits(trace: Trace) -> Waits | None:
    """Each wait of each client; None where nobody waited."""
    if not NEEDS.met(trace):
        return None
    _register(trace)
    each, tries = trace.arrays(_EACH), trace.arrays(_TRIES)
    return Waits(each["mount"], each["begun"], each["ended"], tries["call"])


@once
def _register(trace: Trace) -> None:
    """Make the table `lock_file_tries` of a trace, unless it is there."""
    with closing(trace.cursor()) as cursor:
        cursor.execute(_STEPS)


_STEPS = f"""
    create table lock_file_tries as
    with tried as materialized (
        select call, op, directory, name, status = {EXIST} as refused from operations
        where {among("op", MAKES)} and status in (0, {EXIST})
              and directory is not null and name is not null
    ),
    made as (
        select mount, client, server, tried.op, tried.directory, name, call,
               call_frame as frame, call_time as asked, coalesce(reply_time, call_time) as answered,
               refused
        from tried semi join (select * from tried where refused) as refusing
                   using (op, directory, name)
             join calls using (call)
        where not callback
    ),
    contended as (select distinct mount, op, directory, name from made where refused),
    steps as (
        select *, coalesce(lag(refused) over earlier
                           and asked - lag(answered) over earlier < {POLLED_NS}, false) as goes_on,
               asked - lag(asked) over earlier as since
        from made semi join contended using (mount, op, directory, name)
        window earlier as (partition by mount, op, directory, name order by asked, call)
    ),
    numbered as (
        select *, sum((not goes_on)::integer) over (
                   partition by mount, op, directory, name order by asked, call
                   rows unbounded preceding
               ) as wait
        from steps where refused or goes_on
    ),
    ended as (
        select mount, op, directory, name, wait from numbered group by all
        having count(*) filter (refused) >= {LEAST} and bool_or(not refused)
    )
    select * from numbered semi join ended using (mount, op, directory, name, wait)
"""

_EACH = """
    select mount, min(asked) as begun, max(answered) as ended
    from lock_file_tries group by mount, op, directory, name, wait
"""

_TRIES = "select call from lock_file_tries order by call"

_WAITED = f"""
    with each as (
        select client, server, mount, op, directory, name, wait, min(asked) as begun,
               max(answered) as ended, count(*) filter (refused) as refused, min(frame) as frame
        from lock_file_tries group by all
    ),
    waits as (select *, {alone("ended")} as alone from each),
    freed as (
        select min(client) as holder, server, operations.directory, operations.name,
               call_time as moment
        from operations join calls using (call)
        where {among("operations.op", FREES)} and operations.status = 0 and not callback
              and operations.name in (select name from waits)
        group by all
    ),
    released as (
        select waits.*,
               case when moment >= begun and holder <> client then holder end as holder
        from waits asof left join freed
             on waits.server = freed.server and waits.directory = freed.directory
                and waits.name = freed.name and waits.ended >= freed.moment
    ),
    pauses as (
        select client, server, median(since) filter (goes_on) as "interval"
        from lock_file_tries group by client, server
    ),
    longest as (
        select client, server, name, sum(ended - begun) as took
        from waits group by client, server, name
    ),
    names as (
        select client, server, (list(name order by took desc, name))[:$names] as names
        from longest group by client, server
    )
    select client, server, any_value(names) as names, count(*) as waits,
           sum(refused)::bigint as refused, any_value("interval") as "interval",
           {waited("ended")} as waited,
           max(ended - begun) as longest,
           list_sort(coalesce(list(distinct holder) filter (holder is not null), [])) as holders,
           (list(frame order by ended - begun desc, frame))[:$examples] as frames
    from released join pauses using (client, server) join names using (client, server)
    group by client, server order by waited desc, client, server
"""
