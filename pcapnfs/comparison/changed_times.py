"""What only times tell: the network, what the server takes for each call, and locks of others.

Takes two sides, or several clients of both, and how their operations moved; gives what differs,
with what says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import units
from pcapnfs.analyses.times.showing import LEAST_CALLS, SMALL_OPERATIONS
from pcapnfs.analyses.wire.half import SCATTERED
from pcapnfs.comparison.cause import Cause, once
from pcapnfs.comparison.changed_windows import window
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.confidence import Confidence
from pcapnfs.diagnosis.rules.slower_path import FULL, LONGER, NARROW, STAYED
from pcapnfs.diagnosis.rules.tcp_loss import LEAST, WHOLE
from pcapnfs.record import Record
from pcapnfs.text import sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.comparison.each import Sides
    from pcapnfs.comparison.side import Side
    from pcapnfs.diagnosis.finding import Finding

TIMES = 1.8
"""How many times as long a round trip must be: halving it is a change that is made on purpose, and
less lies within what machines do from run to run."""

LEAST_S = 50e-6
"""Difference of round trips below which they are those of one machine or one switch."""

SERVED_S = 0.001
"""What a server takes at least for the median small call on the slower side to be told as slow: so
much `slow_service` tells."""

SERVED_TIMES = 3.0
"""How many times as long as on the other side that is."""

QUICKEST = 0.05
"""Part of the small calls that are the quickest."""

MANY = 100
"""Small calls on each side from which on they are likely to tell it."""

FEW_SMALL = 5
"""Small calls on each side from which on they tell it as possible where all of them took so much
longer: a program that unpacks an archive over NFSv3 makes hardly more than those of the mount."""

DOUBTING = 2
"""The same from which on they make another storage doubtful that moved by no more."""

OR_THE_SERVER = ", which a server that takes as long for its quickest calls would show as well"
"""What is said where only replies tell the longer round trip."""

BY_ANSWERS = "no calls tell it but such as may wait for the server's disks"
"""What is said where these replies may all have waited for storage."""

MOVING = "transfer_bound"
"""The finding on data that takes much of the time to move."""

BEGINS_WITH_BYTES = 14_600
"""What TCP sends before it has any acknowledgement, bytes (RFC 6928 section 2): it never has less
under way for long, unless segments are lost or the receiver has no room."""

LOCKS = "lock_contention"
"""The finding on locks that were waited for."""


TELLING = 3.0
"""How many times as many segments as one in which one is lost on the lossy side the other must have
for none of them to tell anything: by chance none of so many would be lost in one run of twenty."""


class OneSided(Record):
    """What a finding tells that may be so on one side only."""

    subject: str
    """The cause's."""
    finding: str
    """The finding's rule."""
    with_it: str
    """What it says."""
    without: str
    """What its absence does."""
    confidence: Confidence
    """How sure the two are."""
    ending: str = ""
    """What the finding's title ends with."""

    def is_told(self, found: Finding, side: Side) -> bool:
        """Whether a finding says so, and that it took time which is worth a word."""
        return (
            found.id == self.finding
            and not _few_lost(found, side)
            and bool(found.cost_s)
            and found.severity != "note"
            and found.title.endswith(self.ending)
        )


def _few_lost(found: Finding, side: Side) -> bool:
    """Whether a finding rests on a few segments, as may be lost in one run and not in the next."""
    return (
        found.id == "tcp_loss"
        and side.lost_segments < LEAST.value
        and not found.title.startswith(WHOLE)
    )


def _might_tell(found: Finding, mine: Side, other: Side) -> bool:
    """Whether the other side did enough for the same to show there.

    Not where it only asked whether anybody is there, or was not mounted; nor, of lost segments,
    where it sent so few that none need have been lost. That nothing gets through for a while is a
    matter of time.
    """
    if other.only_null or other.refused:
        return False
    if found.id != "tcp_loss" or found.title.startswith(WHOLE):
        return True
    return other.segments * mine.lost_segments >= TELLING * mine.segments


ONE_SIDED = (
    OneSided("path", "slower_path", "a link was full", "no link was full", "possible", FULL),
    OneSided("path", "slower_path", "a link is narrow", "no link was full", "possible", NARROW),
    OneSided(
        "path",
        "slower_path",
        "longer for a while than otherwise",
        "as long all along",
        "likely",
        LONGER,
    ),
    OneSided(
        "path", "slower_path", "longer from some time on", "as long all along", "likely", STAYED
    ),
    OneSided("loss", "tcp_loss", "TCP sends segments again", "none that cost time", "likely"),
    OneSided("loss", "rdma_loss", "RDMA sends packets again", "none that cost time", "likely"),
    OneSided(
        "locks",
        LOCKS,
        "clients or programs wait for those of others",
        "nobody waits for them",
        "likely",
    ),
    OneSided("grace", "grace_period", "calls wait for its end", "no call met it", "certain"),
)
"""A run that moves less need not fill a link; so the path is possible only."""


def networks(clients: Sequence[Sides]) -> Iterator[Cause]:
    """Round trips of each client: those that became longer, and those that became shorter.

    No two clients have the same to the microsecond: told are those of the first.
    """
    yield from _by_direction(clients, network, lambda side: side.way.rtt_s)


def _by_direction(
    clients: Sequence[Sides],
    ask: Callable[[Side, Side], Iterator[Cause]],
    took_s: Callable[[Side], float | None],
) -> Iterator[Cause]:
    """What is told of each client: once for those of whom it became longer, and once for others."""
    for longer in (True, False):
        chosen = (
            (client, ask(before, after))
            for client, before, after in clients
            if ((took_s(before) or 0.0) < (took_s(after) or 0.0)) is longer
        )
        yield from once(chosen, lambda cause: cause.subject)


def network(before: Side, after: Side) -> Iterator[Cause]:
    """Whether the round trip differs: the usual one as well as the shortest."""
    first, second = before.way, after.way
    if first.rtt_s is None or second.rtt_s is None:
        return
    # Gaps are an upper bound: of the shorter one that is enough.
    longer_side = before if first.rtt_s > second.rtt_s else after
    bounded = longer_side.way.source == "gaps"
    if bounded and not _alike(longer_side):
        return
    if first.floor_s is None or second.floor_s is None:
        return
    for one, other in ((first.rtt_s, second.rtt_s), (first.floor_s, second.floor_s)):
        longer, shorter = max(one, other), min(one, other)
        if longer < TIMES * shorter or longer - shorter < LEAST_S:
            return
    if (first.rtt_s < second.rtt_s) != (first.floor_s < second.floor_s):
        return
    undivided = longer_side.way.undivided
    usual = (
        f"the network's usual round trip ({_source(first.source)} before, "
        f"{_source(second.source)} after)"
    )
    yield Cause(
        "network_or_server" if undivided else "network_rtt",
        units.duration(first.rtt_s),
        units.duration(second.rtt_s),
        "possible" if bounded else "likely",
        f"{BY_ANSWERS if undivided else usual}; the shortest went from "
        f"{units.duration(first.floor_s)} to {units.duration(second.floor_s)}"
        f"{OR_THE_SERVER if bounded and not undivided else ''}",
    )


def services(clients: Sequence[Sides]) -> Iterator[Cause]:
    """What the server takes for the small calls of each client, where it became more, and less.

    Told is that of the first, as with `networks`.
    """
    yield from _by_direction(clients, service, served_s)


def service(before: Side, after: Side) -> Iterator[Cause]:
    """Whether the server takes another time for calls that need no storage.

    It does where the quickest small calls take longer as well as the usual ones: a server that has
    other work to do keeps some of them waiting, and answers others as soon as ever.
    """
    few = few_served(before, after)
    if few is not None and few.calls >= FEW_SMALL:
        yield _served(before, after, (few.before_s, few.after_s), "possible", ALL_OF_FEW)
        return
    first, second = served_s(before), served_s(after)
    quickest = _quickest_s(before), _quickest_s(after)
    if first is None or second is None or None in quickest:
        return
    for one, other in ((first, second), quickest):
        longer, shorter = max(one or 0.0, other or 0.0), min(one or 0.0, other or 0.0)
        if longer < SERVED_S or longer < SERVED_TIMES * shorter:
            return
    if (first < second) != ((quickest[0] or 0.0) < (quickest[1] or 0.0)):
        return
    calls = min(before.measured.small_calls, after.measured.small_calls)
    yield _served(before, after, (first, second), "likely" if calls >= MANY else "possible", "")


def _served(
    before: Side, after: Side, took_s: tuple[float, float], confidence: Confidence, whose: str
) -> Cause:
    return Cause(
        "server_service",
        f"{units.duration(took_s[0])} for a call that needs no storage",
        units.duration(took_s[1]),
        confidence,
        f"{whose}small calls took {units.duration(before.measured.small_median_s)} before and "
        f"{units.duration(after.measured.small_median_s)} after (medians), of which the network "
        f"took {units.duration(before.measured.network_rtt_s)} and "
        f"{units.duration(after.measured.network_rtt_s)}: the server's processor or threads, what "
        "it does for others, or names and attributes that come from its disks",
    )


ALL_OF_FEW = "all of the few "
"""How small calls are spoken of where they are too few to say what is usual."""


class FewServed(Record):
    """Small calls too few to say what is usual, which all took several times as long on a side."""

    calls: int
    """Small calls of the side that has fewer."""
    before_s: float
    """What of the median one is the server's before, seconds."""
    after_s: float
    """The same after."""


def few_served(before: Side, after: Side) -> FewServed | None:
    """What the server took for the small calls of sides that have few of them.

    None where they are enough for `service` to tell, or where the quickest of one side did not take
    `SERVED_TIMES` as long as the median of the other, and `SERVED_S`: a cold start, or a server
    that is busy now and then, keeps some of them waiting.
    """
    times = []
    for side in (before, after):
        network_s, each = side.measured.network_rtt_s, _small(side)
        if network_s is None or len(each) < DOUBTING:
            return None
        times.append(np.maximum(each - network_s, 0.0))
    if min(map(len, times)) >= LEAST_CALLS:
        return None
    first, second = (float(np.median(each)) for each in times)
    slow, fast_s = (times[0], second) if first > second else (times[1], first)
    if float(slow.min()) < max(SERVED_S, SERVED_TIMES * fast_s):
        return None
    return FewServed(min(map(len, times)), first, second)


def served_s(side: Side) -> float | None:
    """What of the median small call is the server's, seconds; None where nothing tells."""
    measured = side.measured
    median_s, network_s = measured.small_median_s, measured.network_rtt_s
    if median_s is None or network_s is None or measured.small_calls < LEAST_CALLS:
        return None
    return max(median_s - network_s, 0.0)


def _quickest_s(side: Side) -> float | None:
    """What of the quickest twentieth of small calls is the server's at most, seconds."""
    network_s, times = side.measured.network_rtt_s, _small(side)
    if network_s is None or len(times) < LEAST_CALLS:
        return None
    return max(float(np.quantile(times, QUICKEST)) - network_s, 0.0)


def _small(side: Side) -> NDArray[np.float64]:
    """What the client waited for each call that needs no storage, seconds."""
    small = [of_one.seconds for (_, op), of_one in side.times.items() if op in SMALL_OPERATIONS]
    return np.concatenate(small) if small else np.zeros(0)


def _alike(side: Side) -> bool:
    """Whether many quick replies took next to the same, as behind a path of that length.

    A server that is slow, however short the path, answers some calls much sooner than others.
    """
    rtt_s, floor_s = side.way.rtt_s, side.way.floor_s
    calls = sum(len(of_one.seconds) for of_one in side.times.values())
    return (
        side.measured.path.vantage == "client"
        and calls >= LEAST_CALLS
        and rtt_s is not None
        and floor_s is not None
        and rtt_s <= SCATTERED * floor_s
    )


def one_sided(before: Side, after: Side) -> Iterator[Cause]:
    """Whether what a finding tells of network, locks or server took time on one side only."""
    for each in ONE_SIDED:
        for mine, other, first in ((before, after, True), (after, before, False)):
            told = next((found for found in mine.findings if each.is_told(found, mine)), None)
            if (
                told is None
                or any(found.id == each.finding for found in other.findings)
                or not _might_tell(told, mine, other)
            ):
                continue
            seen = sentences(told.evidence)[0]
            yield Cause(
                each.subject,
                each.with_it if first else each.without,
                each.without if first else each.with_it,
                each.confidence,
                f"{'before' if first else 'after'}, {seen[:1].lower()}{seen[1:]}",
            )


def bandwidth(before: Side, after: Side) -> Iterator[Cause]:
    """Whether data moves faster on one side, and took much of the time on the other.

    TCP moves it slower over a longer path, where segments are lost and where a window is full: then
    these are the cause. Of the path, only where a round trip brings as much as any sender begins
    with: what is slower than that waits for something else.
    """
    if any(True for _ in window(before, after)) or any(
        cause.subject in ("path", "loss") for cause in one_sided(before, after)
    ):
        return
    slow, fast = (before, after) if _rate(before) < _rate(after) else (after, before)
    longer = any(True for _ in network(before, after))
    if (
        (longer and _rate(slow) * (slow.way.rtt_s or math.inf) >= BEGINS_WITH_BYTES)
        or _rate(fast) < TIMES * _rate(slow)
        or 2 * min(before.moved_bytes, after.moved_bytes)
        < max(before.moved_bytes, after.moved_bytes)
        or not any(found.id == MOVING and found.severity != "note" for found in slow.findings)
    ):
        return
    yield Cause(
        "bandwidth",
        f"{units.size(_rate(before))} a second",
        f"{units.size(_rate(after))} a second",
        "possible",
        f"while bytes of calls and replies were on their way: {units.size(before.moved_bytes)} in "
        f"{units.duration(before.measured.moving_s)} before, {units.size(after.moved_bytes)} in "
        f"{units.duration(after.measured.moving_s)} after; a slower link or port, a limit on it "
        "(shaper, cloud instance), or a host that sends or takes data more slowly",
    )


def _rate(side: Side) -> float:
    """Bytes a second while any moved; without end where they took no time."""
    moving_s = side.measured.moving_s
    return side.moved_bytes / moving_s if moving_s > 0 else math.inf


def lock_waits(before: Side, after: Side) -> Iterator[Cause]:
    """Whether clients that wait for locks on both sides waited longer on one, for as many calls."""
    if not all(any(found.id == LOCKS for found in side.findings) for side in (before, after)):
        return
    waits = [_waited_for_locks(side.measured) for side in (before, after)]
    shorter, longer = sorted(waits, key=lambda waited: waited.time_s)
    if (
        not shorter.calls
        or not longer.calls
        or longer.time_s - shorter.time_s < NOTICEABLE * longer.active_s
        or longer.time_s < TIMES * shorter.time_s
        or longer.time_s / longer.calls < TIMES * shorter.time_s / shorter.calls
    ):
        return
    first, second = (
        f"{units.duration(waited.time_s)} of {units.duration(waited.active_s)}" for waited in waits
    )
    yield Cause(
        "locks",
        f"clients waited {units.duration(waits[0].time_s)} for those of others",
        units.duration(waits[1].time_s),
        "possible",
        f"the time between calls in which they waited for a lock, clients added up: {first} before "
        f"and {second} after; who held it did so for longer, or they were told later that it was "
        "free",
    )


class _Waited(Record):
    """What clients waited for locks, added up."""

    time_s: float
    """Between calls, seconds."""
    active_s: float
    """From the first call of each to its last reply, seconds."""
    calls: int
    """Their calls."""


def _waited_for_locks(measured: Measurement) -> _Waited:
    if measured.clients is None:
        return _Waited(measured.locked.whole_s, measured.span_s, measured.calls)
    clocks = measured.clients.each
    return _Waited(
        sum(clock.locked_s for clock in clocks),
        sum(clock.active_s for clock in clocks),
        sum(clock.calls for clock in clocks),
    )


def _source(source: str) -> str:
    names = {"handshake": "handshake", "acks": "ACKs", "gaps": "gaps, at most"}
    return names.get(source, source)
