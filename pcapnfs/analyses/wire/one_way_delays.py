"""Whiles in which what a server sent took longer to come, as the clock in its segments shows.

Takes when each reply came, and what the server's clock said when it sent it (`reply_clock`, RFC
7323); gives, for each client and server, when the way back was longer than otherwise, by how much,
and what calls took longer for it.

The clock is read when a segment leaves, so the difference to when it comes holds the way back, and
nothing that the server did before: where that grows, it was the way, however slow the server is.
How far the clock is ahead of that of the capture nobody knows, but that stays the same, but for how
fast both run: that is measured, and taken off. What the way there took is not in it. Of that no
more is taken for the path's than the way back was longer, and only where even the quickest of
several calls took as much longer than the same operation otherwise: a path that has become longer
mostly has both ways, and where it was the way back alone, answers show that, too. A clock that was
set, of either end, makes no answer later, so it shows nothing.

Only small replies tell: a large one stands behind its own bytes on a link, and so does what is
sent behind it, also on another connection of the same client and server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking import by_call, given, parts
from pcapnfs.analyses.asking.arrays import distinct, find, median
from pcapnfs.analyses.asking.once import once
from pcapnfs.analyses.captured import clock_ticks, traffic
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.wire import round_trip
from pcapnfs.analyses.wire.message_times import ANSWERED
from pcapnfs.analyses.wire.round_trip import round_trips
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pcapnfs.analyses.wire.round_trip import RoundTrip
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Columns = dict[str, NDArray[Any]]

READS = columns.together(
    clock_ticks.READS,
    round_trip.READS,
    traffic.READS,
    columns.of(
        calls="call mount connection callback op reply_first_time reply_time srt reply_bytes "
        "reply_clock first_arrived"
    ),
)
"""The columns that the queries here read."""

RATES = (10, 64, 100, 128, 250, 256, 300, 500, 512, 1000, 1024, 1_000_000)
"""Ticks in a second that hosts are known to count; one that counts otherwise tells nothing here."""

RATE_SHARE = 0.05
"""What is measured is so near to one of them: a path that becomes longer meanwhile adds to it."""

LISTENED_NS = 200_000_000
"""A clock that was listened to for less is not known."""

DRIFT = 0.0005
"""Clocks of hosts run apart by no more: that is as fast as NTP sets them right."""

SLICES = 16
"""A connection's time is looked at in so many parts to measure how fast its clocks run apart …"""

LAG = 4
"""… by what those differ that are so many apart: a change of the path is between a few of them."""

TOGETHER = 8
"""Not even the quickest of so many answers, one after the other, was sooner: less is chance. It is
a power of two."""

LEAST_NS = 2_000_000
"""What was less longer is no change of the path …"""

TICKS = 2
"""… nor what was fewer ticks of the clock, with those of the capture's own where it ticks, …"""

VARIES = 2.0
"""… nor less than so many times what answers usually take longer than the quickest of those
together with them: on a path that varies, a few are late by chance."""

MANY = 20
"""Fewer late answers of a client and a server show nothing."""

LASTED = 10
"""A path that became longer stays so for as many times what it became longer by; what waited for
one moment comes at once when that is over."""

AS_LATE = 0.75
"""Calls took longer by so much of what the way back did, at least: less is no path."""

LARGE_BYTES = 4096
"""Replies of so many bytes are large."""

TABLE = "one_way_delays"
"""The table that `register` makes, with a row for each call that was answered over a longer way:
`call`; `inside`, what it took longer for that, ns, and no more than its service time holds."""


class LongerWay(Record):
    """A while in which the way back from one server to one client was longer."""

    client: str
    """Address of the client."""
    server: str
    """Address of the server."""
    connections: int
    """Connections on which it was seen."""
    from_ns: int
    """When the first of the replies came that were late, nanoseconds since 1970."""
    until_ns: int
    """When the last of them came."""
    answers: int
    """Small replies that show it."""
    back_s: float
    """How much longer the way back was: the median, seconds."""
    more_s: float
    """How much longer the round trip was for it: the median, seconds."""
    usual_s: float
    """The usual round trip to the server, seconds."""
    sure: bool
    """What the quickest calls took longer is all the path's, to a quarter."""
    stays: bool
    """The last replies of all of these connections were as late."""


class LongerWays(Record):
    """All of a trace, and the calls that took longer for them."""

    ways: tuple[LongerWay, ...]
    """In order of time."""
    call: NDArray[np.uint64]
    """Number of each call (table calls)."""
    inside_ns: NDArray[np.int64]
    """What it took longer, ns."""


@once
def longer_ways(trace: Trace) -> LongerWays:
    """Find them."""
    pairs = {
        (pair.client, pair.server): pair
        for pair in round_trips(trace).pairs
        if pair.vantage != "server" and pair.server_side.rtt_s is not None
    }
    if not pairs:
        return _of({})
    mounts = traffic.mounts(trace)
    timed = {
        int(connection): (pair, int(mount))
        for connection, mount in trace.rows(
            _TIMED, {"many": MANY, "least": LEAST_NS, "listened": LISTENED_NS}
        )
        if (pair := pairs.get(mounts.get(mount, ("", "")))) is not None
    }
    if not timed:
        return _of({})
    found: dict[tuple[str, str], list[Columns]] = {}
    small = _each(parts.arrays(trace, _SMALL.format(connections=given.text(timed))), "connection")
    asked = given.text({mount for _, mount in timed.values()})
    others = parts.arrays(trace, _OTHERS.format(mounts=asked))
    large = others["bytes"] >= LARGE_BYTES
    moved = {
        mount: _Moved.of(each["begun"], each["came"])
        for mount, each in _each(
            {name: others[name][large] for name in ("mount", "call", "came", "begun")}, "mount"
        ).items()
    }
    nothing_moved = _Moved.of(*2 * (np.zeros(0, np.int64),))
    others_of = _each(
        {name: others[name] for name in ("connection", "call", "came", "took")}, "connection"
    )
    del others
    tick_ns = (clock(trace).tick_s or 0.0) * NANOSECONDS
    for connection, (pair, mount) in timed.items():
        late = _late(
            small[connection],
            moved.get(mount, nothing_moved),
            others_of.get(connection),
            round((pair.server_side.rtt_s or 0.0) * NANOSECONDS),
            tick_ns,
        )
        if late is not None:
            found.setdefault((pair.client, pair.server), []).append(late)
    return _of({pairs[key]: late for key, late in found.items()})


@once
def register(trace: Trace) -> bool:
    """Make the table `one_way_delays` of a trace, and say whether there is anything in it.

    Where no way was longer there is no table.
    """
    found = longer_ways(trace)
    if not len(found.call):
        return False
    by_call.create(trace, TABLE, found.call, inside=found.inside_ns)
    return True


def _each(answers: Columns, key: str) -> dict[int, Columns]:
    """Those of each connection, or whatever a column says, in the order in which they came."""
    order = np.lexsort((answers["call"], answers["came"], answers[key]))
    # One column after the other: each goes as soon as it is in order.
    ordered = {name: answers.pop(name)[order] for name in list(answers)}
    keys = distinct(ordered[key])
    begins = find(ordered[key], keys)
    ends = np.append(begins, len(order))[1:]
    return {
        int(number): {name: column[begin:end] for name, column in ordered.items()}
        for number, begin, end in zip(keys, begins, ends, strict=True)
    }


class _Moved(Record):
    """Large replies of one client and server."""

    ended: NDArray[np.int64]
    """When the last byte of each came, ascending; ns."""
    begun: NDArray[np.int64]
    """When the first byte came of the first of it and of all that ended later; one more: never."""

    @classmethod
    def of(cls, begun: NDArray[np.int64], ended: NDArray[np.int64]) -> _Moved:
        """Those that came from one time to another."""
        order = np.argsort(ended)
        never = np.iinfo(np.int64).max
        return cls(
            ended=ended[order],
            begun=np.minimum.accumulate(np.append(begun[order], never)[::-1])[::-1],
        )

    def between(self, since: Floats, until: NDArray[np.int64]) -> Flags:
        """Whether any of it came between two times."""
        return np.array(self.begun[find(self.ended, since)] <= until)


def _late(
    small: Columns, moved: _Moved, others: Columns | None, usual_ns: int, tick_ns: float
) -> Columns | None:
    """Of one connection, the calls that were answered over a longer way; None without any.

    Args:
        small: Its calls with small replies that say what the clock was, as these came.
        moved: The large replies of its client and server.
        others: Its other calls; None without any.
        usual_ns: The usual round trip, ns.
        tick_ns: The tick of the capture's clock, ns; 0 where it tells microseconds.

    Returns:
        The `call` and what it took longer, `inside`; of those that show it when they `came`, how
        much longer the way `back` was, the round trip (`more`), and what the quickest took
        `longer`; and whether the last of all do (`stays`).
    """
    came, took = small["came"], small["took"].astype(np.float64)
    if np.ptp(_even_the_quickest(took)) < AS_LATE * LEAST_NS:
        return None
    delays = _delays(came, small["clock"])
    if delays is None:
        return None
    back, tick = delays
    by_chance, back = back, _even_the_quickest(back)
    by_chance -= back
    usual = back <= median(back)
    varies = VARIES * median(by_chance[usual])
    back -= np.partition(back, TOGETHER - 1)[TOGETHER - 1]
    late = back >= max(LEAST_NS, TICKS * (tick + tick_ns), varies)
    # What was sent behind a large reply stood behind its bytes.
    late &= ~moved.between(came - back, came)
    if late.sum() < MANY:
        return None
    longer = _even_the_quickest(took - _floors(small["op"], took, late, usual_ns))
    late &= longer >= AS_LATE * back
    more = np.minimum(longer, 2 * back)
    late &= _lasting(late, came, more)
    if not late.any():
        return None
    shown = np.where(late, more, 0.0)
    all_of_it = [each for each in (small, others) if each is not None]
    call = np.concatenate([each["call"] for each in all_of_it])
    inside = np.concatenate(
        [
            np.minimum(_between(came, shown, each["came"]), each["took"]).astype(np.int64)
            for each in all_of_it
        ]
    )
    return {
        "call": call[inside > 0],
        "inside": inside[inside > 0],
        "came": came[late],
        "back": back[late],
        "more": more[late],
        "longer": longer[late],
        "stays": np.array([late[-TOGETHER:].any()]),
    }


def _delays(came: NDArray[np.int64], clock: NDArray[np.int64]) -> tuple[Floats, float] | None:
    """How long each answer was on its way, ns, but for what is the same for all; and a tick, ns.

    None where nothing is known of how fast the clock ticks.
    """
    # Numbers of 32 bits that begin anew: what is older than the one before came in another order.
    steps = np.diff(clock.astype(np.uint32)).astype(np.int32).astype(np.int64)
    ticks = np.append(0, np.cumsum(steps))
    since = (came - came[0]).astype(np.float64)
    if since[-1] < LISTENED_NS or ticks[-1] <= 0:
        return None
    measured = ticks[-1] * NANOSECONDS / since[-1]
    rate = min(RATES, key=lambda rate: abs(measured - rate) / rate)
    if abs(measured - rate) > RATE_SHARE * rate:
        return None
    delays = since - ticks * (NANOSECONDS / rate)
    drift = _drift(since, delays)
    if abs(drift) > DRIFT:
        return None
    return delays - drift * since, NANOSECONDS / rate


def _drift(since: Floats, delays: Floats) -> float:
    """How much faster one clock runs than the other.

    It shows in what the quickest answers of two parts of the time mostly differ by, since a change
    of the path lies between a few of these; where it went on for most of the time, as a queue that
    grows, in those of the beginning and the end.
    """
    slices = np.minimum((since * (SLICES / since[-1])).astype(np.int64), SLICES - 1)
    order = np.lexsort((delays, slices))
    _, places = np.unique(slices[order], return_index=True)
    quickest = np.full(SLICES, -1)
    quickest[slices[order][places]] = order[places]
    one, other = quickest[:-LAG], quickest[LAG:]
    both = (one >= 0) & (other >= 0)
    if both.sum() < LAG:
        return 0.0
    one, other = one[both], other[both]
    slopes = (delays[other] - delays[one]) / (since[other] - since[one])
    each = median(slopes)
    if abs(each) <= DRIFT:
        return each
    first, last = np.flatnonzero(slices < LAG), np.flatnonzero(slices >= SLICES - LAG)
    begin, end = first[np.argmin(delays[first])], last[np.argmin(delays[last])]
    return float((delays[end] - delays[begin]) / (since[end] - since[begin]))


def _even_the_quickest(values: Floats) -> Floats:
    """Each value, but no more than the least of some neighbours together with it, whichever."""
    edge = np.full(TOGETHER - 1, -np.inf)
    least = _of_neighbours(values, np.minimum)
    return _of_neighbours(np.concatenate([edge, least, edge]), np.maximum)


def _of_neighbours(values: Floats, chosen: np.ufunc) -> Floats:
    """Of each value and those behind it, `TOGETHER` in all, the least or the largest."""
    step = 1
    while step < TOGETHER:
        values = chosen(values[:-step], values[step:])
        step *= 2
    return values


def _floors(op: NDArray[Any], took: Floats, late: Flags, usual_ns: int) -> Floats:
    """What the quickest calls of each operation took while the way was no longer, ns.

    Of one that there are few of it is the round trip, which none is quicker than.
    """
    floors = np.full(len(took), float(usual_ns))
    for each in distinct(op):
        of_it = took[(op == each) & ~late]
        if len(of_it) >= TOGETHER:
            floors[op == each] = np.partition(of_it, TOGETHER - 1)[TOGETHER - 1]
    return floors


def _lasting(late: Flags, came: NDArray[np.int64], more: Floats) -> Flags:
    """Those of the late answers, one after the other, that came over a longer time."""
    kept = np.zeros(len(late), np.bool_)
    turns = np.flatnonzero(np.diff(np.concatenate([[False], late, [False]]).astype(np.int8)))
    for begin, end in turns.reshape(-1, 2):
        if came[end - 1] - came[begin] >= LASTED * more[begin:end].min():
            kept[begin:end] = True
    return kept


def _between(came: NDArray[np.int64], more: Floats, times: NDArray[np.int64]) -> Floats:
    """What the round trip was longer at some times: the less of what it was before and after."""
    before = np.maximum(np.searchsorted(came, times, "right") - 1, 0)
    after = np.minimum(np.searchsorted(came, times), len(came) - 1)
    within = (times >= came[0]) & (times <= came[-1])
    return np.where(within, np.minimum(more[before], more[after]), 0.0)


def _of(found: dict[RoundTrip, list[Columns]]) -> LongerWays:
    """The ways of all clients and servers."""
    ways, calls = [], []
    for pair, connections in found.items():
        came, back, more, longer = (
            np.concatenate([each[name] for each in connections])
            for name in ("came", "back", "more", "longer")
        )
        if len(came) < MANY:
            continue
        calls += connections
        ways.append(
            LongerWay(
                client=pair.client,
                server=pair.server,
                connections=len(connections),
                from_ns=int(came.min()),
                until_ns=int(came.max()),
                answers=len(came),
                back_s=median(back) / NANOSECONDS,
                more_s=median(more) / NANOSECONDS,
                usual_s=pair.server_side.rtt_s or 0.0,
                sure=bool(more.sum() >= AS_LATE * longer.sum()),
                stays=all(each["stays"].any() for each in connections),
            )
        )
    return LongerWays(
        ways=tuple(sorted(ways, key=lambda way: (way.from_ns, way.client, way.server))),
        call=np.concatenate([np.zeros(0, np.uint64), *(each["call"] for each in calls)]),
        inside_ns=np.concatenate([np.zeros(0, np.int64), *(each["inside"] for each in calls)]),
    )


# Of others nothing tells which transmission was answered.
_TIMELY = "not callback and srt >= 0 and first_arrived"

_TELLS = f"(reply_bytes < {LARGE_BYTES} and reply_clock is not null)"

_TIMED = f"""
    select connection, any_value(mount) from calls where {_TIMELY} and {_TELLS}
    group by connection
    having count(*) >= $many and max(srt) - min(srt) >= $least
       and max({ANSWERED}) - min({ANSWERED}) >= $listened
    order by connection
"""

_SMALL = f"""
    select call, connection, (hash(op) >> 33)::integer as op, {ANSWERED} as came, srt as took,
           reply_clock as clock
    from calls where {_TIMELY} and {_TELLS} and connection in ({{connections}})
"""

_OTHERS = f"""
    select call, connection, mount, {ANSWERED} as came, srt as took,
           greatest(coalesce(reply_first_time, reply_time), 0) as begun,
           reply_bytes::bigint as bytes
    from calls where {_TIMELY} and not {_TELLS} and mount in ({{mounts}})
"""
