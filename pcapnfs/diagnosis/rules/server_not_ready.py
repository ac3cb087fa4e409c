"""Calls that the server put off: JUKEBOX, DELAY."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.preliminaries import LOGIN
from pcapnfs.analyses.servers.same_calls import MOVED
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.rules.server_restart import one_name
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_server
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import NO_DELEGATIONS

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.refusals import Refusals
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "server_not_ready.least", 1, "waits",
    "without a recalled delegation, below which nothing is reported", "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and status; what a recall explains is `delegation_recall`'s."""
    clashing = {server.server for server in material.restarts if one_name(server)}
    restarted = {server.server for server in material.restarts if server.changes > 0}
    for pair in material.refusals:
        if pair.status in MOVED:
            continue  # file_system_moved tells of it.
        clash = pair.server in clashing
        grace = pair.server in restarted and "JUKEBOX" in pair.status
        if pair.waits - pair.recalled < values[LEAST.name]:
            continue
        claims = (Claim("waiting", pair.time_s - pair.recalled_s),)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="The server was not ready and asked the client to come again",
            seen=_seen(pair),
            why=_why(pair, clash=clash, grace=grace),
            advice=((_GRACE,) if grace else ())
            + _advice(pair, clash=clash, other=is_other_server(material, pair.server)),
            calls=pair.calls,
            confidence="certain",
            data=f"{units.counted(pair.calls, 'refusal')} in {units.counted(pair.waits, 'wait')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: Refusals) -> str:
    text = (
        f"{units.counted(pair.calls, 'call')} ({', '.join(pair.operations[:4])}) "
        f"{'was' if pair.calls == 1 else 'were'} answered {pair.status}. Together with the pauses "
        f"until the client asked again {'it' if pair.calls == 1 else 'they'} took "
        f"{units.duration(pair.time_s)}"
    )
    if pair.longest_s is not None:
        text += f"; the longest wait, {units.duration(pair.longest_s)}"
        text += f", was for {pair.paths[0]}" if pair.paths else ""
    text += "."
    if _held(pair):
        held = units.duration(pair.refused_s)
        text += f" Half of them took {held} and more to be put off."
    if pair.recalled:
        text += (
            f" Waits for a delegation that the server recalled: {units.count(pair.recalled)} of "
            f"{units.count(pair.waits)}."
        )
    if pair.unfinished:
        text += f" Not ended when the capture did: {units.count(pair.unfinished)}."
    return text


_LOGGING_IN = (
    "The client is not logged in yet: the server still ends what it had before, or stores who it "
    "is, or has just started, or lacks memory for another session."
)
_ENDING = (
    "The client is not logged in yet: the server still ends the state that somebody else had by "
    "its name."
)
"""Why a login is put off; where clients seem to have one name."""

_NAMES = Advice(
    "If the client had mounted before, see whether two clients have one name (hosts cloned, "
    "nfs4_unique_id of the module nfs): each then ends the state of the other."
)
_CLASH = Advice(
    "Give each client a name of its own, as the finding on state that ends again and again says: "
    "these waits end with it."
)
"""What helps likewise."""


_RESTARTED = (
    "This server restarted: NFSv3 has no status for the grace period that follows, and a server "
    "may put calls off until it is over, as NFS-Ganesha does. Other reasons are "
)
"""Why a server that restarted may do so in NFSv3."""

_GRACE = Advice(
    "If they came after the restart that another finding tells of, find out why the server "
    "restarted. Its grace period ends by itself; a shorter one (NFS-Ganesha: Grace_Period in the "
    "block NFSv4) is read when the service starts, and a restart for that begins a new one.",
    "a client that is not back within a shorter one loses its locks.",
)
"""What helps there."""


_LEAVING = (
    "The client unmounts and gives up what the server knows it by, and the server says that it "
    "still holds state of it: opens, locks, delegations or layouts (RFC 8881 section 18.50.3). "
    "Linux asks ten times, a second apart, and then goes without: umount takes that long."
)
"""Why what ends a client's identity is put off."""

_STATE = Advice(
    "See which state the server keeps (Linux: /proc/fs/nfsd/clients/*/states), and whether a newer "
    "version of it ends state with the session; nothing of the client's is lost meanwhile."
)
"""What helps there."""


HELD_S = 0.5
"""A call that is put off only after so long was not answered at once: the server waited for
somebody else. Linux waits 5 s for its daemons, 1 s where all threads are busy."""

ROOT = ("PUTROOTFH", "PUTPUBFH", "SECINFO_NO_NAME")
"""Operations that need to know what is exported, and no file; what is about the root needs no tape
and clashes with no delegation."""

HANDLE = (*ROOT, "PUTFH")
"""Those, and the one that says which file is meant: before it no file was touched either. But a
server may put it off at once while the volume moves."""

_EXPORTS = (
    "They were put off at {stopped}, before anything was done with a file: the server looks up "
    "which export that is, and whether this client may use it. The kernel of a Linux server asks "
    "rpc.mountd, waits 5 s for it (1 s while all threads are busy), and then puts the call off; "
    "rpc.mountd in turn waits for DNS, netgroups, LDAP, or a file system that hangs."
)
"""Why calls are put off that name no more than a handle."""

_MOUNTD = Advice(
    "On the server see whether rpc.mountd runs and answers, also for NFSv4, and what it waits for "
    "(strace -f -p): look-ups of the client's name (getent hosts ADDRESS), netgroups (getent "
    "netgroup), LDAP, a file system below an export that hangs. Name clients in /etc/exports by "
    "address or network, or enter them in /etc/hosts of the server."
)
_RULES = Advice(
    "On the server, look with its own tools at what its export rules ask of others: DNS, "
    "netgroups, LDAP. Name clients there by address or network."
)
"""What helps there, of Linux and of other servers."""


def _held(pair: Refusals) -> bool:
    """Whether the server did not put calls off at once."""
    return pair.refused_s >= HELD_S


def _looks_up_exports(pair: Refusals) -> bool:
    """Whether the server does not know yet what is exported to the client."""
    stopped = set(pair.stopped_at)
    return bool(stopped) and stopped <= set(HANDLE if _held(pair) else ROOT)


def _leaving(pair: Refusals) -> bool:
    """Whether nothing else was put off but the end of the client's identity."""
    return set(pair.operations) == {"DESTROY_CLIENTID"}


def _why(pair: Refusals, *, clash: bool, grace: bool) -> str:
    if _leaving(pair):
        return _LEAVING
    pause = (
        "Linux pauses 5 s in NFSv3 before it asks again"
        if "JUKEBOX" in pair.status
        else "Linux pauses 0.1 s first, then twice as long each time, up to 15 s"
    )
    if _held(pair):
        begin = f"The server did not answer at once, and the program waits longer still: {pause}. "
    else:
        begin = (
            "The server answers at once, so service times look good; the program waits all the "
            f"same: {pause}. "
        )
    if _looks_up_exports(pair):
        return begin + _EXPORTS.format(stopped=" and ".join(pair.stopped_at))
    return begin + (
        (_ENDING if clash else _LOGGING_IN)
        if _login(pair)
        else (_RESTARTED if grace else "Reasons are ")
        + "data on tape or in a cloud tier, a delegation or layout held by "
        "another client, a snapshot or migration under way, exhausted server resources."
    )


def _login(pair: Refusals) -> bool:
    """Whether nothing else was put off, and so no call for a file.

    What asks for the root's security comes after a login, but may be put off for its session.
    """
    return set(pair.operations) <= set(LOGIN)


def _advice(pair: Refusals, *, clash: bool, other: bool) -> tuple[Advice, ...]:
    if _leaving(pair):
        return (_STATE,)
    if _looks_up_exports(pair):
        return (_RULES if other else _MOUNTD,)
    if _login(pair):
        kept = (
            Advice(
                "See on the server what keeps the login: its log, storage for its records of "
                "clients (Linux: /var/lib/nfs/nfsdcltrack or nfsdcld's), memory, how many clients "
                "and sessions it has (Linux: /proc/fs/nfsd/clients), a failover or restart."
            ),
            _NAMES,
        )
        return (_CLASH,) if clash else kept
    advice = [
        Advice(
            "Ask the server why, for these files and moments: hierarchical storage or tiering "
            "(recall the data before the run), delegations (another client holds the file), "
            "memory and sessions."
        )
    ]
    if "JUKEBOX" not in pair.status:
        advice.append(
            Advice(
                "If it is delegations, which show as CB_RECALL in a capture at the server or at "
                f"the other client: switch them off ({NO_DELEGATIONS}).",
                "clients that have a file for themselves ask for its attributes again.",
            )
        )
    return tuple(advice)


RULE = Rule(
    id="server_not_ready",
    title="JUKEBOX and DELAY: time spent until the server was ready",
    origin="RFC 1813 section 2.6, RFC 8881 section 15.1.1.3",
    judge=judge,
    thresholds=(LEAST,),
)
