"""The server restarted while the capture ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.rules.lost_state import TWINS

if TYPE_CHECKING:
    from pcapnfs.analyses.restarts import Restart
    from pcapnfs.diagnosis.material import Material
    from pcapnfs.diagnosis.thresholds import Values


def judge(material: Material, _values: Values) -> Iterator[Observed]:
    """One for each server that shows it."""
    for server in material.restarts:
        changed = server.verifiers > 1
        if not changed and not server.lost_state:
            continue
        yield Observed(
            severity="problem" if changed else "warning",
            title=f"The server {server.server} "
            + ("restarted" if changed else "does not know its clients any more"),
            seen=" ".join(_seen(server)),
            why="A restart loses what was written and not committed: clients keep it and send it "
            "again, if they notice the new verifier. Programs stand still until the server is "
            "back and its grace period is over; open files and locks that cannot be reclaimed are "
            "lost.",
            advice=(
                Advice(
                    "Find out on the server why: its log around that time (journalctl, uptime, "
                    "failover of a cluster, out of memory)."
                ),
                Advice(
                    "If it was neither, and only state was lost: a client that was cut off for "
                    "longer than the lease (90 s by default) loses it, too; look for loss on the "
                    "network."
                ),
                *(() if changed else (TWINS,)),
                Advice(
                    "Where data was exported with async, check files written shortly before: "
                    "clients cannot know what is missing."
                ),
            ),
            confidence="certain" if changed else "likely",
            data=f"{wording.times(server.writes, 'WRITE or COMMIT', 'WRITEs and COMMITs')} that "
            "tell the server's verifier",
            frames=server.frames,
            claims=(Claim("waiting", server.unreachable_s + server.grace_s),),
            also=("rpc_retransmission",) if server.moved else (),
        )


def _seen(server: Restart) -> Iterator[str]:
    if server.verifiers > 1:
        times = server.verifiers - 1
        yield f"The write verifier changed{'' if times == 1 else f' {units.count(times)} times'}."
    if server.lost_state:
        yield (f"{wording.times(server.lost_state, 'call')} met {' and '.join(server.statuses)}.")
    if server.rewritten:
        yield (
            f"{wording.times(server.rewritten, 'WRITE')} ({units.size(server.rewritten_bytes)}) "
            "of what had been written UNSTABLE before came again."
        )
    if server.moved:
        yield (
            f"{wording.times(server.moved, 'call')} waited {units.duration(server.unreachable_s)} "
            "for a new connection, to be sent again on it."
        )
    if server.refused:
        yield (
            f"{wording.times(server.refused, 'call')} met its grace period, and waited "
            f"{units.duration(server.grace_s)}."
        )


RULE = Rule(
    id="server_restart",
    title="The server restarted, or lost its clients' state",
    origin="RFC 1813 section 3.3.21 (write verifier), RFC 8881 sections 8.4.2 and 18.32",
    judge=judge,
)
