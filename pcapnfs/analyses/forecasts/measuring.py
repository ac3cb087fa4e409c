"""How the model's inputs are measured: how often, how long, and how sure.

Takes a trace; gives its `Measurement`, with where each input is from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs import columns
from pcapnfs.analyses.asking.arrays import added
from pcapnfs.analyses.asking.arrays import counted as _counted
from pcapnfs.analyses.asking.levels import often_at_once
from pcapnfs.analyses.captured import clock_ticks as _clock_ticks
from pcapnfs.analyses.captured import directions as _directions
from pcapnfs.analyses.captured import sealing as _sealing
from pcapnfs.analyses.captured import statuses_untold as _statuses_untold
from pcapnfs.analyses.captured import times_untold as _times_untold
from pcapnfs.analyses.captured import trust as _trust
from pcapnfs.analyses.captured import untold as _untold
from pcapnfs.analyses.captured.clock_ticks import clock
from pcapnfs.analyses.captured.directions import directions
from pcapnfs.analyses.captured.sealing import sealing
from pcapnfs.analyses.captured.statuses_untold import statuses_untold
from pcapnfs.analyses.captured.times_untold import times_untold
from pcapnfs.analyses.captured.trust import trust
from pcapnfs.analyses.captured.untold import untold
from pcapnfs.analyses.forecasts import serial_calls as _serial_calls
from pcapnfs.analyses.forecasts.measurement import Measurement, Sums
from pcapnfs.analyses.forecasts.resampling import grouped
from pcapnfs.analyses.forecasts.serial_calls import NONE, serial_calls
from pcapnfs.analyses.forecasts.what_if import STREAMS
from pcapnfs.analyses.mounts import first_use as _first_use
from pcapnfs.analyses.mounts import logins as _logins
from pcapnfs.analyses.mounts.first_use import closed_up, uses
from pcapnfs.analyses.mounts.logins import Logins, logins
from pcapnfs.analyses.servers import server_queue as _server_queue
from pcapnfs.analyses.servers import slow_storage as _slow_storage
from pcapnfs.analyses.servers.server_queue import (
    may_stand,
    may_wait,
    stood_by_client,
    waits_by_client,
)
from pcapnfs.analyses.servers.slow_storage import slow_storage
from pcapnfs.analyses.servers.slow_storage import together as slow_for_all
from pcapnfs.analyses.servers.stalled_calls import stood_still_by_client
from pcapnfs.analyses.times import long_pauses as _pauses
from pcapnfs.analyses.times import outstanding as _outstanding
from pcapnfs.analyses.times import stable_calls as _stable_calls
from pcapnfs.analyses.times import storage_clock
from pcapnfs.analyses.times import timeline as _timeline
from pcapnfs.analyses.times.budget import book
from pcapnfs.analyses.times.call_times import MEANS, beyond_usual
from pcapnfs.analyses.times.client_clocks import ByClient, ClientClocks, client_clocks
from pcapnfs.analyses.times.idle_time import added_up
from pcapnfs.analyses.times.outstanding import TRANSFER
from pcapnfs.analyses.times.shown import round_trip_of, shown
from pcapnfs.analyses.times.stable_calls import more_operations, stable_calls
from pcapnfs.analyses.times.timeline import Timeline, timeline
from pcapnfs.analyses.wire import full_windows as _full_windows
from pcapnfs.analyses.wire import held_segments as _held_segments
from pcapnfs.analyses.wire import loss_rate as _loss_rate
from pcapnfs.analyses.wire import network_path as _network_path
from pcapnfs.analyses.wire import resent_calls as _resent_calls
from pcapnfs.analyses.wire import slower_gaps
from pcapnfs.analyses.wire import unreached as _unreached
from pcapnfs.analyses.wire.full_windows import full_windows, full_windows_by_client
from pcapnfs.analyses.wire.held_segments import AckWaits, ack_waits_by_client
from pcapnfs.analyses.wire.loss_rate import loss_rates, loss_rates_by_client
from pcapnfs.analyses.wire.network_path import NetworkPath, network_path
from pcapnfs.analyses.wire.resent_calls import again_by_client
from pcapnfs.analyses.wire.slower_path import slower_by_client
from pcapnfs.analyses.wire.tcp_stalls import arrivals, lost_by_client, together
from pcapnfs.analyses.wire.unreached import in_vain_s, unreached_s
from pcapnfs.record import replace
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.times.budget import Booked
    from pcapnfs.analyses.times.outstanding import Outstanding
    from pcapnfs.trace import Trace

    Floats = NDArray[np.float64]

READS = columns.together(
    _clock_ticks.READS,
    _statuses_untold.READS,
    _times_untold.READS,
    _timeline.READS,
    _network_path.READS,
    _directions.READS,
    _sealing.READS,
    _server_queue.STOOD_READS,
    _slow_storage.READS,
    _trust.READS,
    _untold.READS,
    _held_segments.READS,
    _stable_calls.READS,
    _full_windows.READS,
    _loss_rate.READS,
    _resent_calls.READS,
    _serial_calls.READS,
    _unreached.READS,
    _logins.READS,
    _first_use.READS,
    columns.of(files="file identity role listed_only"),
)
"""The columns that this reads."""

OFTEN = 0.05
"""Share of the time from which on calls that were under way at once are not but a burst: what a
single program's write-back does in all of a run is less."""


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
    trace.demand_memory()
    network = network or network_path(trace)
    found = outstanding or _outstanding.outstanding(trace, added_ns=network.added_ns)
    used = uses(trace, found)
    use = used.of_all()
    calls = timeline(trace, network.added_ns, found, use)
    files, counted = _files(trace)
    # Times that nobody took are all alike, and their difference shows nothing.
    apart = times_untold(trace)
    untimed = trace.meta.start_ns is None or apart
    rtt, source = None, "none"
    if not untimed:
        unmoved_s, enough = float(calls.unmoved_s.sum()), calls.small_enough
        rtt, source, way = round_trip_of(
            calls, slice(None), calls.small, unmoved_s, network.way, enough=enough
        )
        network = replace(network, way=way)
    small, told = int(calls.small.sum()), shown(calls, calls.small, calls.timed, rtt, source)
    sums = _sums(calls, counted, rtt or 0.0)
    pauses = _idle_s(calls, _pauses.PAUSE_S)
    known = _by_client(trace, network, calls, queued=source in MEANS)
    queue = min(rtt or 0.0, sum(known.queued_s.values()) / max(1, small))
    booked = booked or book(found)
    several = len(calls.clients) > 1
    at_once = _at_once(found, calls)
    paused = _pauses.Pauses() if several else _pauses.pauses(*closed_up(found.intervals, use))
    clocks = None
    if several or each:
        clocks = client_clocks(
            found,
            calls,
            booked,
            _also_by_client(trace, calls, known),
            used,
            rtt_s=rtt,
            queue_s=queue,
            lacking=trust(trace).lacks_much,
            untimed=untimed,
        )
        network = _undivided_by_client(network, clocks)
    return Measurement(
        files=files,
        counted=counted,
        calls=int(calls.counted.sum()),
        lock_calls=int((~calls.counted).sum()),
        stable_calls=int(calls.stable.sum()),
        small_calls=small,
        rtt_s=rtt,
        rtt_source=source,
        small_median_s=told.small_median_s,
        path=network,
        stable_mean_s=told.stable_mean_s,
        stable_median_s=told.stable_median_s,
        data_median_s=told.data_median_s,
        timed_once=told.timed_once,
        kinds=told.kinds,
        absorbs=None if apart else storage_clock.absorbs(calls),
        transfer_s=calls.transfer_s,
        moving_s=float(booked.waited_ns[:, TRANSFER].sum()) / NANOSECONDS,
        postponed_s=calls.postponed_s,
        put_off_s=calls.put_off_s,
        unknown_s=calls.unknown_s,
        unknown_calls=calls.unknown_calls,
        unseen_replies=int(calls.units.unseen.sum()),
        clocked=calls.clocked,
        lost=calls.lost,
        longer=calls.longer,
        stood_still=calls.stood_still,
        untold_pauses_s=paused.short_s
        if statuses_untold(trace).intersection(calls.clients)
        else 0.0,
        small_resent=told.small_resent,
        again_s=beyond_usual(
            added_up(*known.again_s.values()), told.timed_once, int(calls.timed.sum())
        ),
        served=calls.served,
        spent=calls.spent,
        locked=calls.locked,
        lock_gaps=calls.lock_gaps,
        unreached_s=0.0 if several else sum(known.unreached_s.values()),
        loss_rates=loss_rates(trace),
        full_windows=full_windows(trace),
        # With as many under way, no forecast with streams needs it.
        serial=NONE if untimed or at_once >= STREAMS else serial_calls(trace, found, calls),
        ack_waits=AckWaits() if several else next(iter(known.ack_waits.values()), AckWaits()),
        vain_s=0.0 if several else sum(known.vain_s.get(client, 0.0) for client in calls.clients),
        asked_in_vain=bool(trace.meta.vain),
        waited_s=calls.waited_s,
        busy_s=calls.busy_s,
        client_s=float(calls.idle_s.sum()) - pauses,
        pauses_s=pauses,
        # No more than the gaps that are left: what lies between a mount and its work is none.
        long_pauses_s=min(paused.long_s, _idle_s(calls, _pauses.LONG_PAUSE_S)),
        few_pauses_s=min(paused.few_s, _idle_s(calls, _pauses.PAUSE_S, _pauses.LONG_PAUSE_S)),
        mount_idle=calls.mount_idle,
        apart_s=float(calls.apart_s.sum()),
        unanswered_last=not several and bool(calls.unanswered_last.any()),
        sums=sums,
        clients=clocks if several else None,
        at_once=at_once,
        alone=clocks.each[0] if clocks and clocks.each and not several else None,
        unread=sealing(trace).mostly or directions(trace).mostly,
        lacking=trust(trace).lacks_much,
        untold_pause_s=trust(trace).untold_pause_s,
        untold_pause_frame=trust(trace).untold_pause_frame,
        login_s=sum(
            known.logins.get(client, Logins()).beyond_s(rtt or 0.0) for client in calls.clients
        ),
        queue_s=queue,
        arrival=together(known.arrivals.values()),
        stable=stable_calls(
            calls.service_s[calls.timed],
            calls.behind[calls.timed],
            calls.operation[calls.timed],
            int(calls.stable.sum()),
            sum(known.more_operations.values()),
            told.storage,
            operations=calls.operations,
            rtt_s=rtt,
            small_s=told.small_median_s,
            slow=slow_for_all(known.slow_storage.values()),
        ),
        tick_s=clock(trace).tick_s or 0.0,
        times_untold=apart,
        capture_s=((trace.meta.end_ns or 0) - (trace.meta.start_ns or 0)) / NANOSECONDS,
    )


def _by_client(trace: Trace, network: NetworkPath, calls: Timeline, *, queued: bool) -> ByClient:
    """What is known of each client and goes into the measurement of all of them together.

    Args:
        trace: The trace.
        network: Its network.
        calls: Its calls on one line of time.
        queued: The round trip is one of which what calls waited for others may be a part.
    """
    return ByClient(
        ways=network.ways,
        unreached_s=unreached_s(trace),
        vain_s=in_vain_s(trace),
        logins=logins(trace),
        unseen_s=network.unseen_s,
        statuses_untold=statuses_untold(trace),
        queued_s=_queued_s(trace, calls) if queued else {},
        ack_waits=ack_waits_by_client(trace),
        more_operations=more_operations(trace),
        arrivals=arrivals(trace),
        # Whoever sent nothing again waited for none of that: to ask costs a pass over all calls.
        again_s={} if calls.once.all() else again_by_client(trace),
        slow_storage=slow_storage(trace),
    )


def _also_by_client(trace: Trace, calls: Timeline, known: ByClient) -> ByClient:
    """The same, with what is asked of each client only for a clock of its own."""
    return replace(
        known,
        lost_s=lost_by_client(trace),
        longer_s=slower_by_client(trace),
        path_idle_s=slower_gaps.by_client(trace),
        locked_s={gaps.client: gaps.time_s for gaps in calls.lock_gaps},
        stood_still=stood_still_by_client(trace),
        loss_rates=loss_rates_by_client(trace),
        full_windows=full_windows_by_client(trace),
    )


def _idle_s(calls: Timeline, least_s: float, below_s: float = math.inf) -> float:
    """The gaps between calls of so many seconds or more, and fewer than so many, together."""
    idle_s = calls.idle_s
    return float(idle_s[(idle_s >= least_s) & (idle_s < below_s)].sum())


def _at_once(found: Outstanding, calls: Timeline) -> int:
    """How many calls were often under way at once."""
    if calls.busy_s and calls.waited_s < (1 + OFTEN) * calls.busy_s:
        return 1  # Two were for less than that.
    return often_at_once(found.intervals.begin, found.intervals.end, OFTEN)


def _undivided_by_client(network: NetworkPath, clocks: ClientClocks) -> NetworkPath:
    """The network, with the ways of clients of which only answers tell, undivided."""
    found = {each.client for each in clocks.each if each.undivided}
    ways = {
        client: replace(way, undivided=True) if client in found else way
        for client, way in network.ways.items()
    }
    return replace(network, ways=ways) if found else network


def _queued_s(trace: Trace, calls: Timeline) -> dict[str, float]:
    """By client, what its small calls waited until a server was done with others, together, s.

    Empty where those that came while others were under way did not take longer than the rest: to
    ask for each what it waited for takes a while. Several servers are taken as one for that.
    """
    late = calls.behind
    alone = calls.service_s[calls.small & ~late]
    behind = calls.service_s[calls.small & late]
    waits = waits_by_client(trace) if may_wait(alone, behind) else ()
    if not waits and may_stand(alone, behind):
        waits = stood_by_client(trace)
    found: dict[str, float] = {}
    for each in waits:
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
    client_s = added(calls.unit, calls.idle_s, many, calls.idle_s < _pauses.PAUSE_S)

    def total(values: Floats, which: NDArray[np.bool_]) -> Floats:
        return added(calls.unit, values, many, which)

    def number(which: NDArray[np.bool_]) -> Floats:
        return _counted(calls.unit, many, which).astype(np.float64)

    regular = units.regular if counted == "files" else units.directory
    each = Sums(
        files=regular.astype(np.float64),
        calls=number(calls.counted),
        locks=number(~calls.counted),
        stable=number(calls.stable),
        timed=number(calls.timed),
        timed_s=total(calls.service_s, calls.timed),
        small=number(calls.small),
        small_s=total(calls.service_s, calls.small),
        waited_s=units.waited_s,
        share_s=units.share_s,
        turns=units.turns,
        stable_turns=units.stable_turns,
        stable_waited_s=units.stable_waited_s,
        stable_share_s=units.stable_share_s,
        client_s=client_s,
        unsure=units.unsure,
        unsure_s=_beyond(
            units.unsure_s, units.unsure * rtt_s, calls.lost.unknown_s + calls.longer.unknown_s
        ),
        # Of a pause nothing is known by call.
        unseen_s=np.minimum(_beyond(units.unseen_s, units.unseen * rtt_s), client_s),
    )
    return grouped(each)


def _beyond(times_s: Floats, known_s: Floats, elsewhere_s: float = 0.0) -> Floats:
    """Times by unit less what is known of them, and less their part of what is told elsewhere."""
    left: Floats = np.maximum(times_s - known_s, 0.0)
    whole = float(left.sum())
    return left * max(0.0, 1.0 - elsewhere_s / whole) if whole else left
