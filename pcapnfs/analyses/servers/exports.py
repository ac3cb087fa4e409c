"""Whether the storage behind one export of a server is slower than behind the others.

Takes a trace; gives, where it shows several exports of a server, for each what its calls took, and
what stable calls took there beyond a small one. Like is compared with like: calls of one operation
that came while as many others were under way at the export, and at the server, whose exports may
share a disk; and of what else calls take, that of a client's own small calls to the same export is
left out. Those that take as long as data is large tell nothing of storage, and have no part in it:
COMMIT, large WRITEs, truncated or large files that are removed. Nor have calls sent again, and
those that stood still or were under way while the path was longer.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import named_rows, paths
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.levels import LATEST_NS, open_at_begin
from pcapnfs.analyses.asking.owners import OWNED
from pcapnfs.analyses.asking.owners import READS as OWNED_READS
from pcapnfs.analyses.asking.service_time import LONGEST_NS, SUM
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.servers import stored_calls
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from typing import Any

    import duckdb
    from numpy.typing import NDArray

    from pcapnfs.analyses.asking.named_rows import Row
    from pcapnfs.trace import Trace

READS = columns.together(
    OWNED_READS,
    shares.READS,
    stored_calls.READS,
    columns.of(
        calls="call client op stability call_frame call_time reply_time srt first_arrived",
        files="file server export",
    ),
)
"""The columns that the queries here read."""

KEPT = 100
"""Exports that are told, longest time first; a hostile capture could name one per file."""

LEAST_CALLS = 10
"""Calls of a kind that tell what it takes at an export, and small calls that tell what the way
there and back takes."""


class StableKind(Record):
    """Stable calls of one kind at one export, at least ten."""

    op: str
    """Procedure, or main operation of the compounds."""
    at_once: int
    """Calls that need storage (stable, WRITE, READ) under way at the export when each came, itself
    included: at least so many, and fewer than twice as many."""
    at_server: int
    """The same of all its exports."""
    below_bytes: int | None
    """WRITE: the calls are shorter than this, and at least half as long, bytes; None for others."""
    calls: int
    """Calls, each sent once and answered."""
    median_s: float
    """Median of what they took beyond the median small call of their client there, seconds, not
    below 0."""
    low_s: float
    """The lower quartile of it, seconds."""
    high_s: float
    """The upper quartile of it, seconds."""
    mean_s: float
    """The mean of it, seconds."""
    time_s: float
    """What of the clock they took for it (`shares`), seconds."""
    clock: float
    """Seconds of the clock that a second more of each would have taken."""


class ExportTimes(Record):
    """What calls took at one export."""

    server: str
    """Address of the server."""
    export: str
    """Server and export as they are mounted: `10.0.0.1:/home`, `[2001:db8::1]:/home`."""
    clients: int
    """Clients with calls there."""
    calls: int
    """Calls on its files, also on names that were not found there."""
    stable_calls: int
    """Those of them that were stable."""
    time_s: float
    """Sum of their service times, seconds."""
    clock_s: float
    """What they took of the clock (`shares`), seconds."""
    small_calls: int
    """Small calls of them, which show the round trip: sent once, answered, and not stable."""
    small_median_s: float | None
    """Their median service time, seconds; None without any."""
    stable_median_s: float | None
    """Median service time of the stable calls that were sent once, seconds; None without any."""
    kinds: tuple[StableKind, ...]
    """Stable calls that can be compared with those at other exports, most calls first."""
    span_ns: tuple[int, int] | None
    """When nine in ten of these came, the first and the last twentieth left out, nanoseconds since
    1970; None without any."""
    frames: tuple[int, ...]
    """Example frames: of them those that took most nearly what half of them take at most."""


class Exports(Record):
    """The exports of servers of which the capture shows several."""

    exports: tuple[ExportTimes, ...] = ()
    """Each with calls, longest time first; the first hundred."""
    export_count: int = 0
    """All of them; 0 where the capture shows no server with several."""


def exports(trace: Trace) -> Exports:
    """Add up and compare the calls at each; nothing where no server has several."""
    if not any_several(trace):
        return Exports()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_GROUPS)
        cursor.execute(_BY_FILE)
        cursor.execute(_TOTALS)
        ((count,),) = cursor.execute("select count(*) from totals").fetchall()
        cursor.execute(_SMALL)
        cursor.register("crowds", _crowds(cursor))
        cursor.execute(_STABLE.format(left_out=stored_calls.left_out(trace)))
        cursor.unregister("crowds")
        cursor.execute(_BEYOND)
        kinds: defaultdict[int, list[StableKind]] = defaultdict(list)
        for row in named_rows.by_name(cursor.execute(_KINDS)):
            kinds[row["place"]].append(_kind(row))
        told = list(named_rows.by_name(cursor.execute(_TOLD)))
        names = dict(paths.each(cursor, [row["example"] for row in told], paths.AS_MOUNTED))
    found = (_export(row, names[row["example"]], tuple(kinds[row["place"]])) for row in told)
    ordered = sorted(found, key=lambda each: (-each.time_s, each.server, each.export))
    return Exports(tuple(ordered), integer(count))


def any_several(trace: Trace) -> bool:
    """Whether any server has several exports: most captures have none to ask further about."""
    ((found,),) = trace.rows(_SEVERAL)
    return bool(found)


def _crowds(cursor: duckdb.DuckDBPyConnection) -> dict[str, NDArray[Any]]:
    """Each call that needs storage, and the power of two up to the number of them under way.

    At its export and at its server when it was sent, itself included.
    """
    rows = cursor.execute(_BUSY).fetchnumpy()
    begin, end = rows.pop("begin"), rows.pop("end")
    found = {"call": rows.pop("call")}
    for name, group in (("crowd", rows.pop("place")), ("around", rows.pop("host"))):
        at_once = open_at_begin(begin, end, group, int(group.max(initial=0)) + 1)
        found[name] = np.log2(at_once).astype(np.int8)
    return found


def _kind(row: Row) -> StableKind:
    low, median, high = row["quartiles"]
    size = row["size_class"]
    return StableKind(
        op=str(row["op"]),
        at_once=1 << integer(row["crowd"]),
        at_server=1 << integer(row["around"]),
        below_bytes=None if size is None else 2 << integer(size),
        calls=integer(row["calls"]),
        median_s=seconds(median) or 0.0,
        low_s=seconds(low) or 0.0,
        high_s=seconds(high) or 0.0,
        mean_s=seconds(row["mean"]) or 0.0,
        time_s=seconds(row["time"]) or 0.0,
        clock=seconds(row["clock"]) or 0.0,
    )


def _export(row: Row, export: str, kinds: tuple[StableKind, ...]) -> ExportTimes:
    span = row["span"]
    return ExportTimes(
        server=str(row["server"]),
        export=export,
        clients=integer(row["clients"]),
        calls=integer(row["calls"]),
        stable_calls=integer(row["stable_calls"]),
        time_s=seconds(row["time"]) or 0.0,
        clock_s=seconds(row["clock"]) or 0.0,
        small_calls=integer(row["small_calls"]),
        small_median_s=seconds(row["small"]),
        stable_median_s=seconds(row["stable"]),
        kinds=kinds,
        span_ns=(integer(span[0]), integer(span[1])) if span else None,
        frames=tuple(row["frames"] or ()),
    )


# Names of exports may be thousands of bytes long: only those that are told are held.
_SEVERAL = """
    select exists (
        select server from files where export is not null
        group by server having min(hash(export)) <> max(hash(export))
    )
"""

_GROUPS = """
    create or replace temp table export_groups as
    select row_number() over (order by min(file))::uinteger as place, server,
           dense_rank() over (order by server)::uinteger as host,
           hash(export) as export, min(file) as example
    from files where export is not null group by server, hash(export)
    qualify count(*) over (partition by server) > 1
"""

_BY_FILE = """
    create or replace temp table export_files as
    select file, place, host from (select file, server, hash(export) as export from files
                             where export is not null)
         join export_groups using (server, export)
"""

_SHOWS = f"""
    srt is not null and first_arrived and stability = 'unstable'
    and {among("op", SMALL_OPERATIONS)}
"""
"""Whether a call shows the round trip."""

_PROVES = "srt is not null and first_arrived and stability = 'stable'"
"""Whether a call shows what storage takes."""

_TOTALS = f"""
    create or replace temp table totals as
    with {OWNED}
    select place, count(distinct client) as clients, count(*) as calls,
           count(*) filter (stability = 'stable') as stable_calls, {SUM} as time,
           coalesce(sum(share), 0)::bigint as clock, count(*) filter ({_SHOWS}) as small_calls,
           median(srt) filter ({_SHOWS}) as small, median(srt) filter ({_PROVES}) as stable
    from owned join export_files using (file) left join shares using (call)
    group by place
"""

_SMALL = f"""
    create or replace temp table export_small as
    with {OWNED}
    select server, place, client, median(srt) as small
    from (select client, place, srt from owned join export_files using (file) where {_SHOWS})
         join (select place, server from export_groups) using (place)
    group by grouping sets ((place, server, client), (server, client))
    having count(*) >= {LEAST_CALLS}
"""

_BUSY = f"""
    with {OWNED}
    select call, place::integer as place, host::integer as host,
           least(call_time, {LATEST_NS}) as begin, least(reply_time, {LATEST_NS}) as end
    from owned join export_files using (file)
    where stability in ('stable', 'unstable_write', 'read') and reply_time is not null
"""

_STABLE = f"""
    create or replace temp table export_stable as
    with {OWNED},
    {stored_calls.SETS},
    asked as (
        select call, place, client, op, call_frame, call_time, srt,
               {stored_calls.SIZE_CLASS} as size_class
        from owned join export_files using (file) left join small_files on small_file = file
        where {_PROVES} and {stored_calls.SIMILAR}
    )
    select asked.*, crowd, around
    from asked join crowds using (call) anti join resized using (call) {{left_out}}
"""

# What calls that overlap took of the clock is a part of their time; of one alone it is no more than
# all, though the client waits for the way before the capture point, too.
_BEYOND = f"""
    create or replace temp table export_beyond as
    select place, op, size_class, crowd, around, call_frame, call_time,
           least(share / greatest(srt, 1)::double, 1) as part,
           least(round(greatest(srt::double - coalesce(here.small, there.small), 0)),
                 {LONGEST_NS})::bigint as beyond
    from export_stable join (select place, server from export_groups) using (place)
         join shares using (call)
         left join (select place, client, small from export_small where place is not null) as here
              using (place, client)
         left join (select server, client, small from export_small where place is null) as there
              using (server, client)
    where coalesce(here.small, there.small) is not null
    qualify count(*) over (partition by place, op, size_class, crowd, around) >= {LEAST_CALLS}
"""

_KINDS = f"""
    select place, op, size_class, crowd, around, count(*) as calls,
           quantile_cont(beyond, [0.25, 0.5, 0.75]) as quartiles, avg(beyond) as mean,
           sum(round(beyond * part)::bigint) as time,
           sum(round({NANOSECONDS} * part)::bigint) as clock
    from export_beyond group by place, op, size_class, crowd, around
    order by place, calls desc, op, size_class, crowd, around
"""

_TOLD = f"""
    with first as (
        select totals.*, server, example from totals join export_groups using (place)
        order by time desc, place limit {KEPT}
    ),
    typical as (
        select place, median(beyond) as usual, quantile_disc(call_time, [0.05, 0.95]) as span
        from export_beyond group by place
    ),
    examples as (
        select place, any_value(span) as span,
               arg_min(call_frame, (abs(beyond - usual), call_frame), {EXAMPLES}) as frames
        from export_beyond join typical using (place) group by place
    )
    select first.*, span, frames from first left join examples using (place)
"""
