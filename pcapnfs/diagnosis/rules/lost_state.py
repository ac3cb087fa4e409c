"""A client whose opens, locks or delegations the server took away, or whose name another uses."""

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
                    Advice("Restart programs that held locks on these files, and check the files."),
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
