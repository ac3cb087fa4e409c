"""What changed for each client.

Takes what was measured on both sides, and which clients are the same; gives a row for each client,
those of both sides added up, and whether a comparison may take all as one. Several clients taken as
one tell of none of them: that run goes from the first call of any to the last reply of any, and is
as long as before where the slowest is. What one client took is made of the causes of its own
verdict, so that their differences add up to its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.client_forecasts import costs_of, tells_storage
from pcapnfs.analyses.forecasts.verdict import client_verdict
from pcapnfs.analyses.forecasts.verdict_reasons import NETWORK_OR_SERVER
from pcapnfs.analyses.forecasts.what_if import Change
from pcapnfs.comparison.callers import Caller, MatchedBy, SameClient
from pcapnfs.comparison.foretold import other_overlap
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.comparison.matching import Where
from pcapnfs.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from pcapnfs.analyses.times.client_clocks import ClientClock
    from pcapnfs.comparison.side import Side

IDLE = ("client", "unknown", "waiting", "locks", "loss")
"""Causes that time before a client's first call and after its last reply is booked to, in the order
in which it is taken from them."""


class Likeness(Record):
    """Whose runs two sides are."""

    same_clients: bool
    """Nearly all calls of both sides, and of the time that was waited for them, are of clients of
    both sides, or each has one client at most."""
    as_one: bool
    """One client makes nearly all of both sides, so that all taken as one tell of it; likewise."""


class ClientRun(Record):
    """What one client did on one side."""

    address: str | None
    """Its address; None of several clients."""
    machine: str | None
    """The machine name that all its calls with AUTH_SYS have in common, or, without such calls, the
    same name in its client owner, where it is Linux; not escaped. None without one, with several,
    where it is one of a host that has none of its own (localhost), and of several clients."""
    client_owner: str | None
    """What it names itself by in all of EXCHANGE_ID and SETCLIENTID, without the version of NFS
    that Linux begins it with; not escaped. None likewise."""
    run_s: float
    """From its first call to its last reply, mounting included, but not what lies between mount and
    first use, or last use and unmount, seconds."""
    waited_s: float
    """Time of it in which any of its calls was outstanding, seconds."""
    calls: int
    """Its calls of NFS and NFSACL."""
    stable_calls: int
    """Stable ones."""
    rtt_s: float | None
    """Round trip that it saw, seconds; where nothing tells its own, that of all clients; None when
    nothing tells that either, and of several clients."""
    persist_s: float | None
    """What its stable calls took longer than that, mean, seconds; None with fewer than 30 of them,
    where most were sent again, and of several clients."""


class ClientForetold(Record):
    """A forecast of one client's run after, made from the one before."""

    given: str
    """What was given to it of the run after: `set_up` (the network's round trip and persistence),
    `calls` (also calls and stable calls), or `overlap` (also how many were under way at the same
    time, where that changed)."""
    forecast_s: float
    """The forecast, seconds."""
    measured_s: float
    """What the client took after, from its first call to its last reply, seconds."""
    error: float | None
    """Forecast by measured, less 1; negative: foretold too short. None when that took no time."""


class ClientPart(Record):
    """What one cause brings."""

    cause: str
    """As of the verdict: `persistence`, `round_trips`, `transfer`, `waiting`, `path`, `loss`,
    `locks`, `server`, `unknown` or `client`; `network_or_server` in place of `round_trips` where it
    is that on a side."""
    before_s: float
    """What of the client's run it took before, seconds."""
    after_s: float
    """The same after."""
    change_s: float
    """How much longer the client's run took because of it, seconds; negative: shorter."""
    clear: bool
    """It is a twentieth of the client's longer run or more, and more than what the captures lack
    could make (`clear_from`)."""


class ClientChange(Record):
    """One client on both sides, or on one of them."""

    where: Where
    """`both`, `came` (only after) or `went` (only before)."""
    client: str | None
    """Its address, of both sides that before; None of all clients of both sides, whose runs are
    added up."""
    matched_by: MatchedBy | None
    """What tells that it is one client on both sides: `address`; `client_owner` or `machine`, a
    name that it alone has on either side; `alone`, it is the only one that is left on each. None on
    one side only, and of several clients."""
    before: ClientRun | None
    """What it did before; None where it made no call."""
    after: ClientRun | None
    """What it did after; None likewise."""
    change_s: float | None
    """How much longer its run took after, seconds; negative: shorter; None on one side only."""
    parts: tuple[ClientPart, ...]
    """What that is made of, the largest first: they add up to it. Empty on one side only, where
    nothing tells a round trip, and where what the captures lack could make all of it."""
    foretold: tuple[ClientForetold, ...]
    """What its run before would have foretold of the one after; empty where `parts` is, where too
    few stable calls tell what storage takes, and of several clients."""


def client_changes(
    before: Side, after: Side, same: tuple[SameClient, ...], *, clear_from: float = NOTICEABLE
) -> tuple[ClientChange, ...]:
    """The clients of both sides, who waited longest first, then those of one side.

    Args:
        before: The side before.
        after: The side after.
        same: The clients of both sides.
        clear_from: Part of a client's longer run that a clear part must have.
    """
    first, second = _called(before), _called(after)
    there, again = {pair.before for pair in same}, {pair.after for pair in same}
    rows = [
        _change(pair.matched_by, first[pair.before], second[pair.after], clear_from)
        for pair in same
        # Of thousands, not all have a clock of their own on both sides.
        if pair.before in first and pair.after in second
    ]
    rows += [
        _change(None, called, None, clear_from)
        for client, called in first.items()
        if client not in there
    ]
    rows += [
        _change(None, None, called, clear_from)
        for client, called in second.items()
        if client not in again
    ]
    return tuple(
        sorted(rows, key=lambda row: (row.where != "both", -_waited_s(row), str(row.client)))
    )


def together(
    rows: tuple[ClientChange, ...], *, clear_from: float = NOTICEABLE
) -> ClientChange | None:
    """The clients of both sides added up; None with fewer than two of them.

    Args:
        rows: All clients.
        clear_from: Part of the longer sum of their runs that a clear part must have.
    """
    runs = [(row.before, row.after) for row in rows if row.before and row.after]
    if len(runs) < 2:
        return None
    before, after = (_added([run for run in side if run]) for side in zip(*runs, strict=True))
    told = [row.parts for row in rows if row.where == "both"]
    causes: dict[str, tuple[float, float]] = {}
    for part in (part for parts in told for part in parts):
        first, second = causes.get(part.cause, (0.0, 0.0))
        causes[part.cause] = first + part.before_s, second + part.after_s
    return ClientChange(
        where="both",
        client=None,
        matched_by=None,
        before=before,
        after=after,
        change_s=after.run_s - before.run_s,
        # Of one that tells nothing, they would not add up.
        parts=_parts(causes, clear_from * max(before.run_s, after.run_s)) if all(told) else (),
        foretold=(),
    )


def likeness(before: Side, after: Side, same: tuple[SameClient, ...]) -> Likeness:
    """Whose runs two sides are.

    Args:
        before: The side before.
        after: The side after.
        same: The clients of both sides.
    """
    first, second = _called(before), _called(after)
    if len(first) <= 1 and len(second) <= 1:
        return Likeness(same_clients=True, as_one=True)

    def make(pairs: Iterable[SameClient]) -> bool:
        chosen = tuple(pairs)
        return _mostly(first, {pair.before for pair in chosen}) and _mostly(
            second, {pair.after for pair in chosen}
        )

    busiest = max(first, key=lambda client: first[client].clock.calls, default=None)
    return Likeness(
        same_clients=make(same), as_one=make(pair for pair in same if pair.before == busiest)
    )


class _Called(Record):
    """A client that called NFS, on one side."""

    clock: ClientClock
    caller: Caller


def _mostly(called: Mapping[str, _Called], clients: AbstractSet[str]) -> bool:
    """Whether nearly all calls, and the time they took, are of some of the clients."""
    clocks = [each.clock for each in called.values()]
    kept = [clock for clock in clocks if clock.client in clients]
    waited_s = sum(clock.waited_s for clock in clocks)
    calls = sum(clock.calls for clock in clocks)
    return (
        sum(clock.calls for clock in kept) >= (1 - NOTICEABLE) * calls
        and sum(clock.waited_s for clock in kept) >= (1 - NOTICEABLE) * waited_s
    )


def _called(side: Side) -> dict[str, _Called]:
    """The clocks of the clients that called NFS, by address."""
    measured = side.measured
    alone = () if measured.alone is None else (measured.alone,)
    clocks = alone if measured.clients is None else measured.clients.each
    return {
        clock.client: _Called(clock, side.callers[clock.client]) for clock in clocks if clock.calls
    }


def _change(
    matched_by: MatchedBy | None, before: _Called | None, after: _Called | None, clear_from: float
) -> ClientChange:
    first, second = (None if each is None else each.clock for each in (before, after))
    change_s: float | None = None
    parts: tuple[ClientPart, ...] = ()
    forecasts: tuple[ClientForetold, ...] = ()
    where: Where = "went" if after is None else "came"
    if first is not None and second is not None:
        where, change_s = "both", second.active_s - first.active_s
        if clear_from < 1 and first.rtt_s is not None and second.rtt_s is not None:
            one, other = _same_causes(_causes(first), _causes(second))
            parts = _parts(
                {cause: (one[cause], other[cause]) for cause in one},
                clear_from * max(first.active_s, second.active_s),
            )
            forecasts = _foretold(first, second)
    known = next(clock for clock in (first, second) if clock is not None)
    return ClientChange(
        where=where,
        client=known.client,
        matched_by=matched_by,
        before=None if before is None else _run(before),
        after=None if after is None else _run(after),
        change_s=change_s,
        parts=parts,
        foretold=forecasts,
    )


def _foretold(before: ClientClock, after: ClientClock) -> tuple[ClientForetold, ...]:
    """The run after from the one before; nothing where a side does not tell its storage."""
    if not (tells_storage(before) and tells_storage(after)):
        return ()
    added = 0.0
    if before.network_rtt_s is not None and after.network_rtt_s is not None:
        added = after.network_rtt_s - before.network_rtt_s
    # Without stable calls after, nothing is known of the storage, and it does not matter.
    persist = after.persist_s if after.stable_calls else None
    set_up = Change(rtt_added_s=added, persist_s=persist)
    calls = Change(rpcs_per_file=float(after.calls), syncops_per_file=float(after.stable_calls))
    costs, measured = costs_of(before), after.active_s
    cases = {"set_up": set_up, "calls": set_up.then(calls)}
    overlap = after.budget.concurrency or 1.0
    if other_overlap(costs.concurrency, overlap):
        moving_s = max(0.0, min(before.budget.transfer_s * costs.concurrency, costs.other_s))
        cases["overlap"] = cases["calls"].then(Change(overlap=overlap, moving_s=moving_s))
    forecasts = {given: change.of(costs).forecast_s for given, change in cases.items()}
    return tuple(
        ClientForetold(given, time_s, measured, time_s / measured - 1 if measured > 0 else None)
        for given, time_s in forecasts.items()
    )


def _added(runs: list[ClientRun]) -> ClientRun:
    """Runs added up, as if one had followed the other."""
    return ClientRun(
        address=None,
        machine=None,
        client_owner=None,
        run_s=sum(run.run_s for run in runs),
        waited_s=sum(run.waited_s for run in runs),
        calls=sum(run.calls for run in runs),
        stable_calls=sum(run.stable_calls for run in runs),
        rtt_s=None,
        persist_s=None,
    )


def _run(called: _Called) -> ClientRun:
    clock, caller = called.clock, called.caller
    told = clock.rtt_s is not None and clock.stable_calls and tells_storage(clock)
    return ClientRun(
        address=clock.client,
        machine=caller.machine,
        client_owner=caller.client_owner,
        run_s=clock.active_s,
        waited_s=clock.waited_s,
        calls=clock.calls,
        stable_calls=clock.stable_calls,
        rtt_s=clock.rtt_s,
        persist_s=clock.persist_s if told else None,
    )


def _parts(causes: Mapping[str, tuple[float, float]], least_s: float) -> tuple[ClientPart, ...]:
    """The causes on both sides, the largest difference first."""
    rows = [
        ClientPart(
            cause=cause,
            before_s=before,
            after_s=after,
            change_s=after - before,
            clear=abs(after - before) >= least_s,
        )
        for cause, (before, after) in sorted(causes.items())
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.change_s)))


def _causes(clock: ClientClock) -> dict[str, float]:
    """What a client's run went into: its verdict's causes from its first call to its last reply."""
    parts = {each.cause: each.time_s for each in client_verdict(clock).causes}
    # Asked for in vain after its last call: in the verdict, but no part of its run.
    parts["waiting"] -= clock.idle.vain_s
    outside = sum(parts.values()) - clock.active_s
    for cause in IDLE:
        taken = min(max(0.0, parts[cause]), max(0.0, outside))
        parts[cause] -= taken
        outside -= taken
    return parts


def _same_causes(
    before: dict[str, float], after: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The causes of both runs by the same codes: what a side cannot tell apart is no change."""
    if NETWORK_OR_SERVER in {*before, *after}:
        for parts in (before, after):
            parts[NETWORK_OR_SERVER] = parts.pop("round_trips", parts.get(NETWORK_OR_SERVER, 0.0))
    return before, after


def _waited_s(row: ClientChange) -> float:
    """What it waited, on the side where that was longer, seconds."""
    return max(run.waited_s for run in (row.before, row.after) if run is not None)
