"""Connections that took long to come about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.late_connections import LateConnections
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "slow_connect.least", 1.0, "s", "from the first SYN of a connection to the end of its "
    "handshake; below, nothing is reported", "RFC 6298 section 2: a SYN is sent again after 1 s",
)  # fmt: skip


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.late_connections:
        if pair.longest_s < values[LEAST.name]:
            continue
        claims = (Claim("client", pair.idle_s),) if pair.idle_s else ()
        why, advice = _told(pair)
        yield Observed(
            severity=by_cost(material, claims),
            at_most="problem",
            title="It took long until a connection could be used",
            seen=_seen(pair),
            why="A client connects when a call waits for it, so that programs on the mount stand "
            f"still{', though no call is to be seen' if pair.idle_s else ''}. {why}",
            advice=advice,
            confidence="certain" if _packets(pair) else "likely",
            data=units.counted(pair.connections, "connection"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
            display_filter="tcp.flags.syn == 1"
            + (" || tcp.flags.reset == 1" if pair.refusals or pair.challenges else ""),
        )


def _seen(pair: LateConnections) -> str:
    one = pair.connections == 1
    text = (
        f"{units.counted(pair.connections, 'connection')} came about "
        f"{units.duration(pair.longest_s)} after {'its' if one else 'their'} first SYN"
        f"{'' if one else ' at most'}"
    )
    if packets := _packets(pair):
        text += f": {'; '.join(packets)}"
    text += "."
    if pair.idle_s:
        text += f" No call was under way meanwhile: {units.duration(pair.idle_s)} in all."
    if pair.syn_s is not None:
        text += f" From the last SYN it took the server {units.duration(pair.syn_s)} to answer."
    return text


def _packets(pair: LateConnections) -> list[str]:
    """What the packets were."""
    told = []
    if pair.attempts:
        vain = f"{units.counted(pair.attempts, 'attempt')} before came to nothing"
        told.append(f"{vain}, {_refused(pair)}" if pair.refusals else vain)
    elif pair.refusals:
        told.append(_refused(pair))
    if pair.resent:
        told.append(f"the client sent {units.counted(pair.resent, 'SYN')} again")
    if pair.challenges:
        told.append(
            f"the server answered {units.count(pair.challenges)} of them with an ACK of a former "
            "connection"
        )
    if pair.resent_answers:
        told.append(f"the server sent {units.counted(pair.resent_answers, 'SYN+ACK')} again")
    return told


def _refused(pair: LateConnections) -> str:
    return f"the server refused {units.counted(pair.refusals, 'SYN')} (RST)"


def _told(pair: LateConnections) -> tuple[str, tuple[Advice, ...]]:
    """Reason and advice, by what the server answered at first."""
    if pair.refusals:
        return (
            "The server's host answered that nothing listens there, or a firewall did so: the NFS "
            "service was stopped or restarted, or not yet started.",
            (
                Advice(
                    "Look at the server when its NFS service was started, and why (Linux: "
                    "journalctl -u nfs-server; NFS-Ganesha: -u nfs-ganesha). A client asks again "
                    "after 3 s, then after twice as long each time, up to 5 min."
                ),
            ),
        )
    if pair.challenges:
        return (
            "The server still had the former connection from the same port, whose end had not "
            "reached it: it answers with an ACK of that one (RFC 9293 section 3.10.7.4), the "
            "client resets it, and sends its SYN again a second later.",
            (
                Advice(
                    "Find out why the former connection ended for the client alone: a client that "
                    "crashed or changed its address, or a firewall or load balancer that forgot "
                    "it. If such a device drops these ACKs, connecting takes minutes."
                ),
            ),
        )
    if pair.lossy:
        return (
            "A packet of the handshake was lost, as segments were later on the same connection: "
            "the path loses some now and then, and the server was there. A SYN, or the answer to "
            "it, is sent again after a second (RFC 6298 section 2).",
            (
                Advice(
                    "Look for the place where segments are lost: error and drop counters of "
                    "network cards (ethtool -S) and switch ports, duplex and MTU mismatch, cables "
                    "and optics; captures at both ends tell the direction."
                ),
            ),
        )
    if pair.resent_answers > pair.resent:
        return (
            "The server's SYN+ACK did not reach the client, or the client's ACK did not reach the "
            "server.",
            (
                Advice(
                    "Capture at both ends: what is sent at one and does not arrive at the other is "
                    "lost on the way. Look at firewalls and at routes that differ by direction."
                ),
            ),
        )
    return (
        "The server did not answer the first SYNs: it was down, they or the answers were lost on "
        "the way, a firewall dropped them, or its queue of new connections was full.",
        (
            Advice(
                "Was the server or its NFS service down? Does a firewall drop SYNs? Linux connects "
                "again from the same port, which some firewalls and load balancers refuse for "
                "minutes after the old connection."
            ),
            Advice(
                "On the server look for connections that were dropped: nstat -az "
                "TcpExtListenDrops TcpExtListenOverflows."
            ),
        ),
    )


RULE = Rule(
    id="slow_connect",
    title="Connections that took long to come about",
    origin="practice: mounts that stall while they reconnect; RFC 9293 section 3.8.3",
    judge=judge,
    thresholds=(LEAST,),
    of_times=True,
)
