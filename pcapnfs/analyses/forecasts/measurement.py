"""The model's inputs as measured, and the sums by file that resampling needs.

Only the definitions stand here: `measuring.py` fills them in from a trace, and what follows from
them is in `model.py`. Times are those that the client saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.captured.sealing import MOST
from pcapnfs.analyses.captured.untold import known
from pcapnfs.analyses.forecasts.formula import Costs, stored_turns_of, times_of
from pcapnfs.analyses.forecasts.serial_calls import NONE, SerialCalls
from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.call_times import (
    BOUND,
    MEANS,
    KindOfStable,
    beyond_round_trips,
    mostly_resent,
    persistence,
    slow_s,
)
from pcapnfs.analyses.times.client_clocks import ClientClock, ClientClocks
from pcapnfs.analyses.times.clocked import Clocked
from pcapnfs.analyses.times.long_pauses import PAUSE_S, long_enough
from pcapnfs.analyses.times.spent import Spent, divided
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.times.taken_out import Longer, Lost
from pcapnfs.analyses.times.timeline import BetweenCalls, Served
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.held_segments import AckWaits
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.network_path import NOTHING, NetworkPath
from pcapnfs.analyses.wire.tcp_stalls import Resent
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pcapnfs.analyses.locks.lock_gaps import LockGaps

    Floats = NDArray[np.float64]


class Sums(Record):
    """Sums over the calls of each unit: a file, a directory, or what belongs to neither.

    Of more than resampling tells apart, a unit is a group of them (`resampling.grouped`).
    """

    files: Floats
    """Files in the unit that the model counts."""
    calls: Floats
    """Calls of NFS and NFSACL."""
    locks: Floats
    """Calls of the lock manager (NLM)."""
    stable: Floats
    """Stable calls."""
    timed: Floats
    """Stable calls that show persistence."""
    timed_s: Floats
    """Their service time, seconds."""
    small: Floats
    """Calls that show the round trip."""
    small_s: Floats
    """Their service time, seconds."""
    waited_s: Floats
    """Time outstanding of all calls, seconds."""
    share_s: Floats
    """Their share of the time in which any call was outstanding, seconds."""
    turns: Floats
    """Both kinds of calls, each by its share of the time for which it was outstanding: 1 where
    it was alone, a half beside another."""
    stable_turns: Floats
    """The same of stable ones."""
    stable_waited_s: Floats
    """For how long stable ones were outstanding, seconds."""
    stable_share_s: Floats
    """Their share of the time in which any call was outstanding, seconds."""
    client_s: Floats
    """The client's time before them, without pauses, seconds."""
    unsure: Floats
    """Calls without a known outcome, which may have been stable or not."""
    unsure_s: Floats
    """What of the time outstanding calls without a known outcome took beyond a round trip,
    seconds."""
    unseen_s: Floats
    """What of the client's time may be that of calls of which only the reply was captured, beyond a
    round trip, seconds."""
    drawn: NDArray[np.bool_] | None = None
    """Which units are resampled; None where each is one, and that is not decided yet."""


class Measurement(Record):
    """The model's inputs, as measured."""

    files: int | None
    """Regular files that a call addressed; directories where there is none. None where no file is
    known, but calls that were cut or sealed do not tell."""
    counted: str
    """What these are: `files` or `directories`."""
    calls: int
    """Calls of NFS and NFSACL, answered or not."""
    lock_calls: int
    """Calls of the lock manager (NLM), which are none of these."""
    stable_calls: int
    """Stable calls."""
    small_calls: int
    """Calls that show the round trip."""
    rtt_s: float | None
    """Round trip that the client saw of a call that needs no storage, seconds; None when nothing
    tells."""
    rtt_source: str
    """Where it is from: `calls`, `handshake`, `acks`, `gaps`, `few_calls`, `given` or `none`."""
    small_median_s: float | None
    """Median service time of the calls that show it, as the client saw it, seconds; None without
    any."""
    path: NetworkPath
    """The network, and where the capture was taken."""
    stable_mean_s: float | None
    """Mean service time of the stable calls as the client saw it, seconds; None without any."""
    stable_median_s: float | None
    """Median of the same; None without any."""
    data_median_s: float | None
    """The same of those that store data (`STORE_DATA`); None with fewer than 30."""
    timed_once: int
    """Stable calls that show persistence (`sums.timed`) and were sent once."""
    kinds: tuple[KindOfStable, ...]
    """Persistence by kind of stable call, longest sum first."""
    absorbs: bool | None
    """Stable calls end on ticks of the storage, so that what the client or the network takes
    before them is absorbed; None when the capture does not tell."""
    transfer_s: float
    """Time in which the calls' bytes were moving, or those that their replies had to wait for,
    added up over calls, seconds."""
    moving_s: float
    """What of the clock that took, where each call under way has an equal share, seconds."""
    postponed_s: float
    """Time that calls waited until the server was ready or reachable, added up, seconds."""
    put_off_s: float
    """That part of it in which the server put off calls on an object (DELAY, JUKEBOX), seconds."""
    unknown_s: float
    """Time outstanding of calls without a known outcome, without these two, added up, seconds."""
    unknown_calls: int
    """Such calls."""
    unseen_replies: int
    """Replies without their call that came while no call was under way."""
    clocked: Clocked
    """What of the clock bytes moved, and calls waited for the server or for what was lost."""
    lost: Lost
    """What calls stood still until TCP sent again what was lost; in no round trip, and in no
    persistence."""
    longer: Longer
    """What calls took longer because the path was longer for a while, likewise."""
    stood_still: StoodStill
    """What a few calls stood still; in no round trip, and in no persistence."""
    locked: BetweenCalls
    """What of the time between calls clients waited for locks."""
    lock_gaps: tuple[LockGaps, ...]
    """What each client waited for them while it had no call outstanding itself."""
    unreached_s: float
    """What of the pauses the only client waited for a connection, seconds; 0 of several."""
    vain_s: float
    """The same after its last call, where it had none to the end: in none of the other times."""
    asked_in_vain: bool
    """A connection was asked for in vain: what is apart may be the search for its port."""
    waited_s: float
    """Time outstanding of all calls, added up, seconds."""
    busy_s: float
    """Time in which any call was outstanding, seconds."""
    client_s: float
    """The time between calls, without pauses, seconds."""
    pauses_s: float
    """Gaps of a second or more between calls, together, seconds."""
    long_pauses_s: float
    """Those of them of 30 s or more, of the only client, if what lies between them is work
    (`long_pauses`), likewise."""
    few_pauses_s: float
    """Those of them that are shorter, of the only client, if they are few, likewise."""
    apart_s: float
    """For how long calls that mount and unmount were outstanding, added up, seconds: in none of the
    other times."""
    sums: Sums
    """By unit, or group of units, in order of their first call."""
    clients: ClientClocks | None
    """The clock of each client by itself; None where there is only one."""
    unread: bool
    """Most of the traffic is encrypted, or most calls lack their replies for lack of a direction:
    the others do not stand for what the time went into."""
    lacking: bool
    """The capture lacks so much that calls may have been under way where none is (trust)."""
    tick_s: float
    """What times are multiples of, seconds; 0 where that is less than a millisecond."""
    times_untold: bool
    """The capture's clocks do not tell what calls took."""
    unanswered_last: bool = False
    """A call without a reply is the last of the only client's that was outstanding."""
    mount_idle: MountIdle = MountIdle()
    """What lies between mount and first use, and last use and unmount, of all clients as one: in
    none of the other times."""
    untold_pause_s: float | None = None
    """A pause of the capture of which nothing tells whether its clock was set forward (trust),
    seconds; None without any."""
    untold_pause_frame: int | None = None
    """The frame behind it, likewise."""
    login_s: float = 0.0
    """What calls that log in took longer than a round trip each, seconds: no work on files."""
    queue_s: float = 0.0
    """What of the round trip a call waited until its server was done with others, mean, seconds."""
    arrival: Resent = "lost"
    """Whether what was sent again had arrived before (`tcp_stalls.arrival`), of every client."""
    stable: StableCalls = StableCalls()
    """What stable calls hold, and whether they waited for others."""
    capture_s: float = 0.0
    """The span of the capture, seconds; 0 where no packet has a time."""
    at_once: int = 0
    """So many calls, or more, were under way for a twentieth of the time in which any was; of
    `concurrency` only the mean is known. 0 without any."""
    loss_rates: tuple[LossRate, ...] = ()
    """Transfers that lost segments hold down, that with most of the clock first."""
    full_windows: tuple[FullWindow, ...] = ()
    """Transfers that a receiver's window holds down, that with most of the clock first."""
    untold_pauses_s: float = 0.0
    """Those that are not long of the only client, if the capture does not tell the status of most
    of its answered calls, likewise."""
    small_resent: bool = False
    """The round trip is the time until calls were sent again (`call_times.small_resent`)."""
    again_s: Mapping[str, float] = {}
    """By row of the budget, what of the clock calls took longer since they were sent again, where
    it is in no mean, seconds (`call_times.beyond_usual`)."""
    served: Mapping[str, Served] = {}
    """By row of the budget, the answered calls that wait for no stable storage, and how long the
    server took for them."""
    spent: Mapping[str, Spent] = {}
    """By row of the budget, calls of NFS, NFSACL and the lock manager, and what of the clock they
    held up."""
    serial: SerialCalls = NONE
    """Calls of which each client sends one after the other, those that take longest; not asked for
    where `at_once` is as much as is forecast."""
    ack_waits: AckWaits = AckWaits()
    """Calls of the only client that were answered late since the server waited for ACKs."""
    alone: ClientClock | None = None
    """The clock of the only client; None where there are several, or it was not asked for."""

    @property
    def round_trip_calls(self) -> int:
        """Calls that each take a round trip: those of NFS, NFSACL and the lock manager."""
        return self.calls + self.lock_calls

    @property
    def served_s(self) -> dict[str, float]:
        """By row of the budget, what of it is beyond a round trip of each, seconds."""
        return {row: each.beyond_s(self.rtt_s or 0.0) for row, each in self.served.items()}

    @property
    def unused_s(self) -> float:
        """The pauses in which the client waited for no lock, seconds.

        0 where what it waited for may be a connection, or lost segments.
        """
        if self.lost.idle_s or self.unreached_s:
            return 0.0
        return max(0.0, self.pauses_s - self.locked.pauses_s)

    @property
    def away_s(self) -> float:
        """The long pauses in which the only client is not known to have waited for anything, s.

        0 of several clients, and where calls may have been under way that nobody saw.
        """
        if self.several > 1 or self.lacking or self.times_untold:
            return 0.0
        return long_enough(self.long_pauses_s - self._known_s)

    @property
    def rest_s(self) -> float:
        """The same of the shorter ones, if they are few, seconds."""
        if self.several > 1 or self.lacking or self.times_untold:
            return 0.0
        return long_enough(self.few_pauses_s - self._known_s, PAUSE_S)

    @property
    def _known_s(self) -> float:
        """What of the time between calls the client is known to have waited for, seconds."""
        return self.lost.idle_s + self.longer.idle_s + self.unreached_s + self.locked.pauses_s

    @property
    def unreached(self) -> BetweenCalls:
        """What of the only client's time between calls it waited for a connection.

        Nothing of it that it is known to have waited for something else.
        """
        known_s = self.lost.idle_s + self.longer.idle_s + self.locked.whole_s
        left_s = max(0.0, self.client_s + self.paused_s - known_s)
        whole_s = min(self.unreached_s, left_s)
        # It takes a second or more, mostly, and what is left then is no more than the gaps.
        pauses_s = min(whole_s, max(0.0, self.paused_s - self.locked.pauses_s))
        return BetweenCalls(gaps_s=min(whole_s - pauses_s, self.client_s), pauses_s=pauses_s)

    @property
    def lost_between(self) -> BetweenCalls:
        """What of the time between calls these came later for what was lost."""
        return BetweenCalls(
            gaps_s=min(self.lost.gaps_s, self.client_s),
            pauses_s=min(self.lost.pauses_s, self.paused_s),
        )

    @property
    def paused_s(self) -> float:
        """The pauses that belong to the run: all but those, seconds."""
        return max(0.0, self.pauses_s - self.away_s)

    @property
    def worked_s(self) -> float:
        """From the first call to the last reply without these pauses, and `mount_idle`, seconds."""
        return self.busy_s + self.client_s + self.paused_s

    @property
    def present_s(self) -> float:
        """The time in which the only client was active, seconds.

        From its first call to its last reply without these pauses, with mounting, and with what it
        asked for a connection in vain after that.
        """
        return self.worked_s + self.apart_s + self.vain_s

    @property
    def span_s(self) -> float:
        """From the first call to the last reply without `mount_idle`, seconds."""
        return self.busy_s + self.client_s + self.pauses_s

    @property
    def several(self) -> int:
        """How many clients these are."""
        return 1 if self.clients is None else self.clients.total.clients

    @property
    def concurrency(self) -> float:
        """Calls under way while any is, on average."""
        return self.waited_s / self.busy_s if self.busy_s else 1.0

    @property
    def outcomes_untold(self) -> bool:
        """Whether most calls do not tell whether they were stable, and none of the others was."""
        unknown = self.unknown_calls >= MOST * self.calls > 0
        return self.unread or (unknown and not self.stable_calls)

    @property
    def known_stable_calls(self) -> int | None:
        """Stable calls; None where none is known of most calls."""
        return known(self.stable_calls, unless=self.outcomes_untold)

    @property
    def persist_s(self) -> float | None:
        """Mean of the stable calls less the round trip, seconds, not below 0.

        None with fewer than 30 of them, or without a round trip.
        """
        return persistence(self.stable_mean_s, int(self.sums.timed.sum()), self.rtt_s)

    @property
    def persisting_s(self) -> float:
        """The same of this run: the time of its own calls is known, however few they are."""
        if self.persist_s is not None:
            return self.persist_s
        return max(0.0, (self.stable_mean_s or 0.0) - (self.rtt_s or 0.0))

    @property
    def usual_s(self) -> float | None:
        """What half of the calls that show the round trip took at most, seconds.

        None where it is not their mean.
        """
        return self.small_median_s if self.rtt_source in MEANS else None

    @property
    def network_rtt_s(self) -> float | None:
        """The network's part of the round trip, seconds.

        None where TCP does not tell, or where the round trip itself is a bound.
        """
        return None if self.rtt_source == BOUND else self.path.rtt_s

    @property
    def network_most_s(self) -> float | None:
        """The network's part of it at most, seconds, where TCP tells none (`Way.most_s`).

        None where it does, or nothing tells, or the round trip itself is a bound.
        """
        return None if self.rtt_source == BOUND else self.path.way.most_s

    @property
    def bounded(self) -> bool:
        """Whether the round trip is an upper bound, or what was added to what was captured is."""
        added = self.path.source == "gaps" and any(self.path.added_ns.values())
        return self.rtt_source == BOUND or added

    @property
    def undivided(self) -> bool:
        """Whether nothing tells what of that bound is the network's, and what the server's.

        All calls that it rests on may have waited for storage: it is no round trip of others.
        """
        return self.rtt_source == BOUND and self.path.way.undivided

    @property
    def slow_s(self) -> float:
        """What small and stable calls take of round trips beyond that, added up, seconds."""
        return slow_s(self.rtt_s, self.usual_s, self.small_calls + self.stable_calls)

    @property
    def put_off_most_s(self) -> float:
        """What of the pauses may be the server's, which put off calls that nobody can tell, s."""
        return min(self.untold_pauses_s, self.unused_s)

    @property
    def mostly_moving(self) -> bool:
        """Whether data moved for half of the time in which any call was outstanding, or more.

        Small calls that are sent meanwhile wait behind it on the link, and make a mean that is no
        server's.
        """
        return 2 * self.moving_s >= self.busy_s > 0

    @property
    def remote_s(self) -> float:
        """What of the clock calls took beyond round trips that none of a local disk does, seconds.

        That is the transfer of their bytes, what was lost, what a longer path took, and for how
        long the server was not ready, not reached or did not answer.
        """
        of = self.clocked
        again_s = beyond_round_trips(
            sum(self.again_s.values()), self.costs().round_trips_s, resent=self.small_resent
        )
        return of.moved_s + of.lost_s + of.longer_s + of.waiting_s + again_s

    @property
    def resent(self) -> bool:
        """Whether most stable calls were sent again, so that their time is not the storage's."""
        return mostly_resent(self.timed_once, int(self.sums.timed.sum()))

    def unknown_beyond_s(self, rtt_s: float) -> float:
        """What the calls without a known outcome took beyond a round trip, added up, seconds.

        What they stood still for what was lost, or took longer for a longer path, is not in it. By
        what they held up the clock for, times the overlap of all calls.

        Args:
            rtt_s: The round trip, seconds.
        """
        lost = self.lost.unknown_s + self.longer.unknown_s
        row = self.spent.get("unknown")
        turns = 1.0 if row is None else times_of(row.share_s, row.waited_s / self.concurrency)
        return turns * max(0.0, self.unknown_s - self.unknown_calls * rtt_s - lost)

    @property
    def unsure_s(self) -> float:
        """What calls took, beyond round trips, that may have been stable or not, seconds."""
        return float(self.sums.unsure_s.sum() + self.sums.unseen_s.sum())

    def with_rtt(self, rtt_s: float | None) -> Measurement:
        """The same with a round trip that was given, if the trace tells none.

        Nor does it where the network and the server's storage are undivided: what is given within
        such a bound tells them apart.
        """
        if rtt_s is None:
            return self
        if self.undivided and rtt_s <= (self.rtt_s or 0.0):
            return replace(
                self,
                rtt_s=rtt_s,
                rtt_source="given",
                path=replace(self.path, way=NOTHING),
                kinds=tuple(replace(kind, persist_s=None) for kind in self.kinds),
            )
        return self if self.rtt_s is not None else replace(self, rtt_s=rtt_s, rtt_source="given")

    def costs(self) -> Costs[float]:
        """The model's inputs; what was not measured is 0."""
        rtt, persist = self.rtt_s or 0.0, self.persisting_s
        files, sums = self.files or 1, self.sums
        return Costs(
            # Without any, all calls are those of one.
            files=float(files),
            rpcs_per_file=self.calls / files,
            rtt_s=rtt,
            syncops_per_file=self.stable_calls / files,
            persist_s=persist,
            # Times are whole nanoseconds: what is less is what adding floats has left.
            other_s=round(
                self.waited_s - self.round_trip_calls * rtt - self.stable_calls * persist,
                9,
            )
            / files,
            client_s=self.client_s / self.calls if self.calls else 0.0,
            pauses_s=self.paused_s,
            concurrency=self.concurrency,
            unsure_s=float(self.sums.unsure_s.sum()) / files,
            unsure_calls=float(self.sums.unsure.sum()) / files,
            unseen_s=float(self.sums.unseen_s.sum()) / files,
            locks_per_file=self.lock_calls / files,
            slow_s=self.slow_s / files,
            queue_s=self.queue_s,
            turns=times_of(float(sums.turns.sum()), self.round_trip_calls / self.concurrency),
            stored_turns=stored_turns_of(
                float(sums.stable_share_s.sum()),
                float(sums.stable_turns.sum()),
                float(sums.stable_waited_s.sum()),
                float(self.stable_calls),
                rtt_s=rtt,
                concurrency=self.concurrency,
            ),
            **self.serial_by_file(),
        )

    def serial_by_file(self) -> dict[str, float]:
        """The fields of the inputs for calls that come one after the other."""
        serial, files = self.serial, self.files or 1
        trips_s = serial.calls * (self.rtt_s or 0.0) + serial.stable_calls * self.persisting_s
        return {
            "serial_rpcs": serial.calls / files,
            "serial_syncops": serial.stable_calls / files,
            "serial_other_s": (serial.time_s - trips_s) / files,
        }

    def booked(self, costs: Costs[float]) -> Costs[float]:
        """The costs of this run, or of a like one, by what calls held up the clock for.

        The overlap is a mean, which is that of no kind of call where some come one by one and
        others all at once. The sum stays.

        Args:
            costs: Those of this run, or with a round trip, storage or files that were given.
        """
        rtt_s, persist_s = self.rtt_s or 0.0, self.costs().persist_s
        by_row = divided(self.spent, rtt_s, persist_s)
        by_overlap = self.round_trip_calls * rtt_s, self.stable_calls * persist_s
        longer_s, stored_s = (
            # Less than a nanosecond is what floats have left.
            round(row_s * self.concurrency - overlap_s, 9) / (self.files or 1)
            for row_s, overlap_s in zip(by_row, by_overlap, strict=True)
        )
        return replace(
            costs,
            longer_s=costs.longer_s + longer_s,
            stored_s=costs.stored_s + stored_s,
            other_s=costs.other_s - longer_s - stored_s,
        )
