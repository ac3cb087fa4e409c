"""TCP and tunnels in fragments of IP: the same analysis, and the same fragments."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from pcapnfs import redaction
from pcapnfs.record import replace
from pcapnfs.synth.builder.capture import Capture
from pcapnfs.synth.builder.packet import UDP, Frame, Link, Packet
from pcapnfs.synth.simulation.options import Options
from pcapnfs.synth.simulation.run import Simulation
from tests.damage import rows
from tests.decoded import decode
from tests.oracles.tshark import require_tshark
from tests.redact.compare import differences
from tests.redact.test_samples import KEY

MTU = 576
STEP_NS = 1_000
"""Between two fragments of a packet."""

Cut = Callable[[Frame], list[Frame]]


def plain() -> Capture:
    """Twenty files are written, some of them in several segments."""
    return Simulation(Options(files=20, size=4000)).run()[0]


def packet_of(frame: Frame) -> Packet:
    """The packet of TCP over IPv4 that is in a frame of Ethernet."""
    header, segment = frame.data[14:34], frame.data[34:]
    ports = struct.unpack_from(">HH", segment)
    seq, ack, offset, flags, window = struct.unpack_from(">IIBBH", segment, 4)
    body = 4 * (offset >> 4)
    return Packet(
        source=str(IPv4Address(header[12:16])),
        destination=str(IPv4Address(header[16:20])),
        source_port=ports[0],
        destination_port=ports[1],
        payload=segment[body:],
        seq=seq,
        ack=ack,
        flags=flags,
        window=window,
        options=segment[20:body],
        ip_id=int.from_bytes(header[4:6]),
        ttl=header[8],
    )


def pieces(frame: Frame, packet: Packet | None = None) -> list[Frame]:
    """The fragments of a packet, one after the other."""
    cut = (packet or packet_of(frame)).fragments(frame.link, MTU)
    return [
        Frame(time_ns=frame.time_ns + at * STEP_NS, data=data, link=frame.link)
        for at, data in enumerate(cut)
    ]


def in_order_of(frames: list[Frame], order: list[int]) -> list[Frame]:
    """The same frames in another order, at the times of the first, the second …"""
    return [frames[one].at(frames[0].time_ns + at * STEP_NS) for at, one in enumerate(order)]


def reverse(frame: Frame) -> list[Frame]:
    """The last fragment comes first, as old Linux sends them."""
    cut = pieces(frame)
    return in_order_of(cut, list(range(len(cut)))[::-1])


def shuffled(frame: Frame) -> list[Frame]:
    """In any order, and some twice."""
    cut = pieces(frame)
    order = [*range(len(cut)), *range(len(cut) // 2)]
    random.Random(frame.time_ns).shuffle(order)
    return in_order_of(cut, order)


def twice(frame: Frame) -> list[Frame]:
    """Each seen on two interfaces; all of the second a little later."""
    cut = pieces(frame)
    return [*cut, *(each.at(each.time_ns + len(cut) * STEP_NS) for each in cut)]


def of_v6(frame: Frame) -> list[Frame]:
    """Over IPv6, whose fragments are told by a header of their own."""
    packet = packet_of(frame)
    source, destination = (
        f"2001:db8::{address.rpartition('.')[2]}" for address in (packet.source, packet.destination)
    )
    return pieces(frame, replace(packet, source=source, destination=destination))


def in_vxlan(frame: Frame) -> list[Frame]:
    """Whole in a tunnel's datagram, which is cut."""
    inner = packet_of(frame).encode(Link.ETHERNET)
    outer = Packet(
        source="192.0.2.1",
        destination="192.0.2.2",
        source_port=50_000,
        destination_port=4789,
        payload=struct.pack(">II", 0x08000000, 7 << 8) + inner,
        protocol=UDP,
        ip_id=frame.time_ns // 1000 % 65_535 + 1,
    )
    return pieces(frame, outer)


def within_vxlan(frame: Frame) -> list[Frame]:
    """Cut, and each fragment whole in a datagram of the tunnel."""
    outer = Packet(
        source="192.0.2.1",
        destination="192.0.2.2",
        source_port=50_000,
        destination_port=4789,
        protocol=UDP,
    )
    return [
        replace(
            each,
            data=replace(
                outer,
                payload=struct.pack(">II", 0x08000000, 7 << 8) + each.data,
                ip_id=each.time_ns // 1000 % 65_535 + 1,
            ).encode(frame.link),
        )
        for each in pieces(frame)
    ]


def overlapping(frame: Frame) -> list[Frame]:
    """Behind the first fragment another with other bytes of the same place: the first counts."""
    first, *rest = pieces(frame)
    if not rest:
        return [first]
    other = replace(first, data=first.data[:-8] + b"\xff" * 8)
    return in_order_of([first, other, *rest], list(range(2 + len(rest))))


def snapped(frame: Frame) -> list[Frame]:
    """The snaplen cut each fragment."""
    return [
        replace(each, data=each.data[:240], original_length=len(each.data))
        if len(each.data) > 240
        else each
        for each in pieces(frame)
    ]


def without_last(frame: Frame, packet: Packet | None = None) -> list[Frame]:
    """Of one of five packets the last fragment was lost."""
    cut = pieces(frame, packet)
    number = int.from_bytes(frame.data[18:20])
    return cut[:-1] if len(cut) > 1 and number % 5 == 0 else cut


def as_datagrams(frame: Frame) -> list[Frame]:
    """The only message of a segment in a datagram, of which the last fragment may be lost."""
    packet = packet_of(frame)
    if len(packet.payload) < 4:
        return []
    datagram = replace(packet, protocol=UDP, options=b"", payload=packet.payload[4:])
    return without_last(replace(frame, data=datagram.encode()), datagram)


CUTS: dict[str, Cut] = {
    "one after the other": pieces,
    "the last first": reverse,
    "in any order, some twice": shuffled,
    "on two interfaces": twice,
    "of IPv6": of_v6,
    "of a tunnel": in_vxlan,
    "in a tunnel": within_vxlan,
    "overlapping": overlapping,
    "cut by the snaplen": snapped,
    "some lost": without_last,
}


def cut_up(cut: Cut, path: Path, whole: Capture) -> None:
    """Writes the capture with each packet cut."""
    path.write_bytes(Capture(each for frame in whole.frames for each in cut(frame)).pcap())


@pytest.mark.parametrize("name", CUTS)
def test_what_came_in_fragments_tells_the_same(name: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    whole = plain()
    cut_up(CUTS[name], source, whole)
    redaction.redact(source, out, key=KEY)
    assert differences(source, out) == []
    assert len(source.read_bytes()) == len(out.read_bytes())
    calls = "SELECT count(*) FROM calls WHERE undecoded IS NULL"
    ((found,),) = rows(out, calls)
    (tmp_path / "whole.pcap").write_bytes(whole.pcap())
    ((all_calls,),) = rows(tmp_path / "whole.pcap", calls)
    if name in ("cut by the snaplen", "some lost"):
        assert 0 < found < all_calls
    else:
        assert found == all_calls


_TOLD = ("ip.id", "ip.frag_offset", "ip.flags.mf", "ipv6.fraghdr.offset", "frame.len", "ip.ttl")
_WRONG = (
    "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0"
    " || _ws.malformed"
)


@pytest.mark.parametrize(
    "name", ["the last first", "on two interfaces", "of IPv6", "of a tunnel", "in a tunnel"]
)
def test_the_fragments_are_the_same_and_their_checksums_right(name: str, tmp_path: Path) -> None:
    require_tshark()
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    cut_up(CUTS[name], source, plain())
    redaction.redact(source, out, key=KEY)
    fields = [word for field in _TOLD for word in ("-e", field)]
    told = [_tshark(path, "-T", "fields", *fields) for path in (source, out)]
    assert told[0] == told[1]
    assert "1" in told[0]
    assert len(_tshark(out, "-Y", "nfs").splitlines()) == len(
        _tshark(source, "-Y", "nfs").splitlines()
    )
    assert _tshark(out, "-Y", _WRONG) == _tshark(source, "-Y", _WRONG) == ""


def _tshark(path: Path, *words: str) -> str:
    checks = [
        word
        for protocol in ("ip", "tcp", "udp")
        for word in ("-o", f"{protocol}.check_checksum:TRUE")
    ]
    command = ["tshark", "-n", "-r", str(path), *checks, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_fragments_of_datagrams_are_told_too_where_others_are_missing(tmp_path: Path) -> None:
    """A datagram that was never whole is told as far as it goes, without a checksum."""
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    cut_up(as_datagrams, source, Simulation(Options(files=20, size=1000)).run()[0])
    redaction.redact(source, out, key=KEY)
    assert differences(source, out) == []
    unfinished = [decode(path)["limits_hit"]["fragments_unfinished"] for path in (source, out)]
    assert unfinished[0] == unfinished[1] > 0
    assert rows(out, "SELECT count(*) FROM calls WHERE op = 'WRITE'") == [(20,)]
