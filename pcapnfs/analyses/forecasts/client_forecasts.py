"""What each of several clients would take: forecasts that do not take all of them as one.

Takes the clock of each client; gives for each what it took from its first call to its last reply,
and what it would with other storage or another network. Its own calls, round trip, overlap and time
between calls make it up, as those of the only client make up the model's forecast. What clients do
to one another at the server stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.formula import Costs, stored_turns_of, times_of
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
    """Its forecasts with one thing changed; those about storage only where `persist_s` tells."""


def client_forecasts(measured: Measurement, given: Overrides) -> tuple[ClientForecast, ...]:
    """The forecasts of several clients, who waited longest first; of one, none.

    Args:
        measured: What was measured.
        given: What is given instead; of what is given of all together nobody knows whose it is.
    """
    if measured.clients is None or any(getattr(given, name) is not None for name in OF_ALL):
        return ()
    called = [clock for clock in measured.clients.each if clock.calls and clock.rtt_s is not None]
    return tuple(_forecast(measured, given, clock) for clock in called[:TOLD])


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
        what_if=tuple(_what_if(given, clock, base, told=told, stored=stored)),
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
    added = 0.0
    if given.rtt_s is not None:
        added = given.rtt_s - (clock.network_rtt_s or costs.rtt_s)
        network = given.rtt_s
    moved = moved_by(clock, costs.beyond_s)
    held = parts_of(held_down(moved, added))
    asked = Change(rtt_added_s=added, persist_s=given.persist_s, **held)

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
        idle_s = clock.idle.connecting_s
        part = min(1.0, idle_s / costs.pauses_s) if costs.pauses_s else 0.0
        yield on_top("local", None, local(asked, spared, remote).then(Change(pauses_saved=part)))
