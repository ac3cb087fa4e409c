"""Calls that the server never answered: it hangs, or nothing reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.mounts.preliminaries import FINDING, LOGIN, MOUNTING
from pcapnfs.diagnosis import wording
from pcapnfs.diagnosis.finding import Advice, Claim, Explanation, Observed, Rule, Severity
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.thresholds import Threshold, Values

if TYPE_CHECKING:
    from pcapnfs.analyses.servers.unanswered import Unanswered
    from pcapnfs.diagnosis.material import Material

LEAST = Threshold(
    "unanswered_calls.least", 1, "calls", "without an answer, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
RESENT = Threshold(
    "unanswered_calls.resent", 2, "segments",
    "of TCP sent again by the client, from which on it is taken to be cut off: one may be lost",
    "default of this tool",
)  # fmt: skip

BEFORE = {
    "portmapper": frozenset(FINDING),
    "mount": frozenset({*MOUNTING, *FINDING, "UMNT", "EXPORT"}),
    "login": frozenset({*LOGIN, "NULL"}),
}
"""What is asked before any file, by service; the first that has all operations is meant."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    damaged = bool(material.trust.damaged_files)
    for pair in material.unanswered:
        if pair.calls < values[LEAST.name]:
            continue
        claims = () if pair.lossy else (Claim("waiting", pair.time_s),)
        told = _explanation(pair, cut_off=pair.resent >= values[RESENT.name])
        yield Observed(
            severity=_severity(pair, by_cost(material, claims)),
            at_most="note" if pair.lossy else "problem",
            title=told.title,
            seen=_seen(pair),
            why=told.why,
            advice=(*told.advice, *_on_the_mount(pair)),
            calls=pair.calls,
            confidence="possible" if pair.lossy or damaged else "likely",
            data=units.counted(pair.asked, "call"),
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
        )


def _severity(pair: Unanswered, by_its_cost: Severity) -> Severity:
    """What ends at once costs no time, but programs get an error."""
    if pair.lossy:
        return "note"
    return "warning" if by_its_cost == "note" and _ended(pair) else by_its_cost


def _seen(pair: Unanswered) -> str:
    text = (
        f"{units.count(pair.calls)} of {units.counted(pair.asked, 'call')} "
        f"({wording.several(pair.operations)}) had no answer "
        f"{'that the client acknowledged, ' if _undelivered(pair) else ''}"
        f"{units.duration(pair.longest_s)} after "
        f"{'it' if pair.calls == 1 else 'the first of them'} was sent"
    )
    if pair.paths:
        text += f": {wording.places(pair.paths)}"
    text += "."
    if pair.resent:
        text += (
            f" The client sent {units.counted(pair.resent, 'TCP segment')} again on "
            f"{'its connection' if pair.calls == 1 else 'their connections'}."
        )
    if pair.repeated:
        who = "It" if pair.resent else "The client"
        text += f" {who} sent {units.counted(pair.repeated, 'RPC call')} again."
    if pair.replayed:
        text += (
            f" The client sent {_of_them(pair.replayed, pair.calls)} again on another connection, "
            "in the same slot of the session with another xid, and got an answer there, which is "
            "counted as that of another call."
        )
    if _unreceived(pair):
        text += (
            f" The server acknowledged {'it' if pair.calls == 1 else 'them'}, and sent "
            f"{units.size(pair.unreceived_bytes)} that never came here, as its sequence numbers "
            "say."
        )
    elif _undelivered(pair):
        text += (
            f" The client never acknowledged {units.size(pair.undelivered_bytes)} that the server "
            "sent, and sent again and again."
        )
    if pair.misframed:
        text += (
            f" After {_of_them(pair.misframed, pair.calls)} came bytes that no record mark "
            "explains (desynchronised, in the table notes)."
        )
    for side, ended in (("client", pair.given_up), ("server", pair.cut_short)):
        if ended:
            text += f" The {side} ended the connection while {_of_them(ended, pair.calls)} waited."
    if pair.answered_later:
        text += f" Calls sent later and answered: {units.count(pair.answered_later)}."
    elif pair.answered_again:
        others = units.counted(pair.answered_again, "call was", "calls were")
        text += f" {others} answered later, on another connection."
    elif pair.answered_elsewhere:
        text += (
            " Calls to other services of that host were answered meanwhile: "
            f"{units.count(pair.answered_elsewhere)}."
        )
    elif pair.answered:
        text += " Nothing was answered after that."
    return text


def _of_them(calls: int, of_calls: int) -> str:
    """So many of the calls without an answer."""
    if of_calls == 1:
        return "it"
    return "they" if calls == of_calls else f"{units.count(calls)} of them"


def _explanation(pair: Unanswered, *, cut_off: bool) -> Explanation:
    """By what else was answered and whether anything arrives."""
    asked = _asked(pair)
    if pair.lossy:
        return _PERHAPS_NOT_CAPTURED
    if _ended(pair):
        return _ENDED
    if _misframed(pair):
        return _MISFRAMED
    if _numbered(pair):
        return _NUMBERED
    if pair.datagrams:
        return _over_udp(pair, asked)
    if _unreceived(pair) or _undelivered(pair):
        return _ANSWERS_LOST if _unreceived(pair) else _ANSWERS_LOST_BEHIND
    if (pair.answered_later or pair.answered_elsewhere) and asked != "files":
        return _service_busy(asked)
    if pair.answered_later:
        return _one_connection_cut_off(pair) if cut_off else _FILES_BUSY
    if cut_off:
        return _server_cut_off(pair)
    return Explanation(
        title=_not_answering(pair),
        why="What the client sent arrived, or TCP would have sent it again; the service did not "
        "answer: all of its threads wait for something, its storage hangs, or it was stopped.",
        advice=(_HANGING if asked == "files" else _SEE[asked],),
    )


_MISFRAMED = Explanation(
    title="What came for an answer cannot be read: a record mark is wrong",
    why="Over TCP four bytes before each message say how long it is (RFC 5531 section 11). Here "
    "they cannot be right, so that whoever gets them does not know where the next message begins, "
    "and waits for ever, or until the connection is broken.",
    advice=(
        Advice(
            "It is a fault of the program that sent these bytes (a server or client library, a "
            "gateway), or of what changed them on the way: show its vendor the capture with the "
            'frame that the table notes names (pcapnfs sql CAPTURE "from notes").'
        ),
        Advice("To go on, unmount (umount -f) and mount again: a new connection begins anew."),
    ),
)
"""Where the bytes that follow have no message in them."""

_NUMBERED = Explanation(
    title="The server takes calls for ones that it has answered",
    why="Each has the transaction id (xid) of another call on its connection, which was answered "
    "before. Servers keep what they answered by this number, to know a call that is sent again: "
    "one with a number of before gets no answer, or that of the other call (RFC 5531 section 9).",
    advice=(
        Advice(
            "Use another client, or a newer version of this one: each call needs a number of its "
            "own. Some client libraries make it of the time in seconds, or begin anew with the "
            "same one."
        ),
    ),
)
"""Where the client numbers several calls alike."""


def _over_udp(pair: Unanswered, asked: str) -> Explanation:
    """Nothing tells whether the calls arrived."""
    unknown = (
        "The client asked again and got no answer. Nothing acknowledges UDP, so that it is not "
        "known whether the calls arrived"
    )
    others = "Other calls were answered meanwhile, so that the host was up."
    up = pair.answered_later or pair.answered_elsewhere
    if asked == "portmapper":
        return Explanation(
            title="The portmapper does not answer over UDP",
            why=f"{unknown}: a firewall drops what goes to port 111 over UDP, or the answers, or "
            "rpcbind does not listen over UDP, or hangs. "
            + (f"{others} " if up else "")
            + "A mount waits for it, until the client gives up or asks over TCP.",
            advice=(_SPARE_THE_PORTMAPPER, _SEE[asked]),
        )
    if up:
        return Explanation(
            title="The server left some calls over UDP unanswered",
            why=f"{unknown}: a firewall or the network drops them, or the answers (large ones go "
            "in several fragments, and one that is lost costs all), or the server still works at "
            f"these. {others}",
            advice=(_OVER_TCP, _WHETHER_THEY_ARRIVE),
        )
    return Explanation(
        title=_not_answering(pair),
        why=f"{unknown}: the service or its host was down or hung, or a firewall or the network "
        "drops them, or the answers.",
        advice=(_WHETHER_THE_HOST_HEARS,),
    )


def _service_busy(asked: str) -> Explanation:
    """Other calls were answered meanwhile, but not these of the way to a mount."""
    return Explanation(
        title=_SOME_LEFT,
        why="It answered others meanwhile, so that neither it nor the path was down: "
        f"{_SERVICES[asked]} still works at these, or something on the way dropped them, or "
        "their answers.",
        advice=(_SEE[asked],),
    )


def _one_connection_cut_off(pair: Unanswered) -> Explanation:
    """Others were answered meanwhile, on another connection."""
    return Explanation(
        title="Some calls, or their answers, do not arrive",
        why="TCP sent these again and again and nothing acknowledged them, while others, on "
        "another connection, were answered. A server's TCP acknowledges what arrives even "
        "where its service hangs: so these did not arrive, or what was sent back for them did "
        "not, which brings the acknowledgement along.",
        advice=(_MTU if _large(pair) else MTU_OF_ANSWERS, _AT_BOTH_ENDS),
    )


def _server_cut_off(pair: Unanswered) -> Explanation:
    """Nothing acknowledges what the client sends."""
    return Explanation(
        title="What the client sends does not reach the server"
        if pair.answered
        else "The server cannot be reached",
        why="TCP sends a segment again when nothing acknowledges it. The server, its network or "
        "a firewall on the way was down, or drops what the client sends.",
        advice=(*((_MTU,) if _large(pair) and pair.answered else ()), _WHAT_DOES_NOT_ARRIVE),
    )


def _not_answering(pair: Unanswered) -> str:
    return "The server stopped answering" if pair.answered else "The server does not answer"


def _on_the_mount(pair: Unanswered) -> tuple[Advice, ...]:
    """What is to stay as it is while the server does not answer for files."""
    explained = pair.lossy or _ended(pair) or _misframed(pair) or _numbered(pair)
    return (_HARD,) if _asked(pair) == "files" and not explained else ()


def _asked(pair: Unanswered) -> str:
    """What was asked: `files`, or one of `BEFORE`."""
    if pair.paths and "MNT" not in pair.operations:
        return "files"
    for service, operations in BEFORE.items():
        if operations.issuperset(pair.operations):
            return service
    return "files"


def _ended(pair: Unanswered) -> bool:
    """Whether the server ended the connections of all of them at once."""
    return pair.ended_at_once == pair.calls


def _misframed(pair: Unanswered) -> bool:
    """Whether bytes came after all of them that nobody can read."""
    return pair.misframed == pair.calls


def _numbered(pair: Unanswered) -> bool:
    """Whether the server took them for calls of before: most that are numbered so wait for good."""
    return pair.same_xid == pair.calls > pair.same_xid_answered


def _unreceived(pair: Unanswered) -> bool:
    """Whether the server answered all of them, and the answers were lost before the capture."""
    return pair.unreceived == pair.calls


def _undelivered(pair: Unanswered) -> bool:
    """Whether what the server sent there was lost behind the capture, on its way to the client."""
    return pair.undelivered == pair.calls


def _large(pair: Unanswered) -> bool:
    """Whether their size tells them from what was answered: what is as long never was."""
    return pair.large == pair.calls and not pair.as_large_answered


_PING = (
    "Try ping -M do -s 1472 SERVER (8972 with jumbo frames; macOS and FreeBSD: ping -D -s, ESXi: "
    "vmkping -d -s), have all interfaces and switches between them allow the same MTU, and let "
    "ICMP's 'fragmentation needed' through; on Linux net.ipv4.tcp_mtu_probing=1 at both ends helps "
    "until then."
)

_MTU = Advice(
    "No call as long as this was answered, more than one segment, and shorter ones were: something "
    f"on the way drops large packets (a black hole for MTUs). {_PING}"
)

MTU_OF_ANSWERS = Advice(
    "If these are READs, READDIRs and the like, whose answers fill whole packets, something on the "
    f"way drops large packets (a black hole for MTUs). {_PING}"
)

_PERHAPS_NOT_CAPTURED = Explanation(
    title="Calls were sent again, and have no answer in the capture",
    why="The capture lacks packets between these hosts, and may lack the answers: whether the "
    "server gave any is not known.",
    advice=(Advice("Capture without loss, and look whether they are answered then."),),
)

_ANSWERS_LOST = Explanation(
    title="The server's answers do not arrive",
    why="The server got the calls and sent answers. They were lost between it and the place of "
    "the capture, again and again, since TCP sends a segment again when nothing "
    "acknowledges it, while what is small came through: the path or a firewall on it "
    "drops them.",
    advice=(
        MTU_OF_ANSWERS,
        Advice(
            "Capture at the server at the same time: what leaves it and does not arrive is "
            "lost on the way. Look at firewalls and tunnels that keep track of "
            "connections, and at links and switches."
        ),
    ),
)

_ANSWERS_LOST_BEHIND = Explanation(
    title=_ANSWERS_LOST.title,
    why="The server got the calls and answered. What it sent came by here, and was lost on its way "
    "to the client, again and again, though the client was there: it went on sending. What is "
    "large does not come through, or nothing does: the path or a firewall on it drops it. Trust "
    "counts what has a reply in the capture; what the client did not get of that is in here.",
    advice=(
        MTU_OF_ANSWERS,
        Advice(
            "Capture at the client at the same time: what does not come there is lost on the way. "
            "Look at what is between them and has a smaller MTU: tunnels, VPNs, overlays, a switch "
            "port without jumbo frames; then at firewalls, links and switches."
        ),
    ),
)

_ENDED = Explanation(
    title="The server ended the connection instead of answering",
    why="A service that is stopped or fails does that to all of its connections; some do it to "
    "calls that they take for broken, and firewalls and load balancers do it in its name. The "
    "client did not send the call again: programs get an error, and whether the call was carried "
    "out is not known to them.",
    advice=(
        Advice(
            "Read the server's log at that moment: was its NFS service stopped, restarted or moved "
            "to another node, did it fail, or did it complain about what it got?"
        ),
        Advice(
            "Clients of operating systems connect again and send such calls once more; libraries "
            "in programs often leave that to the program, which has to look whether the call was "
            "carried out before it tries again."
        ),
    ),
)

_SOME_LEFT = "The server left some calls unanswered"

_FILES_BUSY = Explanation(
    title=_SOME_LEFT,
    why="It answered others meanwhile, so that neither it nor the path was down: it still "
    "works at these (storage that hangs, data on tape or in a cloud tier), or it or "
    "something on the way dropped them, or their answers.",
    advice=(
        Advice(
            "Look at the server for what these calls wait for: tasks that hang (Linux: "
            "dmesg, 'blocked for more than 120 seconds'; ps, state D), the file system "
            "and disks of these files."
        ),
    ),
)

_HANGING = Advice(
    "Look at the server at that time: tasks that hang (Linux: dmesg, 'blocked for "
    "more than 120 seconds'; ps, nfsd in state D), disks, memory, a failover."
)

_WHAT_DOES_NOT_ARRIVE = Advice(
    "Capture at the server at the same time: what does not arrive there is lost "
    "on the way. Look at the server (is it up, has its address moved?), at "
    "firewalls that forget connections, and at links and switches."
)

_SPARE_THE_PORTMAPPER = Advice(
    "Let port 111 over UDP through the firewall, or spare the question: mount with "
    "proto=tcp,mountproto=tcp, or name the ports (port=2049,mountport=). NFSv4 "
    "needs no portmapper."
)

_OVER_TCP = Advice("Mount with proto=tcp, and with mountproto=tcp for MOUNT and the portmapper.")

_WHETHER_THEY_ARRIVE = Advice(
    "Capture at the server at the same time: if the calls arrive there, look at "
    "the service; if not, at firewalls and the network."
)

_WHETHER_THE_HOST_HEARS = Advice(
    "Capture at the server at the same time: if the calls arrive there, look at the "
    "service (rpcinfo -p, its log); if not, at firewalls and the network."
)

_AT_BOTH_ENDS = Advice(
    "Capture at the server at the same time: what leaves one end and does not come to the other is "
    "lost on the way. Look at firewalls and tunnels that keep track of connections, and at links "
    "and switches."
)

_SERVICES = {
    "portmapper": "the portmapper",
    "mount": "the mount daemon or the portmapper",
    "login": "NFS, which logs the client in,",
}
"""Who is asked."""

_SEE = {
    "portmapper": Advice(
        "On the server see whether rpcbind runs, on which addresses and over which transports it "
        "listens (ss -tulpn 'sport = :111'; rpcbind.socket), and that rpcinfo -p answers."
    ),
    "mount": Advice(
        "On the server see whether mountd and rpcbind run (rpcinfo -p), and what mountd waits for: "
        "look-ups of the client's name (getent hosts ADDRESS), netgroups, LDAP, a file system "
        "below an export that hangs."
    ),
    "login": Advice(
        "See on the server what keeps the login: storage for its records of clients (Linux: "
        "/var/lib/nfs/nfsdcltrack or nfsdcld's), DNS and Kerberos, a grace period, and rpc.mountd, "
        "which a Linux server asks who may reach which export, with NFSv4 as well."
    ),
}
"""Where to look."""

_HARD = Advice(
    "Leave the mount hard, the default: programs then go on when the server answers again. With "
    "soft or softerr they get errors instead, and data may be lost."
)

RULE = Rule(
    id="unanswered_calls",
    title="Calls that were never answered",
    origin="practice: 'nfs: server not responding'; nfs(5), hard and soft",
    judge=judge,
    thresholds=(LEAST, RESENT),
)
