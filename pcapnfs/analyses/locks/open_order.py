"""Whether the OPENs of NFSv4.0 wait for one another.

An open-owner of NFSv4.0 numbers its OPENs, and the next may only be sent when the one before is
answered (RFC 7530 section 9.1.7). A client uses one owner for each of its users. NFSv4.1 has slots
instead. Takes a trace; gives for each client, server and user how its OPENs lay in time.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.levels import NONE_OPEN, levels
from pcapnfs.analyses.asking.service_time import NANOSECONDS, integer, whole
from pcapnfs.analyses.times import shares
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    population.CALLS_READS,
    shares.READS,
    columns.of(
        calls="call client server callback protocol op uid call_frame call_first_time reply_time"
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Calls(ops=("OPEN",))
"""Without an OPEN none waits for another."""

OWNERS = 100
"""Users that are looked at, most OPENs first: a hostile capture may have one for each call."""


class OpenOrder(Record):
    """One user of one client at one server."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    uid: int | None
    """AUTH_SYS user; None with other flavors."""
    opens: int
    """Its OPENs in NFSv4.0, answered."""
    overlapping: bool
    """Two of them were under way at once."""
    others_at_once: float
    """Other calls of the same client and user at this server, under way at once while any was, on
    average; 0 without any."""
    time_s: float
    """What the OPENs took of the clock (`shares`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of the first OPENs."""


def open_order(trace: Trace) -> tuple[OpenOrder, ...]:
    """Look at each user's OPENs, most first."""
    if not NEEDS.met(trace) or not any_opened(trace):
        return ()
    shares.register(trace)
    with closing(trace.cursor()) as cursor:
        cursor.execute(_OWNERS)
        owners = cursor.execute("from owners order by owner").fetchall()
        if not owners:
            return ()
        open_for = levels(cursor.sql(_CALLS), {key: key for key in range(2 * len(owners))})
    found = []
    for owner, client, server, uid, opens, time, frames in owners:
        place = integer(owner)
        opened = open_for.get(2 * place + 1, NONE_OPEN)
        others = open_for.get(2 * place, NONE_OPEN)
        found.append(
            OpenOrder(
                client=str(client),
                server=str(server),
                uid=whole(uid),
                opens=integer(opens),
                overlapping=opened.peak > 1,
                others_at_once=others.mean,
                time_s=integer(time) / NANOSECONDS,
                frames=tuple(integer(frame) for frame in frames),
            )
        )
    return tuple(found)


def any_opened(trace: Trace) -> bool:
    """Whether there is an OPEN of NFSv4.0: those of later versions have slots."""
    return bool(trace.rows(_ANY))


_OPENS = "protocol = '4.0' and op = 'OPEN' and reply_time is not null"

_ANY = f"select 1 from calls where {_OPENS} limit 1"

_OWNERS = f"""
    create temp table owners as
    select (row_number() over (order by opens desc, client, server, uid) - 1)::uinteger as owner, *
    from (
        select client, server, uid, count(*) as opens, sum(share) as time,
               arg_min(call_frame, (call_first_time, call), {EXAMPLES}) as frames
        from calls join shares using (call)
        where {_OPENS}
        group by client, server, uid
    )
    order by owner limit {OWNERS}
"""

_CALLS = """
    select call_first_time as begin, greatest(reply_time, call_first_time) as end,
           2 * owner + (op = 'OPEN')::uinteger as key
    from calls join owners
        on calls.client = owners.client and calls.server = owners.server
           and calls.uid is not distinct from owners.uid
    where protocol = '4.0' and not callback and reply_time is not null
"""
"""What each of them called: OPENs and others by keys of their own."""
