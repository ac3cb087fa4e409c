"""A few calls that stood still while all others like them were answered at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.trust import NEARLY
from pcapnfs.analyses.times.showing import SMALL_OPERATIONS
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost, costs
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.analyses.servers.stalled_calls import StalledCalls
    from pcapnfs.analyses.wire.rdma_losses import RdmaLosses
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "stalled_calls.share", 0.01, "share", "of the time budget, or of the time in which their "
    "clients were active, that they took together; below, nothing is reported unless one of them "
    "took long", "default of this tool",
)  # fmt: skip
LONG = Threshold(
    "stalled_calls.long", 5.0, "s", "what one of them took that is told however small its share is",
    "default of this tool: users take it for a hang",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each server."""
    for told in material.stalled_calls:
        claims = by_row(told.time_s)
        much = costs(material, told.clients, claims, values[SHARE.name])
        if not much and told.longest_s < values[LONG.name]:
            continue
        alone = len(told.clients) == 1
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title=f"One call stood still for {units.duration(told.longest_s)}"
            if told.calls == 1
            else f"{units.count(told.calls)} calls "
            f"{'' if alone else f'of {units.count(len(told.clients))} clients '}stood still, the "
            f"longest for {units.duration(told.longest_s)}",
            seen=_seen(told) + _silence(told, material.trust),
            why=_why(told, material.rdma_losses),
            advice=_advice(told),
            confidence="likely",
            data=units.counted(told.asked, "call"),
            frames=told.frames,
            claims=claims,
            about=(*told.clients, told.server) if alone else (told.server,),
            calls=told.calls,
            waiting=told.clients,
        )


def _seen(told: StalledCalls) -> str:
    """Which they were, when, and what the others took."""
    text = (
        f"{told.longest_op}{f' of {wording.places(told.paths[:1])}' if told.paths else ''}, sent "
        f"at {units.clock(told.from_ns)} UTC, was answered after {units.duration(told.longest_s)}"
    )
    if told.usual_s is not None:
        text += f"; in the median {told.longest_op} took {units.duration(told.usual_s)}"
    text += "."
    whose, of_clients, clock, which = "the client's", "", "clock", "The longest"
    if len(told.clients) > 1:
        whose, of_clients = "these clients'", f" of {wording.several(told.clients)}"
        clock, which = "clocks", f"The longest, of {told.clients[0]}"
    if told.calls > 1:
        text = (
            f"{units.counted(told.calls, 'call')} ({wording.several(told.operations)}){of_clients} "
            f"took {units.duration(sum(told.time_s.values()))} of the {clock}, at "
            f"{units.counted(told.moments, 'moment')}. {which}: {text}"
        )
    if told.others_s is not None:
        text += f" None of {whose} other calls took longer than {units.duration(told.others_s)}."
    return text


def _silence(told: StalledCalls, trust: Trust) -> str:
    """That a clock which was set forward would look the same, where nothing tells."""
    silence_s = trust.silence_s
    # Where that is most of the capture, it is said of all that rests on it (diagnosis/pause.py).
    if silence_s is None or trust.untold_pause_s is not None:
        return ""
    if not NEARLY <= silence_s / told.longest_s <= 1:
        return ""
    return (
        f" For {units.duration(silence_s)} of it nothing at all was captured: had the clock of the "
        "capturing host been set forward by that (NTP; see its log), it would look the same."
    )


def _why(told: StalledCalls, losses: Sequence[RdmaLosses]) -> str:
    """What stood still: the server as a whole, or what these calls needed."""
    if told.answered_meanwhile:
        these = "this call" if told.calls == 1 else "these calls"
        return (
            f"The server answered {units.counted(told.answered_meanwhile, 'other call')} "
            f"meanwhile, so that neither it nor the path was cut off. What {these} needed stood "
            "still: its file system or storage (a snapshot that froze it, a disk or path that "
            "failed and was tried again, a full journal), or a service that the server asks (DNS, "
            "LDAP, mountd)."
        )
    # Calls that TCP's timer held up are none of these; of RDMA it is not known which waited.
    resent = any(
        each.client_resent + each.server_resent
        for each in losses
        if each.server == told.server and each.client in told.clients
    )
    unresent = "" if resent else ", though nothing was sent again here"
    return (
        "No other call was answered meanwhile. The server stood still as a whole (its storage, its "
        "threads, a virtual machine that was paused or moved), or a service that it asks did "
        f"(DNS, LDAP, mountd); or the path was cut beyond the capture point{unresent}."
    )


ADVICE = (
    Advice(
        "Read the logs of the server and its storage of that moment (Linux: journalctl --since, "
        "dmesg -T; clocks may differ): disk errors and resets, failing paths (multipath), tasks "
        "blocked for more than 120 seconds, a network card whose link went down; and what ran "
        "then: snapshots, backups, fsfreeze, the migration of a virtual machine."
    ),
    Advice(
        "If it comes again, record what the server's threads wait for while it lasts (Linux: cat "
        "/proc/PID/stack of the nfsd threads, iostat -x 1, and /proc/pressure/io)."
    ),
)


_NAMES = Advice(
    "On a Linux server see what rpc.mountd waited for at that moment, which the kernel asks who "
    "may use an export (again after half an hour) and what groups a user has: DNS (getent hosts "
    "CLIENT), LDAP, netgroups, or a mountd that hung. Such calls need no disk where the server has "
    "in memory what they ask."
)

NO_FILE = ("SEQUENCE", "NULL", "RENEW")
"""They are about no file, so that they wait for no storage."""


def _advice(told: StalledCalls) -> tuple[Advice, ...]:
    """What to look at: services that the server asks, too, where no call needed its storage."""
    if not {*SMALL_OPERATIONS, *NO_FILE}.issuperset(told.operations):
        return ADVICE
    if any(operation in NO_FILE for operation in told.operations):
        return (_NAMES, *ADVICE)
    return (ADVICE[0], _NAMES, *ADVICE[1:])


RULE = Rule(
    id="stalled_calls",
    title="A few calls stood still while all others were answered at once",
    origin="practice: hangs that come and go",
    judge=judge,
    thresholds=(SHARE, LONG),
)
