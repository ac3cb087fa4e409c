"""What carries a verdict: the numbers behind its causes, and what they say of the storage.

Takes what was measured or foretold; gives the kind of storage that stable calls look like, how much
of what they take is persistence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs.analyses.forecasts.formula import Costs
from pcapnfs.analyses.servers.stalled_calls import StoodStill
from pcapnfs.analyses.times.stable_calls import FAST_DIFFERENCE_S, StableCalls
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.held_segments import AckWaits
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.tcp_stalls import Resent
from pcapnfs.record import Record

if TYPE_CHECKING:
    pass

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

UNSEEN_SHARE = 0.1
"""From this part of the client's own time on, it is told that it may be the network's where nothing
tells where the capture was taken: less changes nothing of what to look at."""

REST_SHARE = 0.05
"""What is worth mentioning behind the causes."""

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
    "uneven": "many of the same kinds were as fast as from memory, which a disk without a write "
    "cache never is: the others may have waited for a thread, for other calls, or for storage that "
    "is slow for some files",
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
    longer_each_s: float = 0.0
    """What one of these took longer, mean."""
    clients: int = 1
    """Clients whose calls these are."""
    resent: bool = False
    """Most stable calls were sent again before they were answered."""
    small_resent: bool = False
    """And the round trip is the time until calls were sent again."""
    again_s: Mapping[str, float] = {}
    """By row of the time budget, the part of what calls take beyond round trips and persistence
    that they did since they were sent again."""
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
    undivided: bool = False
    """And nothing tells what of it is the network's, and what the server's storage."""
    network_s: float | None = None
    """What of it the network takes, seconds; None where nothing tells."""
    at_most: bool = False
    """That is an upper bound."""
    held_down: LossRate | None = None
    """What holds most of the transfer down; None where that is not lost segments, or not known."""
    full_window: FullWindow | None = None
    """The receiver's window for which most of the transfer waits; None where there is none, or it
    is not known."""
    served_s: Mapping[str, float] = {}
    """By row of the time budget, what calls took that is the server's, for comparison with one
    another."""
    ack_waits: AckWaits = AckWaits()
    """Calls that were answered late since the server waited for ACKs."""
    unseen_s: float = 0.0
    """What of the client's own time the network may have, at most, since nothing tells where the
    capture was taken."""
    put_off_most_s: float = 0.0
    """What of the client's own time may be the server's, which put off calls that nobody can tell,
    at most."""
    tick_s: float = 0.0
    """The tick of the capture's clock: what medians are apart may be more by so much."""

    def small_call_s(self) -> float:
        """What a call that needs no storage usually takes."""
        return self.costs.rtt_s if self.small_s is None else self.small_s


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
        more = evidence.stable_s - evidence.small_call_s() + evidence.tick_s
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
    if evidence.stable.uneven_part >= USUAL:
        return "uneven"
    return "disk" if persist <= ROTATION_S[1] else "slow"


def is_fast(evidence: Evidence) -> bool:
    """Whether usual stable calls take no longer than those that need no storage."""
    if evidence.stable_s is None:
        return False
    small = evidence.small_call_s()
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
    small = evidence.small_call_s()
    more = evidence.data_s - small - evidence.tick_s
    return more >= max(DATA_DIFFERENCE_S, DATA_RATIO * small)


def _names_hardly(evidence: Evidence, more_s: float) -> bool:
    """Whether most stable calls wait so much less than those that store data that these are others.

    Args:
        evidence: What was measured; data waits.
        more_s: What stable calls take longer than small ones in the median, seconds.
    """
    waits = (evidence.data_s or 0.0) - evidence.small_call_s()
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
    more = evidence.stable_s - evidence.small_call_s()
    return min(1.0, max(0.0, more / evidence.costs.persist_s))
