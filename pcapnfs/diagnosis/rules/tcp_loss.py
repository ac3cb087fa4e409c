"""Segments lost on the way, some or all for a while: TCP sent them again, and calls stood still."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from pcapnfs import units
from pcapnfs.analyses.wire.tcp_stalls import arrival
from pcapnfs.analyses.wire.tcp_timeouts import CUT_S, SLOW_TIMEOUT_NS, TIMEOUT_NS
from pcapnfs.diagnosis.claims import by_row
from pcapnfs.diagnosis.finding import Advice, Observed, Rule, Severity
from pcapnfs.diagnosis.nconnect import more_than
from pcapnfs.diagnosis.rules.captured_twice import by_another_clock
from pcapnfs.diagnosis.rules.unanswered_calls import MTU_OF_ANSWERS
from pcapnfs.diagnosis.severity import by_cost
from pcapnfs.diagnosis.systems import is_other_client
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.wire.loss_rate import LossRate
    from pcapnfs.analyses.wire.tcp_stalls import TcpStalls
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "tcp_loss.share", 0.001, "share", "segments with data that were lost and sent again",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "tcp_loss.least", 5, "segments", "lost and sent again, below which nothing is reported",
    "default of this tool",
)  # fmt: skip
GRAVE = Threshold(
    "tcp_loss.grave", 0.01, "share", "segments lost: a warning whatever the cost seen",
    "practice: TCP's throughput falls with the square root of the loss (RFC 5348 section 3.1)",
)  # fmt: skip


CUT = Threshold(
    "tcp_loss.cut", CUT_S, "s", "what one call stood still: from here on the path was cut, and it "
    "is told however few segments that took",
    "RFC 6298 section 5.5: the timer doubles, from 200 ms in practice: four losses in a row",
)  # fmt: skip

Case: TypeAlias = Literal["undelivered", "cut", "held", "late", "arrived", "lost"]
"""What the segments that were sent again tell: that answers do not reach the client, that nothing
got through for a while, that losses hold a transfer down, that nothing was lost, that what was
sent again was not, or neither."""

RESENT = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
"""Of what was sent again Wireshark takes some for out of order: what comes within a few
milliseconds, where the capture does not have what was lost."""

TRIES = 15
"""As often Linux sends a segment again before it takes the connection for broken (tcp_retries2)."""


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for each client and server."""
    for pair in material.tcp_stalls:
        held = [
            each
            for each in material.loss_rates
            if (each.client, each.server) == (pair.client, pair.server)
        ]
        vain = _vain(material, pair)
        if undelivered := _told_as_unanswered(material, pair):
            vain += pair.undelivered_resent
        lost = max(pair.lost - vain, 0)
        cut = pair.longest_s >= values[CUT.name] and lost >= _tries(pair.longest_s)
        few = lost < values[LEAST.name] or lost <= values[SHARE.name] * pair.segments
        few = few and not cut and not held
        claims = by_row(_time_s(pair, held))
        by_its_cost = by_cost(material, claims, clients=(pair.client,))
        # Few are told where they took much, since the verdict names it, too. Of two clocks the rule
        # captured_twice speaks.
        if (few and (by_its_cost == "note" or not lost)) or by_another_clock(material, pair):
            continue
        if few:
            by_its_cost = "warning" if by_its_cost == "problem" else "note"
        case = _case(pair, cut=cut, held=bool(held), told=undelivered)
        seen = pair.client_resent + pair.server_resent > 0
        sure = seen and lost >= 10 * values[LEAST.name] and case in ("undelivered", "lost")
        grave = cut or lost >= values[GRAVE.name] * pair.segments
        yield Observed(
            severity=_severity(case, by_its_cost, grave=grave),
            at_most=by_its_cost if few else "problem",
            title=_TITLES[case],
            seen=_seen(pair, vain, held, cut=cut),
            why=_WHYS[case],
            advice=_advice(material, pair, held, case),
            confidence="certain" if sure else "likely",
            data=f"{units.counted(pair.segments, 'segment')} on "
            f"{units.counted(pair.connections, 'connection')}",
            frames=pair.frames,
            claims=claims,
            about=(pair.client, pair.server),
            display_filter=RESENT,
        )


def _severity(case: Case, by_its_cost: Severity, *, grave: bool) -> Severity:
    if case == "undelivered":
        return "problem"
    return "warning" if by_its_cost == "note" and grave else by_its_cost


def _seen(pair: TcpStalls, vain: int, held: Sequence[LossRate], *, cut: bool) -> str:
    """What was sent again, and what that cost; `vain`: so much of it for a host out of reach."""
    resent = pair.client_resent + pair.server_resent
    if not resent:
        return _tails(pair)
    text = (
        f"{units.count(resent)} of {units.counted(pair.segments, 'segment')} with data "
        f"({units.share(resent / pair.segments)}) {'was' if resent == 1 else 'were'} sent again: "
        f"{units.count(pair.client_resent)} by the client, "
        f"{units.count(pair.server_resent)} by the server."
    )
    if vain:
        text += f" {units.count(vain)} of these went to a host that did not answer any more."
    if pair.spurious:
        text += (
            f" {units.count(pair.spurious)} of them had arrived before, as the other end says "
            "(D-SACK)."
        )
    if pair.out_of_order:
        text += f" {units.count(pair.out_of_order)} came out of order."
    text += _stood_still(pair) if cut else f"{_stalls(pair)}{_on_one(pair)}"
    return text + "".join(_held_down(each) for each in held) + _undelivered(pair)


def _tails(pair: TcpStalls) -> str:
    """What stood still where nothing in the capture was sent again."""
    took_s = sum(pair.time_s.values())
    return (
        f"{units.counted(pair.stalls, 'message')} stopped before the end, for "
        f"{units.duration(took_s / pair.stalls)} on average, {units.duration(took_s)} in all. Most "
        "like them came without a gap, the gaps are as long as one another, and what had come "
        "before was acknowledged at once: nobody waited for an ACK. So the last segments were lost "
        "before they came by here, and came when the sender's timer had run out."
    )


def _advice(
    material: Material, pair: TcpStalls, held: Sequence[LossRate], case: Case
) -> tuple[Advice, ...]:
    if case == "undelivered":
        return MTU_OF_ANSWERS, _AT_CLIENT
    if case == "cut":
        return _CUT
    if case == "late":
        return _RUN
    if case == "arrived":
        return _RUN[0], _LOSS[0]
    one_link = (_ONE_LINK,) if _on_one(pair) else ()
    return *one_link, *(_held_advice(material, held) if held else _LOSS)


_WHY_UNDELIVERED = (
    "The client was there: it went on sending. It never acknowledged the answers, of which "
    "the server sent the first part over and over: the path, or a firewall on it, drops them. "
    "Programs on the mount wait for them, though the server answered at once: what it says here of "
    "service times, and of the client's own time, does not hold for these calls."
)

_AT_CLIENT = Advice(
    "Capture at the client at the same time: what does not come there is lost on the way. Look at "
    "what is between them and has a smaller MTU: tunnels, VPNs, overlays, a switch port without "
    "jumbo frames."
)


def _undelivered(pair: TcpStalls) -> str:
    """What the client never acknowledged."""
    if not pair.undelivered:
        return ""
    return (
        f" {units.counted(pair.undelivered, 'connection')} ended while the server sent again what "
        f"the client never acknowledged: {units.size(pair.undelivered_bytes)}, in "
        f"{units.counted(pair.undelivered_resent, 'segment')} more than once."
    )


_WHY_LATE = (
    "Each end had what the other one sent again, and no loss does that to both. Answers came, but "
    "later than the sender's timer (200 ms and more): a host, or what forwards between them, did "
    "not get to run, or a queue held them. Calls waited for that, and not for what was sent again."
)

_WHY_ARRIVED = (
    "What was sent again was not lost. Either its answer was, or that came later than the sender's "
    "timer (200 ms and more): a host did not get to run, or a queue held it. Calls waited for that."
)

_RUN = (
    Advice(
        "Look for what stands still at that time: processors of both hosts (mpstat, steal time of "
        "virtual machines, other machines on the same hypervisor), a virtual machine that is "
        "paused for snapshots or moved, firewalls and VPN gateways at their limit."
    ),
    Advice(
        "If no host stands still, look for a queue: a link or shaper that other traffic fills "
        "(ping at that time takes as long), Wi-Fi. Cables and error counters come last."
    ),
)


def _case(pair: TcpStalls, *, cut: bool, held: bool, told: bool) -> Case:
    """Which case it is.

    Args:
        pair: What TCP lost between a client and a server.
        cut: The path let nothing through for a while.
        held: Lost segments hold a transfer down.
        told: Another rule tells what was not delivered.
    """
    if pair.undelivered and not told:
        return "undelivered"
    if cut:
        return "cut"
    if held:
        return "held"
    if not pair.client_resent + pair.server_resent:
        return "lost"
    found = arrival(pair.client_resent, pair.server_resent, pair.spurious)
    # What others overtake is sent again for nothing, too, and its answer is not late.
    return "lost" if found == "arrived" and pair.out_of_order else found


def _time_s(pair: TcpStalls, held: Sequence[LossRate]) -> Mapping[str, float]:
    """What of the clock it took; calls that stood still while their data moved are in both."""
    if not held:
        return pair.time_s
    moving_s = sum(each.time_s for each in held)
    return {**pair.time_s, "transfer": max(moving_s, pair.time_s.get("transfer", 0.0))}


def _held_down(rate: LossRate) -> str:
    """How fast data moved, and how fast TCP moves it where so much is lost."""
    several = rate.connections > 1
    on_the_wire = units.count(round(rate.lost / rate.lost_share))
    return (
        f" The {rate.sender}'s data moved at {units.rate(rate.bytes_per_s)}"
        + (f" on each of {units.count(rate.connections)} connections" if several else "")
        + f"; of its {on_the_wire} segments on the wire (the capture may have several as one) "
        f"{units.count(rate.lost)} were lost ({units.share(rate.lost_share)}). "
        f"Where that many are and a round trip takes {units.duration(rate.rtt_s)}, TCP comes to "
        f"about {units.size(rate.allowed_bytes_per_s)} a second"
        + (" on a connection." if several else ".")
    )


def _held_advice(material: Material, held: Sequence[LossRate]) -> tuple[Advice, ...]:
    """Where data moves no faster for it, what lets more of it through is worth something, too."""
    return (_LOSS[0], *_shared(material, held[0]), _control(held))


def _shared(material: Material, rate: LossRate) -> Iterator[Advice]:
    """That more connections carry more, where there are calls for them and the client can."""
    if is_other_client(material, rate.client):
        return
    for pair in material.caps.pairs:
        if (pair.client, pair.server) != (rate.client, rate.server) or pair.mean < AT_ONCE:
            continue
        if more := more_than(pair.connections):
            yield Advice(
                "Until that is mended, let more connections carry it: each slows down for its own "
                f"losses alone. With Linux 5.3 and later, mount with nconnect={more}; it was "
                f"{units.count(pair.connections)}, and may be 16. Mounts of one server share its "
                "connections, and the first says how many: unmount all of them before.",
                "where a port drops because it is full, more connections make it drop more.",
            )


AT_ONCE = 2.0
"""Calls under way at once, on average: with fewer, other connections would have nothing to do."""


def _control(held: Sequence[LossRate]) -> Advice:
    where = " and ".join(f"the {sender}" for sender in sorted({each.sender for each in held}))
    return Advice(
        f"Or let {where} not take each loss for a full link: BBR goes by rate and round trip (on "
        "Linux net.ipv4.tcp_congestion_control=bbr, for connections made from then on).",
        "on a link that is full it may take the share of others.",
    )


def _vain(material: Material, pair: TcpStalls) -> int:
    """Segments that were sent to a host out of reach: `unanswered_calls` speaks of these.

    So does `rpc_retransmission` of those before a connection broke, and `delegation_recall` of
    those to a client that does not give a delegation back, if no other call stood still.
    """
    ends = pair.client, pair.server
    silent = sum(each.resent for each in material.unanswered if (each.client, each.server) == ends)
    if pair.stalls:
        return min(silent, pair.client_resent)
    broken = any(each.moved for each in material.resent_calls if (each.client, each.server) == ends)
    deaf = any(
        each.recalled > each.returned
        for each in material.recalls
        if (each.holder, each.server) == ends
    )
    return min(max(silent, TRIES if broken else 0), pair.client_resent) + min(
        TRIES if deaf else 0, pair.server_resent
    )


def _told_as_unanswered(material: Material, pair: TcpStalls) -> bool:
    """Whether `unanswered_calls` tells that what the server sent did not reach the client."""
    ends = pair.client, pair.server
    return any(
        each.undelivered > 0 and (each.client, each.server) == ends for each in material.unanswered
    )


def _tries(longest_s: float) -> int:
    """How often TCP sends a segment again in that time, at least."""
    return math.floor(math.log2(longest_s * NANOSECONDS / SLOW_TIMEOUT_NS + 1))


def _stalls(pair: TcpStalls) -> str:
    """What single segments that were lost cost."""
    if not pair.stalls:
        return (
            " No call that was answered stood still for as long as TCP's retransmission timer "
            "takes."
        )
    took_s = sum(pair.time_s.values())
    if took_s < pair.stalls * TIMEOUT_NS / NANOSECONDS:
        return (
            f" {units.counted(pair.stalls, 'call')} stood still until something was sent again, "
            f"{units.duration(took_s)} in all ({units.duration(took_s / pair.stalls)} on average)"
            + _longest(pair)
            + "."
        )
    return (
        f" {units.counted(pair.stalls, 'call')} stood still for as long as TCP's retransmission "
        f"timer takes (200 ms and more), {units.duration(took_s)} in all" + _longest(pair) + "."
    )


def _longest(pair: TcpStalls) -> str:
    """When the longest of them was sent."""
    if pair.longest_from_ns is None or not pair.longest_s:
        return ""
    at = units.clock(pair.longest_from_ns)
    if pair.longest_late:
        return f"; the longest came after the reply sent at {at} UTC"
    return f"; {'it' if pair.stalls == 1 else 'the longest'} was sent at {at} UTC"


def _stood_still(pair: TcpStalls) -> str:
    """What it cost that the path was cut."""
    calls, sent = units.counted(pair.stalls, "call"), units.clock(pair.longest_from_ns or 0)
    cost = units.duration(sum(pair.time_s.values()))
    if pair.longest_late:
        return (
            f" {calls} took {cost} of the clock longer, or came that much later, for it; after the "
            f"reply sent at {sent} UTC the server sent again what the client did not acknowledge "
            f"for {units.duration(pair.longest_s)}."
        )
    longest = f"sent at {sent} UTC, stood still for {units.duration(pair.longest_s)}."
    if pair.stalls == 1:
        return f" One call, {longest}"
    return f" {calls} took {cost} of the clock longer for it; the longest, {longest}"


_WHY = (
    "They were lost, or overtaken by so many that they were taken for lost. NFS sends small "
    "messages with nothing behind them, so that a loss is noticed only when the timer runs out: "
    "one lost segment costs a call 200 ms. In bulk transfers TCP slows down instead."
)

_WHY_HELD = (
    "TCP takes a loss for a full link: it sends less, by a third or half, and then a little more "
    "in each round trip until the next loss. What that comes to falls with the round trip and with "
    "the square root of the loss, however fast the link is (Mathis et al. 1997, RFC 5348 section "
    "3.1)."
)

_WHY_CUT = (
    "No single loss takes that long: TCP waits twice as long before each try, and none of several "
    "in a row came through. A link, a switch, a route or a firewall was down or dropped all, or "
    "one of the two hosts stood still. Calls wait for TCP's next try, up to twice as long as the "
    "path was cut."
)


_TITLES: Mapping[Case, str] = {
    "undelivered": "What the server sends does not reach the client",
    "cut": "The path let nothing through for a while",
    "held": "Lost segments hold the transfer down",
    "late": "TCP sent again what had arrived: it was late, and not lost",
    "arrived": "TCP sent again what had arrived",
    "lost": "TCP had to send segments again",
}

WHOLE = (_TITLES["undelivered"], _TITLES["cut"])
"""What the titles begin with where nothing got through: that takes few segments."""

_WHYS: Mapping[Case, str] = {
    "undelivered": _WHY_UNDELIVERED,
    "cut": _WHY_CUT,
    "held": _WHY_HELD,
    "late": _WHY_LATE,
    "arrived": _WHY_ARRIVED,
    "lost": _WHY,
}


def _on_one(pair: TcpStalls) -> str:
    """That nearly all was lost on one of several connections, which is no chance."""
    worst, resent = pair.worst, pair.client_resent + pair.server_resent
    if (
        worst is None
        or worst.resent < ON_ONE[0]
        or worst.resent < ON_ONE[1] * resent
        or worst.segments > ON_ONE[2] * (worst.segments + worst.beside)
    ):
        return ""
    return (
        f" {units.count(worst.resent)} of those sent again were on the connection from port "
        f"{worst.port}, which carried {units.count(worst.segments)} segments; "
        f"{units.count(worst.beside)} went over others at the same time."
    )


ON_ONE = (10, 0.9, 0.5)
"""Segments sent again on one connection at least, which part of all that is at least, and which
part of all segments of that time it carried at most: a chance of one in a thousand."""

_ONE_LINK = Advice(
    "Look at the single links first: the other connections of the same hosts lose next to nothing. "
    "Switches and routers choose a link by the ports of a flow (members of a bond, paths of equal "
    "cost), network cards a queue and a processor. Another mount may take another way, with other "
    "ports."
)

_LOSS = (
    Advice(
        "Look for the place: error and drop counters of both network cards (ip -s link, ethtool "
        "-S) and of each switch port, duplex and MTU mismatch, cables and optics, Wi-Fi; compare "
        "captures at both ends."
    ),
    Advice(
        "Where a fast port feeds a slow one (10 to 1 Gbit/s, incast of many servers), give the "
        "switch port more buffer or use flow control or ECN; fewer connections (nconnect) and "
        "smaller rsize/wsize shorten the bursts.",
        "smaller rsize/wsize cost throughput on a clean network.",
    ),
)

_CUT = (
    Advice(
        "Read what happened at that moment (clocks may differ): links that went down (dmesg of "
        "both hosts, logs of the switches), spanning tree, the failover of a bond, router, "
        "firewall or server address, a virtual machine that was paused or moved."
    ),
    Advice(
        "If it comes again, ping the server and each router before it from the client meanwhile: "
        "the first that is silent leads to the place. Capture at the server as well: what arrives "
        "there tells the direction."
    ),
)

RULE = Rule(
    id="tcp_loss",
    title="TCP segments lost and sent again",
    origin="practice; RFC 6298 (retransmission timer)",
    judge=judge,
    thresholds=(SHARE, LEAST, GRAVE, CUT),
)
