"""What would happen if: the model with some of its inputs changed.

Takes the inputs, measured or given; gives for each change the forecast and the range that it lies
in. The forecast keeps the overlap of calls that was observed; the upper end of the range has one
call after the other, unless the overlap is given. Only what was measured is moved: a change about
which the trace says nothing is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pcapnfs.analyses.forecasts.formula import Costs, positive
from pcapnfs.analyses.forecasts.resampling import interval
from pcapnfs.record import Record, names, replace

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOG_DEVICE_S = 100e-6
"""Persistence that a log device is assumed to have: a flash drive with a protected cache, and the
file system's way to it."""

RTT_PART = 0.5
"""Part of the network's round trip that is assumed for a shorter one."""

STREAMS = 8
"""Streams that are assumed side by side."""

LEAST_S = 1e-6
"""Persistence below this is none, but what the means of calls differ by."""

CLIENT_TIMES = 2.0
"""The client's own time, pauses included, is so many times as long in one run as in another, or as
short: of the pairs of runs that docs/method.md tells of it was 1.6 times in the median, and 2.5 in
a fifth."""

CALLS_PART = 0.15
"""What calls take is longer or shorter by so much: by 6 % in the median of these, and by 21 % in a
fifth. With both, four in five ranges hold what was measured."""

Number = TypeVar("Number", float, "NDArray[np.float64]")


class Change(Record):
    """What is changed; None leaves an input as it is. Times in seconds."""

    files: float | None = None
    """Files; None: unchanged."""
    rpcs_per_file: float | None = None
    """Calls for each file, for which the client takes as long as it did for those that it made;
    None: unchanged."""
    rpcs_saved: float = 0.0
    """Calls saved of each file."""
    pauses_saved_s: float = 0.0
    """What the client itself took for these, of each file: the rest of its time for as many calls
    is what the program would have done anyway."""
    rtt_added_s: float = 0.0
    """Added to the round trip; negative for a shorter one."""
    syncops_per_file: float | None = None
    """Stable calls for each file; None: unchanged."""
    syncops_saved: float = 0.0
    """Stable calls saved of each file."""
    persist_s: float | None = None
    """Persistence; None: unchanged."""
    other_saved: float = 0.0
    """Part that is saved of the time beyond round trips and persistence, 0 to 1: a few files may
    have nearly all of it, so that of other files less is saved."""
    saved_least: float = 0.0
    """How much less of that part it may be: it is known from what lost segments allow."""
    saved_most: float = 0.0
    """How much more of it it may be, likewise."""
    client_s: float | None = None
    """The client's own time for each call; pauses go with it; None: unchanged."""
    client_saved: float = 0.0
    """Part that is saved of the client's own time for each call, 0 to 1."""
    pauses_saved: float = 0.0
    """The same of its pauses."""
    overlap: float | None = None
    """Calls under way at the same time as in another run, where they were counted; None: unchanged.
    """
    turns: float | None = None
    """How many times as long a call holds up the clock as that overlap says, likewise; None:
    unchanged."""
    stored_turns: float | None = None
    """The same of what stable calls take beyond a round trip; None: unchanged."""
    streams: float | None = None
    """The same of streams that are assumed, of which nobody knows what they share; None: none."""
    waiting_s: float = 0.0
    """Of each file, what of the time beyond round trips and persistence the whole server was not
    ready for: more streams wait for it all the same."""
    put_off_s: float = 0.0
    """Of each file, what of that time the server put off calls on an object: other streams go on
    meanwhile, unless they need the same."""
    moving_s: float = 0.0
    """Of each file, what of that time bytes were moving: over a link that is full they take as long
    for more streams."""
    full_s: float = 0.0
    """The part of that for which a link is known to have been full: no stream shares it."""

    def of(self, costs: Costs[Number]) -> Costs[Number]:
        """The inputs with the change."""
        return self.side_by_side(costs).no_faster

    def side_by_side(self, costs: Costs[Number]) -> Costs[Number]:
        """The same, whether or not streams wait for one another."""
        files = _set(costs.files, self.files)
        asked = _set(costs.rpcs_per_file, self.rpcs_per_file)
        rpcs = positive(asked - self.rpcs_saved)
        client = costs.client_s
        if self.rpcs_per_file:
            # What a program does for a file does not grow with the calls that are made of it.
            client = client * (costs.rpcs_per_file / max(self.rpcs_per_file, LEAST_RPCS))
        client = _set(client, self.client_s) * (1.0 - self.client_saved)
        paused = costs.pauses_s if self.client_s is None else costs.pauses_s * 0.0
        pauses = paused * (1.0 - self.pauses_saved)
        concurrency = _set(_set(costs.concurrency, self.overlap), self.streams)
        persist = _set(costs.persist_s, self.persist_s)
        queue = _queue(costs, persist, concurrency)
        rtt = positive(costs.rtt_s - costs.queue_s + queue + self.rtt_added_s)
        turns = costs.turns if self.turns is None else self.turns
        stored_turns = costs.stored_turns if self.stored_turns is None else self.stored_turns
        syncops = positive(_set(costs.syncops_per_file, self.syncops_per_file) - self.syncops_saved)
        return Costs(
            files=files,
            rpcs_per_file=rpcs,
            rtt_s=rtt,
            syncops_per_file=syncops,
            persist_s=persist,
            # More calls wait at the same time, and none of them for less.
            other_s=costs.other_s
            - self.other_saved * positive(costs.other_s)
            + (self.waiting_s + self.moving_s) * (concurrency / costs.concurrency - 1.0),
            client_s=client,
            # What the program does between calls remains where calls are saved.
            pauses_s=pauses + positive(files * ((asked - rpcs) * client - self.pauses_saved_s)),
            concurrency=concurrency,
            unsure_s=costs.unsure_s,
            unsure_calls=costs.unsure_calls,
            unseen_s=costs.unseen_s if self.client_s is None else 0.0,
            locks_per_file=costs.locks_per_file,
            slow_s=costs.slow_s,
            queue_s=queue,
            turns=turns,
            stored_turns=stored_turns,
            # What was measured holds up the clock for as long as it did, whatever the overlap says.
            longer_s=(rpcs + costs.locks_per_file)
            * (rtt * (turns - 1.0) - costs.rtt_s * (costs.turns - 1.0)),
            stored_s=syncops
            * (persist * (stored_turns - 1.0) - costs.persist_s * (costs.stored_turns - 1.0)),
            serial_rpcs=costs.serial_rpcs,
            serial_syncops=costs.serial_syncops,
            serial_other_s=costs.serial_other_s,
            least_s=self._least_s(costs, files, rtt - queue + costs.queue_s, persist),
            unshared_s=(self.waiting_s + self.moving_s) / costs.concurrency,
        )

    def _least_s(
        self, costs: Costs[Number], files: Number, rtt_s: Number, persist_s: Number
    ) -> Number | float:
        """What calls that come one after the other take of the run with streams; 0 without.

        Args:
            costs: What is changed.
            files: How many files.
            rtt_s: The round trip, without what more calls at the same time wait in a queue.
            persist_s: The persistence.
        """
        if self.streams is None:
            return 0.0
        other_s: Number = rtt_s * 0.0 + costs.serial_other_s
        other_s = other_s - self.other_saved * positive(other_s)
        rpcs = costs.serial_rpcs * _left(costs.rpcs_per_file, self.rpcs_per_file)
        syncops = costs.serial_syncops * _left(costs.syncops_per_file, self.syncops_per_file)
        each_s: Number = rpcs * rtt_s + syncops * persist_s + other_s
        return files * positive(each_s)

    def then(self, further: Change) -> Change:
        """Both at once: the further counts where both set an input, and what is added adds up."""
        both: dict[str, Any] = {}
        for name in names(Change):
            mine, its = getattr(self, name), getattr(further, name)
            if getattr(NONE, name) is None:
                both[name] = mine if its is None else its
            else:
                both[name] = mine + its
        return replace(self, **both)

    def extremes(self, costs: Costs[Number], *, absorbs: bool) -> Iterator[Costs[Number]]:
        """What the change comes to if its effects do not simply add up, or more of calls is stored.

        Of calls without a known outcome, and those of which only the reply was captured, nobody
        knows whether another storage changes them: all of them may have been stable. Nor whether
        the few slow calls of which the round trip is the mean waited for the storage.
        """
        for case in self._extremes(costs, absorbs=absorbs):
            yield case.no_faster
        if self.persist_s is not None:
            yield self._all_stored(self.side_by_side(costs), costs).no_faster
            for case in self._extremes(costs, absorbs=absorbs):
                yield self._all_stored(case, costs).no_faster

    def _all_stored(self, changed: Costs[Number], costs: Costs[Number]) -> Costs[Number]:
        """A case of the change, if all of which that is not known was the storage's."""
        # Of storage that takes next to no time, nothing of theirs is persistence.
        waits = (costs.persist_s > LEAST_S) * 1.0
        persist = self.persist_s or 0.0
        ratio = persist / (costs.persist_s + (1.0 - waits))
        part = waits * positive(1.0 - ratio)
        round_trips = changed.rpcs_per_file * changed.rtt_s
        slow = round_trips - positive(round_trips - costs.slow_s)
        # Slower storage adds as much to each as to a stable call, or makes it as many times as long
        # where persistence is more than what may be a round trip's.
        times = (costs.persist_s > costs.rtt_s) * positive(ratio - 1.0)
        each = costs.unsure_calls * positive(persist - costs.persist_s)
        longer = each + positive(times * costs.unsure_s - each)
        return replace(
            changed,
            other_s=changed.other_s - part * (costs.unsure_s + slow) + longer,
            pauses_s=changed.pauses_s + (times - part) * costs.unseen_s * changed.files,
        )

    def _extremes(self, costs: Costs[Number], *, absorbs: bool) -> Iterator[Costs[Number]]:
        """What the change comes to if its effects do not simply add up.

        Storage that ends calls on a clock of its own absorbs what the round trip takes more.
        Calls that are saved may save all of the client's time for them, or none. Streams may share
        the client's time as well, as programs on several processors do, and that of a link of
        which nothing tells that it is full; or not even the storage's, where it does one thing
        after the other, nor the wait for an object that all of them need. Or more of them than were
        bring nothing at all, as where they wait for the same lock or processor.
        """
        changed = self.side_by_side(costs)
        if absorbs and self.rtt_added_s and self.persist_s is None:
            yield replace(changed, persist_s=positive(costs.persist_s - self.rtt_added_s))
        for further in (-self.saved_least, self.saved_most):
            if further:
                other = changed.other_s - further * positive(costs.other_s)
                yield replace(changed, other_s=other)
        if self.rpcs_saved:
            without = replace(self, rpcs_saved=0.0, pauses_saved_s=0.0).side_by_side(costs)
            yield replace(changed, pauses_s=without.pauses_s)
            if self.pauses_saved_s:
                yield replace(self, pauses_saved_s=0.0).side_by_side(costs)
        if self.streams is not None:
            more = changed.concurrency / costs.concurrency
            moving_s = self.moving_s - self.full_s
            yield replace(
                changed,
                client_s=changed.client_s / more,
                other_s=changed.other_s - moving_s * (more - 1.0),
                unshared_s=changed.unshared_s - moving_s / costs.concurrency,
            )
            waited = changed.other_s + self.put_off_s * (more - 1.0)
            yield replace(changed, persist_s=changed.persist_s * more, other_s=waited)
            if np.all(more > 1.0):
                yield replace(self, streams=None).side_by_side(costs)


LEAST_RPCS = 1e-9
"""Calls of a file that are none: what is divided by fewer would be no number."""

NONE = Change()
"""All as it is."""


class Base(Record):
    """The inputs that a change starts from."""

    costs: Costs[float]
    """The inputs."""
    resamples: Costs[Floats] | None
    """The same of resamples; None with too few files."""
    absorbs: bool
    """Stable calls end on a clock of the storage."""
    tick_s: float = 0.0
    """What the capture's times are multiples of, seconds; 0 where that is next to nothing."""
    measured: bool = True
    """They are those of a run, from which other runs differ; else all of them are given."""

    def _cases(self, change: Change, costs: Costs[Number]) -> Iterator[Costs[Number]]:
        """What the change comes to, with its extremes, whatever the clock could not tell."""
        for told in _within(costs, self.tick_s):
            yield change.of(told)
            yield from change.extremes(told, absorbs=self.absorbs)

    def spread(self, change: Change) -> tuple[float, float] | None:
        """The ends of the interval of a forecast, which it lies in; None with too few files."""
        if self.resamples is None:
            return None
        ends = [interval(case.forecast_s) for case in self._cases(change, self.resamples)]
        # A round trip from TCP may be longer, and never is shorter: draws are then all beyond it.
        forecast = change.of(self.costs).forecast_s
        return min(forecast, *(low for low, _ in ends)), max(forecast, *(high for _, high in ends))

    def range(self, change: Change) -> tuple[float, float]:
        """From the least that a change may come to, to the most.

        That is one call after the other, unless it is given how many are under way. Of a run that
        was measured, with what differs from run to run.
        """
        cases = list(self._cases(change, self.costs))
        ends = [case.forecast_s for case in cases]
        if change.streams is None:
            ends += [case.one_by_one.forecast_s for case in cases]
        ends += self.spread(change) or ()
        low, high = min(ends), max(ends)
        return self._of_runs(change, low, high) if self.measured else (low, high)

    def of_runs(self, change: Change) -> tuple[float, float]:
        """The interval of a forecast with what differs from run to run.

        Too few files tell nothing of chance: then it is what the change comes to, and that.
        """
        spread = self.spread(change)
        if spread is None:
            ends = [case.forecast_s for case in self._cases(change, self.costs)]
            spread = min(ends), max(ends)
        return self._of_runs(change, *spread)

    def _of_runs(self, change: Change, low_s: float, high_s: float) -> tuple[float, float]:
        """The ends of a range with what differs from run to run, which has nothing to do with it.

        What is independent adds up by its squares. But streams that share the client's time leave
        less of it that may be shorter: no run takes less than all of the least with what makes
        that shorter.
        """
        costs = change.of(self.costs)
        forecast, client = costs.forecast_s, costs.client_time_s
        calls = CALLS_PART * max(0.0, forecast - client)
        shorter, longer = client * (1.0 - 1.0 / CLIENT_TIMES), client * (CLIENT_TIMES - 1.0)
        low = max(0.0, forecast - math.hypot(max(0.0, forecast - low_s), shorter, calls))
        high = forecast + math.hypot(max(0.0, high_s - forecast), longer, calls)
        least = low_s * min(1.0 / CLIENT_TIMES, 1.0 - CALLS_PART)
        return min(low_s, max(low, least)), max(high_s, high)


class Scenario(Record):
    """One change, and what it would bring."""

    change: str
    """`measured`, `given`, `async`, `log_device`, `rtt`, `streams`, `readdirplus`, `wsize`, `ready`
    (no waits for a server that was not ready or not reached), `unlocked` (no waits for locks
    between calls) or `local`."""
    value: float | None
    """What is assumed: seconds of persistence or of the network's round trip, the number of
    streams, of calls saved, the bytes of a WRITE; of `local` what of the run were waits for a
    server that was not ready or not reached, seconds, where that is a twentieth or more: they go as
    well; None where the change has no number."""
    forecast_s: float
    """The forecast with the observed overlap of calls, seconds."""
    low_s: float | None
    """Lower end of its range, seconds: with the observed overlap, what resampled files give, and
    what differs from run to run, so that it holds four in five of other runs (docs/method.md).
    With streams, also with given ones: the client's own work is shared as well, and the time of a
    link that is not full. With fewer than 10 files nothing is resampled. None where all inputs are
    given, and the range has no width."""
    high_s: float | None
    """Upper end of its range, seconds: one call after the other, what resampled files give, and
    what differs from run to run.
    With streams, also with given ones: they bring nothing, as where they wait for one another. None
    likewise."""
    factor: float | None
    """How many times as fast as what the changes start from; None when it takes no time."""
    serial: bool = False
    """It takes as long as calls do (`model.serial`) that come one after the other however many
    streams there are: without these it would take less."""
    slowest: bool = False
    """It is the forecast of the slowest of several clients alone: taken as one they would take
    less, but a run lasts until its last client is done. False of one client."""


def scenario(
    name: str, value: float | None, base: Base, change: Change, *, given: Change = NONE
) -> Scenario:
    """The forecast of one change and its range.

    Args:
        name: Of the change.
        value: What is assumed.
        base: The inputs.
        change: The change.
        given: Another, which it comes on top of.
    """
    both = given.then(change)
    shared = both.side_by_side(base.costs)
    costs = shared.no_faster
    forecast = costs.forecast_s
    low, high = base.range(both)
    # What is given has no range, unless a change has one.
    known = base.measured or high - low > LEAST_S
    return Scenario(
        change=name,
        value=value,
        forecast_s=forecast,
        low_s=low if known else None,
        high_s=high if known else None,
        factor=given.of(base.costs).forecast_s / forecast if forecast > 0 else None,
        serial=bool(costs.least_s > shared.forecast_s),
    )


def part_of_other(time_s: float, costs: Costs[float]) -> float:
    """Which part a time of each file has of that beyond round trips and persistence, 0 to 1."""
    return min(time_s / costs.other_s, 1.0) if costs.other_s > 0 else 0.0


def ready(asked: Change, waited: float, held_s: float) -> Change:
    """A server that is always ready and reached, on top of what is asked for.

    Args:
        asked: What is asked for.
        waited: The part of the time beyond round trips and persistence that calls waited for it, 0
            to 1.
        held_s: What of `waiting_s` of what is asked for that is, seconds.
    """
    return Change(
        # Nothing is saved twice.
        other_saved=min(waited, 1.0 - asked.other_saved),
        waiting_s=-held_s,
        put_off_s=-asked.put_off_s,
    )


def local(asked: Change, network_s: float, remote: float) -> Change:
    """Neither network nor storage, on top of what is asked for.

    Args:
        asked: What is asked for.
        network_s: The network's part of the round trip, seconds.
        remote: The part of the time beyond round trips and persistence that calls take since the
            server is remote, 0 to 1.
    """
    return Change(
        rtt_added_s=-network_s,
        persist_s=0.0,
        # Of what another round trip saves of it, nothing is saved twice.
        other_saved=remote - asked.other_saved,
        saved_least=-asked.saved_least,
        saved_most=-asked.saved_most,
        waiting_s=-asked.waiting_s,
        put_off_s=-asked.put_off_s,
        moving_s=-asked.moving_s,
    )


def _within(costs: Costs[Number], tick_s: float) -> Iterator[Costs[Number]]:
    """The inputs, and with a round trip that is a tick longer or shorter.

    What calls took in all is told well: persistence, and what they take beyond both, has the rest.
    """
    yield costs
    for by in (tick_s, -tick_s) if tick_s else ():
        rtt = positive(costs.rtt_s + by)
        persist = positive(costs.persist_s - (rtt - costs.rtt_s))
        yield replace(
            costs,
            rtt_s=rtt,
            persist_s=persist,
            other_s=costs.other_s
            - costs.all_rpcs_per_file * (rtt - costs.rtt_s)
            - costs.syncops_per_file * (persist - costs.persist_s),
        )


def _queue(costs: Costs[Number], persist_s: Number, concurrency: Number) -> Number | float:
    """What a call waits for others with another persistence, and as many calls at the same time.

    In the queue it waits for as long as each of those before it takes.
    """
    if not np.any(costs.queue_s):
        return costs.queue_s
    served = replace(costs, persist_s=persist_s).served_s / costs.served_s
    before = positive(costs.concurrency - 1.0)
    now = positive(concurrency - 1.0)
    alone = (before <= 0) * 1.0
    more: Number = (now + alone) / (before + alone)
    return costs.queue_s * served * more


def _left(before: Number, given: float | None) -> Number | float:
    """The part of some calls that is left with fewer of all; of more, nobody knows which they are.

    Args:
        before: All calls, as measured.
        given: How many there are instead; None: as many.
    """
    if given is None:
        return 1.0
    share: Number = given / (before + (before <= 0) * 1.0)
    return share - positive(share - 1.0)


def _set(number: Number, value: float | None) -> Number:
    """A number, or each element of an array, set to a value."""
    return number if value is None else number * 0.0 + value
