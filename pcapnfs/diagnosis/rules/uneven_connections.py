"""One of several connections of a client answers later than the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.diagnosis.wording import listed

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.uneven_connections import UnevenConnections
    from pcapnfs.diagnosis.material import Material

MORE = Threshold(
    "uneven_connections.more", 0.001, "s",
    "how much longer the quickest calls take there; below, nothing is reported",
    "default of this tool: more than a way through one building takes",
)  # fmt: skip

NAMED = 4
"""Ports that are named; a finding is no list."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for found in material.uneven_connections:
        more_s = found.floor_s - found.usual_s
        if more_s < values[MORE.name]:
            continue
        claims = by_row(found.time_s)
        late, many = len(found.ports), len(found.ports) > 1
        yield Observed(
            severity=by_cost(material, claims, sure=False),
            at_most="warning",
            title=f"{units.count(late)} of {units.count(late + found.others)} connections "
            f"{'answer' if many else 'answers'} later than the {_rest(found)}",
            seen=_seen(found),
            why="A mount with nconnect sends its calls over all connections in turn, also over one "
            "that is slow: a program waits for those calls all the same. Client and server are the "
            "same for all connections, but not the way: switches and routers choose a link by the "
            "ports of a flow (bonds, ECMP), network cards a queue and a processor.",
            advice=(
                Advice(
                    "Look at the single links: counters and latency of each member of a bond and "
                    "of each path of equal cost (traceroute with these ports, as with mtr --tcp "
                    "or dublin-traceroute)."
                ),
                Advice(
                    "Look at the queues of both network cards, and at which processors take their "
                    "interrupts (ethtool -S, /proc/interrupts): one may be busy with something "
                    "else."
                ),
                Advice(
                    "Until that is mended, mount anew: other ports may take another way. Fewer "
                    "connections (nconnect=1) spare the way, or have all of it."
                ),
            ),
            confidence="likely",
            data=units.counted(
                found.small_calls + found.usual_calls,
                "ACK of the client" if found.shown_by == "acks" else "small call",
                "ACKs of the client" if found.shown_by == "acks" else "small calls",
            ),
            frames=found.frames,
            claims=claims,
            about=(found.client, found.server),
            calls=found.calls,
            display_filter=" || ".join(f"tcp.port == {port}" for port in found.ports[:NAMED]),
        )


def _seen(found: UnevenConnections) -> str:
    """What was measured on these connections and on the others."""
    on = f"On the {'connections' if len(found.ports) > 1 else 'connection'} from port "
    if found.shown_by == "acks":
        return (
            f"{on}{_ports(found)} the client's ACKs usually took {units.duration(found.floor_s)} "
            f"({units.count(found.small_calls)}), on the {_rest(found)} "
            f"{units.duration(found.usual_s)} ({units.count(found.usual_calls)}). The client got "
            f"the replies to {units.counted(found.calls, 'call')} that much later, "
            f"{units.duration(found.longer_s)} in all; it is in no service time, since the capture "
            "was taken away from the client."
        )
    return (
        f"{on}{_ports(found)} the quickest small calls took {units.duration(found.floor_s)} (tenth "
        f"percentile of {units.count(found.small_calls)}), on the {_rest(found)} meanwhile "
        f"{units.duration(found.usual_s)} (of {units.count(found.usual_calls)}). "
        f"{units.counted(found.calls, 'call')} took {units.duration(found.longer_s)} longer for it."
    )


def _rest(found: UnevenConnections) -> str:
    return "other" if found.others == 1 else f"{units.count(found.others)} others"


def _ports(found: UnevenConnections) -> str:
    return listed([str(port) for port in found.ports], NAMED)


RULE = Rule(
    id="uneven_connections",
    title="One of several connections answers later",
    origin="practice: nfs(5), nconnect; RFC 2992 (paths of equal cost)",
    judge=judge,
    thresholds=(MORE,),
)
