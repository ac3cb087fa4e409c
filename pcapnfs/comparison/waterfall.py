"""What the difference of the run times is made of: a step for each factor of the model.

Takes what was measured on both sides; gives steps that add up to the difference exactly. How much a
factor brings depends on which others have changed already, so that any order of steps would favour
some of them. A step here is the mean over all orders (Shapley's value): it does not depend on the
order, and with the sides exchanged it only changes its sign.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.resampling import LEAST_FILES, SEED, interval, resampled
from pcapnfs.comparison.gaps import NOTICEABLE
from pcapnfs.record import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pcapnfs.analyses.forecasts.measurement import Measurement

    Floats = NDArray[np.float64]

FACTORS = (
    "files",
    "rpcs_per_file",
    "network_rtt_s",
    "server_s",
    "syncops_per_file",
    "persist_s",
    "transfer_s",
    "other_s",
    "concurrency",
    "client_s",
    "pauses_s",
    "waiting_s",
    "lost_s",
    "locks_s",
)
"""The factors in the order of the formula, files to what was lost and waited for locks."""

ADDED = ("pauses_s", "waiting_s", "lost_s", "locks_s")
"""Those that are added to the others: what one of them brings does not depend on any. A server that
is not ready keeps a client waiting once, as after its restart, however many files it works on."""

TURNS = 4
"""Rows behind those of the factors that go with `concurrency`: how many times as long round trips,
persistence, and the rest hold up the clock as the overlap of all calls says, and what a stable call
waits for others, where that is told apart (`waits`), seconds."""

_OVERLAP, _PERSIST = FACTORS.index("concurrency"), FACTORS.index("persist_s")

BLOCKS = 20
"""Groups of neighbouring files that are resampled as wholes, so that a server that was slow for a
while is seen as what it is."""

CERTAIN = 0.99
"""Share of the resamples in which a clear step has the same sign: there are a dozen of them."""


APART = 4.0
"""Files that became so many times as many, while the calls for each became so many times fewer,
are not what the calls were for; or the other way round."""


WAITED = 0.1
"""Share of the stable calls' time from which on what some of them waited for others is told apart:
a run that gives back a few dozen delegations at once has a fifth of it, which looks like a slower
disk beside a run that has none. Runs of one call after the other show less than a twentieth."""


PER_CALL = ("network_rtt_s", "server_s", "persist_s")
"""Factors that a part of a run tells as well as the whole: what one call takes. The others are of
what the client did, which may have been something else in the part that is missing."""


class Step(Record):
    """What one factor brings."""

    factor: str
    """`files` (1 where the sides do not count files of one kind, or calls do not go with files, and
    all that is said for each file is then for the run); `rpcs_per_file` (with calls of the lock
    manager); `network_rtt_s` (the network's round trip) and `server_s` (what a small unstable
    call takes beyond it), or `rtt_s` for both where TCP does not tell them apart, or
    `rtt_or_server_s` where all calls of a side that tell them may have waited for the server's
    storage as well;
    `syncops_per_file`; `persist_s`; `transfer_s` (for each file: bytes moving); `other_s` (for
    each file: what the calls take beyond all these, such as reads and listings, and what means
    do not explain); `concurrency`; `client_s` (for each file: the client's own time); `pauses_s`
    (all together); `waiting_s` (likewise: server not ready or without answer); `lost_s`
    (likewise: standing still until TCP sent again what was lost); `locks_s` (likewise: between
    calls, waiting for locks and lock files)."""
    before: float
    """The factor before; times in seconds."""
    after: float
    """The factor after."""
    change_s: float
    """How much longer the run took because of it, seconds; negative: shorter."""
    low_s: float | None
    """Lower end of the interval that 90 % of resampled runs of files give, and the step itself,
    seconds; None with fewer than 10 files on a side."""
    high_s: float | None
    """Upper end of it, seconds; None likewise."""
    clear: bool
    """It is at least a twentieth of the longer run time, more than what the captures lack could
    make (`clear_from`), and has one sign in 99 % of the resamples. Of the network's round trip,
    the server and persistence, single calls moved as well (docs/definitions.md): the shortest round
    trip, small calls without the longest, stable calls of one kind. Where a capture breaks off,
    only the network's round trip, the server and persistence may be; what was lost is not where
    the captures are from different places."""
    alone: bool = False
    """Of `persist_s`: without what calls waited for others, which goes with `concurrency`."""


def waterfall(
    before: Measurement,
    after: Measurement,
    *,
    clear_from: float = NOTICEABLE,
    broken_off: bool = False,
    looked_at: bool = False,
) -> tuple[Step, ...]:
    """The steps from one run time to the other, in the order of `FACTORS`.

    Args:
        before: What was measured before.
        after: What was measured after.
        clear_from: Part of the longer run time that a clear step must have.
        broken_off: A capture breaks off: what the rest of its run was like is not known.
        looked_at: The files that one side has more of were hardly more than looked at, so that
            each run is one whole.
    """
    told = _networks(before, after)
    by_file = comparable(before, after) and not looked_at
    changes, sides = _steps((before, after), (before.costs(), after.costs()), told, by_file=by_file)
    changes = changes[:, 0]
    # Rounding of what the model holds, and time without any call that it counts.
    difference = after.span_s - before.span_s
    changes[FACTORS.index("other_s")] += difference - float(changes.sum())
    resamples = _resamples(before, after, told) if by_file else None
    ends = (
        None
        if resamples is None
        else [
            _around(float(step), interval(row))
            for step, row in zip(changes, resamples, strict=True)
        ]
    )
    least = clear_from * max(before.span_s, after.span_s)
    both = "rtt_or_server_s" if before.undivided or after.undivided else "rtt_s"
    return tuple(
        Step(
            factor=both if factor == "server_s" and told == (0.0, 0.0) else factor,
            before=float(sides[0][place, 0]),
            after=float(sides[1][place, 0]),
            change_s=float(changes[place]),
            low_s=None if ends is None else ends[place][0],
            high_s=None if ends is None else ends[place][1],
            clear=abs(float(changes[place])) >= least
            and (factor in PER_CALL or not broken_off)
            and (factor != "lost_s" or before.path.vantage == after.path.vantage)
            and (resamples is None or _one_sign(resamples[place])),
            alone=factor == "persist_s" and waits(before, after) != (0.0, 0.0),
        )
        for place, factor in enumerate(FACTORS)
        if factor != "network_rtt_s" or told != (0.0, 0.0)
    )


def comparable(before: Measurement, after: Measurement) -> bool:
    """Whether both count files of one kind, and calls go with files; else a run is one whole.

    They do not where a client asks for far fewer of the same files since it believes what it knows:
    what is left to ask is then no more of these files, and so much for each of them means nothing.
    Nor do they where a side has a few files, and the other many times as many: what a single file
    took is no mean to multiply.
    """
    if not (before.files and after.files and before.calls and after.calls):
        return False
    if before.counted != after.counted:
        return False
    files = after.files / before.files
    if min(before.files, after.files) < LEAST_FILES and not 1 / APART < files < APART:
        return False
    each = files * before.calls / after.calls  # How many times fewer calls each of them takes.
    return not (min(files, each) >= APART or max(files, each) <= 1 / APART)


def waits(before: Measurement, after: Measurement) -> tuple[float, float]:
    """What stable calls waited for others on both sides, mean, seconds.

    How long that is goes with how many come at once, and not with the storage alone: where it is
    a tenth of their time on a side (`WAITED`), both sides tell it apart. 0 where it is not, or not
    known.
    """
    one, other = before.stable.waited_share, after.stable.waited_share
    if one is None or other is None or max(one, other) < WAITED:
        return 0.0, 0.0
    first, second = (
        min(share * (side.stable_mean_s or 0.0), side.persist_s or 0.0)
        for side, share in ((before, one), (after, other))
    )
    return first, second


def _networks(before: Measurement, after: Measurement) -> tuple[float, float]:
    """The network's part of both round trips, seconds; 0 where one of them is not known."""
    parts = []
    for side in (before, after):
        if side.rtt_s is None or side.path.rtt_s is None or side.path.source == "gaps":
            return 0.0, 0.0
        parts.append(min(side.rtt_s, side.path.rtt_s))
    return parts[0], parts[1]


def _steps(
    runs: tuple[Measurement, Measurement],
    costs: tuple[Costs[float] | Costs[Floats], Costs[float] | Costs[Floats]],
    told: tuple[float, float],
    *,
    by_file: bool,
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Each step, and the rows of both sides, with a column for each resample."""
    # Where one side's rest is less than nothing, by the clock or added up, it has no overlap.
    own = [np.asarray((each.other_s > 0) & (_left(each) > 0)) for each in costs]
    apart = own[0] & own[1]
    first, second = (
        _factors(run, cost, network_s, waited_s, by_file=by_file, apart=apart)
        for run, cost, network_s, waited_s in zip(runs, costs, told, waits(*runs), strict=True)
    )
    for run, mine, others in ((runs[0], first, second), (runs[1], second, first)):
        # What no call waited for is not known: all that there was of it goes with the calls.
        if not run.stable_calls:
            mine[_PERSIST] = others[_PERSIST]
    return _shapley(first, second), (first, second)


def _factors(
    measured: Measurement,
    costs: Costs[float] | Costs[Floats],
    network_s: float,
    waited_s: float,
    *,
    by_file: bool,
    apart: NDArray[np.bool_],
) -> Floats:
    """A row for each of `FACTORS` and of `TURNS`, a column for each resample."""
    # Taken as a whole, a run is one file that all calls are for.
    unit = 1.0 if by_file else costs.files
    files = (measured.files or 1) if by_file else 1
    transfer, waiting = measured.transfer_s / files, measured.postponed_s / files
    # A call stands still where the client captured; at the server, nothing has come meanwhile.
    still_s = measured.lost.calls_s - measured.lost.transfer_s
    idle_s = min(measured.lost.gaps_s, measured.client_s)
    paused_s = min(measured.lost.pauses_s, measured.pauses_s)
    locked_s = min(measured.locked.gaps_s, measured.client_s - idle_s)
    locked_pauses_s = min(measured.locked.pauses_s, measured.pauses_s - paused_s)
    left_s = _left(costs)
    other_s = np.where(apart, costs.other_s, left_s)
    rest_turns = np.where(apart, left_s / np.where(apart, costs.other_s, 1.0), 1.0)
    # Of resamples, too, it is no more than what their calls took.
    waited_for = np.minimum(waited_s, costs.persist_s)
    rows = (
        costs.files / unit,
        costs.all_rpcs_per_file * unit,
        network_s,
        costs.rtt_s - network_s,
        costs.syncops_per_file * unit,
        costs.persist_s - waited_for,
        transfer,
        other_s * unit - transfer - waiting - still_s / files,
        costs.concurrency,
        # What a program does for a file does not grow with the calls that its client makes of it.
        costs.client_s * costs.rpcs_per_file * unit - (idle_s + locked_s) / files,
        # Run times hold long pauses, which forecasts do not.
        costs.pauses_s + measured.away_s - paused_s - locked_pauses_s,
        measured.postponed_s * rest_turns / costs.concurrency,
        still_s * rest_turns / costs.concurrency + idle_s + paused_s,
        locked_s + locked_pauses_s,
        costs.turns,
        costs.stored_turns,
        rest_turns,
        waited_for,
    )
    width = np.broadcast_shapes(*(np.shape(row) for row in rows)) or (1,)
    return np.stack([np.broadcast_to(np.asarray(row, np.float64), width) for row in rows])


def _left(costs: Costs[float] | Costs[Floats]) -> float | Floats:
    """What of the clock the rest of a file's calls took, times the overlap of all calls, seconds.

    Where most calls come one by one and long ones many at a time, each of the many holds up the
    clock for longer than the overlap of all says, and what is left of it is the long ones'.
    """
    return (
        costs.other_s
        - costs.all_rpcs_per_file * costs.rtt_s * (costs.turns - 1.0)
        - costs.syncops_per_file * costs.persist_s * (costs.stored_turns - 1.0)
    )


def _run_time(factors: Floats) -> Floats:
    """The model's run time from these rows."""
    files, rpcs, network, server, stable, persist, transfer, other, *rest = factors
    concurrency, client, *added, turns, stored_turns, rest_turns, waited_for = rest
    persist = persist + waited_for
    run: Costs[Floats] = Costs(
        files=files,
        rpcs_per_file=rpcs,
        rtt_s=network + server,
        syncops_per_file=stable,
        persist_s=persist,
        other_s=(transfer + other) * rest_turns,
        client_s=np.zeros(1),
        pauses_s=sum(added, files * client),
        concurrency=concurrency,
        longer_s=rpcs * (network + server) * (turns - 1.0),
        stored_s=stable * persist * (stored_turns - 1.0),
    )
    return run.forecast_s


def _shapley(before: Floats, after: Floats) -> Floats:
    """What each factor brings, on average over all orders of changing them."""
    depends = len(FACTORS) - len(ADDED)
    changes = (after - before)[: len(FACTORS)]
    changes[:depends] = 0.0
    # What is alike on both sides brings nothing, and changes nothing for the others.
    differ = (before != after).any(axis=1)
    differ[_OVERLAP] |= differ[-TURNS:].any()
    moved = np.flatnonzero(differ[:depends])
    count = len(moved)
    times = np.stack(
        [
            _run_time(np.where(_chosen(subset, moved)[:, None], after, before))
            for subset in range(1 << count)
        ]
    )
    sizes = np.array([subset.bit_count() for subset in range(1 << count)])
    weights = np.array(
        [factorial(size) * factorial(count - 1 - size) / factorial(count) for size in range(count)]
    )
    numbers = np.arange(1 << count)
    for place in range(count):
        without = numbers[numbers >> place & 1 == 0]
        brought = times[without | 1 << place] - times[without]
        changes[moved[place]] = weights[sizes[without]] @ brought
    return changes


def _chosen(subset: int, moved: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which factors have changed, by the bits of a number, of those that differ."""
    chosen = np.zeros(len(FACTORS) + TURNS, np.bool_)
    chosen[moved] = [bool(subset >> place & 1) for place in range(len(moved))]
    chosen[-TURNS:] = chosen[_OVERLAP]
    return chosen


def _resamples(before: Measurement, after: Measurement, told: tuple[float, float]) -> Floats | None:
    """Each step for many resamples; None with too few files on a side."""
    # Two seeds: the files of the two runs were not drawn together.
    first = resampled(before, most=BLOCKS)
    second = resampled(after, seed=SEED + 1, most=BLOCKS)
    if first is None or second is None:
        return None
    return _steps((before, after), (first, second), told, by_file=True)[0]


def _around(step_s: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The interval with the step itself in it.

    A round trip from TCP is the least that one may be, so that all resamples may lie on one side.
    """
    return min(step_s, ends[0]), max(step_s, ends[1])


def _one_sign(changes: Floats) -> bool:
    """Whether nearly all resamples agree in what a step does."""
    low, high = np.quantile(changes, ((1 - CERTAIN) / 2, (1 + CERTAIN) / 2))
    return bool(low > 0 or high < 0)
