"""Which changes are foretold: storage, network, streams, asking in another way, a local disk.

Takes the inputs of the model; gives those changes that make a difference, each with its forecast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.held_down import held_down, moved
from pcapnfs.analyses.forecasts.inputs import (
    by_file,
    mostly_resent,
    network_s,
    outcomes_untold,
    parts_of,
    still_waited,
    storage_untold,
)
from pcapnfs.analyses.forecasts.what_if import (
    LOG_DEVICE_S,
    RTT_PART,
    STREAMS,
    Base,
    Change,
    Scenario,
    local,
    part_of_other,
    ready,
    scenario,
)
from pcapnfs.analyses.times.timeline import BetweenCalls

if TYPE_CHECKING:
    from pcapnfs.analyses.caching.savings import LargerWrites
    from pcapnfs.analyses.caching.spared import Spared
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.forecasts.overrides import Overrides

NOTICED = 0.05
"""Part of the run from which on it is told what it took without waits for a server that was not
ready or not reached: a grace period or an outage is no matter of network and storage, nor are waits
for locks. So is what is told of round trips that may be the storage's: less changes no forecast."""

Alternative = tuple[str, float | None, Change]
"""Code, value and change, as in `Scenario`."""


def asking_otherwise(
    measured: Measurement, spared: Iterable[Spared], writes: LargerWrites
) -> Iterator[Alternative]:
    """What a client would save by asking in another way.

    Args:
        measured: The inputs.
        spared: Calls that attributes in the listings would have spared.
        writes: What larger WRITEs would have spared.
    """
    files = measured.files
    fewer, pauses_s = 0, 0.0
    for each in spared:
        fewer, pauses_s = fewer + each.calls, pauses_s + each.pause_s
    if files and fewer:
        change = Change(rpcs_saved=fewer / files, pauses_saved_s=pauses_s / files)
        yield "readdirplus", float(fewer), change
    if files and writes.calls:
        change = Change(rpcs_saved=writes.calls / files, syncops_saved=writes.stable_calls / files)
        yield "wsize", float(writes.write_bytes), change


def scenarios(
    measured: Measurement | None,
    given: Overrides,
    base: Base,
    asked: Change,
    otherwise: tuple[Alternative, ...],
) -> Iterator[Scenario]:
    """The changes that make a difference, one by one."""

    def on_top(name: str, value: float | None, change: Change) -> Scenario:
        return scenario(name, value, base, change, given=asked)

    if measured is not None:
        yield scenario("measured", None, base, Change())
    if measured is None or given.any:
        yield on_top("given", None, Change())
    costs, network = asked.of(base.costs), network_s(measured, given) or 0.0
    told = not (
        mostly_resent(measured, given)
        or storage_untold(measured, given)
        or outcomes_untold(measured, given)
    )
    stable = costs.syncops_per_file > 0 and costs.persist_s > 0 and told
    if stable:
        yield on_top("async", 0.0, Change(persist_s=0.0))
    if stable and costs.persist_s > LOG_DEVICE_S:
        yield on_top("log_device", LOG_DEVICE_S, Change(persist_s=LOG_DEVICE_S))
    if network > 0:
        shorter = network * RTT_PART
        before = asked.rtt_added_s
        held = held_down(moved(measured), before + shorter - network, before)
        yield on_top("rtt", shorter, Change(rtt_added_s=shorter - network, **parts_of(held)))
    # A mean below that is what as many streams come to that begin late, or wait for the client.
    as_many = measured is not None and given.streams is None and measured.at_once >= STREAMS
    # Streams are of files side by side: a database in one file has none to share out.
    few = measured is not None and given.files is None and (measured.files or 0) < STREAMS
    at_once = given.streams or costs.concurrency
    if at_once < STREAMS and not (as_many or few):
        yield on_top("streams", float(STREAMS), Change(streams=STREAMS))
    for name, value, change in otherwise:
        if told or not change.syncops_saved:
            yield on_top(name, value, change)
    if measured is None:
        return
    calls_s = measured.clocked.waiting_s
    unreached = still_waited(measured.unreached, given)
    reached = _without(unreached, measured)
    waited_s = calls_s + unreached.whole_s
    if waited_s < NOTICED * measured.worked_s:
        waited_s = 0.0

    if waited_s:
        waited, held_s = by_file(measured, calls_s), by_file(measured, measured.clocked.held_s)
        always = ready(asked, part_of_other(waited, base.costs), held_s)
        yield on_top("ready", None, always.then(reached))
    locked = still_waited(measured.locked, given)
    if locked.whole_s >= NOTICED * measured.worked_s > 0:
        yield on_top("unlocked", None, _without(locked, measured))
    # Of what cannot be told from the network, a local disk may take as long as the server's.
    undivided = given.rtt_s is None and (measured.undivided or measured.path.rtt_s is None)
    if told and not (undivided and costs.round_trips_s >= NOTICED * measured.worked_s):
        away = unreached.plus(still_waited(measured.lost_between, given))
        remote = part_of_other(by_file(measured, measured.remote_s), base.costs)
        spared = (measured.path.rtt_s or 0.0) if undivided else network
        if measured.mostly_moving and given.rtt_s is None and measured.usual_s is not None:
            # What they take beyond that they wait behind data on the link.
            spared += max(0.0, costs.rtt_s - measured.usual_s)
        there = _without(away, measured).then(_near(measured, away, given))
        yield on_top("local", waited_s or None, local(asked, spared, remote).then(there))


def _near(measured: Measurement, away: BetweenCalls, given: Overrides) -> Change:
    """The client's own time without what replies were on their way to it then."""
    left_s = max(0.0, measured.client_s - away.gaps_s)
    waited = BetweenCalls(gaps_s=min(measured.longer.idle_s, left_s), pauses_s=0.0)
    return _without(still_waited(waited, given), measured)


def _without(waited: BetweenCalls, measured: Measurement) -> Change:
    """The client's own time without what it waited between calls."""
    return Change(
        client_saved=_part(waited.gaps_s, measured.client_s),
        pauses_saved=_part(waited.pauses_s, measured.paused_s),
    )


def _part(some_s: float, of_s: float) -> float:
    """What part it is; 0 of nothing."""
    return min(1.0, some_s / of_s) if of_s else 0.0
