"""What each of several clients would take: forecasts that do not take all of them as one.

Takes the clock of each client; gives for each what it took from its first call to its last reply,
and what it would with other storage or another network. Its own calls, round trip, overlap and time
between calls make it up, as those of the only client make up the model's forecast. What clients do
to one another at the server stays as it was. A run is over when its last client is: no forecast of
all together is below that of one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.formula import ROUNDING_S, Costs, stored_turns_of, times_of
from pcapnfs.analyses.forecasts.held_down import held_down, moved_by
from pcapnfs.analyses.forecasts.inputs import parts_of
from pcapnfs.analyses.forecasts.scenarios import NOTICED
from pcapnfs.analyses.forecasts.what_if import (
    LOG_DEVICE_S,
    RTT_PART,
    Base,
    Change,
    Scenario,
    local,
    part_of_other,
    ready,
    scenario,
)
from pcapnfs.analyses.times.call_times import slow_s
from pcapnfs.analyses.times.outstanding import KINDS
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.forecasts.overrides import Overrides
    from pcapnfs.analyses.times.client_clocks import ClientClock

TOLD = 5
"""Clients that have forecasts, those that waited longest."""

LONGEST = 20
"""Clients with the longest runs, none of whose forecasts those of all together are below."""

OF_ALL = ("files", "rpcs_per_file", "syncops_per_file", "streams", "client_s")
"""Inputs that are given of all clients together: where one is, nothing is told of each."""


class ClientForecast(Record):
    """One client's run, and what it would take."""

    client: str
    """Its address."""
    calls: int
    """Its calls of NFS and NFSACL."""
    stable_calls: int
    """Stable ones."""
    rtt_s: float
    """The round trip that it saw, seconds; where nothing tells its own, that of all clients."""
    persist_s: float | None
    """What its stable calls took longer than that, mean, seconds; None with fewer than 30 of them,
    or where most were sent again."""
    concurrency: float
    """Its calls under way while any of them was."""
    measured_s: float
    """From its first call to its last reply, mounting included, without what lies between mount and
    first use, or last use and unmount, and without pauses of 30 s or more in which it is not known
    to have waited for anything (`long_pauses`), seconds."""
    what_if: tuple[Scenario, ...]
    """Its forecasts with one thing changed; those about storage only where `persist_s` tells, and
    those without waits where such are much of the time of all clients."""


def client_forecasts(measured: Measurement, given: Overrides) -> tuple[ClientForecast, ...]:
    """The forecasts of several clients, who waited longest first; of one, none.

    Args:
        measured: What was measured.
        given: What is given instead; of what is given of all together nobody knows whose it is.
    """
    return tuple(_forecast(measured, given, clock) for clock in _known(measured, given)[:TOLD])


def _known(measured: Measurement, given: Overrides) -> list[ClientClock]:
    """The clients that can have forecasts, who waited longest first."""
    if measured.clients is None or any(getattr(given, name) is not None for name in OF_ALL):
        return []
    return [clock for clock in measured.clients.each if clock.calls and clock.rtt_s is not None]


def until_the_last(
    rows: Sequence[Scenario],
    told: Sequence[ClientForecast],
    measured: Measurement,
    given: Overrides,
) -> tuple[Scenario, ...]:
    """The forecasts of all clients together, none of them below that of one client.

    Those of the clients that are told and of `LONGEST` of the others, without what these took to
    mount, which is no part of what all took together.

    Args:
        rows: What all would take, as one.
        told: What each of the first would.
        measured: What was measured.
        given: What is given instead.
    """
    clocks = _known(measured, given)
    if not clocks:
        return tuple(rows)
    longest = sorted(clocks[TOLD:], key=lambda clock: -clock.present_s)[:LONGEST]
    each = [*told, *(_forecast(measured, given, clock) for clock in longest)]
    apart_s = {clock.client: clock.apart_s for clock in clocks}
    alone: defaultdict[str, list[Scenario]] = defaultdict(list)
    for client in each:
        for one in client.what_if:
            alone[one.change].append(_without(one, apart_s[client.client]))
    found = [_no_sooner(row, alone[row.change]) for row in rows]
    base = next((row.forecast_s for row in found if row.change == _base(given)), None)
    if base is None:
        return tuple(found)
    return tuple(
        replace(row, factor=base / row.forecast_s if row.forecast_s > 0 else None)
        if row.change != "measured"
        else row
        for row in found
    )


def _base(given: Overrides) -> str:
    """What the other changes are held against."""
    return "given" if given.any else "measured"


def _without(one: Scenario, apart_s: float) -> Scenario:
    """A forecast of one client without what it took to mount."""
    low_s, high_s = (
        None if end is None else max(0.0, end - apart_s) for end in (one.low_s, one.high_s)
    )
    forecast_s = max(0.0, one.forecast_s - apart_s)
    return replace(one, forecast_s=forecast_s, low_s=low_s, high_s=high_s)


def _no_sooner(row: Scenario, alone: Sequence[Scenario]) -> Scenario:
    """A forecast of all together that is no less than each client's; so are the ends of its range.

    Args:
        row: The forecast.
        alone: What each would take.
    """
    forecast_s = max([row.forecast_s, *(one.forecast_s for one in alone)])
    low_s, high_s = (
        max([end, *(one for one in ends if one is not None)], default=None)
        if end is not None
        else None
        for end, ends in (
            (row.low_s, [one.low_s for one in alone]),
            (row.high_s, [one.high_s for one in alone]),
        )
    )
    return replace(
        row,
        forecast_s=forecast_s,
        low_s=None if low_s is None else min(low_s, forecast_s),
        high_s=high_s,
        slowest=forecast_s > row.forecast_s + ROUNDING_S,
    )


def _forecast(measured: Measurement, given: Overrides, clock: ClientClock) -> ClientForecast:
    if clock.undivided and given.rtt_s is not None and given.rtt_s <= (clock.rtt_s or 0.0):
        # What is given tells apart what the trace does not (`Measurement.with_rtt`).
        clock = replace(
            clock, rtt_s=given.rtt_s, network_rtt_s=given.rtt_s, bounded=False, undivided=False
        )
    costs = costs_of(clock)
    base = Base(costs, None, absorbs=bool(measured.absorbs), tick_s=measured.tick_s)
    told, stored = tells_storage(clock), measured.stable_calls > 0
    return ClientForecast(
        client=clock.client,
        calls=clock.calls,
        stable_calls=clock.stable_calls,
        rtt_s=costs.rtt_s,
        persist_s=costs.persist_s if told and clock.stable_calls else None,
        concurrency=costs.concurrency,
        measured_s=clock.active_s - clock.away_s,
        what_if=(
            *_what_if(given, clock, base, told=told, stored=stored),
            *_without_waits(measured, given, clock, base),
        ),
    )


def tells_storage(clock: ClientClock) -> bool:
    """Whether a client's calls tell what storage takes of them, or none needs it."""
    return clock.few is None and not clock.resent


def costs_of(clock: ClientClock) -> Costs[float]:
    """Its calls as those of one file, so that each input is its sum."""
    rtt, persist = clock.rtt_s or 0.0, clock.persist_s
    concurrency = clock.budget.concurrency or 1.0
    waited_s = clock.waited_s * concurrency
    return Costs(
        files=1.0,
        rpcs_per_file=float(clock.calls),
        rtt_s=rtt,
        syncops_per_file=float(clock.stable_calls),
        persist_s=persist,
        other_s=waited_s - clock.round_trip_calls * rtt - clock.stable_calls * persist,
        client_s=0.0,
        pauses_s=max(0.0, clock.active_s - clock.away_s - clock.waited_s),
        concurrency=concurrency,
        unsure_s=clock.causes()["unknown"] * concurrency,
        locks_per_file=float(clock.lock_calls),
        slow_s=slow_s(rtt, clock.usual_s, clock.small_calls + clock.stable_calls),
        queue_s=clock.queue_s,
        turns=times_of(clock.turns, clock.round_trip_calls / concurrency),
        stored_turns=stored_turns_of(
            clock.budget.stable_s,
            clock.stable_turns,
            clock.stable_calls * clock.means_s[KINDS.index("stable")],
            float(clock.stable_calls),
            rtt_s=rtt,
            concurrency=concurrency,
        ),
    )


def _what_if(
    given: Overrides, clock: ClientClock, base: Base, *, told: bool, stored: bool
) -> Iterator[Scenario]:
    """The changes that make a difference to any client, one by one.

    Args:
        given: What is given.
        clock: The client's.
        base: Its inputs.
        told: What storage takes of its calls is known.
        stored: There are stable calls, if not of this client.
    """
    costs = base.costs
    network = 0.0 if clock.undivided else clock.network_rtt_s or 0.0
    if given.rtt_s is not None:
        network = given.rtt_s
    asked, moved = _asked(given, clock, costs), moved_by(clock, costs.beyond_s)
    added = asked.rtt_added_s

    def on_top(name: str, value: float | None, change: Change) -> Scenario:
        return scenario(name, value, base, change, given=asked)

    yield scenario("measured", None, base, Change())
    if given.any and (told or given.persist_s is None):
        yield on_top("given", None, Change())
    persist = costs.persist_s if given.persist_s is None else given.persist_s
    none = not clock.stable_calls
    if told and stored and (persist > 0 or none):
        yield on_top("async", 0.0, Change(persist_s=0.0))
    if told and stored and (persist > LOG_DEVICE_S or none):
        yield on_top("log_device", LOG_DEVICE_S, Change(persist_s=LOG_DEVICE_S))
    if network > 0:
        shorter = network * RTT_PART
        held = parts_of(held_down(moved, added + shorter - network, added))
        yield on_top("rtt", shorter, Change(rtt_added_s=shorter - network, **held))
    noticed_s = NOTICED * (clock.active_s - clock.away_s)
    undivided = given.rtt_s is None and (clock.undivided or clock.network_rtt_s is None)
    if told and not (undivided and costs.round_trips_s >= noticed_s):
        remote = part_of_other(clock.remote_s * costs.concurrency, costs)
        spared = (clock.network_rtt_s or 0.0) if undivided else network
        there = _spared(clock.idle.connecting_s, costs)
        yield on_top("local", None, local(asked, spared, remote).then(there))


def _asked(given: Overrides, clock: ClientClock, costs: Costs[float]) -> Change:
    """What is given, as a change of this client's inputs."""
    added = 0.0
    if given.rtt_s is not None:
        added = given.rtt_s - (clock.network_rtt_s or costs.rtt_s)
    held = parts_of(held_down(moved_by(clock, costs.beyond_s), added))
    return Change(rtt_added_s=added, persist_s=given.persist_s, **held)


def _without_waits(
    measured: Measurement, given: Overrides, clock: ClientClock, base: Base
) -> Iterator[Scenario]:
    """What a client takes without waits that clients have, though it may have none itself."""
    costs = base.costs
    asked = _asked(given, clock, costs)
    if measured.clocked.waiting_s >= NOTICED * measured.worked_s > 0:
        waited = part_of_other(clock.budget.waiting_s * costs.concurrency, costs)
        always = ready(asked, waited, 0.0).then(_spared(clock.idle.connecting_s, costs))
        yield scenario("ready", None, base, always, given=asked)
    if measured.locked.whole_s >= NOTICED * measured.worked_s > 0:
        free = _spared(clock.idle.locks_s, costs)
        yield scenario("unlocked", None, base, free, given=asked)


def _spared(idle_s: float, costs: Costs[float]) -> Change:
    """A client that waits so much less between its calls."""
    return Change(pauses_saved=min(1.0, idle_s / costs.pauses_s) if costs.pauses_s else 0.0)
