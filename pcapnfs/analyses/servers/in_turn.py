"""Whether a server works on one call at a time.

Takes the answered calls of all clients at servers some operation of which takes long
(`server_times`); gives for each server how many of them came while others were under way, the last
of which is about another object, and how many of those were answered before one that had come
earlier. Where calls are worked on side by side, and do not all take the same, short ones overtake
long ones; where there is one thread, or one disk that takes them as they come, none does. Calls
about one object wait for each other on any server, which locks it. How many would overtake another,
if each took its time by itself, is counted with what calls a little earlier took in place of what
each took: what the service times are like, and when calls come, is the same then, and only the
queue is gone. Calls sent again are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import given
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.server_times import ServerTime
    from pcapnfs.trace import Trace

READS = columns.of(
    calls="call server callback file directory op call_time reply_time first_arrived"
)
"""The columns that the query here reads."""

SLOW_S = 0.005
"""The median of an operation from which on a server is looked at."""

EARLIER = (4, 8, 16)
"""How many calls earlier those are that lend their times: behind those that stand in one queue with
them, and near enough for the load to be the same."""


OVERTOOK = 0.3
"""Share of the calls that would overtake others, if each took its time by itself, up to which a
server works on one call at a time."""


class InTurn(Record):
    """One server."""

    server: str
    """Its address."""
    behind: int
    """Calls that came while others were under way there, and behind one about another object."""
    overtook: int
    """Those of them that were answered before one that had come earlier."""
    apart: float
    """How many would have been if each took its time by itself: the mean over `EARLIER`."""
    median_s: float
    """Median of what those that came behind others took until their reply, seconds."""
    small: int = 0
    """Those of them that need neither storage nor data (`SMALL_OPERATIONS`)."""
    small_overtook: int = 0
    """Those of these that were answered before one that had come earlier."""


def in_turn(trace: Trace, times: Iterable[ServerTime]) -> tuple[InTurn, ...]:
    """Measure servers some operation of which takes long."""
    return of_servers(trace, {each.server for each in times if each.median_s >= SLOW_S})


def one_by_one(server: InTurn, least: float = LEAST_CALLS, overtook: float = OVERTOOK) -> bool:
    """Whether calls stand in one queue: many would overtake others, and hardly one does.

    Args:
        server: The server.
        least: Calls that are enough to tell.
        overtook: Share of those that would overtake others up to which hardly one does.
    """
    return (
        server.behind >= least
        and server.apart >= least
        and server.overtook <= overtook * server.apart
    )


def of_servers(trace: Trace, addresses: Iterable[str]) -> tuple[InTurn, ...]:
    """Measure these servers, in order of address; one without calls that came behind others not."""
    servers = sorted(addresses)
    if not servers:
        return ()
    rows = trace.rows(_QUERY, {"servers": given.text(servers)})
    return tuple(
        InTurn(
            str(server),
            integer(behind),
            integer(overtook),
            float(apart),
            took_ns / NANOSECONDS,
            integer(small),
            integer(small_overtook),
        )
        for server, behind, overtook, apart, took_ns, small, small_overtook in rows
    )


_QUERY = f"""
    with answered as (
        select call, server, coalesce(file, directory) as object, call_time, reply_time,
               coalesce({among("op", SMALL_OPERATIONS)}, false) as small,
               lag(object) over came as object_before,
               {
    ", ".join(
        f"call_time + lag(reply_time - call_time, {earlier}) over came as other_{earlier}"
        for earlier in EARLIER
    )
}
        from calls
        where not callback and reply_time is not null and first_arrived
            and server in (select {given.rows("servers", "varchar")})
        window came as (partition by server order by call_time, call)
    ),
    seen as (
        select server, reply_time - call_time as took, small,
               max(reply_time) over before > call_time and object <> object_before as behind,
               max(reply_time) over before > reply_time as overtook,
               {
    ", ".join(
        f"max(other_{earlier}) over before > other_{earlier} as overtook_{earlier}"
        for earlier in EARLIER
    )
}
        from answered
        window before as (partition by server order by call_time, call
                          rows between unbounded preceding and 1 preceding)
    )
    select server, count(*), count(*) filter (overtook),
           ({" + ".join(f"count(*) filter (overtook_{earlier})" for earlier in EARLIER)})
               / {len(EARLIER)},
           median(took), count(*) filter (small), count(*) filter (small and overtook)
    from seen where behind group by server order by server
"""
