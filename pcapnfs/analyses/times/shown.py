"""What calls show of the round trip and of persistence: those of all clients, or of one.

Takes the line of time and places in it; gives means and medians (`call_times`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.asking.arrays import median
from pcapnfs.analyses.times.call_times import (
    Bounding,
    KindOfStable,
    bounded,
    data_median_s,
    kinds_of_stable,
    shows_storage,
    small_resent,
    stable_median_s,
)
from pcapnfs.record import Record

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from pcapnfs.analyses.times.timeline import Timeline
    from pcapnfs.analyses.wire.network_path import Way

    Places = NDArray[np.integer[Any]] | NDArray[np.bool_] | slice
    """Which elements of an array."""


class Shown(Record):
    """What some calls show: as of `ClientClock`, and `Measurement`."""

    small_median_s: float | None
    """Median service time of the calls that show the round trip, seconds; None without any."""
    stable_mean_s: float | None
    """Mean service time of the stable calls, seconds; None without any."""
    stable_median_s: float | None
    """Median of the same; None without any."""
    data_median_s: float | None
    """The same of those that store data; None with fewer than 30."""
    small_resent: bool
    """The round trip is the time until calls were sent again (`call_times.small_resent`)."""
    timed_once: int
    """Those of the stable calls that were sent once."""
    kinds: tuple[KindOfStable, ...]
    """Persistence by kind of stable call, longest sum first."""
    storage: NDArray[np.bool_]
    """Which of the stable calls tell by their time what the storage is."""


def shown(
    line: Timeline, small: Places, timed: Places, rtt_s: float | None, rtt_source: str
) -> Shown:
    """What calls show.

    Args:
        line: The calls on one line of time.
        small: Those that show the round trip.
        timed: The stable calls that show persistence.
        rtt_s: The round trip, seconds; None when nothing tells.
        rtt_source: What it rests on (`call_times.round_trip`).
    """
    quick, service = line.service_s[small], line.service_s[timed]
    operation, operations = line.operation[timed], line.operations
    storage = shows_storage(operation, operations)
    return Shown(
        small_median_s=median(quick) if len(quick) else None,
        stable_mean_s=float(service.mean()) if len(service) else None,
        stable_median_s=stable_median_s(service, storage),
        data_median_s=data_median_s(service, operation, operations),
        small_resent=small_resent(rtt_source, int(line.once[small].sum()), len(quick)),
        timed_once=int(line.once[timed].sum()),
        kinds=kinds_of_stable(service, operation, operations, rtt_s),
        storage=storage,
    )


def round_trip_of(
    line: Timeline, calls: Places, small: Places, unmoved_s: float, way: Way, *, enough: bool
) -> tuple[float | None, str, Way]:
    """The round trip that calls show, what it rests on, and the way (`call_times.bounded`).

    Args:
        line: The calls on one line of time.
        calls: Those that it is of.
        small: Those of them that show it.
        unmoved_s: For how long they were outstanding without transfer and postponement, seconds.
        way: What TCP tells of their network.
        enough: Whether a mean may rest on the small calls, as far as their number goes.
    """
    told = Bounding(
        calls=int(line.counted[calls].sum()),
        known=int(line.known[calls].sum()),
        stable=int(line.stable[calls].sum()),
        from_disk=int(line.from_disk[calls].sum()),
        unmoved_s=unmoved_s,
    )
    return bounded(line.service_s[small], way, enough, told)
