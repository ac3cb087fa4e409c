"""For much of the time nobody waited for NFS."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.forecasts.verdict import Cause
from pcapnfs.analyses.forecasts.verdict_evidence import LARGE_SHARE, UNSEEN_SHARE
from pcapnfs.analyses.forecasts.verdict_reasons import is_paused, may_be_put_off
from pcapnfs.analyses.times import long_pauses
from pcapnfs.analyses.wire.half import FEW_HANDSHAKES, SEVERAL_ACKS, TIMES_AS_LONG
from pcapnfs.diagnosis import bound
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.text import joined

if TYPE_CHECKING:
    from pcapnfs.analyses.forecasts.bottleneck import Bottleneck
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


LONGER_S = 0.001
"""ACKs that take less tell no path that varies."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for the only client, or for each of several."""
    for found, cause in _idle(material):
        yield _observed(material, found, cause)


def _idle(material: Material) -> Iterator[tuple[Bottleneck, Cause]]:
    """Whose time it takes much of: the verdict's, with the long pauses that this leaves out."""
    named = {found.about for found, _ in bound.each(material, "client", parts=bound.active)}
    for found, cause in bound.of_each(material, "client", parts=bound.active):
        if not found.away_s:
            if found.about in named:
                yield found, cause
            continue
        whole_s = sum(each.time_s for each in bound.active(material, found)) + found.away_s
        idle_s = cause.time_s + found.away_s
        share = idle_s / whole_s if whole_s else None
        if found.about in named or (share or 0.0) >= LARGE_SHARE:
            yield found, Cause("client", idle_s, share)


def _observed(material: Material, found: Bottleneck, cause: Cause) -> Observed:
    """Its calls leave gaps."""
    whole = material.time_budget.total.placed_share
    placed = whole if found.placed_share is None else found.placed_share
    varies = _varies(material, found)
    # Without the pauses that the verdict leaves out.
    own_s = cause.time_s - found.away_s
    sure = (placed is not None and placed > 0) or not _may_be_network(material, found, own_s)
    put_off = may_be_put_off(found.put_off_most_s, own_s)
    others = [*([] if sure else ["the network"]), *(["the server"] if put_off else [])]
    return Observed(
        severity="note",
        title=f"Much of the time no call was under way: {_either(['the client itself', *others])}",
        seen=_seen(material, found, cause),
        why="Then the program computes, sleeps, waits for something else, or the client's kernel "
        "is busy. A faster server or network leaves that part as it is; fewer calls shorten it by "
        "what the client takes for each, which is in the costs of findings on such calls."
        + (
            ""
            if sure
            else " Where the capture was taken is not known: if at the server, the network is in "
            "it, too."
        )
        + (_PUT_OFF if put_off else "")
        + (_LOST if _lost(material, found) else "")
        + varies,
        advice=(
            Advice(
                "Look at the client: processor (top), what the program waits for (strace -c, "
                "perf trace), other file systems (iostat)."
            ),
            Advice(
                "Compare with the same run on local disk: over NFS it cannot take less than that."
            ),
        ),
        confidence="certain" if sure and not varies and not put_off else "possible",
        data=bound.data(found),
        about=found.about,
    )


def _may_be_network(material: Material, found: Bottleneck, own_s: float) -> bool:
    """Whether much of the time without a call may be the network's, as the verdict tells it.

    A capture at the server does not see what lies between it and the client: a round trip for each
    call, if the capture was taken there.

    Args:
        material: What the rules judge by.
        found: Whose time it is.
        own_s: What of it is the client's own, without pauses that the verdict leaves out, seconds.
    """
    unplaced = [
        pair
        for pair in material.round_trips.pairs
        if pair.vantage == "unknown" and (not found.about or pair.client in found.about)
    ]
    most_s = math.inf
    if unplaced and all(pair.client_side.rtt_s is not None for pair in unplaced):
        most_s = sum(pair.calls * (pair.client_side.rtt_s or 0.0) for pair in unplaced)
    # No round trip takes as long as a pause.
    return min(most_s, own_s - max(0.0, found.unused_s - found.away_s)) >= UNSEEN_SHARE * own_s


def _either(whose: list[str]) -> str:
    """Whose it is, or may be."""
    *before, last = whose
    return f"{', '.join(before)} or {last}" if before else last


_PUT_OFF = (
    " The capture does not tell the status of most calls, since their replies were cut, or cannot "
    "be read: where the server put calls off (DELAY, JUKEBOX, GRACE), or had to recall something "
    "first, the pauses until they came again are in it, too. A capture of whole packets tells."
)

_LOST = (
    " Packets of RDMA were lost: of a call that was lost before it was captured, the pause until "
    "it was sent again is in it, too."
)


def _varies(material: Material, found: Bottleneck) -> str:
    """That the way between client and capture may be longer than a few handshakes show."""
    for pair in material.round_trips.pairs:
        half = pair.client_side
        if (
            (not found.about or pair.client in found.about)
            and pair.vantage != "client"
            and half.source in ("handshake", "acks")
            and 1 <= half.handshakes <= FEW_HANDSHAKES
            and half.acks >= SEVERAL_ACKS
            and (half.ack_s or 0.0) >= max(TIMES_AS_LONG * (half.handshake_s or 0.0), LONGER_S)
        ):
            return (
                f" Between client and capture {units.counted(half.handshakes, 'handshake')} took "
                f"{units.duration(half.handshake_s)}, but {units.counted(half.acks, 'ACK')} took "
                f"{units.duration(half.ack_s)} (lower quartile): where the path varies so, a part "
                "of it is the network's. A capture at the client tells."
            )
    return ""


def _lost(material: Material, found: Bottleneck) -> bool:
    """Whether packets of RDMA were sent again, of its client or of any."""
    return any(not found.about or pair.client in found.about for pair in material.rdma_losses)


def _seen(material: Material, found: Bottleneck, cause: Cause) -> str:
    whose = "the run" if not found.about else "that time" if found.away_s else bound.ACTIVE
    idle = f"{units.duration(cause.time_s)}, {units.share(cause.share)} of {whose}"
    beside = {part.cause: part.time_s for part in bound.active(material, found)}
    waits = (("for locks", beside.get("locks")), ("for a connection", _late_s(material, found)))
    waited = [f"{units.duration(time_s)} of waiting {what}" for what, time_s in waits if time_s]
    if waited:
        idle += f", without {joined(waited)}"
    if found.about and found.away_s:
        return (
            f"From the client's first call to its last reply, no call was under way for {idle}. "
            f"{long_pauses.told(found.away_s)} are a part of it: perhaps nothing was run then."
        )
    if found.about:
        return f"No call was under way for {idle}."
    # Not of the protocols beside it, which mount: `network` has these, too.
    told = f"From the first call of NFS to the last reply, no call was under way for {idle}."
    if not is_paused(found.unused_s, cause.time_s):
        return told
    return (
        f"{told} {units.duration(found.unused_s)} of it are pauses of a second or more, in which "
        "perhaps nothing was run at all: before the work began, or between two commands."
    )


def _late_s(material: Material, found: Bottleneck) -> float:
    """For how long the client had no connection, which the verdict takes for waiting.

    `slow_connect`, `cut_off` and `no_connection` tell that. What follows its calls is in the clock
    of each of several clients alone.
    """
    late = (
        idle_s
        for client, idle_s in (
            *((pair.client, pair.idle_s) for pair in material.late_connections),
            *((pair.client, pair.idle_s) for pair in material.cut_off),
        )
        if not found.about or client in found.about
    )
    vain = (
        pair.idle_s
        for pair in material.vain_connections
        if pair.asked.client in found.about or (pair.connected and not found.about)
    )
    waiting = (part.time_s for part in bound.active(material, found) if part.cause == "waiting")
    return min(sum(late) + sum(vain), sum(waiting))


RULE = Rule(
    id="client_bound",
    title="The client itself takes a large part of the time",
    origin="practice: time without any call outstanding",
    judge=judge,
    general=True,
)
