"""Delegations that the server called back: who held them, who waited, and for how long.

Takes a trace; gives for each server and holder the recalls (CB_RECALL, RFC 8881 section 20.2), how
long the file's next user had to wait for each, and those that were never given back. A recall takes
from CB_RECALL to the reply to the next DELEGRETURN of that file by the holder.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.namespace import replaced
from pcapnfs.analyses.servers.same_calls import NOT_READY
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.OPERATIONS_READS,
    replaced.READS,
    shares.READS,
    columns.of(
        calls="call client server callback call_frame call_first_time call_time reply_time "
        "file status_name stability",
        operations="call op status file",
        files="file identity path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Operations(("CB_RECALL",))
"""Without a recall nobody waited for one."""

BEFORE_NS = 1_000_000_000
"""A call that was put off so long before a recall of its file was put off for it."""


class Recalls(Record):
    """The delegations of one client that one server called back."""

    holder: str
    """Address of the client that held them."""
    server: str
    """Address of the server."""
    recalled: int
    """Recalls."""
    files: int
    """Files that they were about."""
    returned: int
    """Those of them that were followed by a DELEGRETURN."""
    total_s: float
    """From CB_RECALL to the reply to DELEGRETURN, sum, seconds."""
    longest_s: float | None
    """The longest of them, seconds; None when none was returned."""
    waiting: tuple[str, ...]
    """Addresses of clients whose calls on these files were put off, or of others than the holder
    under way, meanwhile."""
    calls: int
    """Those calls."""
    time_s: Mapping[str, float]
    """What the recalls took of those clients' clocks, seconds by row of the time budget: of calls
    that were put off, `waiting`, with the pauses until they came again."""
    paths: tuple[str, ...]
    """The files, the longest recall first; not escaped."""
    frames: tuple[int, ...]
    """Example frames: of the callbacks, the longest first."""


def recalls(trace: Trace) -> tuple[Recalls, ...]:
    """Put together, for each holder and server, what took longest first."""
    if not NEEDS.met(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_RECALLED)
        met = _met(_NAMED + _REPLACED if replaced.RENAMES.met(trace) else _NAMED)
        cursor.execute(met, {"before": BEFORE_NS, "not_ready": list(NOT_READY)})
        asked = {"files": FILES_SHOWN, "examples": EXAMPLES}
        rows = list(by_name(cursor.execute(_BY_HOLDER, asked)))
        told = paths.told(cursor, (row["files"] for row in rows), FILES_SHOWN)
        booked = cursor.execute(_ROWS).fetchall()
    times: dict[tuple[str, str], dict[str, float]] = {}
    for holder, server, row, time in booked:
        times.setdefault((holder, server), {})[row] = seconds(time) or 0.0
    return tuple(
        Recalls(
            holder=row["holder"],
            server=row["server"],
            recalled=integer(row["recalled"]),
            files=integer(row["objects"]),
            returned=integer(row["returned"]),
            total_s=seconds(row["total"]) or 0.0,
            longest_s=seconds(row["longest"]),
            waiting=tuple(row["waiting"] or ()),
            calls=integer(row["calls"]),
            time_s=times.get((row["holder"], row["server"]), {}),
            paths=of_row,
            frames=tuple(row["frames"]),
        )
        for row, of_row in zip(rows, told, strict=True)
    )


_IDENTITY = "select file as other, identity from files where identity <> file"
"""What stands for a file, where that is another row: who was put off may know by its name alone
what others hold by its handle."""

_RECALLED = f"""
    create temp table recalled as
    with identities as ({_IDENTITY}),
    sent as (
        select client as holder, server, coalesce(identity, operations.file) as file,
               call_frame as frame, call_time as begun
        from operations join calls using (call) left join identities on other = operations.file
        where operations.op = 'CB_RECALL' and operations.file is not null
    ),
    returned as (
        select client as holder, server, coalesce(identity, operations.file) as file,
               reply_time as ended, call_time as giving
        from operations join calls using (call) left join identities on other = operations.file
        where operations.op = 'DELEGRETURN' and operations.status = 0 and reply_time is not null
    )
    select sent.holder, sent.server, sent.file, frame, begun, giving, ended
    from sent asof left join returned
         on sent.holder = returned.holder and sent.server = returned.server
            and sent.file = returned.file and sent.begun <= returned.ended
"""

_ABOUT = """
    select call, client, server, coalesce(identity, about.file) as file, call_first_time,
           reply_time, stability, coalesce(status_name in $not_ready, false) as put_off
"""

_NAMED = f"""
    {_ABOUT} from calls as about left join ({_IDENTITY}) on other = about.file
    where not callback and reply_time is not null
"""

_RECALLED_FILES = f"""
    select file from recalled
    union all
    select other from ({_IDENTITY}) where identity in (select file from recalled)
"""

# A RENAME takes from others what they hold of the object that it replaces, too.
_REPLACED = f"""
    union all
    {_ABOUT}
    from ({replaced.replaced(_RECALLED_FILES)}) as about
         join (
             select call, client, server, call_first_time, reply_time, stability, status_name
             from calls where not callback and reply_time is not null
         ) as calls using (call)
         left join ({_IDENTITY}) on other = about.file
"""


def _met(named: str) -> str:
    """SQL: makes the table of the calls that met a recall, of those about an object.

    Each call meets one recall at most: the last that began before it was answered, or soon after.
    One that was answered before the return was sent did not wait for it; nor, as far as can be
    told, did one that came after a recall without return.
    """
    return f"""
        create temp table met as
        with named as ({named}),
        others as (from named semi join recalled using (server, file))
        select others.call, client, holder, others.server,
               case when put_off then 'waiting' else stability end as row,
               case when put_off then coalesce(share, 0)
                    else least(coalesce(share, 0), least(reply_time, coalesce(ended, reply_time))
                                                   - greatest(call_first_time, begun)) end as time
        from others asof join recalled
             on others.server = recalled.server and others.file = recalled.file
                and others.reply_time + (case when put_off then $before else 0 end)
                    >= recalled.begun
        left join shares using (call)
        where (put_off or (client <> holder and reply_time >= coalesce(giving, begun)
                           and (ended is not null or call_first_time <= begun)))
              and (ended is null or call_first_time <= ended)
        qualify row_number() over (
                    partition by others.call order by time desc, begun desc
                ) = 1
    """


_ROWS = """
    select holder, server, row, sum(time) from met
    group by holder, server, row having sum(time) > 0
"""

_BY_HOLDER = """
    with waiting as (
        select holder, server, list_sort(list(distinct client)) as clients, count(*) as calls
        from met group by holder, server
    )
    select holder, server, count(*) as recalled, count(distinct file) as objects,
           count(ended) as returned, sum(ended - begun) as total, max(ended - begun) as longest,
           any_value(clients) as waiting, any_value(calls) as calls,
           (list(file order by coalesce(ended - begun, 0) desc, frame, file))[:10 * $files]
               as files,
           (list(frame order by coalesce(ended - begun, 0) desc, frame))[:$examples] as frames
    from recalled left join waiting using (holder, server)
    group by holder, server order by total desc nulls last, holder, server
"""
