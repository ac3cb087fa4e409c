"""What a forecast rests on: each input as measured or as given, where it is from, and what lacks.

Takes a measurement, or none, and what was given instead; gives the model's inputs, the change that
the given ones are, and the codes of those that nothing tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.forecasts.held_down import Held, held_down, moved
from pcapnfs.analyses.forecasts.resampling import resampled
from pcapnfs.analyses.forecasts.what_if import Base, Change
from pcapnfs.analyses.times.showing import LEAST_CALLS
from pcapnfs.analyses.times.timeline import BetweenCalls
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.measurement import Measurement
    from pcapnfs.analyses.forecasts.overrides import Overrides

UNREAD = "outcomes"
"""Why there is none although nothing else is missing: most calls do not tell what they did."""

UNTIMED = "clocks"
"""Why there is none whatever is given: what calls took is not known."""

FEW = "stable_calls"
"""Why there is no model although the trace tells what the time went into."""

UNNUMBERED = "files"
"""Why there is none although all calls are known: of how many files they are is not."""


class Input(Record):
    """One input of the forecast."""

    name: str
    """`files`, `rpcs_per_file`, `rtt_s`, `syncops_per_file`, `persist_s`, `concurrency` or
    `client_s` (for each call)."""
    value: float | None
    """Its value, times in seconds; None when the trace does not tell."""
    measured: float | None
    """What the trace tells, whether it is used or not; None when it does not."""
    source: str
    """`given`, `counted`, `calls` (mean of at least 30 small unstable calls), `handshake` or `acks`
    (of TCP), `gaps` (between a reply and the next call: an upper bound), `few_calls`, `assumed`, or
    `none`."""


def missing_of(measured: Measurement, given: Overrides) -> tuple[str, ...]:
    """Which inputs the trace does not tell, and nobody gave."""
    if measured.times_untold:
        return (UNTIMED,)
    by_file = None not in (given.files, given.rpcs_per_file, given.syncops_per_file)
    return tuple(
        code
        for code, lacks in (
            (UNNUMBERED, not measured.files and not by_file),
            ("rtt", measured.rtt_s is None),
            (UNREAD, outcomes_untold(measured, given)),
            (FEW, storage_untold(measured, given) and not _lacks_only_rtt(measured)),
        )
        if lacks
    )


def still_foretold(missing: tuple[str, ...], measured: Measurement, given: Overrides) -> bool:
    """Whether changes of the same work can be foretold although there is no model.

    Of how many files the calls are does not matter to that. What few stable calls took, or those
    of which it is not known whether they were, is all that the same storage needs.
    """
    if not set(missing) <= {UNNUMBERED, FEW, UNREAD} or not measured.calls or measured.unread:
        return False
    if UNNUMBERED in missing and (given.files, given.rpcs_per_file) != (None, None):
        return False
    # Of which calls the storage that is given would change is not known.
    stored = outcomes_untold(measured, given) and given.persist_s is not None
    return given.syncops_per_file is None and not stored


def _lacks_only_rtt(measured: Measurement) -> bool:
    """Whether persistence is not told for lack of a round trip alone."""
    return measured.rtt_s is None and int(measured.sums.timed.sum()) >= LEAST_CALLS


def base_of(measured: Measurement | None, given: Overrides) -> Base:
    """The inputs as measured; what was not is 0, or as given where everything is."""
    if measured is None:
        costs = Costs(
            files=float(given.files or 0),
            rpcs_per_file=given.rpcs_per_file or 0.0,
            rtt_s=given.rtt_s or 0.0,
            syncops_per_file=given.syncops_per_file or 0.0,
            persist_s=given.persist_s or 0.0,
            other_s=0.0,
            client_s=0.0,
            pauses_s=0.0,
            concurrency=1.0,
        )
        return Base(costs, None, absorbs=False, measured=False)
    return Base(
        measured.costs(),
        resampled(measured),
        absorbs=bool(measured.absorbs),
        tick_s=measured.tick_s,
    )


def change_of(measured: Measurement | None, given: Overrides) -> Change:
    """The change that the given inputs are."""
    added = 0.0
    if measured is not None and measured.rtt_s is not None and given.rtt_s is not None:
        network = measured.path.rtt_s
        added = given.rtt_s - (measured.rtt_s if network is None else network)
    return Change(
        files=given.files,
        rpcs_per_file=given.rpcs_per_file,
        rtt_added_s=added,
        **parts_of(held_down(moved(measured), added)),
        syncops_per_file=given.syncops_per_file,
        persist_s=given.persist_s,
        client_s=given.client_s,
        streams=given.streams,
        **shared_of(measured),
    )


def shared_of(measured: Measurement | None) -> dict[str, float]:
    """The fields of a change for what more calls at the same time do not make shorter."""
    return {
        "waiting_s": _waiting_s(measured),
        "put_off_s": _put_off_s(measured),
        "moving_s": _moving_s(measured),
        "full_s": _full_s(measured),
    }


def parts_of(held: Held) -> dict[str, float]:
    """The fields of a change for what another round trip makes of transfers."""
    return {
        "other_saved": held.saved,
        "saved_least": held.saved - held.least,
        "saved_most": held.most - held.saved,
    }


def _waiting_s(measured: Measurement | None) -> float:
    """For how long the whole server was not ready or not reached, by file, seconds."""
    if measured is None:
        return 0.0
    return by_file(measured, measured.clocked.held_s + measured.clocked.cut_s)


def _put_off_s(measured: Measurement | None) -> float:
    """For how long it put off calls on an object, by file, seconds."""
    return 0.0 if measured is None else by_file(measured, measured.clocked.put_off_s)


def _moving_s(measured: Measurement | None) -> float:
    """For how long bytes of calls were moving, by file, seconds; none that round trips hold.

    With what calls took longer for a link that their own data filled.
    """
    if measured is None:
        return 0.0
    moving_s = by_file(measured, measured.clocked.moved_s + _filled_s(measured))
    return max(0.0, min(moving_s, measured.costs().other_s))


def _full_s(measured: Measurement | None) -> float:
    """The part of it that a link is known to have been full, by file, seconds."""
    if measured is None:
        return 0.0
    full_s = by_file(measured, measured.clocked.full_s + _filled_s(measured))
    return min(full_s, _moving_s(measured))


def _filled_s(measured: Measurement) -> float:
    """What of the clock calls took longer for links that their own data filled, seconds."""
    return measured.clocked.longer_s if measured.longer.full else 0.0


def by_file(measured: Measurement, clock_s: float) -> float:
    """Of each file, what of all calls' time holds up the clock for so long by their overlap, s."""
    return clock_s * measured.concurrency / (measured.files or 1)


def network_s(measured: Measurement | None, given: Overrides) -> float | None:
    """The network's part of the round trip; None where nothing tells it."""
    if given.rtt_s is not None:
        return given.rtt_s
    return None if measured is None or measured.undivided else measured.path.rtt_s


def still_waited(waited: BetweenCalls, given: Overrides) -> BetweenCalls:
    """What of the client's own time it waited for something: nothing of time that is given for it.

    Of that nobody knows what it waits for.
    """
    return waited if given.client_s is None else BetweenCalls()


def mostly_resent(measured: Measurement | None, given: Overrides) -> bool:
    """Whether what stable calls took tells nothing of storage, since most were sent again."""
    return measured is not None and given.persist_s is None and measured.resent


def storage_untold(measured: Measurement | None, given: Overrides) -> bool:
    """Whether there are stable calls, too few to tell what storage takes, and nobody gave it."""
    if measured is None or measured.persist_s is not None or given.persist_s is not None:
        return False
    stable = measured.stable_calls if given.syncops_per_file is None else given.syncops_per_file
    return stable > 0


def outcomes_untold(measured: Measurement | None, given: Overrides) -> bool:
    """Whether most calls do not tell whether they were stable, and nobody said how many were."""
    return measured is not None and measured.outcomes_untold and given.syncops_per_file is None


def sources_of(measured: Measurement | None, given: Overrides) -> dict[str, str]:
    """Where each input is from."""
    sources = {
        "files": "counted",
        "rpcs_per_file": "counted",
        "rtt_s": "none" if measured is None else measured.rtt_source,
        "syncops_per_file": "counted",
        "persist_s": "none" if measured is None or measured.persist_s is None else "calls",
        "concurrency": "assumed" if measured is None else "calls",
        "client_s": "assumed" if measured is None else "calls",
    }
    names = {"concurrency": given.streams}
    for name in sources:
        if names.get(name, getattr(given, name, None)) is not None:
            sources[name] = "given"
    return sources


def inputs_of(
    measured: Measurement | None, given: Overrides, costs: Costs[float]
) -> tuple[Input, ...]:
    """Every input that the forecast rests on, and what was measured of it."""
    sources = sources_of(measured, given)
    told: dict[str, float | None] = dict.fromkeys(sources)
    if measured is not None:
        own = measured.costs()
        by_file = ("rpcs_per_file", "syncops_per_file")
        counted = {
            name: getattr(own, name) if measured.files or name not in by_file else None
            for name in sources
        }
        told = counted | {
            "rtt_s": None if measured.rtt_source == "given" else measured.rtt_s,
            "persist_s": measured.persist_s,
            "files": None if measured.files is None else float(measured.files),
        }
        if measured.outcomes_untold:
            told["syncops_per_file"] = None
    used = told | {"client_s": costs.client_s}  # For a file it is the same for other calls.
    # Where streams wait for one another, fewer calls are under way than streams were given.
    streams = {} if given.streams is None else {"concurrency": float(given.streams)}
    now = {name: getattr(costs, name) for name in sources} | streams
    return tuple(
        Input(
            name=name,
            value=now[name] if source == "given" or measured is None else used[name],
            measured=told[name],
            source=source,
        )
        for name, source in sources.items()
    )
