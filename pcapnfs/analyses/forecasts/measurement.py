"""What a trace tells the model: how often, how long, and how sure.

Takes a trace; gives the model's inputs with where each is from, and the sums by file that
resampling needs. Times are those that the client saw. Only the definitions stand here; what follows
from them is in model.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import added, median
from pcapnfs.analyses.asking.arrays import counted as _counted
from pcapnfs.analyses.asking.levels import often_at_once
from pcapnfs.analyses.asking.service_time import NANOSECONDS
from pcapnfs.analyses.captured import clock_ticks as _clock_ticks
from pcapnfs.analyses.captured import clocks_apart as _clocks_apart
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.clocks_apart import clocks_apart
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.captured.sealing import sealing
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.captured.untold import known, untold
from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.mounts import logins as _logins
from pcapnfs.analyses.mounts.logins import Logins, logins
from pcapnfs.analyses.servers import server_queue as _server_queue
from pcapnfs.analyses.servers.server_queue import may_wait, waits_by_client
from pcapnfs.analyses.servers.stalled_calls import StoodStill, stood_still_by_client
from pcapnfs.analyses.times import outstanding as _outstanding
from pcapnfs.analyses.times import storage_clock
from pcapnfs.analyses.times import timeline as _timeline
from pcapnfs.analyses.times.budget import book
from pcapnfs.analyses.times.call_times import (
    BOUND,
    MEANS,
    KindOfStable,
    kinds_of_stable,
    mostly_resent,
    persistence,
    round_trip,
    slow_s,
)
from pcapnfs.analyses.times.client_clocks import ByClient, ClientClock, ClientClocks, client_clocks
from pcapnfs.analyses.times.taken_out import Longer, Lost
from pcapnfs.analyses.times.timeline import PAUSE_S, Locked, Timeline, timeline
from pcapnfs.analyses.wire import late_connections as _late_connections
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.analyses.wire import vain_connections as _vain_connections
from pcapnfs.analyses.wire.late_connections import unreached_s
from pcapnfs.analyses.wire.network_path import NetworkPath, network_path
from pcapnfs.analyses.wire.slower_path import slower_by_client
from pcapnfs.analyses.wire.tcp_stalls import lost_by_client
from pcapnfs.analyses.wire.vain_connections import asked_in_vain_s
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.locks.lock_gaps import LockGaps
    from pcapnfs.analyses.times.budget import Booked
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]

READS = columns.together(
    _clock_ticks.READS,
    _clocks_apart.READS,
    _timeline.READS,
    _network_path.READS,
    _directions.READS,
    _sealing.READS,
    _server_queue.READS,
    _trust.READS,
    _untold.READS,
    _late_connections.READS,
    _vain_connections.READS,
    _logins.READS,
    columns.of(files="file identity role listed_only"),
)
"""The columns that this reads."""


OFTEN = 0.05
"""Share of the time from which on calls that were under way at once are not but a burst: what a
single program's write-back does in all of a run is less."""


class Sums(Record):
    """Sums over the calls of each unit: a file, a directory, or what belongs to neither."""

    is_file: NDArray[np.bool_]
    """The unit is one of the files that the model counts."""
    calls: Floats
    """Calls of NFS and NFSACL."""
    stable: Floats
    """Stable ones."""
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
    client_s: Floats
    """The client's time before them, without pauses, seconds."""
    unsure_s: Floats
    """What of the time outstanding calls without a known outcome took beyond a round trip,
    seconds."""
    unseen_s: Floats
    """What of the client's time may be that of calls of which only the reply was captured, beyond a
    round trip, seconds."""


class Measurement(Record):
    """The model's inputs, as measured."""

    files: int | None
    """Regular files that a call addressed; directories where there is none. None where no file is
    known, but calls that were cut or sealed do not tell."""
    counted: str
    """What these are: `files` or `directories`."""
    calls: int
    """Calls of NFS and NFSACL, answered or not."""
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
    timed_once: int
    """Stable calls that show persistence (`sums.timed`) and were sent once."""
    kinds: tuple[KindOfStable, ...]
    """Persistence by kind of stable call, longest sum first."""
    absorbs: bool | None
    """Stable calls end on a clock of the storage, so that what the client or the network takes
    before them is absorbed; None when the capture does not tell."""
    transfer_s: float
    """Time in which the calls' bytes were moving, or those that their replies had to wait for,
    added up over calls, seconds."""
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
    lost: Lost
    """What calls stood still until TCP sent again what was lost; in no round trip, and in no
    persistence."""
    longer: Longer
    """What calls took longer because the path was longer for a while, likewise."""
    stood_still: StoodStill
    """What a few calls stood still; in no round trip, and in no persistence."""
    locked: Locked
    """What of the time between calls clients waited for locks."""
    lock_gaps: tuple[LockGaps, ...]
    """What each client waited for them while it had no call outstanding itself."""
    unreached_s: float
    """What of the pauses the only client waited for a connection, seconds; 0 of several."""
    vain_s: float
    """The same after its last call, where it had none to the end: in none of the other times."""
    waited_s: float
    """Time outstanding of all calls, added up, seconds."""
    busy_s: float
    """Time in which any call was outstanding, seconds."""
    client_s: float
    """The time between calls, without pauses, seconds."""
    pauses_s: float
    """Gaps of a second or more between calls, together, seconds."""
    apart_s: float
    """For how long calls that mount and unmount were outstanding, added up, seconds: in none of the
    other times."""
    sums: Sums
    """By unit, in order of their first call."""
    clients: ClientClocks | None
    """The clock of each client by itself; None where there is only one."""
    unread: bool
    """Most of the traffic is encrypted, or most calls lack their replies for want of a direction:
    the others do not stand for what the time went into."""
    lacking: bool
    """The capture lacks so much that calls may have been under way where none is (trust)."""
    tick_s: float
    """What times are multiples of, seconds; 0 where that is less than a millisecond."""
    times_untold: bool
    """The clocks of the two directions are so far apart that what calls took is not known."""
    untold_pause_s: float | None = None
    """A pause of the capture of which nothing tells whether its clock was set forward (trust),
    seconds; None without any."""
    untold_pause_frame: int | None = None
    """The frame behind it, likewise."""
    login_s: float = 0.0
    """What calls that log in took longer than a round trip each, seconds: no work on files."""
    queue_s: float = 0.0
    """What of the round trip a call waited until its server was done with others, mean, seconds."""
    capture_s: float = 0.0
    """The span of the capture, seconds; 0 where no packet has a time."""
    at_once: int = 0
    """So many calls, or more, were under way for a twentieth of the time in which any was; of
    `concurrency` only the mean is known. 0 without any."""
    alone: ClientClock | None = None
    """The clock of the only client; None where there are several, or it was not asked for."""

    @property
    def span_s(self) -> float:
        """From the first call to the last reply, seconds."""
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
    def known_stable_calls(self) -> int | None:
        """Stable calls; None where none is known of most calls."""
        return known(self.stable_calls, unless=self.unread)

    @property
    def persist_s(self) -> float | None:
        """Mean of the stable calls less the round trip, seconds, not below 0.

        None with fewer than 30 of them, or without a round trip.
        """
        return persistence(self.stable_mean_s, int(self.sums.timed.sum()), self.rtt_s)

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
    def slow_s(self) -> float:
        """What small and stable calls take of round trips beyond that, added up, seconds."""
        return slow_s(self.rtt_s, self.usual_s, self.small_calls + self.stable_calls)

    @property
    def held_s(self) -> float:
        """For how long the whole server was not ready or not reached, added up, seconds."""
        return self.postponed_s - self.put_off_s

    @property
    def resent(self) -> bool:
        """Whether most stable calls were sent again, so that their time is not the storage's."""
        return mostly_resent(self.timed_once, int(self.sums.timed.sum()))

    def unknown_beyond_s(self, rtt_s: float) -> float:
        """What the calls without a known outcome took beyond a round trip, added up, seconds.

        What they stood still for what was lost, or took longer for a longer path, is not in it.

        Args:
            rtt_s: The round trip, seconds.
        """
        lost = self.lost.unknown_s + self.longer.unknown_s
        return max(0.0, self.unknown_s - self.unknown_calls * rtt_s - lost)

    @property
    def unsure_s(self) -> float:
        """What calls took, beyond round trips, that may have been stable or not, seconds."""
        return float(self.sums.unsure_s.sum() + self.sums.unseen_s.sum())

    def with_rtt(self, rtt_s: float | None) -> Measurement:
        """The same with a round trip that was given, if the trace tells none."""
        if rtt_s is None or self.rtt_s is not None:
            return self
        return replace(self, rtt_s=rtt_s, rtt_source="given")

    def costs(self) -> Costs[float]:
        """The model's inputs; what was not measured is 0."""
        rtt, persist = self.rtt_s or 0.0, self.persist_s
        if persist is None:
            # Too few calls for a mean that says anything of others, but their own time is known.
            persist = max(0.0, (self.stable_mean_s or 0.0) - rtt)
        files = self.files or 1
        return Costs(
            # Without any, all calls are those of one.
            files=float(files),
            rpcs_per_file=self.calls / files,
            rtt_s=rtt,
            syncops_per_file=self.stable_calls / files,
            persist_s=persist,
            # Times are whole nanoseconds: what is less is what adding floats has left.
            other_s=round(self.waited_s - self.calls * rtt - self.stable_calls * persist, 9)
            / files,
            client_s=self.client_s / self.calls if self.calls else 0.0,
            pauses_s=self.pauses_s,
            concurrency=self.concurrency,
            unsure_s=float(self.sums.unsure_s.sum()) / files,
            unseen_s=float(self.sums.unseen_s.sum()) / files,
            slow_s=self.slow_s / files,
            queue_s=self.queue_s,
        )


def measure(
    trace: Trace,
    network: NetworkPath | None = None,
    outstanding: Outstanding | None = None,
    booked: Booked | None = None,
    *,
    each: bool = False,
) -> Measurement:
    """Measure what the model needs.

    Args:
        trace: The trace.
        network: The network, where it is known already.
        outstanding: When calls were outstanding, with what the network adds, likewise.
        booked: They added up, likewise.
        each: Tell the clock of each client also where there is only one.
    """
    network = network or network_path(trace)
    found = outstanding or _outstanding.outstanding(trace, added_ns=network.added_ns)
    calls = timeline(trace, network.added_ns, found)
    files, counted = _files(trace)
    small, timed = calls.service_s[calls.small], calls.service_s[calls.timed]
    # Times that nobody took are all alike, and their difference shows nothing.
    apart = clocks_apart(trace).untold
    untimed = trace.meta.start_ns is None or apart
    rtt, source = (None, "none") if untimed else round_trip(small, network.way, calls.small_enough)
    if rtt is not None and source == BOUND and not len(small):
        rtt, network = _less_moving(rtt, network, calls)
    sums = _sums(calls, counted, rtt or 0.0)
    pauses = float(calls.idle_s[calls.idle_s >= PAUSE_S].sum())
    clocks, unreached, logged_in = None, unreached_s(trace), logins(trace)
    for client, time_s in asked_in_vain_s(trace, after_all=False).items():
        unreached[client] = unreached.get(client, 0.0) + time_s
    vain = asked_in_vain_s(trace, after_all=True)
    queued = _queued_s(trace, calls) if source in MEANS else {}
    queue = min(rtt or 0.0, sum(queued.values()) / max(1, len(small)))
    several = len(calls.clients) > 1
    if several or each:
        known_of = ByClient(
            ways=network.ways,
            lost_s=lost_by_client(trace),
            longer_s=slower_by_client(trace),
            locked_s={gaps.client: gaps.time_s for gaps in calls.lock_gaps},
            unreached_s=unreached,
            vain_s=vain,
            logins=logged_in,
            stood_still=stood_still_by_client(trace),
            queued_s=queued,
        )
        clocks = client_clocks(
            found,
            calls,
            booked or book(found),
            known_of,
            rtt_s=rtt,
            queue_s=queue,
            lacking=trust(trace).lacks_much,
        )
    return Measurement(
        files=files,
        counted=counted,
        calls=int(calls.counted.sum()),
        stable_calls=int(calls.stable.sum()),
        small_calls=int(calls.small.sum()),
        rtt_s=rtt,
        rtt_source=source,
        small_median_s=median(small) if len(small) else None,
        path=network,
        stable_mean_s=float(timed.mean()) if len(timed) else None,
        stable_median_s=median(timed) if len(timed) else None,
        timed_once=int((calls.timed & calls.once).sum()),
        kinds=kinds_of_stable(timed, calls.operation[calls.timed], calls.operations, rtt),
        absorbs=None if apart else storage_clock.absorbs(calls),
        transfer_s=calls.transfer_s,
        postponed_s=calls.postponed_s,
        put_off_s=calls.put_off_s,
        unknown_s=calls.unknown_s,
        unknown_calls=calls.unknown_calls,
        unseen_replies=int(calls.units.unseen.sum()),
        lost=calls.lost,
        longer=calls.longer,
        stood_still=calls.stood_still,
        locked=calls.locked,
        lock_gaps=calls.lock_gaps,
        unreached_s=0.0 if several else sum(unreached.values()),
        vain_s=0.0 if several else sum(vain.get(client, 0.0) for client in calls.clients),
        waited_s=calls.waited_s,
        busy_s=calls.busy_s,
        client_s=float(calls.idle_s.sum()) - pauses,
        pauses_s=pauses,
        apart_s=float(calls.apart_s.sum()),
        sums=sums,
        clients=clocks if several else None,
        at_once=_at_once(found, calls),
        alone=clocks.each[0] if clocks and clocks.each and not several else None,
        unread=sealing(trace).mostly or directions(trace).mostly,
        lacking=trust(trace).lacks_much,
        untold_pause_s=trust(trace).untold_pause_s,
        untold_pause_frame=trust(trace).untold_pause_frame,
        login_s=sum(
            logged_in.get(client, Logins()).beyond_s(rtt or 0.0) for client in calls.clients
        ),
        queue_s=queue,
        tick_s=clock(trace).tick_s or 0.0,
        times_untold=apart,
        capture_s=((trace.meta.end_ns or 0) - (trace.meta.start_ns or 0)) / NANOSECONDS,
    )


def _at_once(found: Outstanding, calls: Timeline) -> int:
    """How many calls were often under way at once."""
    if calls.busy_s and calls.waited_s < (1 + OFTEN) * calls.busy_s:
        return 1  # Two were for less than that.
    return often_at_once(found.intervals.begin, found.intervals.end, OFTEN)


def _less_moving(
    bound_s: float, network: NetworkPath, calls: Timeline
) -> tuple[float, NetworkPath]:
    """A round trip of which only replies tell how long it is at most, without what moved meanwhile.

    Replies that come behind the bytes of others are late for these: a full link is no longer one.
    """
    moved_s = calls.transfer_s + calls.postponed_s
    left_s = max(0.0, calls.waited_s - moved_s) / max(1, int(calls.counted.sum()))
    rtt = min(bound_s, left_s)
    return rtt, replace(network, way=replace(network.way, rtt_s=rtt))


def _queued_s(trace: Trace, calls: Timeline) -> dict[str, float]:
    """By client, what its small calls waited until a server was done with others, together, s.

    Empty where nearly all that came while others were under way did not take longer than the rest:
    to ask for each what it waited for takes a while. Several servers are taken as one for that.
    """
    first = calls.idle_s > 0
    first[:1] = True
    alone = calls.service_s[calls.small & first]
    behind = calls.service_s[calls.small & ~first]
    if not may_wait(alone, behind):
        return {}
    found: dict[str, float] = {}
    for each in waits_by_client(trace):
        found[each.client] = found.get(each.client, 0.0) + each.time_s
    return found


def _files(trace: Trace) -> tuple[int | None, str]:
    """The files that a call addressed; the directories where there is none.

    None where calls do not tell whether they were about any file.
    """
    ((regular, directories),) = trace.rows(
        """
        select count(*) filter (role = 'file'), count(*) filter (role = 'directory')
        from files where file = identity and not listed_only
        """
    )
    if regular:
        return int(regular), "files"
    if untold(trace).unplaced:
        return None, "files"
    return int(directories), "directories"


def _sums(calls: Timeline, counted: str, rtt_s: float) -> Sums:
    """Add up by unit, with the round trip that calls show."""
    units = calls.units
    many = len(units.number)
    client_s = added(calls.unit, calls.idle_s, many, calls.idle_s < PAUSE_S)

    def total(values: Floats, which: NDArray[np.bool_]) -> Floats:
        return added(calls.unit, values, many, which)

    def number(which: NDArray[np.bool_]) -> Floats:
        return _counted(calls.unit, many, which).astype(np.float64)

    return Sums(
        is_file=units.regular if counted == "files" else units.directory,
        calls=number(calls.counted),
        stable=number(calls.stable),
        timed=number(calls.timed),
        timed_s=total(calls.service_s, calls.timed),
        small=number(calls.small),
        small_s=total(calls.service_s, calls.small),
        waited_s=units.waited_s,
        share_s=units.share_s,
        client_s=client_s,
        unsure_s=_beyond(
            units.unsure_s, units.unsure * rtt_s, calls.lost.unknown_s + calls.longer.unknown_s
        ),
        # Of a pause nothing is known by call.
        unseen_s=np.minimum(_beyond(units.unseen_s, units.unseen * rtt_s), client_s),
    )


def _beyond(times_s: Floats, known_s: Floats, elsewhere_s: float = 0.0) -> Floats:
    """Times by unit less what is known of them, and less their part of what is told elsewhere."""
    left: Floats = np.maximum(times_s - known_s, 0.0)
    whole = float(left.sum())
    return left * max(0.0, 1.0 - elsewhere_s / whole) if whole else left
