"""Connections that were asked for, and never came about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pcapnfs import units
from pcapnfs.diagnosis.finding import Advice, Claim, Explanation, Observed, Rule
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.programs import MOUNT, NLM, NSM

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.trust import Trust
    from pcapnfs.analyses.wire.vain_connections import VainConnections
    from pcapnfs.confidence import Confidence
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "no_connection.least", 1.0, "s", "from the first SYN to the last, or to the capture's end; "
    "below, nothing is reported", "RFC 6298 section 2: a SYN is sent again after 1 s",
)  # fmt: skip

PORTMAPPER = 111
"""Its port (RFC 1833 section 3)."""


class Service(NamedTuple):
    """A service beside NFS that listens on a port of its own."""

    name: str
    waits: str
    """Who waits for it, a sentence."""
    restart: str
    """How its port is registered anew; goes on in a sentence."""


SERVICES = {
    MOUNT: Service(
        "mountd (MOUNT)",
        "A mount or unmount of NFSv3 asks it, and waits for it.",
        "restart mountd.",
    ),
    NLM: Service(
        "the lock manager (NLM)",
        "A program that locks a file over NFSv3 waits until the lock manager answers, while "
        "everything else on the mount goes on.",
        "restart the NFS service, with which lockd registers its port. Who needs no locks of other "
        "clients can mount with nolock; NFSv4 locks on port 2049.",
    ),
    NSM: Service(
        "statd (NSM)",
        "Locks of NFSv3 ask it who restarted.",
        "restart rpc.statd.",
    ),
}
"""By number of the program."""

_FIXED = Advice(
    "A firewall must let that port through, which changes with each restart unless it is set: "
    "on Linux lockd, mountd and statd have port= in /etc/nfs.conf (lockd also udp-port=)."
)


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and port of a server."""
    for pair in material.vain_connections:
        asked = pair.asked
        if pair.lasted_s < values[LEAST.name]:
            continue
        # Answers that are not captured, or stand before their SYNs by a clock of their own, are not
        # known as such: only a SYN that came again shows that there was none.
        unknown = pair.alone or material.trust.clocks_apart_s is not None
        if unknown and asked.syns <= asked.attempts:
            continue
        claims = (Claim("client", pair.idle_s),) if pair.idle_s else ()
        by_its_cost = by_cost(material, claims)
        told = _explanation(pair)
        yield Observed(
            severity="warning" if by_its_cost == "note" and not pair.connected else by_its_cost,
            at_most="problem",
            title=told.title,
            seen=_seen(pair),
            why=told.why,
            advice=told.advice,
            confidence=_confidence(pair, material.trust, unknown=unknown),
            data=units.counted(asked.syns, "SYN"),
            frames=(asked.frame,),
            claims=claims,
            about=(asked.client, asked.server),
            display_filter=f"tcp.port == {asked.port} && tcp.flags.syn == 1",
        )


def _confidence(pair: VainConnections, trust: Trust, *, unknown: bool) -> Confidence:
    """How sure it is that there was no answer, and not merely none in the capture."""
    asked = pair.asked
    if pair.alone:
        return "possible"
    if asked.syns > 1 or asked.refusals:
        return "likely" if unknown else "certain"
    # A server that is gone leaves calls without answers; and of what was cut, replies lack calls.
    orphans = 0 if trust.truncated_bytes else trust.orphans_within
    lacks = trust.lost_bytes or orphans or trust.dropped_packets
    return "possible" if lacks else "likely"


def _seen(pair: VainConnections) -> str:
    asked = pair.asked
    one = asked.syns == 1
    text = f"The {'server' if pair.back else 'client'} sent {units.counted(asked.syns, 'SYN')}"
    if 1 < asked.attempts < asked.syns:
        text += f" in {units.counted(asked.attempts, 'attempt')}"
    text += (
        f" to port {asked.port}{' of its client' if pair.back else ''}{_told_by(pair)}, "
        f"{'' if one else 'the first '}"
        f"{units.duration(pair.since_s)} after the capture's begin{_at(pair)}. {_answers(pair)} "
        f"{units.duration(pair.lasted_s)}"
    )
    text += f"; {_ended(pair)}."
    if pair.idle_s:
        text += f" No call was under way meanwhile: {units.duration(pair.idle_s)} in all."
    return text


def _at(pair: VainConnections) -> str:
    """The time of day, as logs have it."""
    return "" if pair.from_ns is None else f" ({units.clock(pair.from_ns)} UTC)"


def _told_by(pair: VainConnections) -> str:
    """Which service is there, as the portmapper said."""
    service = _service(pair)
    return "" if service is None else f", where {service.name} listens as the portmapper says"


def _ended(pair: VainConnections) -> str:
    """How the wait ended."""
    if pair.waits:
        return "it still waited as the capture ended"
    return "then it got a connection" if pair.connected else "then it gave up"


def _answers(pair: VainConnections) -> str:
    """What came of the SYNs, up to how long it lasted."""
    asked = pair.asked
    if pair.alone:
        return "No answer is in the capture for"
    if not asked.refusals:
        return "Nobody answered for"
    which = "All were" if asked.refusals >= asked.syns else f"{units.count(asked.refusals)} were"
    return f"{which if asked.refusals > 1 else '1 was'} refused (RST), and none accepted in"


def _explanation(pair: VainConnections) -> Explanation:
    """By who asked, what was answered and what was asked for."""
    if pair.back:
        return _called_back(pair)
    if pair.alone:
        return Explanation(
            title="No connection: no answer to the client's SYNs is in the capture",
            why=f"{_who_waits(pair)} Of the server nothing was captured: its host may have refused "
            "the SYNs, or have been down, or they or the answers were lost on the way.",
            advice=(_see_what_listens(pair), _IS_IT_UP),
        )
    if pair.asked.refusals:
        return Explanation(
            title="No connection: the client's SYNs were refused",
            why=f"{_who_waits(pair)} The server's host answered that nothing listens there, or a "
            "firewall did so: the service was stopped, or not yet started.",
            advice=(_see_what_listens(pair),),
        )
    return Explanation(
        title="No connection: nobody answered the client's SYNs",
        why=f"{_who_waits(pair)} The server was down or had moved to another address, the SYNs or "
        "the answers were lost on the way, or a firewall dropped them.",
        advice=(*((_FIXED,) if _service(pair) is not None else ()), _IS_IT_UP, _SAME_PORT),
    )


def _called_back(pair: VainConnections) -> Explanation:
    """Of a server that called its client."""
    locks = pair.asked.port == PORTMAPPER or _service(pair) is not None
    why = (
        "A server calls its client of NFSv3 when a lock is free for which a program waits there, "
        "or to tell that it restarted, and asks the client's portmapper first where its lock "
        "manager listens. A lock that it cannot grant so, the client has only once it asks again "
        "by itself (Linux after 30 s); meanwhile the lock is free, and nobody has it."
        if locks
        else "A server calls its client to have a delegation back (NFSv4.0), or when a lock of "
        "NFSv3 is free. Without that it grants no delegations, so that each open goes to the "
        "server; and a lock that it cannot grant, the client has only once it asks again by itself "
        "(Linux after 30 s)."
    )
    return Explanation(
        title=f"The server could not call its client: {_came_back(pair)}",
        why=why,
        advice=(_LET_IN, _LISTENS_AT_CLIENT),
    )


def _came_back(pair: VainConnections) -> str:
    """What came of the server's SYNs."""
    if pair.alone:
        return "no answer to its SYNs is in the capture"
    return "its SYNs were refused" if pair.asked.refusals else "nobody answered its SYNs"


_LET_IN = Advice(
    "Let the client's firewall, and any between the two, pass what comes from the server: rpcbind "
    "(port 111), the lock manager and statd (on Linux lockd port= and udp-port=, statd port= in "
    "/etc/nfs.conf of the client), and for NFSv4.0 the callback port (module parameter nfs "
    "callback_tcpport=). NFSv4.1 needs none: calls back come on the client's connection."
)

_LISTENS_AT_CLIENT = Advice(
    "Ask from the server whether the client's services answer: rpcinfo -p with the client's "
    "address; at the client whether rpcbind and rpc.statd run."
)


def _service(pair: VainConnections) -> Service | None:
    """The service beside NFS that was asked for; None: NFS, the portmapper, or unknown."""
    return SERVICES.get(pair.program or 0)


def _who_waits(pair: VainConnections) -> str:
    if pair.asked.port == PORTMAPPER:
        return "A mount asks the portmapper before anything else, and waits for it."
    if (service := _service(pair)) is not None:
        return service.waits
    return (
        "A client connects when a call waits for it, so that programs on the mount stand still"
        f"{', though no call is to be seen' if pair.idle_s else ''}."
    )


def _see_what_listens(pair: VainConnections) -> Advice:
    if pair.asked.port == PORTMAPPER:
        return Advice(
            "Look at the server whether rpcbind runs (ss -tln 'sport = :111'). NFSv4 needs "
            "no portmapper."
        )
    if (service := _service(pair)) is not None:
        return Advice(
            f"Look at the server what listens there (ss -tln 'sport = :{pair.asked.port}'), and "
            "whether the portmapper tells a port that is no longer in use (rpcinfo -p): "
            f"{service.restart}"
        )
    return Advice(
        "Look at the server whether its NFS service runs (systemctl status nfs-server; "
        f"ss -tln 'sport = :{pair.asked.port}'), and why not. A client asks again after "
        "3 s, then after twice as long each time, up to 5 min."
    )


_IS_IT_UP = Advice(
    "Is the server up, and does it answer others (ping, rpcinfo -p)? Has its address "
    "moved, as a failover does? Capture at the server at the same time: what does not "
    "arrive there is lost on the way, or dropped by a firewall."
)

_SAME_PORT = Advice(
    "Linux connects again from the same port, which some firewalls and load balancers "
    "refuse for minutes after the old connection."
)

RULE = Rule(
    id="no_connection",
    title="Connections that were asked for in vain",
    origin="practice: mounts that hang after their server went away; RFC 9293 section 3.8.3",
    judge=judge,
    thresholds=(LEAST,),
)
