"""How much listings, READs and WRITEs asked for, and what their servers allow, by mount.

Takes a trace; gives the sizes, and how often one call went on where the one before it ended: only
what continues shows how much a client asks for if it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.by_mount import ByMount
from pcapnfs.analyses.asking.examples import OPTION_EXAMPLES
from pcapnfs.analyses.by_file.visits import TOGETHER_NS
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.data.moves import MOVING
from pcapnfs.analyses.data.transfer_sizes import allowed, withheld
from pcapnfs.analyses.data.transfers import PAGE_BYTES
from pcapnfs.analyses.namespace import listings
from pcapnfs.analyses.namespace.listings import LISTING

if TYPE_CHECKING:
    import duckdb

    from pcapnfs.trace import Trace

LISTED = population.Operations(LISTING)
"""Without these there is nothing to say of listings,"""

MOVED = population.Operations(MOVING)
"""and without these of transfers."""


def asked_sizes(
    trace: Trace,
    cursor: duckdb.DuckDBPyConnection,
    *,
    pairs: Mapping[int, int] | None = None,
) -> tuple[ByMount, ...]:
    """Look at listings, at READs and WRITEs, and at what servers allow.

    Args:
        trace: The trace.
        cursor: A connection to it.
        pairs: Where the connection has parts of pairs in place of mounts: the mount of each part.
    """
    found = []
    if LISTED.met(trace):
        listings.register(trace)
        found.append(ByMount.of_query(cursor, _LISTINGS))
    if MOVED.met(trace):
        moves.register(trace)
        found.append(ByMount.of_query(cursor, _TRANSFERS))
    return *found, ByMount.of_named(_of_parts(_limits(trace), pairs or {}))


def _of_parts(
    rows: Iterable[tuple[int, dict[str, object]]], pairs: Mapping[int, int]
) -> Iterator[tuple[int, dict[str, object]]]:
    """The rows, and that of its pair for each part of one."""
    found = dict(rows)
    yield from found.items()
    yield from ((part, found[mount]) for part, mount in pairs.items() if mount in found)


def _limits(trace: Trace) -> Iterator[tuple[int, dict[str, object]]]:
    """What the server of each mount allows, by column."""
    for each in allowed(trace):
        told = {"max_read": each.read_bytes, "max_write": each.write_bytes}
        yield each.mount, {**told, "withheld": False}
    for mount in withheld(trace):
        yield mount, {"max_read": None, "max_write": None, "withheld": True}


WRITE = moves.KINDS.index("WRITE")
"""The place of a WRITE among the moves."""


def _has_more(start: str, stop: str, start_behind: str, stop_behind: str) -> str:
    """SQL: the second of two WRITEs has the page again in which the first ended, and more behind.

    `core/src/walk/transfers/pages.rs` says the same.
    """
    return (
        f"({start_behind} < {stop} and {stop_behind} > {stop} "
        f"and {start_behind} >= greatest({start}, {stop} - {stop} % {PAGE_BYTES}))"
    )


_BEHIND = _has_more("start", "stop", "lead(start) over next", "lead(stop) over next")

_BEFORE = _has_more("lag(start) over next", "lag(stop) over next", "start", "stop")

# The mount is that of the connection's calls: it may have parts of pairs.
_LISTINGS = f"""
    with listings as (
        select calls.mount, plus, cookie, requested, call_time, call_frame,
               row_number() over (partition by calls.mount, told.directory
                                  order by call_time, call_frame, call, position) as nth
        from {listings.TABLE} as told join (select call, mount from calls) as calls using (call)
        where version >= 3
    )
    select mount, count(*) filter (nth = 1 and not plus and cookie = 0) as listings_plain,
           count(*) filter (plus) as listings_plus,
           count(*) filter (plus is null) as listings_unknown, max(requested) as listing_bytes,
           count(*) filter (cookie <> 0) as listings_continued,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES}) as listing_frames
    from listings group by mount
"""

_TRANSFERS = f"""
    with asking as materialized (
        select call, position, file, what, reading, requested, "offset",
               unstable_asked as unstable
        from {moves.TABLE} where what < {moves.COMMIT} and requested is not null
        union all
        select call, position, file, what, false, null, null, null
        from {moves.TABLE} where what = {moves.COMMIT} and executed and status = 0
    ),
    sized as (
        select mount, call_time, call_frame, reply_time, asking.*, "offset"::hugeint as start,
               start + requested as stop, not reading and not unstable as through
        from asking join calls using (call) where not callback
    ),
    transfers as (
        select mount, file, call_time, call_frame, reading, requested, unstable,
               (stop = lead(start) over next
                or through and lead(through) over next and {_BEHIND})
               and lead(call_time) over next - call_time < {TOGETHER_NS} as continued,
               start = lag(stop) over next
               or through and lag(through) over next and {_BEFORE} as continues,
               coalesce(lead(call_time) over next >= reply_time, false) as waited_for,
               requested = lead(requested) over next as as_large
        from sized
        -- A COMMIT is in the way of the WRITEs before and behind it.
        window next as (partition by mount, file, if(what = {moves.COMMIT}, {WRITE}, what)
                        order by call_time, call_frame, call, position)
    ),
    largest as (
        select mount, reading, max(requested) as largest from transfers group by all
    )
    select mount, max(largest) filter (reading) as read_bytes,
           count(*) filter (reading) as reads,
           count(*) filter (reading and continued and requested = largest) as reads_continued,
           count(*) filter (reading and continued and requested = largest and waited_for)
               as reads_waited_for,
           max(largest) filter (not reading) as write_bytes,
           count(*) filter (not reading) as writes,
           count(*) filter (not reading and continued and requested = largest and unstable)
               as writes_continued,
           count(*) filter (not reading and continued and not unstable) as writes_sync,
           count(distinct file) filter (not reading and continued and not unstable) as files_sync,
           count(*) filter (not reading and continued and unstable) as writes_unstable,
           count(*) filter (not reading and not coalesce(continued or continues, false)
                            and not unstable) as writes_alone,
           count(*) filter (reading and continued and as_large and requested < largest)
               as reads_smaller,
           count(*) filter (not reading and continued and as_large and requested < largest
                            and unstable) as writes_smaller,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (reading and requested = largest) as read_frames,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (not reading and requested = largest) as write_frames,
           arg_min(call_frame, (call_time, call_frame), {OPTION_EXAMPLES})
               filter (not reading and continued and not unstable) as sync_frames
    from transfers join largest using (mount, reading) where requested is not null group by mount
"""
