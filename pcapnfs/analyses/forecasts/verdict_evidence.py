"""What carries a verdict: the numbers behind its causes, and what they say of the storage.

Takes what was measured or foretold; gives the kind of storage that stable calls look like, how much
of what they take is persistence, and the sentence that names the causes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.stable_calls import StableCalls
from pcapnfs.analyses.wire.held_segments import AckWaits
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.tcp_stalls import Resent
from pcapnfs.record import Record

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.verdict import Cause

LARGE_SHARE = 0.3
"""A cause that takes more of the time is named beside the largest. Practitioners call a run bound
by persistence from 30 % of the time on (docs/method.md)."""

MOUNTING_S = 1.0
"""From so many seconds on, users notice what mounting took; a verdict tells of it where it is a
large share as well."""

ROTATION_S = (0.004, 0.012)
"""Rotational latency and seek of a disk: half a turn takes 2 ms at 15,000 and 5.6 ms at 5,400
turns a minute, and a seek 3 to 9 ms. A disk behind a write cache that survives a power failure
answers faster."""

FAST_DIFFERENCE_S = 0.0003
"""Below this, a stable call costs no more than a log device or a cache would take."""

FAST_RATIO = 1.5
"""And when it takes less than so many round trips, it may not have been on any storage at all."""

DATA_DIFFERENCE_S = 0.001
"""From so much on, calls that store data (`STORE_DATA`) wait for storage though others are as fast
as small ones: to copy a mebibyte in memory takes less …"""

DATA_RATIO = 0.25
"""… if that is as much of a small call as the medians of two kinds of calls differ on a long
path."""

HARDLY = 0.1
"""Below this part of what data waits, and `DATA_DIFFERENCE_S`, names and attributes do not wait for
the same storage, and a mean of both would be that of neither."""

MIXED = 4.0
"""Where stable calls are as fast as others in the median, but wait for storage as long as a disk
takes and for so many round trips on average, storage was slow for some of them: a busy server or
processor would have delayed others likewise."""

USUAL = 0.5
"""Some alone were slow where half of them took less than this part of the mean, beyond a round
trip that is known otherwise than by small calls."""

SKEWED = 2.0
"""Where a mean is so many times the median, a few calls make it: it says nothing of the others."""

REST_SHARE = 0.05
"""What is worth mentioning behind the causes."""

MOSTLY_LOGIN = 0.9
"""From this part of the server's time on, logging in is told alone."""

MOSTLY_SERVED = 0.9
"""Of what the server took longer for, the largest rows are named up to this part."""

SERVED = {
    "stable": "some stable calls",
    "unstable": "lookups, listings and the like",
    "unstable_write": "unstable writes",
    "read": "reads",
    "state": "calls that mount or log in",
}
"""What calls are called of which the server took longer, by row of the time budget."""

LOSSES: Mapping[Resent, str] = {
    "late": "late segments",
    "arrived": "segments sent again",
    "lost": "lost segments",
    "rdma": "lost packets",
}
"""What `loss` is called, by whether these had arrived before."""

TITLES = {
    "persistence": "persistence",
    "round_trips": "round trips",
    "transfer": "transfer",
    "waiting": "waiting for the server",
    "path": "a longer path",
    "loss": LOSSES["lost"],
    "locks": "waiting for locks",
    "server": "the server",
    "unknown": "calls of unknown outcome",
    "client": "the client itself",
}
"""What the causes are called, by their codes."""

FULL = "a full link"
"""What `path` is called where the clients' own data made it longer."""

QUEUE = "queueing at the server"
"""What `server` is called where calls mostly waited there for others."""

SLOW = "round trips to a slow server"
"""What `round_trips` is called where the network takes less than half of them, and the server at
least `SLOW_S`."""

SLOW_S = 0.001
"""A server that has the time answers what needs no storage sooner, seconds."""

AS_LONG = 0.5
"""What a slow server takes for a small call, as a part of what stable calls take beyond a round
trip: from here on it is not told what the storage looks like."""

UNSEEN = "time without a known call"
"""What `unknown` is called where the capture lacks much."""

PAUSED = 0.1
"""The part of the client's own time from which on its pauses are told."""


def is_paused(pauses_s: float, own_s: float) -> bool:
    """Whether pauses are enough of the client's own time to be told, both in seconds."""
    return pauses_s > 0 and pauses_s >= PAUSED * own_s


STORAGE = {
    "disk": "the latency of rotating disks without a write cache that survives a power failure",
    "slow": "several disk accesses a call, or a busy disk",
    "flash": "faster than a disk turns",
    "memory": "as fast as from memory: an async export, or a log device or protected write cache",
    "data": "what stores data waits, names and attributes are changed as fast as in memory, or "
    "nearly so",
    "names": "names and attributes are changed as fast as in memory, and whether data waits cannot "
    "be seen: the outcome of calls that took longer is not known",
    "mixed": "most were quick, and some took far longer: slow for a while, or for some files",
    "mostly": "as fast as from memory: an async export, or a log device or protected write cache; "
    "why some took as long as a disk does, or longer, the capture does not tell",
}
"""What stable calls look like, by its code."""

FROM_MEMORY = ("memory", "mostly", "names")
"""Codes of those that usual stable calls are as fast as from memory: what the mean of others is
beyond that is not the storage's."""


class Evidence(Record):
    """What the sentence is made of; times in seconds."""

    costs: Costs[float]
    """The model's inputs."""
    stable_s: float | None
    """Median service time of the stable calls; None when persistence was not measured."""
    small_s: float | None
    """The same of the calls that show the round trip; None without any."""
    forecast: bool
    """It is about a run that was not measured."""
    few: int | None
    """Stable calls, where they are too few for a mean; None where they are not."""
    data_s: float | None = None
    """Median service time of the stable calls that store data; None where they are too few."""
    transfer_s: float = 0.0
    """The part of what calls take beyond both that was moving their bytes."""
    waiting_s: float = 0.0
    """The part of it in which the server was not ready, was not reached, or did not answer."""
    unknown_s: float = 0.0
    """The part of it of calls without a known outcome."""
    lost_s: float = 0.0
    """The part of it in which they stood still until TCP sent again what was lost."""
    cut_s: float = 0.0
    """The part of that in which calls stood still for so long that the path was cut."""
    arrival: Resent = "lost"
    """Whether what was sent again had arrived before (`tcp_stalls.arrival`)."""
    lost_idle_s: float = 0.0
    """The same of the time in which no call was under way, of all calls together."""
    longer_s: float = 0.0
    """The part of it that calls took longer because the path was longer for a while."""
    longer_idle_s: float = 0.0
    """The same of the time in which no call was under way: of the way to the client."""
    longer_calls: int = 0
    """How many of them did; 0 where only the clock of one client is known."""
    clients: int = 1
    """Clients whose calls these are."""
    resent: bool = False
    """Most stable calls were sent again before they were answered."""
    unused_s: float = 0.0
    """What of the client's own time are gaps of a second or more in which nothing is known to be
    waited for."""
    locked_s: float = 0.0
    """The time in which no call was under way since the client waited for a lock."""
    unreached_s: float = 0.0
    """The same since it waited for a connection."""
    vain_s: float = 0.0
    """The same after its last call, where it had none to the end."""
    login_s: float = 0.0
    """What calls that log in took longer than a round trip each."""
    stood_still: StoodStill = StoodStill()
    """What a few calls stood still."""
    lacking: bool = False
    """The capture lacks so much that calls may have been under way where none is."""
    full: bool = False
    """The clients' own data made it longer: it filled a link."""
    moving_s: float = 0.0
    """What calls waited for replies on a link that these filled, or was their own on it."""
    queue_s: float = 0.0
    """What of a round trip was a wait until the server was done with other calls."""
    stable: StableCalls = StableCalls()
    """What stable calls hold, and whether they waited for others."""
    bounded: bool = False
    """The round trip is an upper bound."""
    network_s: float | None = None
    """What of it the network takes, seconds; None where nothing tells, or only a bound."""
    held_down: LossRate | None = None
    """What holds most of the transfer down; None where that is not lost segments, or not known."""
    served_s: Mapping[str, float] = {}
    """By row of the time budget, what calls took that is the server's, for comparison with one
    another."""
    ack_waits: AckWaits = AckWaits()
    """Calls that were answered late since the server waited for ACKs."""
    tick_s: float = 0.0
    """The tick of the capture's clock: what medians are apart may be more by so much."""


def noticed(apart_s: float, whole_s: float) -> bool:
    """Whether mounting, or logging in, took so much of some time that it is told."""
    return apart_s >= MOUNTING_S and apart_s >= LARGE_SHARE * whole_s


def storage_of(evidence: Evidence) -> str | None:
    """What the storage looks like, from what a stable call takes: a key of `STORAGE`.

    None without stable calls, where most were sent again before they were answered, or where they
    were fast and of kinds that servers answer from memory.
    """
    costs = evidence.costs
    if not costs.syncops_per_file or evidence.resent:
        return None
    if evidence.stable_s is not None:
        more = evidence.stable_s - _small_s(evidence) + evidence.tick_s
        fast = is_fast(evidence)
        if fast and not evidence.stable.shown:
            return None
        if _waits_for_data(evidence) and (fast or _names_hardly(evidence, more)):
            return "data"
        if fast:
            return _usually_fast(evidence)
        if evidence.stable.slow_part >= USUAL:
            return "mixed"  # The mean is that of these.
    # The others hardly have a part in the mean.
    persist = costs.persist_s / (evidence.stable.shown or 1.0) / evidence.stable.operations
    if persist < ROTATION_S[0]:
        return "flash"
    return "disk" if persist <= ROTATION_S[1] else "slow"


def is_fast(evidence: Evidence) -> bool:
    """Whether usual stable calls take no longer than those that need no storage."""
    if evidence.stable_s is None:
        return False
    small = _small_s(evidence)
    more = evidence.stable_s - small + evidence.tick_s
    return more < FAST_DIFFERENCE_S and evidence.stable_s < FAST_RATIO * small


def _usually_fast(evidence: Evidence) -> str:
    """What storage looks like that usually answers as fast as memory: a key of `STORAGE`."""
    costs = evidence.costs
    if evidence.stable.slow:
        return "mixed"
    if _data_unseen(evidence):
        return "names"
    if _on_average(evidence):
        return "mixed"
    waiting_s = costs.round_trips_s + costs.persistence_s + costs.beyond_s
    late_s = evidence.stable.late_part * costs.persistence_s
    return "mostly" if late_s >= REST_SHARE * waiting_s else "memory"


def _on_average(evidence: Evidence) -> bool:
    """Whether stable calls that are usually fast wait on average as long as a disk takes."""
    costs = evidence.costs
    if evidence.stable_s is None or costs.persist_s < max(ROTATION_S[0], MIXED * costs.rtt_s):
        return False
    # Where the usual ones were as slow, so were small calls, which need no storage.
    return evidence.stable_s - costs.rtt_s < costs.persist_s * USUAL


def stored_share(evidence: Evidence, storage: str | None) -> float:
    """The part of persistence, 0…1, that is the storage's; the rest is the server's.

    Args:
        evidence: What was measured.
        storage: What the storage looks like, of `storage_of`.
    """
    if storage in FROM_MEMORY:
        return _typical_share(evidence)
    if storage != "mixed" or not is_fast(evidence) or _on_average(evidence):
        return 1.0
    # Others may have been slow as well, for a reason that is not known.
    return min(1.0, _typical_share(evidence) + evidence.stable.slow_part)


def _waits_for_data(evidence: Evidence) -> bool:
    """Whether calls that store data take longer than small ones."""
    if evidence.data_s is None:
        return False
    small = _small_s(evidence)
    more = evidence.data_s - small - evidence.tick_s
    return more >= max(DATA_DIFFERENCE_S, DATA_RATIO * small)


def _names_hardly(evidence: Evidence, more_s: float) -> bool:
    """Whether most stable calls wait so much less than those that store data that these are others.

    Args:
        evidence: What was measured; data waits.
        more_s: What stable calls take longer than small ones in the median, seconds.
    """
    waits = (evidence.data_s or 0.0) - _small_s(evidence)
    return more_s < min(DATA_DIFFERENCE_S, HARDLY * waits)


def _data_unseen(evidence: Evidence) -> bool:
    """Whether calls may have stored data whose outcome is not known, and waited for it.

    Together they took longer than a round trip each by more than all stable calls did.
    """
    costs = evidence.costs
    stable_s = costs.files * costs.syncops_per_file * costs.persist_s
    return evidence.data_s is None and evidence.unknown_s > stable_s


def _typical_share(evidence: Evidence) -> float:
    """The part of persistence, 0…1, that usual stable calls have.

    Where they are as fast as others, the mean is that of a few slow ones: a busy server or
    processor, which delays any call.
    """
    if evidence.stable_s is None or not evidence.costs.persist_s:
        return 1.0
    more = evidence.stable_s - _small_s(evidence)
    return min(1.0, max(0.0, more / evidence.costs.persist_s))


def reasons(
    evidence: Evidence,
    causes: tuple[Cause, ...],
    named: tuple[str, ...],
    storage: str | None,
    *,
    always: bool = False,
) -> str:
    """The causes that are named with what carries them, and the others with their shares.

    Args:
        evidence: Where the numbers are from.
        causes: All of them, largest first.
        named: Those that are named.
        storage: What the storage looks like, of `storage_of`.
        always: The largest of the others but the client is told, however small it is.
    """
    details = _details(evidence, storage) | {
        "server": _served(evidence, causes),
        "client": _idle(evidence, causes),
    }
    titles = TITLES | ({"unknown": UNSEEN} if evidence.lacking else {})
    titles |= {"path": FULL} if evidence.full else {}
    titles |= {"loss": LOSSES[_arrival(evidence)]}
    titles |= {"server": QUEUE} if _queues(evidence, causes) else {}
    shares = {each.cause: each.share for each in causes}
    whose = titles | ({"round_trips": SLOW} if _slow(evidence) else {})
    told = [f"{whose[name]} {units.share(shares[name])} ({details[name]})" for name in named]
    others = [each for each in causes if each.cause not in named]
    waits = [each for each in others if each.cause != "client" and each.time_s > 0]
    least = waits[:1] if always and set(named) == {"client"} else []
    rest = [
        f"{titles[each.cause]} {units.share(each.share)}"
        for each in others
        if (each.share or 0.0) >= REST_SHARE or each in least
    ]
    text = "what the capture does not tell: " if named == ("unknown",) else ""
    text += " and ".join(told)
    text += f"; {', '.join(rest)}" if rest else ""
    text += "."
    if storage == "memory":
        text += f" Stable calls are answered {STORAGE[storage]}."
    if storage == "mostly":
        text += f" Most stable calls are answered {STORAGE[storage]}."
    if storage == "names":
        text += f" {STORAGE[storage].capitalize()}."
    return text


def _details(evidence: Evidence, storage: str | None) -> dict[str, str]:
    """What carries each cause."""
    costs = evidence.costs
    calls = costs.files * costs.all_rpcs_per_file
    stable = costs.files * costs.syncops_per_file
    only = "" if evidence.few is None else ", too few for more than this run"
    return {
        "persistence": (
            _slow_ones(evidence, storage, round(stable))
            or (
                f"{units.counted(round(stable), 'stable call')} waited "
                f"{units.duration(costs.persist_s)} each for storage"
            )
        )
        + _on_storage(evidence, storage)
        + only,
        "round_trips": f"{units.counted(round(calls), 'call')} at a round trip of "
        f"{units.duration(costs.rtt_s - evidence.queue_s)}{_skewed(evidence)}{_bounded(evidence)}"
        f"{_of_network(evidence)}",
        "transfer": "data on the wire" + _held_down(evidence.held_down),
        "waiting": f"{units.counted(round(stable), 'stable call')} took "
        f"{units.duration(costs.persist_s)} longer than a round trip each, and most were sent "
        "again before they were answered"
        if evidence.resent and costs.persist_s
        else "the server was not ready, was not reached, or did not answer",
        "path": f"{units.counted(evidence.longer_calls, 'call')} took "
        f"{units.duration(evidence.longer_s / evidence.longer_calls)} longer each while it was"
        if evidence.longer_calls
        else "for a while a round trip took longer than otherwise",
        "loss": _lost(evidence),
        "locks": "refused at first; no call was under way meanwhile",
        "unknown": "the capture lacks packets, or parts that were cut off: calls may be under way "
        "where none is in it"
        if evidence.lacking
        else "no reply, or one that cannot be read",
    }


def _idle(evidence: Evidence, causes: tuple[Cause, ...]) -> str:
    """What the client's own time is: pauses are perhaps those of whoever sits before it."""
    client = next((each.time_s for each in causes if each.cause == "client"), 0.0)
    if not is_paused(evidence.unused_s, client):
        return "no call under way"
    unused = units.duration(evidence.unused_s)
    return f"no call under way, {unused} of it in pauses of a second or more"


def _lost(evidence: Evidence) -> str:
    """What calls stood still for while TCP sent again."""
    if evidence.arrival == "rdma":
        return "calls stood still until RDMA sent a packet again"
    if _is_cut(evidence):
        return "the path let nothing through: calls stood still until TCP's next try"
    if _arrival(evidence) == "late":
        return "calls stood still for longer than TCP's retransmission timer, and nothing was lost"
    return "calls stood still until TCP's retransmission timer ran out"


def _is_cut(evidence: Evidence) -> bool:
    return evidence.cut_s > evidence.lost_s / 2


def _arrival(evidence: Evidence) -> Resent:
    return "lost" if evidence.arrival != "rdma" and _is_cut(evidence) else evidence.arrival


def _served(evidence: Evidence, causes: tuple[Cause, ...]) -> str:
    """What the server took longer than a round trip for."""
    other = f"{_what(evidence.served_s)} took longer than a round trip"
    server = _server_s(causes)
    still_s, many = evidence.stood_still.calls_s, evidence.stood_still.calls
    if many and still_s / evidence.costs.concurrency >= server / 2:
        each = " each" if many > 1 else ""
        return (
            f"{units.counted(many, 'call')} stood still for {units.duration(still_s / many)}{each}"
        )
    waits = evidence.ack_waits
    if waits.calls and waits.time_s >= server / 2:
        return (
            f"{units.counted(waits.calls, 'call')} waited about {units.duration(waits.timer_s)} "
            "each since it sent nothing until an ACK came that the client delayed"
        )
    if _queues(evidence, causes):
        return f"calls waited {units.duration(evidence.queue_s)} each until others were answered"
    if not noticed(evidence.login_s, server):
        return other
    login = f"logging in to it took {units.duration(evidence.login_s)}"
    return login if evidence.login_s >= MOSTLY_LOGIN * server else f"{login}; {other}"


def _what(served_s: Mapping[str, float]) -> str:
    """What calls these are, mostly."""
    whole = sum(served_s.values())
    told: list[str] = []
    so_far = 0.0
    for row, took in sorted(served_s.items(), key=lambda each: -each[1]):
        if took <= 0 or so_far >= MOSTLY_SERVED * whole:
            break
        told.append(SERVED[row])
        so_far += took
    if not told:
        return "reads, listings, and what else"
    *before, last = told
    return f"{', '.join(before)} and {last}" if before else last


def _held_down(rate: LossRate | None) -> str:
    """That TCP moves them no faster where so much is lost."""
    if rate is None:
        return ""
    each = " on each connection" if rate.connections > 1 else ""
    return (
        f", at {units.size(rate.bytes_per_s)} a second{each}: about what TCP comes to where "
        f"{units.share(rate.lost_share)} of the segments are lost and a round trip takes "
        f"{units.duration(rate.rtt_s)}"
    )


def _on_storage(evidence: Evidence, storage: str | None) -> str:
    """What the storage looks like, or that calls queued for it, or for a thread."""
    if _round_trip_queues(evidence):
        return ", or until the server had done others: calls queue there"
    if _slow_told(evidence, storage):
        return ""  # When it was slow is told, and calls that waited for no other show it.
    if evidence.stable.crowded and storage in ("disk", "slow", "mixed"):
        return ", or until other calls were done, which were under way when most of them came"
    if evidence.stable.waits and storage in ("disk", "slow", "mixed"):
        return ", or until other calls were done, behind which some of them came"
    if _slow(evidence) and _served_usually_s(evidence) >= AS_LONG * evidence.costs.persist_s:
        return ", or for what small calls, too, wait for at that server"
    held = ""
    if evidence.stable.several:
        held = f", {evidence.stable.operations:.1f} stable operations in each"
    return held + (f": {STORAGE[storage]}" if storage in ("disk", "slow", "data", "mixed") else "")


def _slow_told(evidence: Evidence, storage: str | None) -> SlowStorage | None:
    """The calls for which storage was slow, where these are told: of a run that was measured."""
    return None if storage != "mixed" or evidence.forecast else evidence.stable.slow


def _slow_ones(evidence: Evidence, storage: str | None, stable: int) -> str:
    """How many waited for storage that was slow for some, how long and when; empty where none."""
    slow = _slow_told(evidence, storage)
    if slow is None:
        return ""
    if is_fast(evidence):
        others = "as fast as from memory"
    else:
        whole_s = stable * evidence.costs.persist_s
        others_s = max(0.0, whole_s - slow.time_s) / max(1, stable - slow.calls)
        others = f"{units.duration(others_s)} each"
    return (
        f"{units.count(slow.calls)} of {units.counted(stable, 'stable call')} waited "
        f"{units.duration(slow.mean_s)} each for storage, {when_slow(slow)}, the others {others}"
    )


def when_slow(slow: SlowStorage) -> str:
    """When storage was slow, in words."""
    if slow.while_ns is None:
        return "which was slow now and then, or for some files"
    begin, end = map(units.clock, slow.while_ns)
    return f"most of it from {begin} to {end} UTC"


def _round_trip_queues(evidence: Evidence) -> bool:
    """Whether a round trip is mostly a wait for other calls."""
    return evidence.queue_s > evidence.costs.rtt_s / 2


def _queues(evidence: Evidence, causes: tuple[Cause, ...]) -> bool:
    """Whether that is most of the server's time."""
    costs = evidence.costs
    queue_s = evidence.queue_s * costs.files * costs.rpcs_per_file / costs.concurrency
    return _round_trip_queues(evidence) and queue_s >= _server_s(causes) / 2


def _server_s(causes: tuple[Cause, ...]) -> float:
    return sum(each.time_s for each in causes if each.cause == "server")


def _small_s(evidence: Evidence) -> float:
    """What a call that needs no storage usually takes."""
    return evidence.costs.rtt_s if evidence.small_s is None else evidence.small_s


def _bounded(evidence: Evidence) -> str:
    """That it may be shorter, where nothing tells what of it something else is."""
    return " at most" if evidence.bounded else ""


def _of_network(evidence: Evidence) -> str:
    """What the network takes of it, where that is the smaller part: the rest is the server's."""
    if not evidence.network_s or not _mostly_served(evidence):
        return ""
    return f", of which the network takes {units.duration(evidence.network_s)}"


def _mostly_served(evidence: Evidence) -> bool:
    """Whether the network takes less than half of a round trip."""
    network_s = evidence.network_s
    return network_s is not None and network_s < (evidence.costs.rtt_s - evidence.queue_s) / 2


def _slow(evidence: Evidence) -> bool:
    """Whether most of a round trip, also of a usual one, is what the server takes for a call."""
    served_s = _served_usually_s(evidence)
    return _mostly_served(evidence) and served_s >= max(SLOW_S, evidence.network_s or 0.0)


def _served_usually_s(evidence: Evidence) -> float:
    """What of a usual round trip is not the network's, seconds."""
    usual = min(evidence.costs.rtt_s - evidence.queue_s, _small_s(evidence))
    return usual - (evidence.network_s or 0.0)


def _skewed(evidence: Evidence) -> str:
    """What a call usually takes, where that is far from the mean."""
    usual = _small_s(evidence)
    if _round_trip_queues(evidence):
        return ""
    if evidence.costs.rtt_s <= SKEWED * usual:
        return ""
    return f" on average, {units.duration(usual)} in the median"
