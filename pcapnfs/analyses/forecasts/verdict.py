"""What the time goes into, in one sentence with the numbers that carry it.

Takes the parts of a forecast, or of what was measured; gives the causes by size. A cause is named
when it takes a large share; two large ones are both named. What persistence costs by call tells
which storage it looks like. Of several clients each has a sentence of its own, about its own clock:
that of its time budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.trust import NEARLY
from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.verdict_evidence import (
    LARGE_SHARE,
    Evidence,
    noticed,
    storage_of,
    stored_share,
)
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER, TITLES, reasons
from pcapnfs.analyses.times import long_pauses
from pcapnfs.analyses.times.call_times import BOUND, beyond_round_trips
from pcapnfs.analyses.times.idle_time import divided
from pcapnfs.analyses.wire import full_windows
from pcapnfs.analyses.wire.loss_rate import holding
from pcapnfs.record import Record, replace
from pcapnfs.text import joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.mounts.first_use import MountIdle
    from pcapnfs.analyses.times.client_clocks import ClientClock, ClientClocks

SPAN_SHARE = 0.99
"""A client's run is said to have been shorter than the capture where it is less than this share of
it: its shares are not those of the time budget then, which has all of the capture."""

LEAST_CALLS = 5
"""Where TCP tells no round trip, the calls themselves have to. That fewer went into round trips
says no more than that they took what they took."""

MOSTLY_UNKNOWN = 0.5
"""From this share on, what nobody knows is named alone: any other cause may be in it."""


class Cause(Record):
    """A part of the time."""

    cause: str
    """`persistence`, `round_trips`, `transfer`, `waiting`, `path`, `loss`, `locks`, `server`,
    `unknown` or `client`; `network_or_server` in place of `round_trips` where the calls that tell
    them may all have waited for the server's storage."""
    time_s: float
    """What it takes, seconds."""
    share: float | None
    """Its share of all causes, 0…1; None when nothing took any time."""


class ClientVerdict(Record):
    """Where the time of one of several clients went, by its own clock: that of its time budget."""

    client: str
    """Its address."""
    clock_s: float
    """The capture's span, seconds: what `causes` add up to."""
    waited_s: float
    """Time in which any of its calls was outstanding, seconds."""
    active_s: float
    """From the begin of its first call to the end of its last, seconds, without what lies between
    mount and first use, or last use and unmount."""
    sentence: str
    """Its verdict with the numbers, in English: of the time in which it was active."""
    named: tuple[str, ...]
    """The causes that take the largest share, or a large one, of the time in which it was active,
    largest first, without mounting where the sentence tells that; `unknown` alone where that is
    half of it; empty without any time."""
    storage: str | None
    """What its stable calls look like, as of the verdict; None where no call is stable."""
    causes: tuple[Cause, ...]
    """All parts of its clock, largest first. `transfer`, `waiting` and `client` are the rows of its
    time budget, without what of `loss` and `locks` is in them, and what of the last it waited for
    a connection is in `waiting`; the others divide the rest of it."""
    active_causes: tuple[Cause, ...]
    """The same of the time in which it was active, largest first: from its first call to its last
    reply without what lies between mount and first use, or last use and unmount, and without pauses
    of 30 s or more in which it waited for nothing known, with what it asked for a connection after
    that, and without mounting where the sentence tells that."""


class Verdict(Record):
    """Where the time goes."""

    sentence: str
    """The verdict with its numbers, in English; of several clients those of the first three, the
    one that waited longest first."""
    named: tuple[str, ...]
    """The largest cause and whatever else takes a large share, largest first; `unknown` alone where
    that is half of the time; empty without any time. Of several clients those of the one that
    waited longest; so are the next two."""
    storage: str | None
    """What the stable calls look like: `disk` (rotational latency), `slow` (more than one access to
    a disk, or a busy one), `flash` (faster than a disk turns), `memory` (an async export, or a
    write cache that survives a power failure), `data` (as from memory or nearly so, but what stores
    data waits), `names` (as from memory, but calls whose outcome is not known took longer: they may
    have stored data),
    `mixed` (most quick, and storage far slower for some), `mostly` (as from memory, but some took
    as long as a disk does, for a reason that is not known), `uneven` (as long as a disk takes on
    average, but many of the same kinds as fast as from memory: a wait for a thread or for other
    calls, or storage that is slow for some files); None where no call is stable."""
    causes: tuple[Cause, ...]
    """All parts, largest first; of the only client's run without what lies between mount and first
    use, or last use and unmount, and without pauses of 30 s or more in which it waited for nothing
    known."""
    client: str | None = None
    """Address of the client whose clock this is; None where there is only one, and of a
    forecast, which takes all clients as one."""
    clients: tuple[ClientVerdict, ...] = ()
    """Of several clients the first three, the one that waited longest first; empty where there is
    only one, and of a forecast."""
    rest: str | None = None
    """What the clients beyond these waited, in a sentence; None without any."""
    doubt: str | None = None
    """What of the time may not have passed, in a sentence that `sentence` holds, too: a pause of
    the capture of which nothing tells whether its clock was set forward; None without any."""

    @property
    def active_causes(self) -> tuple[Cause, ...]:
        """Of the only client all parts are of the time in which it was active."""
        return self.causes


def verdict(evidence: Evidence) -> Verdict:
    """Name the causes."""
    costs = evidence.costs
    transfer = costs.beyond_s and min(evidence.transfer_s / costs.concurrency, costs.beyond_s)
    waiting = evidence.waiting_s / costs.concurrency
    storage = storage_of(evidence)
    persistence = costs.persistence_s * stored_share(evidence, storage)
    evidence = _with_stable(evidence, costs.persistence_s - persistence)
    beyond = costs.beyond_s + costs.persistence_s - persistence
    left = max(0.0, beyond - max(0.0, transfer) - waiting)
    path = min(evidence.longer_s / costs.concurrency, left)
    left -= path
    # What calls stood still was seen of each; the round trip is a mean, too long for other calls.
    lost = min(evidence.lost_s / costs.concurrency, left + costs.round_trips_s)
    idle = divided(
        costs.client_time_s,
        late_s=evidence.lost_idle_s,
        path_s=evidence.longer_idle_s,
        locks_s=evidence.locked_s,
        connecting_s=evidence.unreached_s,
    )
    round_trips = costs.round_trips_s - max(0.0, lost - left)
    left = max(0.0, left - lost)
    if evidence.moving_s:
        # By time, most of what their calls held up the clock for was in the queue of a full link:
        # those that found none held it up for more, and the server for no more than is known.
        over = max(0.0, left - sum(evidence.served_s.values()))
        round_trips, left = round_trips + over, left - over
    waited = costs.files * costs.rpcs_per_file * evidence.queue_s / costs.concurrency
    busy = costs.round_trips_s + costs.persistence_s + costs.beyond_s
    called = round_trips + persistence + max(0.0, transfer) + waiting + path + lost + left
    part = _kept(round_trips + persistence, called - busy)
    round_trips, persistence = round_trips * part, persistence * part
    queue = min(waited, round_trips)
    unknown = min(evidence.unknown_s / costs.concurrency, left)
    again = beyond_round_trips(
        sum(evidence.again_s.values()) / costs.concurrency,
        costs.round_trips_s,
        resent=evidence.small_resent,
    )
    again = min(again, left - unknown)
    parts = {
        "persistence": persistence,
        "round_trips": round_trips - queue,
        "transfer": max(0.0, transfer),
        "waiting": waiting + again + idle.unreached_s + evidence.vain_s,
        "path": path + idle.path_s,
        "loss": lost + idle.late_s,
        "locks": idle.locks_s,
        "server": left - unknown - again + queue,
        "unknown": unknown,
        "client": idle.client_s,
    }
    causes = causes_of(_seen(evidence, _owned(evidence, parts)))
    causes = _undivided(evidence, causes)
    named = named_of(causes)
    several = "both" if evidence.clients == 2 else f"all {units.count(evidence.clients)}"
    whose = "The time" + (f" of {several} clients, taken as one," if evidence.clients > 1 else "")
    verb = "would go into" if evidence.forecast else "went into"
    return Verdict(
        sentence=f"{whose} {verb} {reasons(evidence, causes, named, storage)}"
        if named
        else NOTHING,
        named=named,
        storage=storage,
        causes=causes,
    )


def too_few(calls: int, rtt_source: str) -> bool:
    """Whether calls that tell the round trip themselves are too few for a verdict.

    Args:
        calls: How many there are.
        rtt_source: What the round trip rests on.
    """
    return 0 < calls < LEAST_CALLS and rtt_source in ("few_calls", BOUND)


def measured_verdict(measured: Measurement) -> Verdict | None:
    """What the run as it was measured went into, by client where there are several.

    None without calls, when nothing tells the round trip, when most traffic cannot be read, when
    the capture's clocks do not tell what calls took, or when it would name round trips that nothing
    tells but fewer than `LEAST_CALLS` calls.
    """
    if not measured.calls or measured.rtt_s is None or measured.unread or measured.times_untold:
        return None
    if measured.clients is None:
        found: Verdict | None = _of_one(measured, measured.rtt_s)
    else:
        found = _of_clients(measured.clients)
    if found is None:
        return None
    by_calls = {"round_trips", NETWORK_OR_SERVER} & set(found.named)
    if by_calls and too_few(measured.round_trip_calls, measured.rtt_source):
        return None
    doubt = _doubt(measured, found)
    counted, apart = _counted(measured, found) if measured.clients is None else ("", "")
    told = (found.sentence, counted, doubt, apart)
    return replace(found, sentence=" ".join(filter(None, told)), doubt=doubt)


def _of_one(measured: Measurement, rtt_s: float) -> Verdict:
    """What the only client's run went into."""
    told, away = measured.persist_s is not None, measured.away_s
    clocked, overlap = measured.clocked, measured.concurrency
    bound = measured.network_rtt_s is None
    return verdict(
        Evidence(
            costs=measured.booked(measured.costs()),
            # Calls overlap otherwise while their bytes move, or they wait, than on average.
            transfer_s=clocked.moved_s * overlap,
            waiting_s=clocked.waiting_s * overlap,
            unknown_s=measured.unknown_beyond_s(rtt_s),
            lost_s=clocked.lost_s * overlap,
            cut_s=clocked.cut_s * overlap,
            arrival=measured.arrival,
            lost_idle_s=measured.lost.idle_s,
            unused_s=max(0.0, measured.unused_s - away),
            put_off_most_s=measured.put_off_most_s,
            longer_s=clocked.longer_s * overlap,
            longer_calls=measured.longer.calls,
            longer_each_s=measured.longer.each_s,
            longer_idle_s=measured.longer.idle_s,
            full=measured.longer.full,
            moving_s=measured.longer.moving_s,
            stable_s=measured.stable_median_s if told else None,
            data_s=measured.data_median_s if told else None,
            small_s=measured.small_median_s,
            forecast=False,
            few=None if told or not measured.stable_calls else measured.stable_calls,
            resent=measured.resent,
            small_resent=measured.small_resent,
            again_s={row: time_s * overlap for row, time_s in measured.again_s.items()},
            locked_s=measured.locked.whole_s,
            unreached_s=measured.unreached_s,
            vain_s=measured.vain_s,
            lacking=measured.lacking,
            login_s=measured.login_s,
            stood_still=measured.stood_still,
            queue_s=measured.queue_s,
            stable=measured.stable,
            bounded=measured.bounded,
            undivided=measured.undivided,
            network_s=measured.network_most_s if bound else measured.network_rtt_s,
            at_most=bound or measured.bounded,
            held_down=holding(measured.loss_rates, clocked.transfer_s),
            full_window=full_windows.holding(measured.full_windows, clocked.transfer_s),
            ack_waits=measured.ack_waits,
            served_s=measured.served_s,
            unseen_s=sum(measured.path.unseen_s.values()),
            tick_s=measured.tick_s,
        )
    )


def _counted(measured: Measurement, found: Verdict) -> tuple[str, str]:
    """What time the only client's verdict is of, and what is not counted, where it is not all."""
    apart, worked = measured.apart_s, measured.worked_s
    mounting = noticed(apart, apart + worked)
    told = _left_out(measured.mount_idle, measured.away_s, worked)
    present = worked + measured.mount_idle.whole_s + measured.vain_s
    brief = present < SPAN_SHARE * measured.capture_s and not mounting
    counted = ""
    if found.named and (told or brief):
        last = UNANSWERED if measured.unanswered_last else "the last reply"
        counted = f"Counted: {units.duration(worked)} from the first call to {last}"
        if measured.vain_s >= (1.0 - SPAN_SHARE) * worked:
            counted += f", and {_asking(measured.vain_s)}"
        counted += "."
    if mounting:
        told.append(_mounting(apart, looked_up=measured.asked_in_vain))
    return counted, _not_counted(told)


def _left_out(idle: MountIdle, away_s: float, worked_s: float) -> list[str]:
    """What a verdict is not of, in words: long pauses, and what nobody used a mount, if much."""
    return [*idle.noticed(worked_s), *([long_pauses.told(away_s)] if away_s else [])]


def _not_counted(told: list[str]) -> str:
    """The same in a sentence; nothing of nothing."""
    return f"Not counted: {joined(told)}." if told else ""


UNANSWERED = "the last sign of a call without a reply"
"""What a time ends with whose last call has none: that is as long as it was seen to wait."""


def _asking(vain_s: float) -> str:
    """What is added to a run."""
    return f"{units.duration(vain_s)} of asking for a connection after it"


def _mounting(apart_s: float, *, looked_up: bool = False) -> str:
    """What mounting took; with the search for a service that was in vain."""
    what = "mounting and looking for the port of a service" if looked_up else "mounting"
    return f"{units.duration(apart_s)} of {what}"


def _doubt(measured: Measurement, found: Verdict) -> str | None:
    """What a verdict counts that may not have passed: a pause of which nothing tells.

    It is half of the capture or more. So it lies within any time that is as long, and in no other;
    nor is it in one that is told without its long pauses.
    """
    pause_s, frame = measured.untold_pause_s, measured.untold_pause_frame
    clocks = measured.clients.each if measured.clients is not None else ()
    # What mounts is in the clock of each of several clients, and in no sentence on the only one.
    alone_s = measured.present_s - measured.apart_s
    counted_s = max((clock.present_s for clock in clocks[:TOLD]), default=alone_s)
    if pause_s is None or pause_s > counted_s:
        return None
    where = f" before frame {frame}" if frame is not None else ""
    rest = "" if found.clients else _without(found.causes, pause_s)
    whose = "The time of each" if found.clients else "The time"
    return (
        f"{whose} holds {units.duration(pause_s)}{where} in which nothing was captured: if the "
        f"clock of the capturing host was set forward there, they did not pass{rest}."
    )


def _without(causes: tuple[Cause, ...], pause_s: float) -> str:
    """What the time went into without a pause, which one of the causes holds; after a comma."""
    largest, *others = causes
    if largest.time_s < NEARLY * pause_s:
        return ""  # It was divided among several that were under way.
    parts = {each.cause: each.time_s for each in others}
    rest = causes_of(parts | {largest.cause: max(0.0, largest.time_s - pause_s)})
    told = [
        f"{TITLES[each.cause]} {units.share(each.share)}"
        for each in rest
        if each.cause in named_of(rest)
    ]
    return f", and the rest went into {' and '.join(told)}" if told else ""


def client_verdict(clock: ClientClock) -> ClientVerdict:
    """Name the causes of one client's time."""
    return _of_client(clock, clock.client)


def _of_clients(clocks: ClientClocks) -> Verdict | None:
    """Each client's own; None when none of them called NFS."""
    clients = clocks.total.clients
    called = [clock for clock in clocks.each if clock.calls][:TOLD]
    if not called:
        return None
    first = called[0]
    # One that only mounted may have waited longer.
    which = "which waited longest" if first is clocks.each[0] else "one"
    whose = f"{first.client}, {which} of {units.count(clients)} clients,"
    each = (_of_client(first, whose), *(client_verdict(clock) for clock in called[1:]))
    others = None
    if number := clients - len(each):
        rest = units.duration(max(0.0, clocks.waited_s - sum(told.waited_s for told in each)))
        kind, together = ("client", "") if number == 1 else ("clients", " together")
        others = f"{units.count(number)} more {kind} waited {rest} for calls{together}."
    return Verdict(
        sentence=" ".join([told.sentence for told in each] + ([others] if others else [])),
        named=each[0].named,
        storage=each[0].storage,
        causes=each[0].causes,
        client=each[0].client,
        clients=each,
        rest=others,
    )


def _waited(clock: ClientClock, apart_s: float) -> str:
    """How long a client waited, without mounting, and what for."""
    calls_s = max(0.0, clock.waited_s - apart_s)
    return joined([f"{units.duration(calls_s)} for calls", *_beside(clock)])


def _beside(clock: ClientClock) -> list[str]:
    """How long it waited for locks and connections, where that is much of all it waited for."""
    idle, whole = clock.idle, clock.waited_s + clock.beside_s
    waits = ((idle.locks_s, "for locks"), (idle.unreached_s, "for a connection"))
    return [f"{units.duration(time_s)} {what}" for time_s, what in waits if time_s > BESIDE * whole]


BESIDE = 0.01
"""Share of what a client waited in all, above which it is told that it was not for calls."""


TOLD = 3
"""Clients that a verdict tells of one by one."""

NOTHING = "No call took any time."
"""The verdict without any time."""


def _of_client(clock: ClientClock, whose: str) -> ClientVerdict:
    """What the time of one client, of which it is told whose it is, went into."""
    evidence = _evidence(clock)
    storage = storage_of(evidence)
    parts = clock.causes()
    persistence = parts["persistence"] * stored_share(evidence, storage)
    evidence = _with_stable(evidence, parts["persistence"] - persistence)
    parts["server"] += parts["persistence"] - persistence
    parts["persistence"] = persistence
    parts = _owned(evidence, parts)
    causes = _undivided(evidence, causes_of(_seen(evidence, parts)))
    worked = clock.active_s - clock.away_s
    unused = max(0.0, worked - clock.waited_s - clock.known_s)
    told = _left_out(clock.mount_idle, clock.away_s, worked)
    apart = 0.0
    if noticed(clock.apart_s, worked):
        apart, parts = clock.apart_s, _without_mounting(clock, parts)
        told.append(_mounting(apart))
    active = _undivided(evidence, causes_of(_seen(evidence, parts | {"client": unused})))
    named = named_of(active)
    answer = f"No call of {whose.rstrip(',')} took any time."
    if named:
        why = reasons(evidence, active, named, storage, always=True)
        answer = f"The time of {whose} went into {why}"
    waited = f"In {_active(clock, worked - apart)} it waited {_waited(clock, apart)}."
    return ClientVerdict(
        client=clock.client,
        clock_s=clock.budget.wall_s,
        waited_s=clock.waited_s,
        active_s=clock.active_s,
        sentence=" ".join(filter(None, (answer, waited, _not_counted(told)))),
        named=named,
        storage=storage,
        causes=causes,
        active_causes=active,
    )


def _active(clock: ClientClock, worked_s: float) -> str:
    """The time in which it was active, in words: what shares are of."""
    last = UNANSWERED if clock.unanswered_last else "its last reply"
    told = f"{units.duration(worked_s)} from its first call to {last}"
    if vain_s := clock.idle.vain_s:
        told += f", and {_asking(vain_s)},"
    return told


def _without_mounting(clock: ClientClock, parts: dict[str, float]) -> dict[str, float]:
    """The parts without the calls that mount and unmount, which are the server's or unknown."""
    server = min(clock.apart_s, parts["server"])
    unknown = min(clock.apart_s - server, parts["unknown"])
    return parts | {"server": parts["server"] - server, "unknown": parts["unknown"] - unknown}


def _evidence(clock: ClientClock) -> Evidence:
    """What a client's sentence is made of."""
    costs = Costs(
        files=1.0,
        rpcs_per_file=float(clock.calls),
        rtt_s=clock.rtt_s or 0.0,
        syncops_per_file=float(clock.stable_calls),
        persist_s=clock.persist_s,
        other_s=0.0,
        client_s=0.0,
        pauses_s=0.0,
        concurrency=1.0,
        locks_per_file=float(clock.lock_calls),
    )
    return Evidence(
        costs=costs,
        stable_s=clock.stable_median_s if clock.few is None else None,
        data_s=clock.data_median_s if clock.few is None else None,
        small_s=clock.small_median_s,
        unknown_s=clock.causes()["unknown"],
        forecast=False,
        few=clock.few,
        resent=clock.resent,
        put_off_most_s=clock.put_off_most_s,
        small_resent=clock.small_resent,
        waiting_s=clock.budget.waiting_s,
        unreached_s=clock.idle.connecting_s,
        vain_s=clock.idle.vain_s,
        again_s=clock.again_s,
        lacking=clock.lacking,
        login_s=clock.login_s,
        stood_still=clock.stood_still,
        arrival=clock.arrival,
        queue_s=clock.queue_s,
        stable=clock.stable,
        bounded=clock.bounded,
        undivided=clock.undivided,
        network_s=clock.told_network_s or clock.network_most_s,
        at_most=clock.told_network_s is None or clock.bounded,
        held_down=holding(clock.loss_rates, clock.budget.transfer_s),
        full_window=full_windows.holding(clock.full_windows, clock.budget.transfer_s),
        ack_waits=clock.ack_waits,
        served_s=clock.served_s(),
        unseen_s=clock.unseen_s,
    )


def _kept(means_s: float, over_s: float) -> float:
    """The part of what means come to that there was time for, 0…1.

    Other calls may be faster than those that show the round trip. Then it comes, with persistence,
    to more than the time in which calls were under way; the client's own is known, and stays.
    """
    return max(0.0, 1.0 - over_s / means_s) if over_s > 0 and means_s else 1.0


def _with_stable(evidence: Evidence, slower_s: float) -> Evidence:
    """The evidence with what stable calls took longer for the server's sake, seconds of the clock.

    What others took is of as many calls at once as were under way.
    """
    slower_s *= evidence.costs.concurrency
    return replace(evidence, served_s={**evidence.served_s, "stable": max(0.0, slower_s)})


def _owned(evidence: Evidence, parts: dict[str, float]) -> dict[str, float]:
    """The parts, with the time of calls that were sent again where it belongs.

    What such a call takes is the time until it was sent again, or until a late answer came: the
    network's, or that of a server that is overloaded. Whether storage was slow cannot be told, nor
    what a round trip takes.
    """
    moved = ["persistence"] if evidence.resent else []
    moved += ["round_trips"] if evidence.small_resent else []
    waiting = parts["waiting"] + sum(parts[cause] for cause in moved)
    return parts | dict.fromkeys(moved, 0.0) | {"waiting": waiting}


def _seen(evidence: Evidence, parts: dict[str, float]) -> dict[str, float]:
    """The parts, with the time without a call where nobody knows whether there was none."""
    if not evidence.lacking:
        return parts
    return parts | {"client": 0.0, "unknown": parts["unknown"] + parts["client"]}


def _undivided(evidence: Evidence, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """The causes, with round trips that may be the server's as what they are."""
    if not evidence.undivided:
        return causes
    return tuple(
        replace(each, cause=NETWORK_OR_SERVER) if each.cause == "round_trips" else each
        for each in causes
    )


def causes_of(parts: Mapping[str, float]) -> tuple[Cause, ...]:
    """The parts by size."""
    total = sum(parts.values())
    return tuple(
        Cause(name, time, time / total if total else None)
        for name, time in sorted(parts.items(), key=lambda part: -part[1])
    )


def named_of(causes: tuple[Cause, ...]) -> tuple[str, ...]:
    """The largest, and what takes a large share; what is unknown alone where that is most."""
    if any(each.cause == "unknown" and (each.share or 0.0) >= MOSTLY_UNKNOWN for each in causes):
        return ("unknown",)
    return tuple(
        each.cause
        for place, each in enumerate(causes)
        if each.time_s > 0 and (place == 0 or (each.share or 0.0) >= LARGE_SHARE)
    )
