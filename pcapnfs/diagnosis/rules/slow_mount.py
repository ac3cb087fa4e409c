"""A mount that takes long before any file is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.mounts.preliminaries import Preliminaries
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "slow_mount.least", 1.0, "s", "what finding services, mounting or logging in took once; below, "
    "nothing is reported", "default of this tool: users notice a second",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and kind of calls."""
    for pair in material.preliminaries:
        if pair.kind == "context" or pair.at_once_s < values[LEAST.name]:
            continue
        claims = by_row(pair.time_s)
        mount = pair.kind == "mount"
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="Mounting takes long" if mount else "Logging in to the server takes long",
            seen=seen(pair),
            why="All that is done on the mount comes after it; what is said of calls for files "
            "does not count it."
            + (
                " Servers look up the name of a client, its netgroups or its user, and wait for "
                "DNS or LDAP to answer: time-outs there are 5 s each, as a rule."
                if mount
                else " Servers store who logs in, and may look it up, or call the client back."
            ),
            advice=_MOUNT if mount else _LOGIN,
            calls=pair.calls,
            confidence="certain",
            data=units.counted(pair.calls, "call"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def seen(pair: Preliminaries) -> str:
    """What such calls took, by operation."""
    told = [
        f"{each.op} {units.duration(each.longest_s)}" + (" (sent again)" if each.repeated else "")
        if each.calls == 1
        else f"{each.op} {units.duration(each.longest_s)} at most "
        f"({units.counted(each.calls, 'call')}"
        + (f", {units.count(each.repeated)} of them sent again" if each.repeated else "")
        + ")"
        for each in pair.operations
    ]
    return (
        f"{units.counted(pair.calls, 'call')} took {units.duration(sum(pair.time_s.values()))} of "
        f"the clock: {', '.join(told)}."
    )


_MOUNT = (
    Advice(
        "On the server, time the look-ups of the client: getent hosts ADDRESS, and getent netgroup "
        "where exports name one. Enter the client in DNS in both directions, or in /etc/hosts of "
        "the server; remove name servers that do not answer from /etc/resolv.conf."
    ),
    Advice(
        "If calls to the portmapper or MOUNT were sent again, let them through the firewall, or "
        "mount with proto=tcp,mountproto=tcp, or name the ports (port=2049,mountport=). NFSv4 "
        "needs neither of them."
    ),
)

_LOGIN = (
    Advice(
        "See on the server what keeps it: storage for its records of clients (Linux: "
        "/var/lib/nfs/nfsdcltrack or nfsdcld's), DNS and Kerberos, a grace period after a restart; "
        "on Linux also rpc.mountd, which the kernel asks who may reach which export, with NFSv4 as "
        "well: whether it runs, and what it waits for."
    ),
    Advice(
        "With NFSv4.0 let the server reach the client's callback port (callback_tcpport of the "
        "module nfs), or mount with vers=4.1 or later, which needs no port of its own."
    ),
)

RULE = Rule(
    id="slow_mount",
    title="Mounting or logging in takes long",
    origin="practice: mounts that hang for DNS, rpcbind or firewalls",
    judge=judge,
    thresholds=(LEAST,),
)
