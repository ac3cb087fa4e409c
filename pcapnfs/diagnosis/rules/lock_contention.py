"""Clients that wait for each other's locks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import times

if TYPE_CHECKING:
    from pcapnfs.analyses.lock_waits import LockWaits
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "lock_contention.least", 1, "waits", "for a lock, below which nothing is said",
    "default of this tool",
)  # fmt: skip
LATE = Threshold(
    "lock_contention.late", 0.5, "share",
    "of the waiting for a lock that was free already: the client asks too seldom",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client that waited, and server."""
    idle = {budget.client: budget.client_s for budget in material.time_budget.clients}
    for pair in material.lock_waits:
        if pair.waits < values[LEAST.name]:
            continue
        # No call is outstanding meanwhile: the time budget has these waits as the client's own.
        claims = (Claim("client", min(pair.waited_s, idle.get(pair.client, pair.waited_s))),)
        late = pair.late_s > values[LATE.name] * pair.waited_s
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="The lock was free, and the client did not notice"
            if late
            else "Clients wait for each other's locks",
            seen=_seen(pair),
            why=(
                "The server did not tell the client that the lock was free (NLM GRANTED, "
                "CB_NOTIFY_LOCK), so that it asks again from time to time; in between the lock "
                "is nobody's."
                if late
                else "A program waits for a lock that another one holds, on another client. "
                "Neither storage nor network shortens that; the time budget has it as the "
                "client's own time."
            ),
            advice=_advice(late=late),
            confidence="certain",
            data=f"{times(pair.waits, 'wait')}, {times(pair.locks, 'LOCK')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: LockWaits) -> str:
    text = (
        f"{units.count(pair.refused)} of {times(pair.locks, 'LOCK')} met a lock of somebody "
        f"else; {times(pair.waits, 'wait')} took {units.duration(pair.waited_s)}"
    )
    text += f" ({', '.join(pair.paths)})." if pair.paths else "."
    if pair.holders:
        text += f" Held by {', '.join(pair.holders[:4])}."
    if pair.longest_s is not None:
        text += f" The longest took {units.duration(pair.longest_s)}."
    if pair.late_s:
        text += f" For {units.duration(pair.late_s)} of it the lock was free already."
    if pair.polled:
        text += (
            f" The client asked once more in vain, {units.duration(pair.interval_s)} later."
            if pair.polled == 1
            else f" The client asked {times(pair.polled, 'time')} in vain, a usual "
            f"{units.duration(pair.interval_s)} apart."
        )
    if pair.told:
        text += f" Ended by a callback of the server: {units.count(pair.told)}."
    if pair.waits > pair.granted:
        text += f" Without the lock at their end: {units.count(pair.waits - pair.granted)}."
    return text


def _advice(*, late: bool) -> tuple[Advice, ...]:
    application = Advice(
        "Have the program hold the lock for a shorter time, lock smaller ranges or several files, "
        "or let one process do the work for all."
    )
    if not late:
        return (
            application,
            Advice(
                "If only programs of one client lock these files, mount there with "
                "local_lock=all (NFSv3: nolock).",
                "locks of other clients are not seen: files may be corrupted if there are any.",
            ),
        )
    return (
        Advice(
            "Let the server's callbacks through: NFSv3: the client's lockd port (fixed by "
            "lockd.nlm_tcpport and nlm_udpport) and rpcbind, through every firewall; NFSv4.0: its "
            "callback port."
        ),
        Advice(
            "Mount with NFSv4.1 or later, where callbacks use the client's own connection, and a "
            "server that sends CB_NOTIFY_LOCK (Linux 4.9 and later)."
        ),
        application,
    )


RULE = Rule(
    id="lock_contention",
    title="Waiting for locks",
    origin="RFC 8881 sections 9.6 and 20.11; NLM (X/Open XNFS)",
    judge=judge,
    thresholds=(LEAST, LATE),
)
