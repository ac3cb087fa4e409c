"""Stable calls that waited for storage where most of their kind did not: it was slow for some.

Takes a trace; gives for each client the stable calls that took as long as a disk does, and another
round trip, longer than a small call, at a server where half of their kind took far less. A mean
hides these: a minute of a slow disk is lost among ten of a quick one. It is the storage only if
nothing else makes calls as slow: so the calls that came while no other was under way there must
show it, and small calls must not, neither on the whole nor those right before the slow ones. A
processor, a queue, or a path that was slow for a while delays these as well. Calls whose wait is
told elsewhere are left out: those that were sent again, that TCP's retransmission timer or a longer
path held up, that the server stood still or called a delegation back for; and those that take as
long as data is large, as for `exports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import distinct, median
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.asking.texts import among
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.servers import stored_calls
from pcapnfs.analyses.servers.same_calls import TOLD_LATER
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.programs import NFS_PROGRAMS
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.trace import Trace

READS = columns.together(
    clock_ticks.READS,
    traffic.READS,
    stored_calls.READS,
    columns.of(
        calls="call mount server program callback op stability call_time reply_time srt "
        "first_arrived status_name",
    ),
)
"""The columns that the queries here read."""

LEAST_NS = 4_000_000
"""A slow call takes so much longer than a small one, at least: what a disk does …"""

ROUND_TRIPS = 1
"""… and so many small calls, whichever is more: times of a long path differ by more."""

USUAL = 0.5
"""The median of its kind is longer than a small call by less than this part of that: calls of a
kind that is slow as a rule were not slow for a while."""

KIND_CALLS = 10
"""Calls of a kind that tell what is usual for it."""

SELDOM = 0.1
"""Slow small calls take of a small call, on average, at most this part of what slow stable calls
take of a stable one, and of those right before slow ones at most this share is slow: stable calls
take several turns of a processor for one that a small call takes, but not ten."""

NEAR_NS = 1_000_000_000
"""Right before is so long before, at most."""

OFTENER = 2.0
"""Where calls that came behind others are slow so many times as often as those that did not, they
waited for these, and only the others count, unless most of these were slow meanwhile."""

LONGER = 1.5
"""Nor do they count where they waited so many times as long as those, in the median: for a queue as
well."""

MINOR = 0.05
"""Part of the time of all calls to a server that slow ones take there at least: less is not worth
mentioning."""

MOST = 0.8
"""They stand together where the shortest stretch of time that holds this part of what they took
longer …"""

TOGETHER = 0.5
"""… has few like calls between them that were quick: at least this part of those in it is slow."""

APART = 4
"""A slow call that comes so many like calls or more behind another, with those in between quick, is
none of the same while: of calls that are slow now and then few follow one another so soon."""


class SlowStorage(Record):
    """Stable calls of one client, or of all, that waited for storage: others hardly did."""

    calls: int
    """How many."""
    time_s: float
    """What they took longer than a small call, added up, seconds."""
    while_ns: tuple[int, int] | None = None
    """From when until when most of that was, nanoseconds since 1970, with the slow calls right
    before and after, where like calls that came meanwhile were mostly slow: storage was slow for a
    while. None where they are scattered."""

    @property
    def mean_s(self) -> float:
        """What each of them took longer than a small call, mean, seconds."""
        return self.time_s / self.calls


def together(found: Iterable[SlowStorage]) -> SlowStorage | None:
    """Those of several as one; None without any."""
    each = tuple(found)
    if not each:
        return None
    spans = [one.while_ns for one in each if one.while_ns is not None]
    begins, ends = zip(*spans, strict=True) if len(spans) == len(each) else ((), ())
    return SlowStorage(
        calls=sum(one.calls for one in each),
        time_s=sum(one.time_s for one in each),
        while_ns=(min(begins), max(ends)) if begins else None,
    )


@once
def slow_storage(trace: Trace) -> dict[str, SlowStorage]:
    """Those of each client that has any, by address.

    Nothing where the capture's clock ticks too slowly to tell.
    """
    if clock(trace).tick_s is not None or not any_slow(trace):
        return {}
    slow = trace.arrays(_SLOW.format(left_out=stored_calls.left_out(trace)))
    of, mounts = slow["mount"], traffic.mounts(trace)
    by_client: dict[str, list[SlowStorage]] = {}
    for mount in distinct(of).tolist():
        found = _of_mount({name: values[of == mount] for name, values in slow.items()})
        by_client.setdefault(mounts[mount][0], []).append(found)
    return {client: one for client, each in by_client.items() if (one := together(each))}


def _of_mount(slow: Mapping[str, NDArray[Any]]) -> SlowStorage:
    """What the slow calls of one mount, in order of time, come to."""
    sent, longer, behind = slow["sent"], slow["longer"], slow["behind"]
    span = _while(sent[~behind], longer[~behind], slow["own_place"][~behind])
    queued = bool(slow["queued"][0])
    counted = np.full(len(sent), True)
    if queued:
        # Those that came behind others are slow for that; or as the rest is, while most of it was.
        counted = ~behind if span is None else ~behind | (sent >= span[0]) & (sent <= span[1])
    others = counted & behind
    if others.any() and median(longer[others]) > LONGER * median(longer[~behind]):
        counted = ~behind
    elif not queued:
        span = _while(sent, longer, slow["place"])
    return SlowStorage(
        calls=int(counted.sum()),
        time_s=float(longer[counted].sum()) / NANOSECONDS,
        while_ns=span,
    )


def _while(
    sent: NDArray[np.int64], longer: NDArray[np.int64], place: NDArray[np.int64]
) -> tuple[int, int] | None:
    """From when until when most slow calls were sent; None where they are scattered.

    Args:
        sent: When each was sent, ascending.
        longer: What it took longer.
        place: Its place among all like them.
    """
    begin, end = shortest(sent, longer)
    if end - begin + 1 < TOGETHER * (place[end] - place[begin] + 1):
        return None
    begin, end = _longest(place, begin, end)
    return int(sent[begin]), int(sent[end])


def _longest(place: NDArray[np.int64], begin: int, end: int) -> tuple[int, int]:
    """A stretch of slow calls with what comes right before and after it.

    Args:
        place: The place of each slow call among all like them.
        begin: The first of the stretch.
        end: The last of it.
    """
    apart = np.flatnonzero(np.diff(place) > APART) + 1
    before, after = apart[apart <= begin], apart[apart > end]
    first = int(before[-1]) if len(before) else 0
    return first, int(after[0]) - 1 if len(after) else len(place) - 1


def shortest(times: NDArray[np.int64], weights: NDArray[np.int64]) -> tuple[int, int]:
    """Places of the first and the last of some times between which most of the weight is.

    Args:
        times: Times, ascending; at least one.
        weights: The weight of each, above 0.
    """
    whole = np.cumsum(weights.astype(np.float64))
    before = whole - weights
    last = np.searchsorted(whole, before + MOST * whole[-1])
    enough = np.flatnonzero(last < len(times))
    length = times[last[enough]] - times[enough]
    first = int(enough[np.argmin(length)])
    return first, int(last[first])


def any_slow(trace: Trace) -> bool:
    """Whether there can be any: most captures have none to ask further about."""
    ((found,),) = trace.rows(_ANY)
    return bool(found)


_ANY = f"""
    with stored as (
        select mount, srt from calls
        where not callback and stability = 'stable' and srt is not null and {stored_calls.PERHAPS}
    ),
    usual as (
        select mount, median(srt) as usual from stored
        group by mount having count(*) >= {2 * LEAST_CALLS}
    ),
    slow as (
        select mount, sum(srt::double) as longer
        from stored join usual using (mount)
        where srt >= greatest({LEAST_NS}, usual + {USUAL * LEAST_NS})
        group by mount having count(*) >= {LEAST_CALLS}
    ),
    whole as (
        select mount, sum(srt::double) as whole
        from calls semi join slow using (mount) where not callback
        group by mount
    )
    select exists (select 1 from slow join whole using (mount) where longer >= {MINOR} * whole)
"""

_ASKED = f"""
    {stored_calls.SETS},
    went as (
        select call, mount, server, op, call_time, reply_time, srt::double as srt,
               {stored_calls.SIZE_CLASS} as size_class,
               first_arrived and not {TOLD_LATER}
                   as shows,
               stability = 'unstable' and {among("op", SMALL_OPERATIONS)} as small,
               stability = 'stable' and {stored_calls.SIMILAR} as stored,
               coalesce(
                   max(reply_time) over (
                       partition by server order by call_time, call
                       rows between unbounded preceding and 1 preceding
                   ) > call_time, false
               ) as behind
        from calls left join small_files on small_file = calls.file
        where not callback and program in {NFS_PROGRAMS} and srt is not null
    )
"""

# The last delegation called back before a reply tells whether one was while its call was under way.
_SLOW = f"""
    with {_ASKED},
    recalls as (
        select server, call_time as recalled from calls where callback and op = 'CB_RECALL'
    ),
    shown as (
        select * from went anti join resized using (call) {{left_out}}
        where shows and (small or stored)
    ),
    undisturbed as (
        select shown.* from shown asof left join recalls
             on shown.server = recalls.server and shown.reply_time >= recalled
        where recalled is null or recalled < call_time
    ),
    usual as (
        select mount, median(srt) as usual, avg(srt) as mean,
               greatest({LEAST_NS}, {ROUND_TRIPS} * usual) as least
        from undisturbed where small and not behind
        group by mount having count(*) >= {LEAST_CALLS}
    ),
    timed as (
        select undisturbed.*, srt - mean as longer, srt - usual as beyond, least,
               beyond >= least as slow
        from undisturbed join usual using (mount)
    ),
    kinds as (
        select mount, op, coalesce(size_class, 0) as size_class
        from timed where stored group by all
        having count(*) >= {KIND_CALLS} and median(beyond) < {USUAL} * any_value(least)
    ),
    told as (
        select * from (select * replace (coalesce(size_class, 0) as size_class) from timed)
             semi join kinds using (mount, op, size_class)
        where stored
    ),
    stored_ones as (
        select mount, count(*) filter (slow and not behind) as alone,
               avg(slow::integer) filter (not behind) as share,
               coalesce(avg(slow::integer) filter (behind), 0) as crowd,
               avg(case when slow then longer else 0 end) filter (not behind) as lost
        from told group by mount having alone >= {LEAST_CALLS}
    ),
    small_ones as (
        select mount, avg(case when slow then longer else 0 end) as lost
        from timed where small and not behind group by mount
    ),
    befores as (
        select mount as whose, call as before, slow as late, call_time as asked
        from timed where small and not behind
    ),
    near as (
        select mount, avg(late::integer) as late
        from (
            select distinct mount, before, late
            from (select mount, call_time from told where slow and not behind) as its
                 asof join befores on mount = whose and call_time >= asked
            where call_time - asked <= {NEAR_NS}
        )
        group by mount having count(*) >= {LEAST_CALLS}
    ),
    proven as (
        select mount, crowd > {OFTENER} * share as queued
        from stored_ones join small_ones using (mount) join near using (mount)
        where small_ones.lost <= {SELDOM} * stored_ones.lost and late <= {SELDOM}
    ),
    counted as (
        select mount, call_time, slow, longer, behind, queued,
               row_number() over (partition by mount order by call_time, call) as place,
               row_number() over (partition by mount, behind order by call_time, call) as own_place
        from told join proven using (mount)
    )
    select mount, call_time as sent, round(longer)::bigint as longer, behind, queued, place,
           own_place
    from counted where slow order by mount, place
"""
