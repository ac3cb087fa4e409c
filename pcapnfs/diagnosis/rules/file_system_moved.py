"""Calls on a file system that is at another server now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.servers.same_calls import MOVED
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.refusals import Refusals
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "file_system_moved.least", 1.0, "seconds",
    "that clients waited, below which nothing is reported: one that follows is refused once",
    "default of this tool",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client, server and status."""
    for pair in material.refusals:
        if pair.status not in MOVED or pair.time_s < values[LEAST.name]:
            continue
        claims = (Claim("waiting", pair.time_s),)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="A file system moved to another server, and its client was slow to follow",
            seen=_seen(pair),
            why="The server sends the client away, and tells where to if it is asked for the "
            "attribute fs_locations or fs_locations_info. It answers at once, so service times "
            "look good; programs wait until the client has connected to the other server, logged "
            "in there and found its state, or for ever if that cannot be reached.",
            advice=(
                Advice(
                    "See where the file system is said to be (fs_locations in a reply after the "
                    "first of these frames; an appliance's list of moved volumes or interfaces), "
                    "and whether the client can reach that address: its name is to be found, port "
                    "2049 and Kerberos to work there."
                ),
                Advice(
                    "If the client goes on asking here, it does not follow (in NFSv4.1 a Linux "
                    "client says that it can only if its kernel has CONFIG_NFS_V4_1_MIGRATION): "
                    "unmount, and mount from the new server."
                ),
                Advice(
                    "If nothing was to move, find out at the server what moved it: a failover, "
                    "load balancing, or a move of the volume that nobody told the clients of."
                ),
            ),
            calls=pair.calls,
            confidence="certain",
            data=f"{units.counted(pair.calls, 'refusal')} in {units.counted(pair.waits, 'wait')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _seen(pair: Refusals) -> str:
    one = pair.calls == 1
    text = (
        f"{units.counted(pair.calls, 'call')} ({', '.join(pair.operations[:4])}) "
        f"{'was' if one else 'were'} answered {pair.status}. Together with the pauses until the "
        f"client asked here again {'it' if one else 'they'} took {units.duration(pair.time_s)}"
    )
    if pair.paths:
        text += f"; the longest wait was for {pair.paths[0]}"
    text += "."
    if pair.unfinished:
        text += f" Never done here: {units.count(pair.unfinished)} of {units.count(pair.waits)}."
    return text


RULE = Rule(
    id="file_system_moved",
    title="MOVED: time spent until the client followed a file system to another server",
    origin="RFC 8881 sections 11.11 and 15.1.2.4",
    judge=judge,
    thresholds=(LEAST,),
)
