"""The sentence of a verdict: the causes by name, each with the numbers that carry it.

Takes the causes of some time and what carries a verdict on it; gives words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict_evidence import (
    REST_SHARE,
    STORAGE,
    UNSEEN_SHARE,
    Evidence,
    is_fast,
    noticed,
)
from pcapnfs.analyses.servers.slow_storage import SlowStorage
from pcapnfs.analyses.wire.full_windows import FullWindow
from pcapnfs.analyses.wire.loss_rate import LossRate
from pcapnfs.analyses.wire.tcp_stalls import Resent

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.verdict import Cause

SKEWED = 2.0
"""Where a mean is so many times the median, a few calls make it: it says nothing of the others."""

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

NETWORK_OR_SERVER = "network_or_server"
"""The code of what is no round trip alone, since the calls that tell it may all have waited for the
server's storage."""

TITLES = {
    "persistence": "persistence",
    "round_trips": "round trips",
    NETWORK_OR_SERVER: "the network or the server",
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

UNPLACED = "the client itself or the network"
"""What `client` is called where it is named and may be the network's, since nothing tells where the
capture was taken."""

UNTOLD = "the client itself or the server"
"""The same where it may be waits for a server that put calls off: most statuses are not known."""

UNPLACED_UNTOLD = "the client itself, the network or the server"
"""The same where it may be either."""

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

DEPENDS = ("disk", "slow", "mixed", "uneven")
"""What storage looks like only if calls did not wait for others; it may be faster."""

UNSEEN = "time without a known call"
"""What `unknown` is called where the capture lacks much."""

PAUSED = 0.1
"""The part of the client's own time from which on its pauses are told."""


def is_paused(pauses_s: float, own_s: float) -> bool:
    """Whether pauses are enough of the client's own time to be told, both in seconds."""
    return pauses_s > 0 and pauses_s >= PAUSED * own_s


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
        "waiting": _waited(evidence, causes),
        "client": _idle(evidence, causes),
    }
    titles = TITLES | ({"unknown": UNSEEN} if evidence.lacking else {})
    titles |= {"path": FULL} if evidence.full else {}
    titles |= {"loss": LOSSES[_arrival(evidence)]}
    titles |= {"server": QUEUE} if _queues(evidence, causes) else {}
    shares = {each.cause: each.share for each in causes}
    whose = titles | ({"round_trips": SLOW} if _slow(evidence) else {})
    whose |= {"client": _whose(evidence, causes)}
    told = [f"{whose[name]} {units.share(shares[name])} ({details[name]})" for name in named]
    others = [each for each in causes if each.cause not in named]
    waits = [each for each in others if each.cause != "client" and each.time_s > 0]
    least = waits[:1] if always and set(named) == {"client"} else []
    rest = [
        f"{titles[each.cause]}{_bound(evidence, each.cause)} {units.share(each.share)}"
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
        NETWORK_OR_SERVER: f"{units.counted(round(calls), 'call')} of "
        f"{units.duration(costs.rtt_s)} each or more, nearly all such as may wait for disks; "
        "nothing tells which of the two it was",
        "transfer": "data on the wire"
        + (_held_down(evidence.held_down) or _stood(evidence.full_window)),
        "path": f"{units.counted(evidence.longer_calls, 'call')} took "
        f"{units.duration(evidence.longer_each_s)} longer each while it was"
        if evidence.longer_calls
        else "replies were still on it; no call was under way meanwhile"
        if evidence.full
        else "for a while a round trip took longer than otherwise",
        "loss": _lost(evidence),
        "locks": "refused at first; no call was under way meanwhile",
        "unknown": "the capture lacks packets, or parts that were cut off: calls may be under way "
        "where none is in it"
        if evidence.lacking
        else "no reply, or one that cannot be read",
    }


def _waited(evidence: Evidence, causes: tuple[Cause, ...]) -> str:
    """What calls waited for."""
    costs = evidence.costs
    waiting_s = sum(each.time_s for each in causes if each.cause == "waiting")
    # What is known to be that; the rest of it is of calls that were sent again.
    server_s = evidence.waiting_s / costs.concurrency + evidence.unreached_s + evidence.vain_s
    again = evidence.resent or evidence.small_resent or any(evidence.again_s.values())
    if not again or server_s > waiting_s / 2:
        return "the server was not ready, was not reached, or did not answer"
    if evidence.resent and costs.persistence_s >= waiting_s / 2:
        stable = round(costs.files * costs.syncops_per_file)
        return (
            f"{units.counted(stable, 'stable call')} took {units.duration(costs.persist_s)} longer "
            "than a round trip each, and most were sent again before they were answered"
        )
    return "calls were sent again before they were answered"


def _idle(evidence: Evidence, causes: tuple[Cause, ...]) -> str:
    """What the client's own time is: pauses are perhaps those of whoever sits before it."""
    client = _own_s(causes)
    told = "no call under way"
    if is_paused(evidence.unused_s, client):
        told += f", {units.duration(evidence.unused_s)} of it in pauses of a second or more"
    if _unplaced(evidence, causes):
        told += (
            "; nothing tells where this was captured: if at the server, "
            f"{_part(evidence.unseen_s, client)} is the network's"
        )
    if may_be_put_off(evidence.put_off_most_s, client):
        told += (
            "; the status of most calls is not in the capture: up to "
            f"{units.duration(min(evidence.put_off_most_s, client))} of it may be waits for a "
            "server that put calls off"
        )
    return told


def _whose(evidence: Evidence, causes: tuple[Cause, ...]) -> str:
    """What the client's own time is called, by who else may have it."""
    if may_be_put_off(evidence.put_off_most_s, _own_s(causes)):
        return UNPLACED_UNTOLD if _unplaced(evidence, causes) else UNTOLD
    return UNPLACED if _unplaced(evidence, causes) else TITLES["client"]


def may_be_put_off(put_off_s: float, own_s: float) -> bool:
    """Whether much of the client's own time may be waits until calls that were put off came again.

    Args:
        put_off_s: What of it they may be at most, seconds.
        own_s: All of it, seconds.
    """
    return put_off_s > 0 and put_off_s >= UNSEEN_SHARE * own_s


def _part(unseen_s: float, client_s: float) -> str:
    """How much of the client's own time the network may have."""
    if unseen_s >= client_s:
        return "part of it, or all,"
    return f"up to {units.duration(unseen_s)} of it"


def _own_s(causes: tuple[Cause, ...]) -> float:
    return next((each.time_s for each in causes if each.cause == "client"), 0.0)


def _unplaced(evidence: Evidence, causes: tuple[Cause, ...]) -> bool:
    """Whether much of the client's own time may be the network's."""
    client = _own_s(causes)
    # No round trip takes as long as a pause.
    unseen_s = min(evidence.unseen_s, client - evidence.unused_s)
    return client > 0 and unseen_s >= UNSEEN_SHARE * client


def _bound(evidence: Evidence, cause: str) -> str:
    """That a cause that is not named may have less."""
    return _bounded(evidence) if cause in ("round_trips", NETWORK_OR_SERVER) else ""


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
    served_s = {
        row: max(0.0, took - evidence.again_s.get(row, 0.0))
        for row, took in evidence.served_s.items()
    }
    other = f"{_what(served_s)} took longer than a round trip"
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


def _stood(window: FullWindow | None) -> str:
    """That a sender stood since the receiver took no more at once."""
    if window is None:
        return ""
    return (
        f", held down by the {window.receiver}'s TCP window: no more than "
        f"{units.size(window.window_bytes)} in each round trip of {units.duration(window.rtt_s)}"
    )


def _on_storage(evidence: Evidence, storage: str | None) -> str:
    """What the storage looks like, or that calls queued for it, or for a thread."""
    if _round_trip_queues(evidence):
        return ", or until the server had done others: calls queue there"
    if _slow_told(evidence, storage):
        return ""  # When it was slow is told, and calls that waited for no other show it.
    if evidence.stable.crowded and storage in DEPENDS:
        return ", or until other calls were done, which were under way when most of them came"
    if evidence.stable.waits and storage in DEPENDS:
        return ", or until other calls were done, behind which some of them came"
    if _slow(evidence) and _served_usually_s(evidence) >= AS_LONG * evidence.costs.persist_s:
        return ", or for what small calls, too, wait for at that server"
    if storage == "uneven":
        return f", or something else: {STORAGE[storage]}"
    held = ""
    if evidence.stable.several:
        held = f", {evidence.stable.operations:.1f} stable operations in each"
    return held + (f": {STORAGE[storage]}" if storage in (*DEPENDS, "data") else "")


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


def _bounded(evidence: Evidence) -> str:
    """That it may be shorter, where nothing tells what of it something else is."""
    return " at most" if evidence.bounded else ""


def _of_network(evidence: Evidence) -> str:
    """What the network takes of it, where that is the smaller part: the rest is the server's."""
    if not evidence.network_s or not _mostly_served(evidence):
        return ""
    most = "at most " if evidence.at_most else ""
    return f", of which the network takes {most}{units.duration(evidence.network_s)}"


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
    usual = min(evidence.costs.rtt_s - evidence.queue_s, evidence.small_call_s())
    return usual - (evidence.network_s or 0.0)


def _skewed(evidence: Evidence) -> str:
    """What a call usually takes, where that is far from the mean."""
    usual = evidence.small_call_s()
    if _round_trip_queues(evidence):
        return ""
    if evidence.costs.rtt_s <= SKEWED * usual:
        return ""
    return f" on average, {units.duration(usual)} in the median"
