"""State that the server took from a client, or refuses after a restart, or a name in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs.diagnosis import refused
from pcapnfs.diagnosis.finding import Advice, Observed, Rule

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.failures import Failures
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


LATE = "NFS4ERR_NO_GRACE"
"""How a server refuses reclaims that do not follow a restart, or follow it too late."""


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each client, server and kind."""
    twins = {(client, found.server) for found in material.shared_names for client in found.clients}
    for pair in material.failures:
        if pair.kind == "revoked":
            yield _ended_by_twin(pair) if (pair.client, pair.server) in twins else _ended(pair)
        elif pair.kind == "unreclaimed":
            yield _too_late(pair) if pair.statuses == (LATE,) else _unreclaimed(pair)
        elif pair.kind == "in_use":
            yield refused.of(pair).observed(
                "The client's name is in use by another client",
                "The server knows a client of the same name that logged in as another user or "
                "from another machine, and lets this one in only when that one's lease is over.",
                (TWINS,),
            )


ENDED = "The server took opens and locks away from the client"

GONE = (
    "Programs get EIO on files that were open; locks are gone, and another client may have had "
    "them since."
)
"""Why it matters that state was ended."""


def _ended(pair: Failures) -> Observed:
    """State that was taken, for one of the reasons that there are."""
    return refused.of(pair).observed(
        ENDED,
        "The client was not heard for longer than the lease (90 s by default), did not give a "
        f"delegation back, or an administrator ended its state. {GONE}",
        (
            Advice(
                "Find out what kept the client from the server for so long: loss, a suspended or "
                "overloaded machine, a firewall that dropped the connection; see the other "
                "findings and the gaps in summarize's phases."
            ),
            TWINS,
            RELOCK,
        ),
    )


def _ended_by_twin(pair: Failures) -> Observed:
    """State that the login of another client ended, as another finding says."""
    return refused.of(pair).observed(
        ENDED,
        f"A client of the same name logged in, as another finding says. {GONE}",
        (Advice("Give each client a name of its own (see that finding)."), RELOCK),
        severity="note",
    )


NOT_GIVEN_BACK = "The client could not reclaim what it had open or locked"

OPENED_ANEW = (
    "Linux then opens the files anew, but its locks are gone: programs get EIO on files that they "
    "had locked."
)
"""Why it matters that reclaims were refused."""


def _unreclaimed(pair: Failures) -> Observed:
    """What a server that restarted does not give back."""
    return refused.of(pair).observed(
        NOT_GIVEN_BACK,
        "After a restart of its server a client asks for its opens and locks again. The server "
        "refuses where it has no record that the client had any (RECLAIM_BAD), or where somebody "
        f"else has them (RECLAIM_CONFLICT). {OPENED_ANEW}",
        (
            Advice(
                "Have the server keep its records of clients over a restart: on Linux run nfsdcld, "
                "and keep its directory below /var/lib/nfs, in a cluster on what all nodes share."
            ),
            RELOCK,
        ),
    )


def _too_late(pair: Failures) -> Observed:
    """What a server does not give back since it is in no grace period."""
    return refused.of(pair).observed(
        NOT_GIVEN_BACK,
        "A client whose server does not know it any more asks for its opens and locks again. The "
        "server gives them back in the grace period after a restart only: that was over, or it "
        f"had not restarted, but ended the client's state. {OPENED_ANEW}",
        (
            Advice(
                "Find out why the server did not know the client any more: other findings say what "
                "the capture shows of it."
            ),
            RELOCK,
        ),
        severity="note",
    )


RULE = Rule(
    id="lost_state",
    title="State that the server took from its client",
    origin="RFC 8881 sections 8.3, 8.6 and 15.1.5, RFC 7530 section 9.6.3",
    judge=judge,
)
