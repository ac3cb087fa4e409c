"""What the server was not ready for: how long clients waited until it was.

Takes a trace; gives for each client, server and status the calls that were put off (JUKEBOX, DELAY
…, MOVED, not those of a grace period) and the waits that they make up. A wait lasts from the first
call that was put off to the reply to the same call that was not: same client, operations and
objects.
Where the capture cut off the object of a call, or that of a recall, they may be of one file.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import paths, population
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.named_rows import by_name
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.namespace import replaced
from pcapnfs.analyses.servers import same_calls
from pcapnfs.analyses.servers.same_calls import PUT_OFF
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.outstanding import PAUSE_LIMIT_NS
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    replaced.READS,
    same_calls.READS,
    shares.READS,
    columns.of(
        calls="call server callback op file call_time undecoded",
        operations="call position op executed file",
        files="file identity path",
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Calls(names=PUT_OFF)
"""Without a call that was answered so there is none."""

RECALLS = population.Operations(("CB_RECALL",))
"""Without one nothing that a RENAME replaces was called back."""

RECALL_NS = 1_000_000_000
"""A delegation recalled so long before or after a call was put off is why: a server sends both at
once, or the recall a little later."""


class Refusals(Record):
    """What one server put off for one client with one status."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    status: str
    """The RFC's name of the status."""
    calls: int
    """Calls that were answered with it."""
    waits: int
    """Waits that they make up: calls of the same operations on the same objects that followed one
    another until the server did what was asked, or the client stopped asking."""
    unfinished: int
    """Those of them that the capture does not show the end of."""
    recalled: int
    """Those of them for whose object, or the one that it was to replace (RENAME), the server
    recalled a delegation at the same time, or may have done so as far as the capture tells."""
    operations: tuple[str, ...]
    """Operations that were put off, most first."""
    stopped_at: tuple[str, ...]
    """The operation of each with which it ended, most first: of a compound the one that the server
    put off, which may be about the handle or the whole server."""
    refused_s: float
    """Median time until a call was answered so, seconds."""
    paths: tuple[str, ...]
    """Their objects, the longest wait first; not escaped."""
    longest_s: float | None
    """The longest wait, seconds, from the first call to the reply that did not put it off; None
    when none ended."""
    time_s: float
    """What they took of the clock, pauses until the client asked again included, seconds."""
    recalled_s: float
    """The part of it in waits for recalled delegations, seconds."""
    frames: tuple[int, ...]
    """Example frames: of the first call of each wait, the longest first."""


def refusals(trace: Trace) -> tuple[Refusals, ...]:
    """Put together, for each client, server and status, what took longest first."""
    if not NEEDS.met(trace):
        return ()
    parameters = {
        "pause": PAUSE_LIMIT_NS,
        "recall": RECALL_NS,
        "files": FILES_SHOWN,
        "examples": EXAMPLES,
    }
    same_calls.register(trace)
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_IN_THE_WAY)
        if RECALLS.met(trace) and replaced.RENAMES.met(trace):
            cursor.execute(_REPLACED)
        rows = list(by_name(cursor.execute(_REFUSALS, parameters)))
        told = paths.told(cursor, (row["files"] for row in rows), FILES_SHOWN)
    return tuple(
        Refusals(
            client=row["client"],
            server=row["server"],
            status=row["status"],
            calls=integer(row["calls"]),
            waits=integer(row["waits"]),
            unfinished=integer(row["unfinished"]),
            recalled=integer(row["recalled"]),
            operations=tuple(row["operations"]),
            stopped_at=tuple(row["stopped_at"]),
            refused_s=seconds(row["refused"]) or 0.0,
            paths=of_row,
            longest_s=seconds(row["longest"]),
            time_s=seconds(row["time"]) or 0.0,
            recalled_s=seconds(row["recalled_time"]) or 0.0,
            frames=tuple(row["frames"]),
        )
        for row, of_row in zip(rows, told, strict=True)
    )


_IN_THE_WAY = "create temp table in_the_way (call ubigint, replaced uinteger)"

# Whoever holds a delegation of what a RENAME replaces has to give it back before. Of several in one
# compound the one that was put off counts: what came before was done, what follows was not looked
# at.
_REPLACED = f"""
    insert into in_the_way
    with called_back as (
        select identity from operations join files using (file) where op = 'CB_RECALL'
    )
    select call, arg_max(identity, coalesce(status, 0))
    from ({replaced.replaced("select file from files semi join called_back using (identity)")})
         join files using (file)
    group by call
"""

# A wait ends with an answer of another status, or when the client pauses for longer than it would.
_REFUSALS = f"""
    with asked as (
        select *, coalesce({among("status_name", PUT_OFF)}, false) as refused
        from {same_calls.TABLE} where reply_time is not null
    ),
    ordered as (
        select asked.*, lag(refused, 1, false) over same as refused_before,
               call_time - lag(reply_time, 1, call_time) over same as pause
        from asked semi join (select kind from asked where refused) as put_off using (kind)
        window same as (partition by kind order by call_time, call)
    ),
    told as (
        select *, sum((refused and (not refused_before or pause > $pause))::integer) over (
            partition by kind order by call_time, call rows unbounded preceding
        ) as wait
        from ordered
        where refused or (refused_before and pause <= $pause)
    ),
    -- Where a name was put off, its object may be known to others by its handle alone.
    recalls as (
        select calls.server, coalesce(identity, operations.file) as object, call_time as recalled
        from operations join calls using (call) left join files on files.file = operations.file
        where operations.op = 'CB_RECALL' and operations.file is not null
    ),
    -- Of a callback that was cut, what it asks for may lie behind the cut, or the file alone.
    callbacks as (
        select server, call_time as recalled, undecoded is not null and file is null as untold
        from calls
        where callback and (op = 'CB_RECALL' or op = 'COMPOUND' and undecoded is not null)
    ),
    untold_callbacks as (select server, recalled from callbacks where untold),
    waits as (
        select any_value(client) as client, any_value(server) as server, any_value(op) as op,
               any_value(file) filter (file <> -1) as file,
               any_value(object) filter (object <> -1) as object,
               nullif(any_value(directory), -1) as directory,
               min(status_name) filter (refused) as status,
               count(*) filter (refused) as calls, min(call_time) as begun,
               max(reply_time) filter (not refused) as ended, min(call_frame) as frame,
               bool_or(refused and undecoded is not null) and max(file) = -1 as untold,
               any_value(replaced) filter (refused) as replaced,
               sum(share) filter (refused) as time
        from told left join shares using (call) left join in_the_way using (call)
        group by kind, wait
    ),
    placed as (
        select waits.*, coalesce(begun - recalls.recalled <= $recall, false)
                   or coalesce(begun - of_replaced.recalled <= $recall, false)
                   or coalesce(begun - untold_callbacks.recalled <= $recall, false)
                   or waits.untold and coalesce(begun - callbacks.recalled <= $recall, false)
                   as was_recalled,
               coalesce(waits.file, directory) as shown
        from (select *, coalesce(ended, begun + $recall) as last from waits) as waits
             asof left join recalls
                 on waits.server = recalls.server and waits.object = recalls.object
                    and waits.last >= recalls.recalled
             asof left join recalls as of_replaced
                 on waits.server = of_replaced.server and replaced = of_replaced.object
                    and waits.last >= of_replaced.recalled
             asof left join untold_callbacks
                 on waits.server = untold_callbacks.server
                    and waits.last >= untold_callbacks.recalled
             asof left join callbacks
                 on waits.server = callbacks.server and waits.last >= callbacks.recalled
    ),
    -- What a compound stopped at is the last operation of which its reply has a result.
    last_steps as (
        select o.call, arg_max(o.op, o.position) as stopped_at
        from operations o semi join (select call from told where refused) as put_off using (call)
        where o.executed group by o.call
    ),
    stopped as (
        select client, server, status_name as status, stopped_at, count(*) as calls
        from told join last_steps using (call) where refused group by all
    ),
    stopped_told as (
        select client, server, status,
               list(stopped_at order by calls desc, stopped_at) as stopped_at
        from stopped group by client, server, status
    ),
    refused as (
        select client, server, status_name as status, median(reply_time - call_time) as took
        from told where refused group by client, server, status_name
    ),
    operations_told as (
        select client, server, status, list(op order by calls desc, op) as operations from (
            select client, server, status, op, sum(calls) as calls from placed group by all
        ) group by client, server, status
    )
    select client, server, status, sum(calls) as calls, count(*) as waits,
           count(*) filter (ended is null) as unfinished,
           count(*) filter (was_recalled) as recalled, any_value(operations) as operations,
           coalesce(any_value(stopped_at), []) as stopped_at, any_value(took) as refused,
           coalesce((list(shown order by coalesce(ended, begun) - begun desc, frame, shown)
                filter (shown is not null))[:10 * $files], []) as files,
           max(ended - begun) as longest, sum(placed.time) as "time",
           sum(placed.time) filter (was_recalled) as recalled_time,
           (list(frame order by coalesce(ended, begun) - begun desc, frame))[:$examples] as frames
    from placed join operations_told using (client, server, status)
         join refused using (client, server, status)
         left join stopped_told using (client, server, status)
    group by client, server, status order by sum(placed.time) desc, client, server, status
"""
