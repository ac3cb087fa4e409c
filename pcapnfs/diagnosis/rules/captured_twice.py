"""A capture that has its packets twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pcapnfs import units
from pcapnfs.analyses.captured.passed_on import PASSED_NS
from pcapnfs.diagnosis.finding import Advice, Observed, Rule
from pcapnfs.diagnosis.recapture import capture_again
from pcapnfs.diagnosis.thresholds import Threshold, Values
from pcapnfs.units import NANOSECONDS

if TYPE_CHECKING:
    from pcapnfs.analyses.captured.capture import Capture
    from pcapnfs.analyses.captured.passed_on import PassedOn
    from pcapnfs.analyses.wire.tcp_stalls import TcpStalls
    from pcapnfs.diagnosis.material import Material

SHARE = Threshold(
    "captured_twice.share", 0.05, "share", "packets that are copies of others",
    "default of this tool",
)  # fmt: skip
LEAST = Threshold(
    "captured_twice.least", 10, "packets", "that are copies, below which nothing is reported",
    "default of this tool",
)  # fmt: skip

ANOTHER_CLOCK = 0.45
"""Share of segments sent again from which on two captures are taken for two of the same packets:
all of them came again, which no network does."""

APART = "Two captures hold the same packets by clocks that are apart"

ONE_CLOCK = (
    Advice("Give one of the captures alone, that of the client for what it waited for."),
    Advice(
        "To see both ends at once, put one clock right first: editcap -t SECONDS IN OUT; "
        "NTP or PTP on both machines keeps them together for the next capture."
    ),
)

COPY = "duplicate"
"""The kind of packet that is a copy of another."""


def by_another_clock(material: Material, pair: TcpStalls) -> bool:
    """Whether what TCP seems to have sent again are the packets of another capture.

    Copies are known by coming within moments, or by what their sender numbered or stamped; some
    senders do neither, and two machines' clocks may be further apart than packets are remembered.
    Where such copies were found, what the others seem to have held up is none either.
    """
    resent = pair.client_resent + pair.server_resent
    return (
        len(material.capture.files) > 1
        and (not pair.stalls or material.capture.copies_apart > 0)
        and resent >= ANOTHER_CLOCK * pair.segments
        and min(pair.client_resent, pair.server_resent) > 0
    )


def judge(material: Material, values: Values) -> Iterator[Observed]:
    """One for the capture, and for each pair with two clocks, or whose calls go on elsewhere."""
    capture = material.capture
    yield from map(_passed_on, material.passed_on)
    yield from (
        _by_another_clock(pair)
        for pair in material.tcp_stalls
        if by_another_clock(material, pair)
        and pair.client_resent + pair.server_resent >= values[LEAST.name]
    )
    if not material.trust.rpc_calls:
        return
    least = max(values[LEAST.name], values[SHARE.name] * capture.packets)
    if capture.apart_s is not None and capture.copies_apart >= least:
        yield _apart(capture, capture.apart_s)
    copies = capture.packet_kinds.get(COPY, 0) - capture.copies_apart
    if copies < least:
        return
    yield Observed(
        severity="note",
        title="Packets are in the capture twice",
        seen=f"{units.count(copies)} of {units.counted(capture.packets, 'packet')} "
        f"{'is a copy' if copies == 1 else 'are copies'} of others. pcapnfs left them out.",
        why="The capture listened on several interfaces of one path (-i any, a bridge and its "
        "port, a VLAN and the link below it), or on a mirror port that sends each packet in both "
        "directions. Tools that do not notice count calls and retransmissions twice, and the "
        "capture is twice as large.",
        advice=(
            Advice(
                capture_again(
                    "Listen on one interface, that of the route to the server, as ip route get "
                    "SERVER tells it",
                    material,
                )
            ),
        ),
        confidence="certain",
        data=units.counted(capture.packets, "packet"),
    )


def _apart(capture: Capture, apart_s: float) -> Observed:
    copies = capture.copies_apart
    return Observed(
        severity="warning",
        title=APART,
        seen=f"{units.count(copies)} of {units.counted(capture.packets, 'packet')} "
        f"{'is a copy of one' if copies == 1 else 'are copies of others'} in another file, "
        f"{units.duration(apart_s)} later on average. pcapnfs left them out.",
        why="Two machines captured the same packets, and their clocks differ by about that. What "
        "both hold is told by the capture whose clock is behind. What only the other one holds "
        "stands too late among it: between the two, neither times nor their order are right.",
        advice=ONE_CLOCK,
        confidence="certain",
        data=units.counted(capture.packets, "packet"),
    )


def _by_another_clock(pair: TcpStalls) -> Observed:
    resent = pair.client_resent + pair.server_resent
    free = "" if pair.stalls else ", and no call stood still for it"
    return Observed(
        severity="warning",
        title=APART,
        seen=f"{units.count(resent)} of {units.counted(pair.segments, 'segment')} with data "
        f"({units.share(resent / pair.segments)}) came a second time, in both directions{free}.",
        why="Copies of packets are left out where they come within moments of one another, or "
        "where their sender's number or clock tells them. These came later, and nothing told: two "
        "machines captured the same packets, and their clocks differ. All of them count as sent "
        "again, and times from one capture's packet to the other's are none.",
        advice=ONE_CLOCK,
        confidence="likely",
        data=f"{units.counted(pair.segments, 'segment')} on "
        f"{units.counted(pair.connections, 'connection')}",
        frames=pair.frames,
        about=(pair.client, pair.server),
    )


def _passed_on(pair: PassedOn) -> Observed:
    behind = [
        f"the {whose} {address} is {onward}"
        for whose, address, onward in (
            ("client", pair.client, pair.onward_client),
            ("server", pair.server, pair.onward_server),
        )
        if address != onward
    ]
    return Observed(
        severity="warning",
        title="Calls are in the capture on both sides of a host that passes them on",
        seen=f"{units.counted(pair.calls, 'call')} went between two pairs of addresses within "
        f"{units.duration(PASSED_NS / NANOSECONDS)}, under the same xid and as long, and their "
        f"replies came back the other way: behind that host {' and '.join(behind)}.",
        why="A router that translates addresses (NAT), a load balancer or the host of containers "
        "was captured on all its interfaces. What looks like two clients or servers is one: all "
        "calls, files and times count twice in the totals of both.",
        advice=(
            Advice(
                "Look at one side alone: capture on one interface, or take it out of this capture: "
                f"tshark -r IN -w OUT -Y 'ip.addr=={pair.client} && ip.addr=={pair.server}' (ipv6."
                "addr for IPv6)."
            ),
        ),
        confidence="certain",
        data=units.counted(pair.calls, "call"),
        frames=pair.frames,
        about=(pair.client, pair.server),
    )


RULE = Rule(
    id="captured_twice",
    title="Packets captured twice",
    origin="same bytes again within moments, or in another file by another clock",
    judge=judge,
    thresholds=(SHARE, LEAST),
)
