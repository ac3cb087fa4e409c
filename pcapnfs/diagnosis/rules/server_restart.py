"""The server restarted while the capture ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.rules.lost_state import RELOCK, TWINS

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.restarts import Restart
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


LOGINS = 4
"""Logins of each client from which on they are not those of mounts and one loss of state."""

LEASE_S = 30.0
"""Leases are hardly ever shorter: 90 s on Linux, 30 s on appliances of NetApp."""

LEAST_LEASE_S = 10.0
"""No Linux server can be given a shorter lease."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each server that shows it."""
    named = {found.server for found in material.shared_names}
    for server in material.restarts:
        if server.changes > 0:
            yield _restarted(server)
            continue
        if server.outlived:
            yield _no_restart(server)
        if not server.lost_state:
            continue
        if _twins(server):
            # Where the names were seen, shared_client_name tells which.
            if server.server not in named:
                yield _shared_name(server)
        elif server.refused or not (server.kept or (server.kept_first and _again(server))):
            yield _forgot(server)
        elif _again(server):
            yield _ended_again(server)
        else:
            yield _ended(server)


LOST = (
    "A restart loses what was written and not committed: clients keep it and send it again, if "
    "they notice the new verifier. Programs stand still until the server is back and its grace "
    "period is over; open files and locks that cannot be reclaimed are lost."
)
"""Why a restart matters."""

CUT_OFF_TOO = (
    Advice(
        "If it was neither, and only state was lost: a client that was cut off for longer than "
        "the lease (90 s by default) loses it, too; look for loss on the network."
    ),
)
"""What else there may be than a restart."""


def _search(server: Restart) -> Advice:
    """Where to look for what is behind a restart, and from when to when."""
    return Advice(
        f"Find out on the server why: its log {_when(server)} (journalctl --since, uptime, "
        "failover of a cluster, out of memory; its clock may differ)."
    )


def _when(server: Restart) -> str:
    """From when to when it was, or before when, as far as the first sign tells."""
    first = [at for at in (server.lost_ns, server.refused_ns) if at is not None]
    if server.changes > 0 and server.old_ns is not None and server.new_ns is not None:
        # What it refuses after a restart may come before anything is written again.
        until_ns = min([server.new_ns, *(at for at in first if at > server.old_ns)])
        return f"from {units.clock(server.old_ns)} to {units.clock(until_ns)} UTC"
    return f"before {units.clock(min(first))} UTC" if first else "around that time"


CUT_OFF = Advice(
    "Find out what kept the client from the server for so long: loss, a suspended or overloaded "
    "machine, a firewall that dropped the connection; see the other findings. If that was longer "
    "than the lease (90 s by default, less on many servers), the server ended its state."
)
"""What to look for first where the client was not heard before."""

UNCOMMITTED = Advice(
    "Where data was exported with async, check files written shortly before: clients cannot know "
    "what is missing."
)
"""What to look after behind one."""

GONE = (
    "Opens, locks and delegations are gone, and somebody else may have had the locks since: "
    "programs get EIO on files that they had locked, or write without a lock."
)
"""Why it matters that state was ended."""


def _restarted(server: Restart) -> Observed:
    """A server with a new verifier that no connection outlived."""
    return Observed(
        severity="problem",
        title=f"The server {server.server} restarted",
        seen=" ".join(_seen(server)),
        why=LOST,
        advice=(_search(server), *CUT_OFF_TOO, UNCOMMITTED),
        confidence="certain",
        data=_verifiers(server),
        frames=server.frames,
        claims=(Claim("waiting", server.unreachable_s + server.grace_s),),
        also=_also(server),
    )


def _forgot(server: Restart) -> Observed:
    """A server that lost its clients' state, and told no verifier."""
    silent = (
        not server.refused and server.unheard_s is not None and server.unheard_s >= LEAST_LEASE_S
    )
    return Observed(
        severity="warning",
        title=f"The server {server.server} does not know its clients any more",
        seen=" ".join((*_seen(server), *(_unheard(server) if silent else ()))),
        why=LOST,
        advice=(CUT_OFF, _search(server), TWINS, RELOCK)
        if silent
        else (_search(server), *CUT_OFF_TOO, TWINS, UNCOMMITTED),
        confidence="likely",
        data=_verifiers(server),
        frames=server.frames,
        claims=(Claim("waiting", server.unreachable_s + server.grace_s),),
        also=_also(server),
    )


def _no_restart(server: Restart) -> Observed:
    """A new verifier of a server whose connections lived on."""
    return Observed(
        severity="warning",
        title=f"The server {server.server} makes clients write again what they had not committed",
        seen=f"The write verifier changed{_often(server.outlived)}, and connections lived on: the "
        f"server did not restart."
        + (f" {wording.written_again(server)}" if server.rewritten else ""),
        why="Linux gives itself a new verifier when what any client wrote could not be stored: a "
        "full file system or quota, an error of a disk. Every client then writes again what it "
        "had not committed.",
        advice=(
            Advice(
                "Look on the server for full file systems and quotas (df -h, df -i, repquota -a) "
                "and for errors of its disks (dmesg) around that time, also of other clients' "
                "files."
            ),
        ),
        confidence="likely",
        data=_verifiers(server),
        frames=server.frames[:1],
    )


def _twins(server: Restart) -> bool:
    """Whether clients log in again and again, and lose their state each time."""
    return server.losers > 1 and server.logins >= LOGINS * server.losers


def _again(server: Restart) -> bool:
    """Whether state was lost again and again, though no client was silent for long."""
    return server.logins >= LOGINS * server.losers and (
        server.unheard_s is not None and server.unheard_s < LEASE_S
    )


def one_name(server: Restart) -> bool:
    """Whether clients of this server seem to have one name, which a finding then tells."""
    if server.changes > 0 or not server.lost_state:
        return False
    return _twins(server) or (server.kept and not server.refused and _again(server))


def _shared_name(server: Restart) -> Observed:
    """Two clients or more that the server takes for one."""
    return Observed(
        severity="problem",
        title=f"Clients of {server.server} end each other's state",
        seen=f"{units.counted(server.lost_state, 'call')} of {units.count(server.losers)} clients "
        f"met {' and '.join(server.statuses)}, and these clients logged in "
        f"{units.counted(server.logins, 'time')}.",
        why="After a restart each client logs in once. These do so again and again: they seem to "
        "have one name, so that the server takes each for the other, come back after a crash, and "
        "forgets its opens and locks. All of them are slow, and locks do not hold.",
        advice=(
            TWINS,
            Advice(
                "Compare the names in EXCHANGE_ID or SETCLIENTID of the clients (pcapnfs show "
                "FRAME). If they differ, find out on the server why it forgets its clients."
            ),
        ),
        confidence="likely",
        data=units.counted(server.logins, "login"),
        frames=server.frames,
    )


def _ended(server: Restart) -> Observed:
    """State that a server ended once, which did not restart."""
    one = server.losers == 1
    who = "a client" if one else f"{units.count(server.losers)} clients"
    return Observed(
        severity="warning",
        title=f"The server {server.server} ended the state of {who}",
        seen=" ".join((*_seen(server), LIVED_ON, *_unheard(server))),
        why="A server ends a client's state when it does not hear of it for longer than the lease "
        f"(90 s by default), or when another client logs in by its name. {GONE}",
        advice=(
            CUT_OFF,
            TWINS,
            RELOCK,
        ),
        confidence="likely",
        data=units.counted(server.lost_state, "call"),
        frames=server.frames,
        claims=(Claim("waiting", server.unreachable_s),),
        also=_also(server),
    )


def _ended_again(server: Restart) -> Observed:
    """State that a server ends again and again of a client that it heard of shortly before."""
    one = server.losers == 1
    who = "a client" if one else f"{units.count(server.losers)} clients"
    logins = f"{'It' if one else 'They'} logged in {units.counted(server.logins, 'time')}."
    return Observed(
        severity="problem",
        title=f"The server {server.server} ends the state of {who} again and again",
        seen=" ".join(
            (
                *_seen(server),
                LIVED_ON if server.kept else LIVED_ON_FIRST,
                *_unheard(server, " at most"),
                logins,
            )
        ),
        why="A server ends a client's state when it does not hear of it for longer than the lease "
        "(90 s by default), or when another client logs in by its name. This one was heard of "
        "shortly before: another seems to have its name, and need not be in this capture. "
        f"{GONE}",
        advice=(TWINS, RELOCK),
        confidence="likely",
        data=units.counted(server.lost_state, "call"),
        frames=server.frames,
        claims=(Claim("waiting", server.unreachable_s),),
        also=_also(server),
    )


LIVED_ON = "A connection to the server lived on, so that it did not restart."
"""What tells that state was ended."""

LIVED_ON_FIRST = (
    "When that came first, a connection to the server lived on, so that it had not restarted."
)
"""The same where connections broke later."""


def _unheard(server: Restart, bound: str = "") -> Iterator[str]:
    """For how long the server had not answered before."""
    if server.unheard_s is not None:
        whom = "the client" if server.losers == 1 else "one of them"
        yield (
            f"Before that it had answered {whom} nothing for "
            f"{units.duration(server.unheard_s)}{bound}."
        )


def _verifiers(server: Restart) -> str:
    """How much there was to tell the server's verifier."""
    return (
        f"{units.counted(server.writes, 'WRITE or COMMIT', 'WRITEs and COMMITs')} that tell the "
        "server's verifier"
    )


def _also(server: Restart) -> tuple[str, ...]:
    """Rules that leave to this one what they would say of the same."""
    return ("rpc_retransmission",) if server.moved else ()


def _seen(server: Restart) -> Iterator[str]:
    if server.changes:
        yield f"The write verifier changed{_often(server.changes)}."
    if server.lost_state:
        yield (f"{units.counted(server.lost_state, 'call')} met {' and '.join(server.statuses)}.")
    if server.changes and server.rewritten:
        yield wording.written_again(server)
    if server.moved:
        yield (
            f"{units.counted(server.moved, 'call')} waited {units.duration(server.unreachable_s)} "
            "for a new connection, to be sent again on it."
        )
    if server.refused:
        yield (
            f"{units.counted(server.refused, 'call')} met its grace period, and waited "
            f"{units.duration(server.grace_s)}."
        )


def _often(number: int) -> str:
    return "" if number == 1 else f" {units.count(number)} times"


RULE = Rule(
    id="server_restart",
    title="The server restarted, or lost its clients' state",
    origin="RFC 1813 section 3.3.21 (write verifier), RFC 8881 sections 8.4.2 and 18.32",
    judge=judge,
)
