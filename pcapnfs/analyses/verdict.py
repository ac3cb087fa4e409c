"""What the time goes into, in one sentence with the numbers that carry it.

Takes the parts of a forecast, or of what was measured; gives the causes by size. A cause is named
when it takes a large share; two large ones are both named. What persistence costs by call tells
which storage it looks like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.formula import Costs

LARGE_SHARE = 0.3
"""A cause that takes more of the time is named beside the largest. Practitioners call a run bound
by persistence from 30 % of the time on (docs/method.md)."""

ROTATION_S = (0.004, 0.012)
"""Rotational latency and seek of a disk: half a turn takes 2 ms at 15,000 and 5.6 ms at 5,400
turns a minute, and a seek 3 to 9 ms. A disk behind a write cache that survives a power failure
answers faster."""

FAST_DIFFERENCE_S = 0.0003
"""Below this, a stable call costs no more than a log device or a cache would take."""

FAST_RATIO = 1.5
"""And when it takes less than so many round trips, it may not have been on any storage at all."""

CAUSES = ("persistence", "round_trips", "transfer", "waiting", "server", "client")
"""Codes of the causes."""


class Cause(Record):
    """A part of the time."""

    cause: str
    """`persistence`, `round_trips`, `transfer`, `waiting`, `server` or `client`."""
    time_s: float
    """What it takes, seconds."""
    share: float | None
    """Its share of all causes, 0…1; None when nothing took any time."""


class Verdict(Record):
    """Where the time goes."""

    sentence: str
    """The verdict with its numbers, in English."""
    named: tuple[str, ...]
    """The largest cause and whatever else takes a large share, largest first; empty without any
    time."""
    storage: str | None
    """What the stable calls look like: `disk` (rotational latency), `slow` (more than one access to
    a disk, or a busy one), `flash` (faster than a disk turns), `memory` (an async export, or a
    write cache that survives a power failure); None where no call is stable."""
    causes: tuple[Cause, ...]
    """All parts, largest first."""


class Evidence(Record):
    """What the sentence is made of; times in seconds."""

    costs: Costs[float]
    """The model's inputs."""
    transfer_s: float
    """The part of what calls take beyond both that was moving their bytes."""
    waiting_s: float
    """The part of it in which the server was not ready, or not reached."""
    stable_s: float | None
    """Median service time of the stable calls; None when persistence was not measured."""
    small_s: float | None
    """The same of the calls that show the round trip; None without any."""
    forecast: bool
    """It is about a run that was not measured."""
    few: int | None
    """Stable calls, where they are too few for a mean; None where they are not."""


def verdict(evidence: Evidence) -> Verdict:
    """Name the causes."""
    costs = evidence.costs
    transfer = costs.beyond_s and min(evidence.transfer_s / costs.concurrency, costs.beyond_s)
    waiting = evidence.waiting_s / costs.concurrency
    storage = _storage(evidence)
    persistence = costs.persistence_s * (_typical(evidence) if storage == "memory" else 1.0)
    beyond = costs.beyond_s + costs.persistence_s - persistence
    parts = {
        "persistence": persistence,
        "round_trips": costs.round_trips_s,
        "transfer": max(0.0, transfer),
        "waiting": waiting,
        "server": max(0.0, beyond - max(0.0, transfer) - waiting),
        "client": costs.client_time_s,
    }
    total = sum(parts.values())
    causes = tuple(
        Cause(name, time, time / total if total else None)
        for name, time in sorted(parts.items(), key=lambda part: -part[1])
    )
    named = tuple(
        each.cause
        for place, each in enumerate(causes)
        if each.time_s > 0 and (place == 0 or (each.share or 0.0) >= LARGE_SHARE)
    )
    return Verdict(
        sentence=_sentence(evidence, causes, named, storage),
        named=named,
        storage=storage,
        causes=causes,
    )


def _storage(evidence: Evidence) -> str | None:
    """What the storage looks like, from what a stable call takes."""
    costs = evidence.costs
    if not costs.syncops_per_file:
        return None
    if evidence.stable_s is not None:
        small = _small_s(evidence)
        more = evidence.stable_s - small
        if more < FAST_DIFFERENCE_S and evidence.stable_s < FAST_RATIO * small:
            return "memory"
    persist = costs.persist_s
    if persist < ROTATION_S[0]:
        return "flash"
    return "disk" if persist <= ROTATION_S[1] else "slow"


def _small_s(evidence: Evidence) -> float:
    """What a call that needs no storage usually takes."""
    return evidence.costs.rtt_s if evidence.small_s is None else evidence.small_s


def _typical(evidence: Evidence) -> float:
    """The part of persistence, 0…1, that usual stable calls have.

    Where they are as fast as others, the mean is that of a few slow ones: a busy server or
    processor, which delays any call.
    """
    if evidence.stable_s is None or not evidence.costs.persist_s:
        return 1.0
    more = evidence.stable_s - _small_s(evidence)
    return min(1.0, max(0.0, more / evidence.costs.persist_s))


_STORAGE = {
    "disk": "the latency of rotating disks without a write cache that survives a power failure",
    "slow": "several disk accesses a call, or a busy disk",
    "flash": "faster than a disk turns",
    "memory": "as fast as from memory: an async export, or a log device or protected write cache",
}


def _sentence(
    evidence: Evidence, causes: tuple[Cause, ...], named: tuple[str, ...], storage: str | None
) -> str:
    if not named:
        return "No call took any time."
    costs = evidence.costs
    calls = costs.files * costs.rpcs_per_file
    stable = costs.files * costs.syncops_per_file
    only = "" if evidence.few is None else ", too few for more than this run"
    details = {
        "persistence": f"{units.count(round(stable))} stable calls waited "
        f"{units.duration(costs.persist_s)} each for storage"
        + (f": {_STORAGE[storage]}" if storage in ("disk", "slow") else "")
        + only,
        "round_trips": f"{units.count(round(calls))} calls at a round trip of "
        f"{units.duration(costs.rtt_s)}",
        "transfer": "data on the wire",
        "waiting": "the server was not ready, or not reached",
        "server": "reads, listings, and what else took longer than a round trip",
        "client": "no call under way",
    }
    titles = {
        "persistence": "persistence",
        "round_trips": "round trips",
        "transfer": "transfer",
        "waiting": "waiting for the server",
        "server": "the server",
        "client": "the client itself",
    }
    shares = {each.cause: each.share for each in causes}
    reasons = [f"{titles[name]} {units.share(shares[name])} ({details[name]})" for name in named]
    rest = [
        f"{titles[each.cause]} {units.share(each.share)}"
        for each in causes
        if each.cause not in named and (each.share or 0.0) >= REST_SHARE
    ]
    verb = "would go" if evidence.forecast else "went"
    text = f"The time {verb} into {' and '.join(reasons)}"
    text += f"; {', '.join(rest)}" if rest else ""
    text += "."
    if storage == "memory":
        text += f" Stable calls are answered {_STORAGE[storage]}."
    return text


REST_SHARE = 0.05
"""What is worth mentioning behind the causes."""
