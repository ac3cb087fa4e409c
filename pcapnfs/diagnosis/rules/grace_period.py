"""Clients wait for the end of a server's grace period."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.restarts import Restart
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


_ADVICE = (
    Advice(
        "The grace period ends by itself. Find out why the server restarted, in its log of the "
        "time before. If it lasts too long for now, that of NFSv4 can be ended at once on a Linux "
        "server: echo Y > /proc/fs/nfsd/v4_end_grace. That of lockd (locks of NFSv3) goes on, and "
        "LOCKs of NFSv4 wait for its end as well.",
        "ended by hand, clients that have not reclaimed their opens and locks yet lose them, and "
        "others may get these locks meanwhile.",
    ),
    Advice(
        "With NFSv4.1 and later a server may end it as soon as all known clients are back, as "
        "Linux does (others wait for its end): remove clients that are gone for good, and on a "
        "Linux server keep nfsdcld running."
    ),
    Advice(
        "A shorter grace period counts from the next restart on (Linux: grace-time and lease-time "
        "in the section nfsd of /etc/nfs.conf, for locks of NFSv3 also the sysctl "
        "fs.nfs.nlm_grace_period; NFS-Ganesha: Grace_Period and Lease_Lifetime in the block "
        "NFSv4). Do not restart the NFS service for that: each restart begins a grace period for "
        "all clients.",
        "a client that is not back within that time loses its opens and locks.",
    ),
)
"""What can be done. Settings are read as the service starts: writing nfsv4gracetime and
nfsv4leasetime in /proc/fs/nfsd while nfsd runs is refused (EBUSY, fs/nfsd/nfsctl.c)."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each server that refused calls because of it."""
    for server in material.restarts:
        if not server.refused:
            continue
        claims = (Claim("waiting", server.grace_s),)
        one = server.refused == 1
        pauses = (
            "the pause until it came again it" if one else "the pauses until they came again they"
        )
        yield Observed(
            severity=by_cost(material, claims),
            title=f"Clients wait for the grace period of {server.server}",
            seen=f"{units.counted(server.refused, 'call')} met GRACE{_over(server)}; with {pauses} "
            f"waited {units.duration(server.grace_s)}."
            + (_LOCKS if server.refused_locks == server.refused > 1 else "")
            + (
                f" RECLAIM_COMPLETE came {units.counted(server.reclaims, 'time')}."
                if server.reclaims
                else ""
            ),
            why="After a restart a server gives out no new opens and locks until its old clients "
            "have reclaimed theirs, or the grace period (90 s by default on Linux) is over.",
            advice=_ADVICE,
            confidence="certain",
            data=f"{units.counted(server.refused, 'call')} with that status",
            frames=server.refused_frames,
            claims=claims,
            display_filter="nfs.nfsstat4 == 10013 || nlm.stat == 4",
        )


_LOCKS = (
    " All were LOCKs of NFSv4: a Linux server refuses these alone while its NFSv4 is done, and "
    "lockd is not."
)


def _over(server: Restart) -> str:
    """When the first came, and how long after it the last of several."""
    at = None if server.refused_ns is None else f"{units.clock(server.refused_ns)} UTC"
    if server.refused == 1:
        return "" if at is None else f" at {at}"
    since = "" if at is None else f" from {at} on,"
    return f"{since} over {units.duration(server.grace_span_s)}"


RULE = Rule(
    id="grace_period",
    title="Calls refused during the server's grace period",
    origin="RFC 8881 section 8.4.2.1, RFC 7530 section 9.6.2",
    judge=judge,
)
