"""Whether the OPENs of NFSv4.0 wait for one another.

An open-owner of NFSv4.0 numbers its OPENs and CLOSEs, and the next may only be sent when the one
before is answered (RFC 7530 section 9.1.7). A client uses one owner for each of its users. NFSv4.1
has slots instead. Takes a trace; gives for each client, server and user how these lay in time.

A program that does one thing after the other sends an OPEN as soon as it has closed the file
before, too, and closes one file after the other (cp its copy and then what it copied); but it sends
no CLOSE as soon as another file is open, for it reads or writes in between. Where many CLOSEs come
so, they had to wait for the OPENs of other programs.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.asking import population
from pcapnfs.analyses.asking.examples import EXAMPLES
from pcapnfs.analyses.asking.levels import NONE_OPEN, levels
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, whole
from pcapnfs.analyses.data import moves
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import at_once
from pcapnfs.analyses.wire.at_once import AT_ONCE_NS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

OPENED_READS = columns.of(calls="protocol op reply_time")
"""The columns that `any_opened` reads."""

READS = columns.together(
    population.CALLS_READS,
    OPENED_READS,
    at_once.READS,
    shares.READS,
    columns.of(
        calls="call client server callback protocol op uid file stability call_frame "
        "call_first_time reply_time"
    ),
)
"""The columns that the queries here read."""

NEEDS = population.Calls(ops=("OPEN",))
"""Without an OPEN none waits for another."""

IN_ORDER = ("CLOSE", "OPEN", "OPEN_CONFIRM", "OPEN_DOWNGRADE")
"""Operations that an open-owner numbers (RFC 7530 section 9.1.7)."""

NUMBERED = f"""
    protocol = '4.0' and {among("op", IN_ORDER)} and not callback and reply_time is not null
"""
"""SQL: an open-owner numbered a call, which was answered."""

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
    closes: int
    """Its CLOSEs in NFSv4.0, answered."""
    handed_over: int
    """Those of them that were sent as soon as an OPEN of another file was answered."""
    others_at_once: float
    """Other calls of the same client and user at this server, under way at once while any was, on
    average; 0 without any."""
    time_s: float
    """What the OPENs took of the clock (`shares`), seconds."""
    ordered_s: tuple[tuple[str, float], ...]
    """By row of the time budget, what all calls took of it that are sent one after the other
    (`IN_ORDER`), seconds."""
    frames: tuple[int, ...]
    """Example frames: of the first OPENs."""
    between: int = 0
    """OPENs of other files between that of a file and its CLOSE, in the median: of so many programs
    each opened one meanwhile, unless one keeps as many files open."""
    most_at_once: int = 1
    """Most of its calls that were under way at once, without READs, WRITEs and COMMITs: a client
    sends several of these for one program."""


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
        open_for = levels(cursor.sql(_CALLS), {key: key for key in range(3 * len(owners))})
        ways = at_once.ways_ns(trace)
        asked = [ways.get((str(client), str(server)), 0) for _, client, server, *_ in owners]
        handed = dict(cursor.execute(_HANDED, {"ways": asked}).fetchall())
        between = dict(cursor.execute(_BETWEEN).fetchall())
        ordered = cursor.execute(_ORDERED).fetchall()
    found = []
    for owner, client, server, uid, opens, closes, time, frames in owners:
        place = integer(owner)
        others, opened, all_of_it = (open_for.get(3 * place + kind, NONE_OPEN) for kind in range(3))
        found.append(
            OpenOrder(
                client=str(client),
                server=str(server),
                uid=whole(uid),
                opens=integer(opens),
                overlapping=opened.peak > 1,
                closes=integer(closes),
                handed_over=integer(handed.get(owner, 0)),
                others_at_once=others.mean,
                time_s=integer(time) / NANOSECONDS,
                ordered_s=tuple(
                    (str(row), integer(took) / NANOSECONDS)
                    for whose, row, took in ordered
                    if whose == owner
                ),
                frames=tuple(integer(frame) for frame in frames),
                between=integer(between.get(owner, 0)),
                most_at_once=all_of_it.peak,
            )
        )
    return tuple(found)


@once
def any_opened(trace: Trace) -> bool:
    """Whether there is an OPEN of NFSv4.0: those of later versions have slots."""
    return bool(trace.rows(_ANY))


_OPENS = "protocol = '4.0' and op = 'OPEN' and reply_time is not null"

_ANY = f"select 1 from calls where {_OPENS} limit 1"

_OWNERS = f"""
    create temp table owners as
    select (row_number() over (order by opens desc, client, server, uid) - 1)::uinteger as owner, *
    from (
        select client, server, uid, count(*) filter (op = 'OPEN') as opens,
               count(*) filter (op = 'CLOSE') as closes, sum(share) filter (op = 'OPEN') as time,
               arg_min(call_frame, (call_first_time, call), {EXAMPLES}) filter (op = 'OPEN')
                   as frames
        from calls join shares using (call)
        where protocol = '4.0' and op in ('CLOSE', 'OPEN') and reply_time is not null
        group by client, server, uid having count(*) filter (op = 'OPEN') > 0
    )
    order by owner limit {OWNERS}
"""

_CALLS = f"""
    select call_first_time as begin, greatest(reply_time, call_first_time) as end,
           (3 * owner + unnest(
               case when {among("op", moves.KINDS)} then [0] else [(op = 'OPEN')::uinteger, 2] end
           ))::uinteger as key
    from calls join owners
        on calls.client = owners.client and calls.server = owners.server
           and calls.uid is not distinct from owners.uid
    where protocol = '4.0' and not callback and reply_time is not null
"""
"""What each of them called, by keys of their own: others than OPENs, OPENs, and all but the data
that a client reads ahead, or writes back, for one program."""

_OWNED = f"""
    from calls join owners
        on calls.client = owners.client and calls.server = owners.server
           and calls.uid is not distinct from owners.uid
    where {NUMBERED}
"""
"""What each of them sent one after the other."""

_HANDED = f"""
    with ways as (select unnest($ways)::bigint as way, unnest(range(len($ways))) as owner),
    steps as (
        select owner, op, call_first_time, reply_time, file, call {_OWNED}
    ),
    handed as (
        select owner, op = 'CLOSE' and lag(op) over earlier in ('OPEN', 'OPEN_CONFIRM')
                   and file is distinct from lag(file) over earlier
                   and call_first_time - lag(reply_time) over earlier - way
                       between -way and {AT_ONCE_NS} as handed
        from steps join ways using (owner)
        window earlier as (partition by owner order by call_first_time, call)
    )
    select owner, count(*) from handed where handed group by owner
"""

_BETWEEN = f"""
    with steps as (
        select owner, op, file, call_first_time, call,
               count(case when op = 'OPEN' then 1 end) over (
                   partition by owner order by call_first_time, call
               ) as opens
        {_OWNED}
    ),
    closing as (
        select owner, op, opens - lag(opens) over same as between,
               lag(op) over same in ('OPEN', 'OPEN_CONFIRM') as opened
        from steps window same as (partition by owner, file order by call_first_time, call)
    )
    select owner, floor(median(between))::bigint from closing where op = 'CLOSE' and opened
    group by owner
"""

_ORDERED = f"""
    select owner, stability, sum(share)
    from (select owner, call, stability {_OWNED}) join shares using (call)
    group by owner, stability order by owner, stability
"""
