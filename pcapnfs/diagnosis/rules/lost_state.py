"""State that the server took from a client, or refuses after a restart, or a name in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis import refused
from pcapnfs.diagnosis.finding import Advice, Observed, Rule

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values

TWINS = Advice(
    "Look for a second client of the same name (cloned machines, containers): each ends the "
    "other's state. On Linux the name is made of the host name; give each its own (uniquifier in "
    "/sys/fs/nfs/net/nfs_client/identifier, or nfs4_unique_id of the module nfs)."
)
"""What to look at where a server forgets its clients without a restart."""

RELOCK = Advice("Restart programs that held locks on these files, and check the files.")
"""What to do where locks are gone."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each client, server and of both kinds."""
    for pair in material.failures:
        if pair.kind == "revoked":
            yield refused.observed(
                pair,
                "The server took opens and locks away from the client",
                "The client was not heard for longer than the lease (90 s by default), did not "
                "give a delegation back, or an administrator ended its state. Programs get EIO on "
                "files that were open; locks are gone, and another client may have had them since.",
                (
                    Advice(
                        "Find out what kept the client from the server for so long: loss, a "
                        "suspended or overloaded machine, a firewall that dropped the connection; "
                        "see the other findings and the gaps in summarize's phases."
                    ),
                    TWINS,
                    RELOCK,
                ),
            )
        elif pair.kind == "unreclaimed":
            yield refused.observed(
                pair,
                "The client could not reclaim what it had open or locked",
                "After a restart of its server a client asks for its opens and locks again. The "
                "server refuses where it has no record that the client had any (RECLAIM_BAD), "
                "where somebody else has them (RECLAIM_CONFLICT), or where its grace period is "
                "over (NO_GRACE). Linux then opens the files anew, but its locks are gone: "
                "programs get EIO on files that they had locked.",
                (
                    Advice(
                        "Have the server keep its records of clients over a restart: on Linux run "
                        "nfsdcld, and keep its directory below /var/lib/nfs, in a cluster on what "
                        "all nodes share."
                    ),
                    Advice(
                        "If its grace period was over, find out what kept the client away for so "
                        "long, or make it longer (Linux: grace-time in /etc/nfs.conf).",
                        "new opens and locks wait for its end.",
                    ),
                    RELOCK,
                ),
            )
        elif pair.kind == "in_use":
            yield refused.observed(
                pair,
                "The client's name is in use by another client",
                "The server knows a client of the same name that logged in as another user or "
                "from another machine, and lets this one in only when that one's lease is over.",
                (TWINS,),
            )


RULE = Rule(
    id="lost_state",
    title="State that the server took from its client",
    origin="RFC 8881 sections 8.3, 8.6 and 15.1.5, RFC 7530 section 9.6.3",
    judge=judge,
)
