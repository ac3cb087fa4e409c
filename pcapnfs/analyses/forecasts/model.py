"""The first-order model, its forecast, and what would happen if.

Takes a trace, or nothing, and inputs that the user gives instead of measured ones; gives every
input with its source, the plain formula, the forecast with its interval, what was measured, and a
table of changes. Where the trace holds too little for an input, the figures that rest on it are
None and `missing` says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import columns
from pcapnfs.analyses.caching import savings as _savings
from pcapnfs.analyses.caching.savings import larger_writes
from pcapnfs.analyses.forecasts import measuring as _measuring
from pcapnfs.analyses.forecasts.client_forecasts import (
    ClientForecast,
    client_forecasts,
    until_the_last,
)
from pcapnfs.analyses.forecasts.held_down import moved
from pcapnfs.analyses.forecasts.inputs import (
    FEW,
    UNREAD,
    UNTIMED,
    Input,
    base_of,
    change_of,
    inputs_of,
    missing_of,
    mostly_resent,
    network_s,
    sources_of,
    still_foretold,
    still_waited,
)
from pcapnfs.analyses.forecasts.left_out import LEFT_OUT, LeftOut, left_out
from pcapnfs.analyses.forecasts.measurement import Measurement
from pcapnfs.analyses.forecasts.measuring import measure
from pcapnfs.analyses.forecasts.overrides import Overrides
from pcapnfs.analyses.forecasts.resampling import LEAST_FILES, holdout_error, single_s
from pcapnfs.analyses.forecasts.scenarios import asking_otherwise, scenarios
from pcapnfs.analyses.forecasts.serial_calls import NONE, SerialCalls
from pcapnfs.analyses.forecasts.verdict import Verdict, measured_verdict, too_few, verdict
from pcapnfs.analyses.forecasts.verdict_evidence import Evidence
from pcapnfs.analyses.forecasts.verdict_reasons import is_paused
from pcapnfs.analyses.forecasts.what_if import Scenario
from pcapnfs.analyses.mounts.first_use import MountIdle
from pcapnfs.analyses.namespace import listing_costs as _listing_costs
from pcapnfs.analyses.namespace.listing_costs import listing_costs
from pcapnfs.analyses.times.call_times import BOUND, KindOfStable
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.times.timeline import BetweenCalls
from pcapnfs.errors import UsageError
from pcapnfs.record import Record, replace

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.formula import Costs
    from pcapnfs.analyses.forecasts.scenarios import Alternative
    from pcapnfs.trace import Trace

READS = columns.together(_measuring.READS, _listing_costs.READS, _savings.READS)
"""The columns that these read."""

STORED = ("async", "log_device")
"""Changes that are about storage, besides what is given if persistence is."""

TOLD = 0.01
"""Part of the shortest forecast with other storage from which on it is told what may have been
stable."""

MISSES = 2.0
"""The plain formula does not hold where it comes to so many times the forecast, or it to so many
times the formula: most of the time then goes into what the formula leaves out."""

UNLIKE = 0.5
"""Error from which on files are told to be unlike one another."""

SLOW_TOLD = 0.1
"""Part of the shortest forecast with other storage from which on it is told what a few slow calls
make of it."""


class Model(Record):
    """What the run takes, and would take."""

    files: int | None
    """Regular files that a call addressed, or as given; directories where there are none. None when
    neither is known, but there are calls that do not tell."""
    rpcs_per_file: float | None
    """Calls of NFS and NFSACL, those on directories included, by files; None without files."""
    rtt_s: float | None
    """Round trip of a call that needs no storage, as the client saw it, seconds; None when nothing
    tells."""
    rtt_source: str
    """Where it is from: see `inputs[].source`."""
    network_rtt_s: float | None
    """The network's part of it, seconds; None when TCP does not tell, or only by calls that may all
    have waited for the server's storage."""
    syncops_per_file: float | None
    """Stable calls by files; None without files, or when it is not known of most calls whether they
    were stable."""
    persist_s: float | None
    """Mean service time of the stable calls less the round trip, seconds; None with fewer than 30
    of them, or without a round trip."""
    predicted_s: float | None
    """files × (rpcs_per_file × rtt_s + syncops_per_file × persist_s), seconds; None with too little
    data: see `missing`."""
    other_s: float | None
    """What calls take beyond round trips and persistence, all together, seconds: reads, listings,
    transfer, and the lock manager's round trips (`locks_s`). Negative where other calls were faster
    than those that show the round trip; None likewise."""
    client_s: float | None
    """The client's own time, all together with its pauses, seconds; None without any forecast."""
    concurrency: float | None
    """Calls under way while any was; None without calls, or where most calls do not tell what they
    did."""
    forecast_s: float | None
    """(predicted_s + other_s) ÷ concurrency + client_s + locked_s + unreached_s, seconds; of
    several clients what the slowest takes with what was given, where that is more; None likewise.
    """
    forecast_low_s: float | None
    """Lower end of the interval that 90 % of resampled files give, seconds; None with fewer than 10
    files, or without a forecast."""
    forecast_high_s: float | None
    """Upper end of it, seconds; None likewise."""
    measured_s: float | None
    """From the first call to the last reply, without `away_s` and `mount_idle`, seconds; None
    without a trace."""
    holdout_error: float | None
    """How wrong half of the files foretells what the other half took: mean of both directions, 0…;
    None with fewer than 10 files, or too little data."""
    single_s: float | None
    """What one file took of the clock that took longer than all others together, seconds: there is
    no other like it, so that each resample and half has its part. None where none did, with fewer
    than 10 others, or without a forecast."""
    counted: str
    """What `files` are: `files`, `directories`, or `given`."""
    calls: int
    """Calls of NFS and NFSACL in the trace."""
    stable_calls: int | None
    """Stable ones; None when none is known to be, but of most calls it is not known."""
    small_calls: int
    """Small unstable ones, which show the round trip."""
    vantage: str
    """Where the capture was taken: `client`, `server`, `between`, `unknown`; `none` without one."""
    transfer_s: float
    """Time in which the calls' bytes were moving, or those that their replies had to wait for, in
    shares of the clock, seconds: of a single client the row of its time budget."""
    waiting_s: float
    """Time in which the server was not ready or not reached, likewise."""
    lock_calls: int
    """Calls of the lock manager (NLM) in the trace, which are none of `calls`."""
    locks_s: float
    """A round trip for each of them, added up, seconds: in `other_s`; it goes with `rtt_s`."""
    pauses_s: float
    """Gaps of a second or more between calls, together, without `away_s`, `locked_s` and
    `unreached_s`, seconds;
    in `client_s`, once."""
    unknown_calls: int
    """Calls of NFS and NFSACL without a known outcome (no reply, cut, encrypted): they may have
    been stable."""
    unseen_replies: int
    """Replies without their call that came while no call was under way: the client may have waited
    for them, and their calls have been stable."""
    unsure_s: float
    """What both took beyond round trips, added up, seconds: in `other_s` and in `client_s`. The
    range of a forecast with other storage goes from none of it that changes to all of it."""
    usual_s: float | None
    """What half of the small calls took at most, seconds; None where the round trip is not their
    mean."""
    slow_s: float
    """What small and stable calls take of round trips beyond that, added up, seconds: a few slow
    calls make the mean. The range of a forecast with other storage goes from none of it that
    changes to all of it."""
    clock_tick_s: float | None
    """What the capture's times are multiples of, seconds: the range of a forecast holds that round
    trips take as much longer or shorter, and persistence the difference. None where it is less
    than a millisecond."""
    absorbs_rtt: bool | None
    """Stable calls end on ticks of the storage, so that a longer round trip does not add up: the
    interval of a forecast with another one then holds both; None when the trace does not tell."""
    held_down_s: float
    """What of the clock moved data at the pace that lost segments allow, seconds: it goes with the
    round trip in a forecast with another one, whose range holds what chance may lose."""
    full_windows_s: float
    """What of the clock data moved, or began to, as full TCP windows allow, seconds: it goes with
    the round trip likewise, in as many as before. 0 where lost segments hold transfers down."""
    persist_by_op: tuple[KindOfStable, ...]
    """Persistence by kind of stable call."""
    resent: bool
    """Most stable calls were sent again before they were answered, so that persistence is what that
    took, nothing tells how slow storage is, and no other storage is forecast."""
    inputs: tuple[Input, ...]
    """Every input with its source."""
    missing: tuple[str, ...]
    """Why there is no model: `clocks` (those of the two directions are apart), `files`, `rtt`,
    `outcomes` (of most calls it is not known whether they were stable), `stable_calls` (too few);
    empty when there is one."""
    what_if: tuple[Scenario, ...]
    """Forecasts with one thing changed; without a model, of the same work where that lacks no more
    than the number of files (all of them), or than enough calls that are known to be stable (those
    that leave the storage as it is); else empty."""
    client_number: int
    """Clients whose calls these are, and which all else here takes as one; 0 without a trace."""
    clients: tuple[ClientForecast, ...]
    """What each of several would take: the first five, who waited longest first; empty where
    `what_if` is, and where something is given of all of them together (files, calls, streams, the
    client's time)."""
    verdict: Verdict | None
    """What the time goes into; None without calls, when nothing tells the round trip, when most of
    the traffic is encrypted or of one direction, when the capture's clocks do not tell what calls
    took, or when it would be round trips that nothing tells but fewer than five calls."""
    away_s: float = 0.0
    """Pauses of 30 s or more between the only client's calls, in which it is not known to have
    waited for anything, together, seconds: they lie between two commands, or two runs of a job, and
    are in none of these figures. 0 of several clients, where the capture lacks much, and where what
    lies between them is no work but a look at the mount now and then."""
    mount_idle: MountIdle = MountIdle()
    """What lies between mount and first use, and last use and unmount: in none of these figures; of
    several clients, while none of them used what it had mounted."""
    unanswered_last: bool = False
    """`measured_s` ends with the last sign of a call of the only client's that had no reply."""
    locked_s: float = 0.0
    """What of the time between calls the client waited for locks, seconds: in each forecast but
    `unlocked`, and neither in `client_s` nor in `pauses_s`."""
    unreached_s: float = 0.0
    """What of it the only client had no connection to a server for, seconds: in each forecast but
    `ready` and `local`, and neither in `client_s` nor in `pauses_s`; 0 of several clients."""
    vain_s: float = 0.0
    """For how long the only client asked for a connection in vain after its last reply, to the end,
    seconds: in none of these figures; 0 of several clients."""
    serial: SerialCalls = NONE
    """Calls of which a client sends one after the other, those that take longest: no forecast with
    streams is shorter. None where 8 calls or more were under way for a twentieth of the time."""
    left_out: tuple[LeftOut, ...] = ()
    """What much of the forecast is made of that the plain formula leaves out, most first; empty
    without a forecast."""

    @property
    def formula_holds(self) -> bool:
        """Whether the plain formula comes near the forecast, which is all that the run took."""
        if not self.predicted_s or not self.forecast_s:
            return self.predicted_s == self.forecast_s
        return 1 / MISSES <= self.predicted_s / self.forecast_s <= MISSES

    @property
    def held_down(self) -> bool:
        """Whether much of it moves at the pace that lost segments allow, and is not another's."""
        return self.held_down_s > LEFT_OUT * (self.measured_s or 0.0)

    @property
    def windows_full(self) -> bool:
        """Whether much of it moves as full TCP windows allow."""
        return self.full_windows_s > LEFT_OUT * (self.measured_s or 0.0)

    @property
    def unlike(self) -> bool:
        """Whether files differ so much that half of them does not tell what the others take."""
        return self.holdout_error is not None and self.holdout_error >= UNLIKE

    @property
    def too_few(self) -> bool:
        """Whether there is no verdict since calls that tell the round trip themselves are few."""
        return self.verdict is None and too_few(self.calls + self.lock_calls, self.rtt_source)

    @property
    def undivided(self) -> bool:
        """Whether nothing tells what of the round trip is the network's: no other is foretold."""
        return self.rtt_source == BOUND and self.network_rtt_s is None

    @property
    def paused(self) -> bool:
        """Whether pauses are much of the client's own time."""
        return is_paused(self.pauses_s, self.client_s or 0.0)

    @property
    def resampled(self) -> bool:
        """Whether ranges hold what other files would have changed."""
        if self.missing:  # There is no interval to tell it.
            return any(
                each.name == "files" and (each.measured or 0) >= LEAST_FILES for each in self.inputs
            )
        return self.forecast_low_s is not None

    @property
    def stored_s(self) -> list[float]:
        """Forecasts with other storage, seconds."""
        (persist,) = (each for each in self.inputs if each.name == "persist_s")
        changes = (*STORED, "given") if persist.source == "given" else STORED
        return [each.forecast_s for each in self.what_if if each.change in changes]

    @property
    def unsure(self) -> bool:
        """Whether what may have been stable makes much of a forecast with other storage."""
        stored = self.stored_s
        return bool(stored) and self.unsure_s > 0 and self.unsure_s >= TOLD * min(stored)

    @property
    def slow(self) -> bool:
        """Whether a few slow calls make much of a forecast with other storage."""
        stored = self.stored_s
        return bool(stored) and self.slow_s > 0 and self.slow_s >= SLOW_TOLD * min(stored)


def model(
    trace: Trace | None,
    given: Overrides | None = None,
    *,
    measured: Measurement | None = None,
) -> Model:
    """Measure the inputs, replace those that are given, and work out the figures.

    Args:
        trace: The trace; None when all inputs are given.
        given: Inputs given instead of measured ones.
        measured: What `measure` says of the trace, where it is known already.

    Raises:
        UsageError: There is no trace, and inputs are missing.
    """
    given = given or Overrides()
    if trace is None:
        if not given.complete:
            raise UsageError(
                "without a trace, files, rpcs_per_file, rtt_s, syncops_per_file and persist_s are "
                "to be given"
            )
        return _finished(None, given, ())
    measured = (measured or measure(trace)).with_rtt(given.rtt_s)
    spared = [calls for each in listing_costs(trace) for calls in each.spared]
    saved = asking_otherwise(measured, spared, larger_writes(trace))
    return _finished(measured, given, tuple(saved))


def _overlap_known(measured: Measurement | None, given: Overrides) -> bool:
    """Whether it is given, or calls enough tell how many were under way."""
    if measured is None or given.streams is not None:
        return True
    return bool(measured.calls) and not measured.unread


def _finished(
    measured: Measurement | None, given: Overrides, otherwise: tuple[Alternative, ...]
) -> Model:
    """The figures that follow from what was measured and given."""
    missing = () if measured is None else missing_of(measured, given)
    asked = change_of(measured, given)
    base = base_of(measured, given)
    costs = asked.of(base.costs)
    locked, moving = _locked(measured, given, costs), moved(measured)
    unreached = _unreached(measured, given, costs, locked)
    low_s, high_s = (None if missing else base.spread(asked)) or (None, None)
    foretold = not missing or (measured is not None and still_foretold(missing, measured, given))
    rows = tuple(scenarios(measured, given, base, asked, otherwise)) if foretold else ()
    clients: tuple[ClientForecast, ...] = ()
    whole_s = costs.forecast_s
    if foretold and measured is not None:
        clients = client_forecasts(measured, given)
        rows = until_the_last(rows, clients, measured, given)
        last = next((each for each in rows if each.change == "given" and each.slowest), None)
        if last is not None:
            # What is given is no sooner done than its slowest client.
            whole_s = last.forecast_s
            high_s = None if high_s is None else max(high_s, whole_s)

    def known(value: float) -> float | None:
        return None if missing else value

    per_file = bool(measured is None or measured.files or given.files)
    figures = Model(
        files=given.files or None,
        rpcs_per_file=costs.rpcs_per_file if per_file else None,
        rtt_s=None if "rtt" in missing or UNTIMED in missing else costs.rtt_s,
        rtt_source=sources_of(measured, given)["rtt_s"],
        network_rtt_s=network_s(measured, given),
        syncops_per_file=costs.syncops_per_file if per_file and UNREAD not in missing else None,
        persist_s=given.persist_s,
        predicted_s=known(costs.first_order_s),
        other_s=known(costs.files * costs.beside_s),
        client_s=costs.client_time_s - locked.whole_s - unreached.whole_s if foretold else None,
        concurrency=costs.concurrency if _overlap_known(measured, given) else None,
        forecast_s=known(whole_s),
        forecast_low_s=low_s,
        forecast_high_s=high_s,
        measured_s=None,
        holdout_error=None,
        single_s=None,
        counted="given",
        calls=0,
        stable_calls=0,
        small_calls=0,
        vantage="none",
        transfer_s=0.0,
        waiting_s=0.0,
        lock_calls=0,
        locks_s=costs.files * costs.locks_s,
        pauses_s=costs.pauses_s - locked.pauses_s - unreached.pauses_s,
        locked_s=locked.whole_s,
        unreached_s=unreached.whole_s,
        unknown_calls=0,
        unseen_replies=0,
        unsure_s=0.0,
        usual_s=None,
        slow_s=float(costs.files * costs.slow_s),
        clock_tick_s=None,
        absorbs_rtt=None,
        held_down_s=moving.held_s,
        full_windows_s=moving.full_s,
        persist_by_op=(),
        resent=mostly_resent(measured, given),
        inputs=inputs_of(measured, given, costs),
        missing=missing,
        what_if=rows,
        client_number=0,
        clients=clients,
        verdict=_verdict(measured, given, costs, missing),
        left_out=() if missing else _left_out(measured, given, costs, locked, unreached),
    )
    return figures if measured is None else _of_trace(figures, measured, given)


def _of_trace(figures: Model, measured: Measurement, given: Overrides) -> Model:
    """The same figures, with what only a trace tells."""
    if not figures.missing:
        figures = replace(
            figures,
            holdout_error=holdout_error(measured),
            single_s=single_s(measured.sums),
        )
    return replace(
        figures,
        files=given.files or measured.files,
        persist_s=measured.persist_s if given.persist_s is None else given.persist_s,
        measured_s=measured.worked_s,
        away_s=measured.away_s,
        mount_idle=measured.mount_idle,
        vain_s=measured.vain_s,
        unanswered_last=measured.unanswered_last,
        counted=measured.counted if given.files is None else "given",
        calls=measured.calls,
        stable_calls=measured.known_stable_calls,
        small_calls=measured.small_calls,
        vantage=measured.path.vantage,
        transfer_s=measured.clocked.transfer_s,
        waiting_s=measured.clocked.waiting_s,
        lock_calls=measured.lock_calls,
        unknown_calls=measured.unknown_calls,
        unseen_replies=measured.unseen_replies,
        unsure_s=measured.unsure_s,
        usual_s=measured.usual_s,
        clock_tick_s=measured.tick_s or None,
        absorbs_rtt=measured.absorbs,
        persist_by_op=measured.kinds,
        client_number=measured.several,
        serial=measured.serial,
    )


def _verdict(
    measured: Measurement | None, given: Overrides, costs: Costs[float], missing: tuple[str, ...]
) -> Verdict | None:
    """What the time went into, or would go into with what was given."""
    if measured is not None and not given.any:
        return measured_verdict(measured)
    if (
        "rtt" in missing
        or UNTIMED in missing
        or (measured is not None and (not measured.calls or measured.unread))
    ):
        return None
    return verdict(_evidence(measured, given, costs, missing))


def _left_out(
    measured: Measurement | None,
    given: Overrides,
    costs: Costs[float],
    locked: BetweenCalls,
    unreached: BetweenCalls,
) -> tuple[LeftOut, ...]:
    """What the plain formula leaves out of the forecast with these costs."""
    if measured is None:
        return left_out(costs, transfer_s=0.0, waiting_s=0.0, locked=locked, unreached=unreached)
    by, clocked = costs.files / (measured.files or 1), measured.clocked
    return left_out(
        _booked(measured, given, costs),
        transfer_s=clocked.transfer_s * by,
        waiting_s=clocked.waiting_s * by,
        locked=locked,
        unreached=unreached,
    )


def _locked(measured: Measurement | None, given: Overrides, costs: Costs[float]) -> BetweenCalls:
    """What of the client's own time with these costs it waits for locks; none of what is given."""
    if measured is None:
        return BetweenCalls()
    own = still_waited(measured.locked, given)
    if not own.whole_s:
        return own
    return BetweenCalls(
        gaps_s=min(
            own.gaps_s * costs.files / (measured.files or 1), costs.client_time_s - costs.pauses_s
        ),
        pauses_s=min(own.pauses_s, costs.pauses_s),
    )


def _unreached(
    measured: Measurement | None, given: Overrides, costs: Costs[float], locked: BetweenCalls
) -> BetweenCalls:
    """What of it it had no connection for, likewise; nothing of what it waited for locks."""
    if measured is None:
        return BetweenCalls()
    own = still_waited(measured.unreached, given)
    if not own.whole_s:
        return own
    gaps_s = costs.client_time_s - costs.pauses_s - locked.gaps_s
    return BetweenCalls(
        gaps_s=max(0.0, min(own.gaps_s * costs.files / (measured.files or 1), gaps_s)),
        pauses_s=max(0.0, min(own.pauses_s, costs.pauses_s - locked.pauses_s)),
    )


def _booked(measured: Measurement, given: Overrides, costs: Costs[float]) -> Costs[float]:
    """The costs by what calls hold up the clock for.

    With so many streams as are given, calls of each kind overlap as they are told to.
    """
    return measured.booked(costs) if given.streams is None else costs


def _more_at_once(measured: Measurement, given: Overrides, costs: Costs[float]) -> float:
    """How many times as many calls are under way as were, where streams are given."""
    return 1.0 if given.streams is None else costs.concurrency / measured.concurrency


def _evidence(
    measured: Measurement | None, given: Overrides, costs: Costs[float], missing: tuple[str, ...]
) -> Evidence:
    """What the verdict rests on."""
    if measured is None:
        return Evidence(costs=costs, stable_s=None, small_s=None, forecast=True, few=None)
    part = costs.files / (measured.files or 1)
    told = given.persist_s is None and measured.persist_s is not None
    added = costs.rtt_s - (measured.rtt_s or 0.0)

    def moved(time_s: float | None) -> float | None:
        """With the round trip that is asked for."""
        return None if time_s is None else time_s + added

    more = _more_at_once(measured, given, costs)
    clocked = measured.clocked
    by = part * measured.concurrency
    waiting_s = clocked.held_s * more + clocked.put_off_s
    lost_s = clocked.lost_s + clocked.cut_s * (more - 1.0)
    return Evidence(
        costs=_booked(measured, given, costs),
        stable_s=moved(measured.stable_median_s) if told else None,
        data_s=moved(measured.data_median_s) if told else None,
        small_s=moved(measured.small_median_s),
        forecast=True,
        few=measured.stable_calls if FEW in missing else None,
        served_s=measured.served_s,
        transfer_s=clocked.moved_s * more * by,
        waiting_s=waiting_s * by,
        unknown_s=measured.unknown_beyond_s(measured.rtt_s or 0.0) * part,
        lost_s=lost_s * by,
        cut_s=clocked.cut_s * more * by,
        arrival=measured.arrival,
        lost_idle_s=measured.lost.idle_s * part,
        longer_s=clocked.longer_s * by,
        longer_idle_s=measured.longer.idle_s * part,
        clients=measured.several,
        resent=mostly_resent(measured, given),
        small_resent=measured.small_resent and given.rtt_s is None,
        again_s={row: time_s * by for row, time_s in measured.again_s.items()},
        # A pause is one of the run, whatever the number of files.
        locked_s=measured.locked.gaps_s * part + measured.locked.pauses_s,
        unreached_s=measured.unreached_s,
        queue_s=float(costs.queue_s),
        stable=measured.stable if told else StableCalls(),
        bounded=measured.rtt_source == BOUND and given.rtt_s is None,
        undivided=measured.undivided and given.rtt_s is None,
        tick_s=measured.tick_s,
    )
