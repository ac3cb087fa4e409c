"""What calls take, of all clients or of one: the round trip that they show, and persistence.

Takes the service times of calls as the client saw them, and what TCP tells of the network; gives
means and medians, each with what it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.asking.arrays import median
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.analyses.wire.network_path import NOTHING
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.wire.network_path import Way

    Floats = NDArray[np.float64]


class KindOfStable(Record):
    """What one kind of stable call takes for persistence."""

    op: str
    """Procedure, or main operation of the compounds."""
    calls: int
    """Calls that the mean rests on."""
    persist_s: float | None
    """Mean service time as the client saw it, less the round trip, seconds, not below 0; None with
    fewer than 30 calls, or without a round trip."""


MEANS = ("calls", "few_calls")
"""Sources of a round trip that is the mean of small calls."""

BOUND = "gaps"
"""The source of one that is an upper bound: what of it is the server's, nothing tells."""


NEARLY_ALL = 0.95
"""Share of some calls that are such from which on the quickest are, by the 5th percentile."""

FROM_DISK = ("READ", "READDIR", "READDIRPLUS", "READ_PLUS")
"""Operations that may wait for a disk though they are not stable: what they tell of a file or of a
whole directory need not be in the server's memory."""

ERRORS = 2.0
"""Standard errors of a mean within which it lies with 95 %."""


def slow_s(rtt_s: float | None, usual_s: float | None, calls: int) -> float:
    """What round trips of some calls take beyond what half of the small calls take at most, s.

    Args:
        rtt_s: The round trip, seconds; None where nothing tells it.
        usual_s: What these take, seconds; None where it is not their mean.
        calls: The calls.
    """
    return 0.0 if rtt_s is None or usual_s is None else max(0.0, rtt_s - usual_s) * calls


def round_trip(small: Floats, network: Way, enough: bool | None = None) -> tuple[float | None, str]:
    """The round trip that the client saw, seconds, and what it rests on; None when nothing tells.

    Args:
        small: Service times of the calls that show it, seconds.
        network: What TCP tells.
        enough: Whether a mean may rest on the calls, as far as their number goes; None: if there
            are 30. Where TCP tells the network, or a bound that is shorter, a mean that a few of
            them make is none.
    """
    if len(small) >= LEAST_CALLS if enough is None else enough:
        mean_s = float(small.mean())
        tells = network.rtt_s is not None and (network.source != BOUND or network.rtt_s < mean_s)
        if not (tells and _blurred(small)):
            return mean_s, "calls"
    if network.source == BOUND and len(small):
        # An upper bound of the network says less than the calls, whose times it is in.
        return median(small), network.source
    if network.rtt_s is not None:
        # What the server takes for the least of them.
        floor = network.rtt_s if network.floor_s is None else network.floor_s
        base = max(0.0, float(small.min()) - floor) if len(small) else 0.0
        # A path that was shorter for a moment has that in its least, and the calls may not.
        most = max(network.rtt_s, median(small)) if len(small) else network.rtt_s
        return min(network.rtt_s + base, most), network.source
    return (float(small.mean()), "few_calls") if len(small) else (None, "none")


class Bounding(Record):
    """The calls of whose round trip nothing but a bound may be known."""

    calls: int
    """How many they are, answered or not."""
    known: int
    """Those of which it is known whether they were stable."""
    stable: int
    """Those of these that were."""
    from_disk: int
    """Those of the others that may have waited for a disk all the same (`FROM_DISK`)."""
    unmoved_s: float
    """For how long they were outstanding without transfer and postponement, added up, seconds."""


def bounded(
    small: Floats, network: Way, enough: bool | None, calls: Bounding
) -> tuple[float | None, str, Way]:
    """The same, held against the calls where it is but a bound by them; and the way, likewise.

    What nearly all stable calls took at least is no round trip. Of others it is one without what
    moved meanwhile: replies that come behind the bytes of others are late for these, and a full
    link is no longer one. Where nearly all may have waited for storage, it is undivided.

    Args:
        small: Service times of the calls that show it, seconds.
        network: What TCP tells.
        enough: That of `round_trip`.
        calls: All calls.
    """
    rtt_s, source = round_trip(small, network, enough)
    if rtt_s is None or source != BOUND or len(small):
        return rtt_s, source, network
    by_answers = network.by_answers
    if by_answers and nearly_all(calls.stable, calls.known):
        return None, "none", NOTHING
    rtt_s = min(rtt_s, calls.unmoved_s / max(1, calls.calls))
    undivided = by_answers and nearly_all(calls.stable + calls.from_disk, calls.known)
    return rtt_s, source, replace(network, rtt_s=rtt_s, undivided=undivided)


def nearly_all(some: int, calls: int) -> bool:
    """Whether even the quickest of some calls are such, so that a bound by them is one of these.

    Of stable ones that wait for storage it tells no round trip: a filter that keeps large packets
    alone (`greater 200`) leaves no others, nor any ACK. With those that may wait for a disk, it is
    one of the network and the server together.

    Args:
        some: How many of them are such.
        calls: All of them, without those of which nothing tells whether they are.
    """
    return 0 < NEARLY_ALL * calls <= some


def _blurred(times: Floats) -> bool:
    """Whether a mean lies within two standard errors of nothing: a few of the calls make it."""
    error_s = float(times.std(ddof=1)) / math.sqrt(len(times))
    return float(times.mean()) < ERRORS * error_s


def kinds_of_stable(
    service_s: Floats, operation: NDArray[np.int16], operations: tuple[str, ...], rtt: float | None
) -> tuple[KindOfStable, ...]:
    """Persistence by kind of stable call, longest sum first.

    Args:
        service_s: Service times of the stable calls that show it, seconds.
        operation: Which of `operations` each is.
        operations: Names of the stable operations.
        rtt: The round trip, seconds; None when nothing tells.
    """
    count = np.bincount(operation, minlength=len(operations))
    total = np.bincount(operation, service_s, minlength=len(operations))
    return tuple(
        KindOfStable(
            op=operations[place],
            calls=int(count[place]),
            persist_s=None
            if rtt is None or count[place] < LEAST_CALLS
            else max(0.0, float(total[place] / count[place]) - rtt),
        )
        for place in np.argsort(-total, kind="stable")
        if count[place]
    )


STORE_DATA = ("COMMIT", "WRITE")
"""Stable operations that put a file's data on stable storage; the others change names and
attributes."""


UNSTORED = ("REMOVEXATTR", "SETACL", "SETXATTR")
"""Stable operations by whose time nothing is told of the storage: no RFC lists them among those
that must be stored before the reply, and Linux's server (6.1 to 7.2) answers them from memory
while a SETATTR waits for the disk."""


def shows_storage(operation: NDArray[np.int16], operations: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which of some stable calls tell by their time what the storage is.

    Args:
        operation: Which of `operations` each is.
        operations: Names of the stable operations.
    """
    places = [place for place, name in enumerate(operations) if name in UNSTORED]
    return ~np.isin(operation, places)


def stable_median_s(service_s: Floats, shows: NDArray[np.bool_]) -> float | None:
    """Median service time of stable calls, seconds; None without any.

    Args:
        service_s: Service times of stable calls as the client saw them, seconds.
        shows: Which of them tell what the storage is; all count where none does.
    """
    told = service_s[shows] if shows.any() else service_s
    return median(told) if len(told) else None


def data_median_s(
    service_s: Floats, operation: NDArray[np.int16], operations: tuple[str, ...]
) -> float | None:
    """Median service time of the stable calls that store data, s; None with fewer than 30.

    Args:
        service_s: Service times of stable calls as the client saw them, seconds.
        operation: Which of `operations` each is.
        operations: Names of the stable operations.
    """
    places = [place for place, name in enumerate(operations) if name in STORE_DATA]
    stored = service_s[np.isin(operation, places)]
    return median(stored) if len(stored) >= LEAST_CALLS else None


SENT_ONCE = 0.5
"""Share of some calls that were sent once, below which they do not show what a call takes: most of
their time is that until they were sent again."""


def mostly_resent(once: int, calls: int) -> bool:
    """Whether most of some calls were sent again before they were answered.

    Args:
        once: How many of them were sent once.
        calls: All of them.
    """
    return once < SENT_ONCE * calls


def beyond_usual(again_s: Mapping[str, float], once: int, calls: int) -> dict[str, float]:
    """What calls took longer since they were sent again, where it is in no mean, by row, seconds.

    That is what is left of the time beyond round trips and persistence: means rest on calls that
    were sent once, unless too few were. Of calls of unknown outcome nobody knows more.

    Args:
        again_s: What they took longer than others of their kind, by row of the time budget.
        once: How many of the stable calls that show persistence were sent once.
        calls: All of these.
    """
    inside = ("unknown",) if once == calls else ("unknown", "stable")
    return {row: time_s for row, time_s in again_s.items() if row not in inside}


def small_resent(rtt_source: str, once: int, calls: int) -> bool:
    """Whether a round trip is the time until calls were sent again.

    Args:
        rtt_source: What it rests on (`round_trip`).
        once: How many of the calls that show it were sent once.
        calls: All of these.
    """
    if rtt_source in (*MEANS, BOUND):
        return mostly_resent(once, calls)
    # By TCP it is the network's, and what the server took for the quickest of them.
    return not once and calls > 0


def beyond_round_trips(again_s: float, round_trips_s: float, *, resent: bool) -> float:
    """What of the time that calls took longer since they were sent again is in no round trip, s.

    Args:
        again_s: That time, seconds.
        round_trips_s: What is booked to round trips, seconds.
        resent: These are themselves the time until calls were sent again (`small_resent`).
    """
    return max(0.0, again_s - round_trips_s) if resent else again_s


def persistence(mean_s: float | None, calls: int, rtt_s: float | None) -> float | None:
    """What a stable call takes longer than a round trip, seconds, not below 0.

    None with fewer than 30 calls, or without a round trip.

    Args:
        mean_s: Mean service time of the stable calls, seconds; None without any.
        calls: How many the mean rests on.
        rtt_s: The round trip, seconds; None when nothing tells.
    """
    if rtt_s is None or mean_s is None or calls < LEAST_CALLS:
        return None
    return max(0.0, mean_s - rtt_s)
