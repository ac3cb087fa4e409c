"""Clients that wait for each other's locks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pcapnfs.analyses.locks.lock_files import LockFiles
    from pcapnfs.analyses.locks.lock_waits import LockWaits
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "lock_contention.least", 1, "waits", "for a lock, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
LATE = Threshold(
    "lock_contention.late", 0.5, "share",
    "of the waiting for a lock that was free already: the client asks too seldom",
    "default of this tool",
)  # fmt: skip

WITHOUT_CALLBACK = "4.0"
"""The NFSv4 without CB_NOTIFY_LOCK, which came with NFSv4.1 (RFC 8881 section 20.11)."""

LOCAL = Advice(
    "If only programs of one client lock these files, mount there with nolock (or local_lock=all).",
    "locks of other clients are not seen: files may be corrupted if there are any.",
)
"""Linux knows these options for NFSv2 and NFSv3 alone."""

BESIDE = Advice(
    "If only programs of one client lock these files, have them lock a file on its own disk "
    "instead (in /run/lock, say): the next one then goes on at once.",
    "programs of other clients are not kept out.",
)
"""The same for NFSv4, which has no such option."""
REACHED = Advice(
    "Let the server's callbacks (GRANTED) through: the client's lockd port (fixed by "
    "lockd.nlm_tcpport and nlm_udpport) and rpcbind, through every firewall. A capture at the "
    "server shows whether it calls at all: Linux 6.12 does not."
)
UNTRIED = Advice(
    "Look at the server, not at firewalls: it does not even try to call the client. A Linux server "
    "of 6.12 does not, one of 6.1 does: try another kernel there; else see whether its lockd and "
    "rpcbind run, and what its log says."
)
NEWER = Advice(
    "Mount with NFSv4.1 or later, where callbacks use the client's own connection, and a server "
    "that sends CB_NOTIFY_LOCK (Linux 4.9 and later, but not 6.12).",
    "where the server does not send it, a Linux client of NFSv4.1 asks again every 30 s only, and "
    "one of NFSv4.0 sooner at first.",
)
UNOFFERED = Advice(
    "Have a server that offers CB_NOTIFY_LOCK: it says so in its answer to OPEN "
    "(OPEN4_RESULT_MAY_NOTIFY_LOCK), as Linux does from 4.9 on, and this one does not. The client "
    "needs no option: Linux from 4.9 on waits for the callback where it is offered."
)
OFFERED = Advice(
    "See why the server does not send the CB_NOTIFY_LOCK that it offers in its answers to OPEN "
    "(OPEN4_RESULT_MAY_NOTIFY_LOCK): a Linux server of 6.12 offers it and does not; else whether "
    "its callbacks reach the client (back channel of the session), and what both logs say. A "
    "client that was offered it asks again late (Linux: every 30 s)."
)
NOTIFYING = Advice(
    "Have a server that sends CB_NOTIFY_LOCK, and clients that act on it (Linux 4.9 and later, but "
    "not a server of 6.12)."
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client that waited, and server; one of its own for lock files."""
    idle = _idle(material)
    for pair in material.lock_waits:
        if pair.waits < values[LEAST.name]:
            continue
        claims = (Claim("client", min(pair.waited_s, idle.get(pair.client, pair.waited_s))),)
        late = pair.late_s > values[LATE.name] * pair.waited_s
        untried = _untried(material, pair)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="The lock was free, and the client did not notice"
            if late
            else "Clients wait for each other's locks",
            seen=_seen(pair),
            why=(
                f"{_unnoticed(pair, untried=untried)} So the client asks again from time to time; "
                "in between the lock is nobody's."
                if late
                else f"A program waits for a lock that another one holds, {_where(pair)}. "
                "Neither storage nor network shortens that. What of it passes while no call is "
                "under way is the cost here, and the client's own time in the time budget."
            ),
            advice=_advice(pair, late=late, untried=untried),
            confidence="likely" if pair.untyped else "certain",
            data=f"{units.counted(pair.waits, 'wait')}; "
            f"{units.counted(pair.locks, 'try', 'tries')} to lock (LOCK)",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )
    for names in material.lock_files:
        if names.waits >= values[LEAST.name]:
            yield _of_names(material, names, idle)


def _idle(material: Material) -> dict[str | None, float]:
    """For each client of the time budget, what of its own time it waited for locks, seconds.

    What passes while a call is under way, that of the lock or another program's, is no cost of the
    wait: other rules tell what calls cost.
    """
    waited = {gaps.client: gaps.time_s for gaps in material.time_budget.lock_gaps}
    return {
        budget.client: waited.get(budget.client or "", 0.0)
        for budget in material.time_budget.clients
    }


def _where(pair: LockWaits) -> str:
    """On which client the other program runs, as far as that was seen."""
    if _alone(pair):
        return "on the same client"
    others = pair.holders and pair.client not in pair.holders
    return "on another client" if others else "on the same client or another"


def _alone(pair: LockWaits) -> bool:
    """Whether only other programs of the same client were seen to free these locks."""
    return pair.holders == (pair.client,)


def _of_names(material: Material, found: LockFiles, idle: Mapping[str | None, float]) -> Observed:
    """Its programs wait for names that others have made."""
    claims = (Claim("client", min(found.waited_s, idle.get(found.client, found.waited_s))),)
    held = f" Freed by {', '.join(found.holders[:4])}." if found.holders else ""
    return Observed(
        severity=by_cost(material, claims),
        at_most="problem",
        title="Programs wait for a lock file",
        seen=f"{units.counted(found.waits, 'wait')} for a name that existed took "
        f"{units.duration(found.waited_s)} ({', '.join(found.names)}).{held} The longest took "
        f"{units.duration(found.longest_s)}. Programs tried to make the name, and "
        f"{units.counted(found.refused, 'try', 'tries')} met it (EXIST); the next came usually "
        f"{units.duration(found.interval_s)} later.",
        why="Who makes a file, a link or a directory of a known name has the lock, and everybody "
        "else sleeps and tries again (dot locks of mail programs, lock directories of scripts). "
        "Nobody is told when it is free: each wait is longer by up to one such pause, and none has "
        "its turn. The time budget has it as the client's own time.",
        advice=(
            Advice(
                "Have the program hold the lock for a shorter time, use one lock for each thing "
                "that is locked, or let one process do the work for all."
            ),
            Advice(
                "If it can, have it use locks of the file system (fcntl; flock on Linux): who "
                "waits for one is told by the server, or asks in turn.",
                "all programs must lock in the same way.",
            ),
        ),
        confidence="certain",
        data=f"{units.counted(found.waits, 'wait')}; "
        f"{units.counted(found.refused, 'try', 'tries')} that met the name",
        frames=found.frames,
        claims=claims,
        about=(found.client, found.server),
    )


def _seen(pair: LockWaits) -> str:
    text = (
        f"{units.counted(pair.waits, 'wait')} for a lock of somebody else took "
        f"{units.duration(pair.waited_s)}"
    )
    if pair.paths:
        text += f" ({', '.join(pair.paths)})"
    # Of all waits together, as the time before it.
    if pair.late_s:
        text += f"; for {units.duration(pair.late_s)} of that the lock was free already"
    text += "."
    if pair.untyped:
        text += (
            f" Of {units.counted(pair.untyped, 'LOCK')} the type was cut off: programs that only "
            "try (flock -n) and then try again look like that, too."
        )
    if pair.holders:
        text += f" Held by {', '.join(_holders(pair))}."
    if pair.longest_s is not None:
        text += f" The longest took {units.duration(pair.longest_s)}."
    text += f" Of this client's {units.counted(pair.locks, 'LOCK')}, each try counted, "
    text += f"{units.count(pair.refused)} met such a lock{_again(pair)}."
    if pair.told:
        text += f" Ended by a callback of the server: {units.count(pair.told)}."
    if _asked_again(pair):
        text += (
            f" The server did not tell the client when the lock was free ({_callback(pair)}): the "
            "client got it when it asked again by itself. For how long it was free by then is not "
            "in the capture."
        )
    if pair.waits > pair.granted:
        text += f" Without the lock at their end: {units.count(pair.waits - pair.granted)}"
        if pair.withdrawn:
            text += f" ({units.count(pair.withdrawn)} withdrawn by the client: CANCEL)"
        text += "."
    return text


def _holders(pair: LockWaits) -> tuple[str, ...]:
    """Who held the locks: other clients by their addresses."""
    others = tuple(holder for holder in pair.holders if holder != pair.client)[:4]
    own = ("other programs of this client",) if pair.client in pair.holders else ()
    return (*own, *others)


def _again(pair: LockWaits) -> str:
    """What of the tries is that the client asked again, since a wait may be many of them."""
    if not pair.polled:
        return ""
    interval = units.duration(pair.interval_s)
    after = f"{interval} later" if pair.polled == 1 else f"usually {interval} apart"
    return (
        f": {units.counted(pair.waits, 'first one', 'first ones')}, and "
        f"{units.count(pair.polled)} with which the client asked again in vain, {after}"
    )


def _untried(material: Material, pair: LockWaits) -> bool:
    """A capture at the server shows that it did not even try to call the client (NLM).

    What it sends is in that capture, whether the client gets it or not: a question to the client's
    portmapper, a SYN to it, or the call.
    """
    if not _nlm(pair) or pair.told or pair.sought:
        return False
    back = (pair.server, pair.client)
    if any((each.asked.client, each.asked.server) == back for each in material.vain_connections):
        return False
    return any(
        (trip.client, trip.server, trip.vantage) == (pair.client, pair.server, "server")
        for trip in material.round_trips.pairs
    )


def _asked_again(pair: LockWaits) -> bool:
    """It had to find out by itself that the lock was free, and nobody was seen to free it."""
    return (
        pair.granted > 0
        and not pair.told
        and not pair.holders
        and pair.protocols != (WITHOUT_CALLBACK,)
    )


def _callback(pair: LockWaits) -> str:
    """By what a server tells it."""
    return "NLM GRANTED" if _nlm(pair) else "CB_NOTIFY_LOCK"


def _unnoticed(pair: LockWaits, *, untried: bool) -> str:
    """Why the client did not learn that the lock was free."""
    if pair.protocols == (WITHOUT_CALLBACK,):
        return "NFSv4.0 has no way to tell a client that a lock is free."
    tried = ": it sent the client nothing to that end" if untried else ""
    if pair.may_notify is not None and not pair.told:
        tried = (
            ", though it had offered to in its answers to OPEN"
            if pair.may_notify
            else ", nor offered to in its answers to OPEN"
        )
    return f"The server did not tell the client that the lock was free ({_callback(pair)}){tried}."


def _advice(pair: LockWaits, *, late: bool, untried: bool) -> tuple[Advice, ...]:
    application = Advice(
        "Have the program hold the lock for a shorter time, lock smaller ranges or several files, "
        "or let one process do the work for all."
    )
    # A client that nobody tells asks again as late as ever, however short the lock was held.
    if not late and not _asked_again(pair):
        return (application, LOCAL) if _nlm(pair) else (application,)
    if not _nlm(pair):
        told: tuple[Advice, ...] = (_notifying(pair),)
    # A callback that came through shows that nothing keeps them back.
    elif pair.told:
        told = (NEWER,)
    else:
        told = (UNTRIED if untried else REACHED, NEWER)
    # Programs of one client wake each other at once, without any server.
    local = (LOCAL if _nlm(pair) else BESIDE,) if _alone(pair) else ()
    return (*local, *told, application)


def _notifying(pair: LockWaits) -> Advice:
    """What each side needs for NFSv4's callback, by what the server offers."""
    if WITHOUT_CALLBACK in pair.protocols:
        return NEWER
    if pair.may_notify is None or pair.told:
        return NOTIFYING
    return OFFERED if pair.may_notify else UNOFFERED


def _nlm(pair: LockWaits) -> bool:
    return any(name.startswith("nlm") for name in pair.protocols)


RULE = Rule(
    id="lock_contention",
    title="Waiting for locks",
    origin="RFC 8881 sections 9.6 and 20.11; NLM (X/Open XNFS)",
    judge=judge,
    thresholds=(LEAST, LATE),
)
