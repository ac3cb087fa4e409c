"""How many calls were under way at once.

Takes the calls of clients that were answered; each is under way from its first frame to the frame
that completes its reply. Gives the mean while any was, the peak, and the course over time in at
most `MOMENTS` equal parts of the capture.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from pcapnfs import columns, walks
from pcapnfs.analyses.asking.values import integer
from pcapnfs.analyses.captured import traffic
from pcapnfs.record import Record
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.trace import Trace

READS = columns.together(
    traffic.READS, columns.of(calls="mount callback call_first_time reply_time")
)
"""The columns that the queries here read."""

MOMENTS = 60
"""Parts into which the time is divided."""


class Moment(Record):
    """A part of the time."""

    at_s: float
    """When it begins, seconds from the first call."""
    calls: int
    """Calls that were sent in it."""
    outstanding: float
    """Calls under way, on average over this part."""


class Concurrency(Record):
    """Calls of clients that are sent and not answered, at an instant."""

    mean: float | None
    """Mean over the time in which any was under way; None without calls."""
    peak: int
    """The most at one instant."""
    busy_s: float
    """Time in which at least one was under way, seconds."""
    span_s: float
    """From the first call to the last reply, seconds."""


class Span(Record):
    """The time from the first answered call to the last reply, and how it is divided."""

    start_ns: int
    """When the first call began, nanoseconds since 1970."""
    end_ns: int
    """When the last reply was complete, likewise; later times are taken for this."""
    part_ns: int
    """How long each of the equal parts is, nanoseconds; the last may reach beyond the end."""


NOBODY = Concurrency(mean=None, peak=0, busy_s=0.0, span_s=0.0)
"""Without answered calls."""

Pair = tuple[str, str]
"""Addresses of client and server."""

LONGEST_NS = 2**62
"""Times further than this from the first call are taken for this far: 146 years."""

_ANSWERED = """
    answered as (
        select mount, call_first_time as sent,
               greatest(reply_time, call_first_time) as answered
        from calls where not callback and reply_time is not null
    )
"""


def concurrency(trace: Trace) -> tuple[Concurrency, Mapping[Pair, Concurrency]]:
    """Calls under way of all clients together, and of each client at each server."""
    known = _answered(trace).mounts()
    if not known:
        return NOBODY, {}
    pairs = list(dict.fromkeys(known.values()))
    places = {pair: place for place, pair in enumerate(pairs)}
    groups = {mount: places[pair] for mount, pair in known.items()}
    with closing(trace.cursor()) as cursor:
        rows = cursor.sql(
            f"with {_ANSWERED} select mount, sent as begin, answered as end from answered"
        )
        found = walks.under_way(rows, groups, longest_ns=LONGEST_NS)
    return _of(found[None]), {pair: _of(found[place]) for place, pair in enumerate(pairs)}


def timeline(trace: Trace) -> tuple[Moment, ...]:
    """Calls under way over time; nothing without answered calls.

    Up to a time x calls were under way for as long as the sum of x - sent over those sent before
    x, less the sum of x - answered over those answered before x. So counts and sums are enough.
    """
    found = span(trace)
    if found is None:
        return ()
    start, end, width = found.start_ns, found.end_ns, found.part_ns
    parts = {
        integer(place): [integer(value) for value in values]
        for place, *values in trace.rows(
            f"""
            with {_ANSWERED},
            calls as (
                select (least(sent, {end}) - {start}) // {width} as place, count(*) as calls,
                       sum(least(sent, {end}) - {start}) as calls_at
                from answered group by place
            ),
            replies as (
                select (least(answered, {end}) - {start}) // {width} as place, count(*) as replies,
                       sum(least(answered, {end}) - {start}) as replies_at
                from answered group by place
            )
            select place, calls, replies, calls_at, replies_at
            from calls full join replies using (place)
            """
        )
    }
    moments: list[Moment] = []
    sent = answered = sent_at = answered_at = before = 0
    for place in range(-(-(end - start + 1) // width)):
        calls, replies, calls_at, replies_at = parts.get(place, (0, 0, 0, 0))
        sent, answered = sent + calls, answered + replies
        sent_at, answered_at = sent_at + calls_at, answered_at + replies_at
        under_way = (place + 1) * width * (sent - answered) - (sent_at - answered_at)
        at_s = place * width / NANOSECONDS
        moments.append(Moment(at_s, calls, (under_way - before) / width))
        before = under_way
    return tuple(moments)


def span(trace: Trace) -> Span | None:
    """The time that `timeline` divides; None without answered calls."""
    known = _answered(trace)
    if not len(known):
        return None
    start = int(known.numbers["first_answered_ns"].min())
    end = min(int(known.numbers["last_answered_ns"].max()), start + LONGEST_NS)
    return Span(start, end, -(-(end - start + 1) // MOMENTS))


def _answered(trace: Trace) -> traffic.Lines:
    """Where calls were answered."""
    known = traffic.of_clients(trace)
    return known.where(known.numbers["answered"] > 0)


def _of(found: tuple[int, int, int, int]) -> Concurrency:
    """What a walk found (`walks.under_way`)."""
    span, busy, lengths, peak = found
    return Concurrency(
        mean=lengths / busy if busy else None,
        peak=peak,
        busy_s=busy / NANOSECONDS,
        span_s=span / NANOSECONDS,
    )
