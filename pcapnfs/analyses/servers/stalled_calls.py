"""The few calls that took a second or more where all others like them took a small part of it.

Takes a trace; gives for each server the calls that took a second at least, and many times what
calls of their operation usually take, where a client has only a few of them: the server, or what it
needed for them, stood still for a while. Calls whose wait is told elsewhere are left out:
those that were sent again, that TCP's retransmission timer or a longer path held up, that the
server asked to send again, or that came while it called a delegation back. Of a clock that ticks
slowly a call took a tick less than it says, at least.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import columns
from pcapnfs.analyses.asking import paths
from pcapnfs.analyses.asking.examples import EXAMPLES, FILES_SHOWN
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.asking.values import integer, seconds
from pcapnfs.analyses.captured import clock_ticks
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.times import shares
from pcapnfs.analyses.wire import queued_replies, slower_path, tcp_stalls
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

CALLS_READS = columns.together(
    clock_ticks.READS,
    queued_replies.READS,
    shares.READS,
    slower_path.READS,
    tcp_stalls.STALLED_READS,
    columns.of(
        calls="call client server program callback op stability call_frame call_time "
        "reply_first_time reply_time srt first_arrived status_name"
    ),
)
"""The columns that tell which calls these are."""

READS = columns.together(
    CALLS_READS,
    columns.of(calls="reply_frame file directory", files="file path"),
)
"""The columns that the queries here read."""

LEAST_NS = 1_000_000_000
"""What such a call takes at least: users notice a second."""

TIMES = 20
"""And so many times the median of its operation."""

LEAST_CALLS = 10
"""Calls of an operation that tell what it usually takes."""

LEAST_OTHERS = 20
"""Calls of any kind that tell the same of an operation with fewer: it must have taken so many times
the longest of them."""

FEW = 5
"""So many of them are few …"""

FEW_SHARE = 0.01
"""… or, of many calls, this share of those between client and server."""

OF_ITS_OBJECT = ("REMOVE", "RENAME", "SETATTR", "READDIR", "READDIRPLUS")
"""Operations that take as long as their object is large (a file that is freed or cut, a directory):
others tell nothing of them."""

ANY_AMOUNT = ("COMMIT", "COPY", "CLONE", "ALLOCATE", "DEALLOCATE", "SEEK")
"""Operations on any amount of data: nothing is usual for them."""

TABLE = "stalled_calls"
"""The table that `register` makes, with a row for each: `call`, `client`, `server`, `op`; `row` of
the time budget; `begun`, when it was sent, ns since 1970; `took` and `usual`, what it and the
median of its operation took, ns, or that of its row where the operation has few calls (`alike` is
false); `part`, what it took of the clock longer than that, ns."""


class StalledCalls(Record):
    """Such calls to one server."""

    server: str
    """Address of the server."""
    clients: tuple[str, ...]
    """Addresses of the clients that made them, that of the longest first."""
    calls: int
    """How many."""
    asked: int
    """All calls of these clients there."""
    moments: int
    """Stretches of time in which any of them was under way."""
    operations: tuple[str, ...]
    """Their main operations, the most frequent first."""
    paths: tuple[str, ...]
    """Their objects, that of the longest first; not escaped."""
    longest_op: str
    """Main operation of the longest."""
    longest_s: float
    """What it took from the call to the first byte of the reply, without what other replies or a
    longer path held it up, seconds."""
    usual_s: float | None
    """Median service time of its operation, of the same client, seconds; None where that has too
    few calls, and it is the others by which it stands out."""
    from_ns: int
    """When it was sent, nanoseconds since 1970."""
    others_s: float | None
    """The longest service time of all other calls of these clients there, seconds; None without
    any."""
    answered_meanwhile: int
    """Calls to the server, of any client, that were sent and answered while the longest waited."""
    time_s: Mapping[str, float]
    """What they took of the clock longer than is usual for them, seconds by row of the time
    budget."""
    frames: tuple[int, ...]
    """Example frames: of calls and replies, the longest first."""


class StoodStill(Record):
    """What such calls took longer than is usual, added up."""

    calls_s: float = 0.0
    """Seconds."""
    calls: int = 0
    """How many calls these are."""


class Excess(Record):
    """The same of each, with an element for each call."""

    call: NDArray[np.uint64]
    """Number of each (table calls), ascending."""
    longer_ns: NDArray[np.int64]
    """What it took longer than is usual for its operation, ns."""


class _Call(NamedTuple):
    """A row of `_TOLD`."""

    client: str
    op: str
    row: str
    begun: int
    took: int
    usual: int
    alike: bool
    part: int
    call_frame: int
    reply_frame: int
    file: int | None


def stalled_calls(trace: Trace) -> tuple[StalledCalls, ...]:
    """Put together, for each server, what took longest first."""
    if not register(trace):
        return ()
    found: defaultdict[str, list[_Call]] = defaultdict(list)
    for server, *values in trace.rows(_TOLD):
        found[server].append(_Call(*values))
    shown = {
        server: dict.fromkeys(call.file for call in calls if call.file is not None)
        for server, calls in found.items()
    }
    with closing(trace.cursor()) as cursor:
        told = paths.told(
            cursor, (islice(files, 10 * FILES_SHOWN) for files in shown.values()), FILES_SHOWN
        )
    named = dict(zip(shown, told, strict=True))
    beside = {server: values for server, *values in trace.rows(_BESIDE)}
    meanwhile = dict(trace.rows(_MEANWHILE))
    return tuple(
        _of_server(server, calls, named[server], *beside[server], meanwhile=meanwhile[server])
        for server, calls in sorted(found.items(), key=lambda each: (-each[1][0].took, each[0]))
    )


def excess(trace: Trace) -> Excess | None:
    """What each took longer; None where there are none."""
    return Excess(**trace.arrays(_LONGER)) if register(trace) else None


def stood_still_by_client(trace: Trace) -> dict[str, StoodStill]:
    """What those of each client took longer."""
    if not register(trace):
        return {}
    return {
        client: StoodStill(seconds(longer) or 0.0, integer(calls))
        for client, longer, calls in trace.rows(_BY_CLIENT)
    }


@once
def register(trace: Trace) -> bool:
    """Make the table `stalled_calls` of a trace, and say whether there can be anything in it.

    Where no call took so long there is no table.
    """
    if not any_long(trace):
        return False
    shares.register(trace)
    query = _CALLS.format(
        queues=queued_replies.rows(trace),
        slower=slower_path.waits(trace),
        left_out=tcp_stalls.left_out(trace),
        tick=round((clock(trace).tick_s or 0.0) * NANOSECONDS),
    )
    with closing(trace.cursor()) as cursor:
        cursor.execute(f"create table {TABLE} as {query}")
    return True


def any_long(trace: Trace) -> bool:
    """Whether any call took so long at all: most captures have none to ask further about."""
    ((found,),) = trace.rows(_ANY)
    return bool(found)


def _of_server(
    server: str,
    calls: list[_Call],
    names: tuple[str, ...],
    asked: int,
    others: int | None,
    *,
    meanwhile: int,
) -> StalledCalls:
    """What there is to tell of calls, of which the longest comes first."""
    longest = calls[0]
    times: Counter[str] = Counter()
    for call in calls:
        times[call.row] += call.part
    named = Counter(call.op for call in calls)
    return StalledCalls(
        server=server,
        clients=tuple(dict.fromkeys(call.client for call in calls)),
        calls=len(calls),
        asked=integer(asked),
        moments=_moments(calls),
        operations=tuple(sorted(named, key=lambda op: (-named[op], op))),
        paths=names,
        longest_op=longest.op,
        longest_s=seconds(longest.took) or 0.0,
        usual_s=(seconds(longest.usual) or 0.0) if longest.alike else None,
        from_ns=longest.begun,
        others_s=seconds(others),
        answered_meanwhile=integer(meanwhile),
        time_s={row: seconds(time) or 0.0 for row, time in sorted(times.items())},
        frames=tuple(
            dict.fromkeys(
                frame for call in calls[:EXAMPLES] for frame in (call.call_frame, call.reply_frame)
            )
        ),
    )


def _moments(calls: list[_Call]) -> int:
    """Stretches of time in which any of the calls was under way."""
    found, until = 0, 0
    for begun, ended in sorted((call.begun, call.begun + call.took) for call in calls):
        found += not found or begun > until
        until = max(until, ended)
    return found


_SUSPECT = f"""
    not callback and srt >= {LEAST_NS} and first_arrived and program in {NFS_PROGRAMS}
    and not {TOLD_LATER}
    and not {among("op", ANY_AMOUNT)}
"""

_ANY = f"select exists (select 1 from calls where {_SUSPECT})"

# A damaged capture may claim any times; the difference of two before 1970 need not fit.
_CALLS = f"""
    with suspects as (
        select call, client, server, op, stability, call_time, reply_time, srt,
               greatest(reply_first_time, 0) - greatest(call_time, 0) as waited
        from calls {{left_out}}
        where {_SUSPECT}
    ),
    recalls as (
        select server, call_time as recalled from calls where callback and op = 'CB_RECALL'
    ),
    timed as (
        select suspects.*,
               least(waited, srt) - coalesce(queued, 0) - coalesce(inside, 0) as took
        from suspects asof left join recalls
             on suspects.server = recalls.server and suspects.reply_time >= recalled
             left join ({{queues}}) using (call) left join ({{slower}}) using (call)
        where recalled is null or recalled < call_time
    ),
    of_ops as (
        select client, server, op, median(srt)::bigint as of_op, count(*) as number
        from calls semi join suspects using (client, server, op)
        where not callback and srt is not null
        group by client, server, op
    ),
    of_row as (
        select client, server, stability, median(srt)::bigint as usual_of_row
        from calls semi join suspects using (client, server) anti join suspects using (call)
        where not callback and srt is not null and first_arrived
        group by client, server, stability
    ),
    pairs as (
        select client, server, count(*) as asked, count(srt) as answered,
               max(srt) filter (late.call is null and first_arrived) as longest
        from calls semi join suspects using (client, server)
             left join (select call from suspects) as late using (call)
        where not callback group by client, server
    )
    select call, client, server, op, stability as row, call_time as begun, took,
           number >= {LEAST_CALLS} as alike,
           case when alike then of_op else coalesce(usual_of_row, 0) end as usual,
           (coalesce(share, 0) * ((took - usual)::double / greatest(srt, 1)))::bigint as part
    from timed join of_ops using (client, server, op) join pairs using (client, server)
         left join of_row using (client, server, stability) left join shares using (call)
    where took - {{tick}} >= {LEAST_NS}
          and case when number >= {LEAST_CALLS} then took - {{tick}} >= {TIMES} * of_op
                   else answered > {LEAST_OTHERS} and took - {{tick}} >= {TIMES} * longest
                        and stability <> 'state' and not {among("op", (*OF_ITS_OBJECT, "NULL"))}
              end
    qualify count(*) over (partition by client, server) <= greatest({FEW}, {FEW_SHARE} * asked)
"""

_LONGER = f"""
    select call::ubigint as call, (took - usual)::bigint as longer_ns from {TABLE} order by call
"""

_BY_CLIENT = f"""
    select client, sum(took - usual)::bigint, count(*) from {TABLE} group by client
"""

_TOLD = f"""
    select stalled.server, stalled.client, stalled.op, row, begun, took, usual, alike, part,
           call_frame, reply_frame, coalesce(file, directory)
    from {TABLE} as stalled
         join (select call, call_frame, reply_frame, file, directory from calls) as its using (call)
    order by took desc, call
"""

_BESIDE = f"""
    select server, count(*), max(srt) filter (stalled.call is null)
    from calls semi join {TABLE} using (client, server)
         left join (select call from {TABLE}) as stalled using (call)
    where not callback
    group by server
"""

_MEANWHILE = f"""
    with longest as (
        select arg_max(call, (took, -call::bigint)) as call from {TABLE} group by server
    ),
    waits as (
        select server, call_time as begun, reply_time as ended
        from calls semi join longest using (call)
    )
    select server, count(*) filter (calls.call_time > begun and calls.reply_time < ended)
    from calls join waits using (server) where not callback
    group by server
"""
