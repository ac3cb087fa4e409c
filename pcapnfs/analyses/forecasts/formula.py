"""The arithmetic of the model: what a run takes, from what a file costs.

Takes numbers, or NumPy arrays of them where many runs are resampled at once; gives the same kind.
Knows no trace. The plain formula is that of practitioners,

    files × (RPCs/file × RTT + syncops/file × persist)

and the forecast adds what it leaves out: calls that take longer than a round trip without being
stable (reads, listings, transfer), round trips of the lock manager, the overlap of calls, and the
client's own time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Number = TypeVar("Number", float, "NDArray[np.float64]")


ROUNDING_S = 1e-9
"""What is no time, seconds: captures have no shorter times."""


class Costs(Record, Generic[Number]):
    """What a run is made of; times in seconds."""

    files: Number
    """Files, or directories where no regular file is addressed."""
    rpcs_per_file: Number
    """Calls for each of them, those on directories included."""
    rtt_s: Number
    """Round trip of a call that needs no storage, as the client sees it."""
    syncops_per_file: Number
    """Stable calls for each file."""
    persist_s: Number
    """What a stable call takes longer than a round trip."""
    other_s: Number
    """What the calls of a file take beyond round trips and persistence: reads, listings, transfer.
    Negative where other calls are faster than those that the round trip was taken from."""
    client_s: Number
    """The client's own time for each call, without pauses."""
    pauses_s: Number
    """Pauses of the client in all, which do not grow with the number of calls."""
    concurrency: Number
    """Calls that are under way at the same time while any is."""
    unsure_s: Number | float = 0.0
    """The part of `other_s` of calls that may have been stable or not."""
    unsure_calls: Number | float = 0.0
    """Such calls of a file."""
    unseen_s: Number | float = 0.0
    """The part of the client's time for a file in which it may have waited for such calls."""
    locks_per_file: Number | float = 0.0
    """Calls of the lock manager (NLM) for each file: round trips beside those of its RPCs."""
    slow_s: Number | float = 0.0
    """The part of a file's round trips that a few slow ones of the small calls make, of these and
    of stable calls."""
    queue_s: Number | float = 0.0
    """The part of a round trip in which a call waited until its server was done with others."""
    turns: Number | float = 1.0
    """How many times as long a call holds up the clock as the overlap of all calls says: above 1
    where most calls come one by one, and long ones many at a time."""
    stored_turns: Number | float = 1.0
    """The same of what stable calls take beyond a round trip."""
    longer_s: Number | float = 0.0
    """What round trips that were changed take of a file beyond what that overlap says."""
    stored_s: Number | float = 0.0
    """The same of persistence that was changed."""
    serial_rpcs: Number | float = 0.0
    """Calls of a file that come one after the other, however many streams there are."""
    serial_syncops: Number | float = 0.0
    """Those of them that are stable."""
    serial_other_s: Number | float = 0.0
    """What these calls take beyond round trips and persistence; negative where they take less."""
    least_s: Number | float = 0.0
    """What the run takes at least with as many streams as were assumed, for these calls alone."""
    unshared_s: Number | float = 0.0
    """What of the clock calls of a file take with these, however many are under way: in `other_s`
    so many times as there are."""

    @property
    def all_rpcs_per_file(self) -> Number:
        """Calls for each file that take a round trip."""
        return self.rpcs_per_file + self.locks_per_file

    @property
    def locks_s(self) -> Number:
        """The lock manager's round trips of a file."""
        return self.locks_per_file * self.rtt_s

    @property
    def beside_s(self) -> Number:
        """What the calls of a file take beyond the plain formula."""
        return self.other_s + self.locks_s

    @property
    def served_s(self) -> Number:
        """What a call takes that is not waiting for others: on average, stable or not."""
        return (
            self.rtt_s - self.queue_s + self.persist_s * self.syncops_per_file / self.rpcs_per_file
        )

    @property
    def one_by_one(self) -> Costs[Number]:
        """The same with one call after the other."""
        alone = self.concurrency * 0.0 + 1.0
        return replace(self, concurrency=alone, longer_s=0.0, stored_s=0.0)

    @property
    def no_faster(self) -> Costs[Number]:
        """The same with no more calls at the same time than leave it the least that it takes."""
        fixed_s = self.files * self.unshared_s
        shared_s = positive(self.forecast_s - self.client_time_s - fixed_s)
        # Where calls take no time but for rounding, it is no matter how many there are.
        none = (shared_s <= ROUNDING_S) * 1.0
        lacking_s = positive(self.least_s - self.forecast_s) * (1.0 - none)
        concurrency = self.concurrency * ((shared_s + none) / (shared_s + lacking_s + none))
        return replace(
            self,
            concurrency=concurrency,
            other_s=self.other_s - self.unshared_s * (self.concurrency - concurrency),
        )

    @property
    def first_order_s(self) -> Number:
        """The plain formula."""
        return self.files * (
            self.rpcs_per_file * self.rtt_s + self.syncops_per_file * self.persist_s
        )

    @property
    def _rpcs_s(self) -> Number:
        """Round trips of a file."""
        return self.all_rpcs_per_file * self.rtt_s + self.longer_s

    @property
    def _syncops_s(self) -> Number:
        """Persistence of a file."""
        return self.syncops_per_file * self.persist_s + self.stored_s

    @property
    def round_trips_s(self) -> Number:
        """What round trips take of the forecast."""
        return self.files * positive(self._rpcs_s) / self.concurrency

    @property
    def persistence_s(self) -> Number:
        """What persistence takes of the forecast."""
        return self.files * positive(self._syncops_s) / self.concurrency

    @property
    def beyond_s(self) -> Number:
        """What calls take of the forecast beyond both; no less than leaves them no time at all."""
        # Of calls that were more of the clock than the overlap of all says, this had a part.
        over = positive(-self._rpcs_s) + positive(-self._syncops_s)
        over = over - positive(over - positive(self.other_s))  # No more than there is.
        beyond = self.files * (self.other_s - over) / self.concurrency
        # Calls that were faster than a round trip as it was spare none of one that is shorter.
        return beyond + positive(-(self.round_trips_s + self.persistence_s + beyond))

    @property
    def client_time_s(self) -> Number:
        """What the client takes of the forecast, with its pauses."""
        return self.files * self.rpcs_per_file * self.client_s + self.pauses_s

    @property
    def forecast_s(self) -> Number:
        """The plain formula, and what it leaves out: the sum of the four parts."""
        return self.round_trips_s + self.persistence_s + self.beyond_s + self.client_time_s


def positive(number: Number) -> Number:
    """Not below 0; elements of arrays one by one."""
    return (number + abs(number)) / 2.0


def times_of(turns: Number, by_overlap: Number) -> Number:
    """How many times as much of the clock as by the mean overlap; 1 where there is nothing to tell.

    Elements of arrays one by one; neither is below 0.
    """
    none = ((turns <= 0) | (by_overlap <= 0)) * 1.0
    return none + (1.0 - none) * turns / (by_overlap + none)


def stored_turns_of(
    share_s: Number,
    turns: Number,
    waited_s: Number,
    calls: Number,
    *,
    rtt_s: Number,
    concurrency: Number,
) -> Number:
    """The same of what stable calls take beyond a round trip.

    Args:
        share_s: Their share of the clock, seconds.
        turns: Each by its share of the time for which it was outstanding.
        waited_s: For how long they were outstanding, added up, seconds.
        calls: How many they are.
        rtt_s: The round trip, seconds.
        concurrency: Calls, stable or not, that are under way while any is.
    """
    beyond_s = positive(waited_s - calls * rtt_s)
    return times_of(positive(share_s - turns * rtt_s), beyond_s / concurrency)
