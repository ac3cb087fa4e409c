"""Connections that took long to come about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "slow_connect.least", 1.0, "s", "from the first packet of a connection to its first call; "
    "below, nothing is said", "RFC 6298 section 2: a SYN is sent again after 1 s",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.late_connections:
        if pair.longest_s < values[LEAST.name]:
            continue
        claims = (Claim("client", pair.idle_s),) if pair.idle_s else ()
        one = pair.connections == 1
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="It took long until a connection could be used",
            seen=f"{units.counted(pair.connections, 'connection')} had {'its' if one else 'their'} "
            f"first call {units.duration(pair.longest_s)} after {'its' if one else 'their'} first "
            f"packet{'' if one else ' at most'}, when a SYN without an answer is sent again."
            + (
                f" No call was under way meanwhile: {units.duration(pair.idle_s)} in all."
                if pair.idle_s
                else ""
            )
            + (
                f" Once the server answered a SYN, it took {units.duration(pair.syn_s)}."
                if pair.syn_s is not None
                else ""
            ),
            why="A client connects when a call waits for it, so that programs on the mount stand "
            "still, though no call is to be seen. It seems that the server did not answer the "
            "first SYNs: it was down, a firewall dropped them, or its queue of new connections was "
            "full.",
            advice=(
                Advice(
                    "Look with the display filter how many SYNs there are, and when. If they come "
                    "1, 2, 4 … s apart: was the server or its NFS service down? Does a firewall "
                    "drop them? Linux connects again from the same port, which some firewalls and "
                    "load balancers refuse for minutes after the old connection."
                ),
                Advice(
                    "On the server look for connections that were dropped: nstat -az "
                    "TcpExtListenDrops TcpExtListenOverflows."
                ),
            ),
            confidence="likely",
            data=units.counted(pair.connections, "connection"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
            display_filter="tcp.flags.syn == 1",
        )


RULE = Rule(
    id="slow_connect",
    title="Connections that took long to come about",
    origin="practice: mounts that stall while they reconnect; RFC 9293 section 3.8.3",
    judge=judge,
    thresholds=(LEAST,),
)
