"""The same traffic in another form: other encapsulation, addresses, ports, segments.

Takes captures on Ethernet as `tests.damage` reads them; gives captures that hold the same messages
at the same times. Headers are written here, and share nothing with the decoder's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tests.damage import File, Frame

Form = Callable[[File], File]

IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP = 6, 17
FIN_OR_PSH = 0x09
"""Flags that belong to the last segment of several."""

ADDRESSES = bytes.fromhex("020000000001020000000002")
"""Two Ethernet addresses."""

INNER_ADDRESSES = bytes.fromhex("00505600aa0100505600aa02")
"""Two of a frame in a frame."""

TZSP_SENSOR = bytes.fromhex("00505600bb03")
"""Who sends what it captured."""

PREFIX = bytes.fromhex("fd00000000000000000000aa")
"""Of IPv6 addresses whose last four bytes are those of IPv4."""

FAR_ENDS = bytes([10, 99, 0, 1]), bytes([10, 99, 0, 2])
"""Of a tunnel."""


@dataclass(frozen=True, slots=True)
class _Packet:
    """An IPv4 packet of Ethernet, in parts; what Ethernet fills up to 60 bytes is left out."""

    frame: Frame
    header: bytes
    """Of IP, with its options."""
    body: bytes
    missing: int
    """Bytes of the body that are not captured."""

    @property
    def is_tcp(self) -> bool:
        return self.header[9] == TCP and not self.is_fragment

    @property
    def is_fragment(self) -> bool:
        return bool(int.from_bytes(self.header[6:8]) & 0x3FFF)

    @property
    def ip(self) -> bytes:
        return self.header + self.body


def _packets(file: File) -> Iterator[_Packet | Frame]:
    """Each packet in parts, or its frame if it is not one of IPv4."""
    assert file.link == 1
    for frame in file.frames:
        data = frame.data
        if data[12:14] != struct.pack(">H", IPV4):
            yield frame
            continue
        length = (data[14] & 15) * 4
        total = int.from_bytes(data[16:18]) or frame.wire_length - 14
        body = data[14 + length : 14 + total]
        yield _Packet(frame, data[14 : 14 + length], body, total - length - len(body))


def _checksum(header: bytes) -> bytes:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", ~total & 0xFFFF)


def _ipv4(source: bytes, destination: bytes, protocol: int, body: bytes, length: int) -> bytes:
    head = struct.pack(">BBHHHBB", 0x45, 0, 20 + length, 0, 0x4000, 64, protocol)
    ends = source + destination
    return head + _checksum(head + bytes(2) + ends) + ends + body


def _written(file: File, frames: Iterable[Frame], link: int = 1) -> File:
    header = file.header[:20] + struct.pack(file.order + "I", link)
    numbered = (replace(frame, number=number) for number, frame in enumerate(frames, 1))
    return File(header, file.order, link, tuple(numbered))


def _within(wrap: Callable[[_Packet], bytes], link: int = 1) -> Form:
    """Each packet behind other headers; `wrap` gives them with the packet."""

    def form(file: File) -> File:
        frames = []
        for packet in _packets(file):
            assert isinstance(packet, _Packet), "no such packet in a capture that is used here"
            data = wrap(packet)
            wire = len(data) + packet.missing
            frames.append(replace(packet.frame, data=data, wire_length=wire))
        return _written(file, frames, link)

    return form


def _tunnel(protocol: int, before: Callable[[_Packet], bytes]) -> Callable[[_Packet], bytes]:
    """Behind Ethernet, IPv4 and what `before` gives."""

    def wrap(packet: _Packet) -> bytes:
        source, destination = FAR_ENDS if packet.ip[12:16] < packet.ip[16:20] else FAR_ENDS[::-1]
        inner = before(packet) + packet.ip
        outer = _ipv4(source, destination, protocol, inner, len(inner) + packet.missing)
        return ADDRESSES + struct.pack(">H", IPV4) + outer

    return wrap


def _vxlan(packet: _Packet) -> bytes:
    inner = struct.pack(">II", 0x08000000, 0x12300) + ADDRESSES + struct.pack(">H", IPV4)
    length = 8 + len(inner) + len(packet.ip) + packet.missing
    return struct.pack(">4H", 50_000, 4789, length, 0) + inner


def _ipv6(packet: _Packet) -> bytes:
    header, length = packet.header, len(packet.body) + packet.missing
    source, destination = (PREFIX + header[at : at + 4] for at in (12, 16))
    ip = struct.pack(">IHBB", 0x60000000, length, header[9], 64) + source + destination
    return ADDRESSES + struct.pack(">H", IPV6) + ip + packet.body


def renumbered(file: File) -> File:
    """Other IPv4 addresses, as on the other side of a NAT."""
    frames = []
    for packet in _packets(file):
        assert isinstance(packet, _Packet)
        data = bytearray(packet.frame.data)
        data[26:28] = data[30:32] = bytes([172, 16])
        frames.append(replace(packet.frame, data=bytes(data)))
    return _written(file, frames)


def ports(old: int, new: int) -> Form:
    """One port is another."""

    def form(file: File) -> File:
        frames = []
        for packet in _packets(file):
            assert isinstance(packet, _Packet)
            data = bytearray(packet.frame.data)
            begin = 14 + len(packet.header)
            for at in (begin, begin + 2):
                if int.from_bytes(data[at : at + 2]) == old:
                    data[at : at + 2] = struct.pack(">H", new)
            frames.append(replace(packet.frame, data=bytes(data)))
        return _written(file, frames)

    return form


def segments(size: int) -> Form:
    """Segments of TCP are cut to that size, all at the time of the whole one."""

    def form(file: File) -> File:
        frames: list[Frame] = []
        for packet in _packets(file):
            if not isinstance(packet, _Packet) or not packet.is_tcp or packet.missing:
                frames.append(packet.frame if isinstance(packet, _Packet) else packet)
                continue
            offset = (packet.body[12] >> 4) * 4
            payload = packet.body[offset:]
            if len(payload) <= size:
                frames.append(packet.frame)
                continue
            sequence = int.from_bytes(packet.body[4:8])
            for at in range(0, len(payload), size):
                head = bytearray(packet.body[:offset])
                head[4:8] = struct.pack(">I", (sequence + at) & 0xFFFFFFFF)
                if at + size < len(payload):
                    head[13] &= ~FIN_OR_PSH
                frames.append(_with_body(packet, bytes(head) + payload[at : at + size], at // size))
        return _written(file, frames)

    return form


def fragments(mtu: int) -> Form:
    """Packets are cut into fragments of IP, the last of which comes first."""

    def form(file: File) -> File:
        frames: list[Frame] = []
        for number, packet in enumerate(_packets(file), 1):
            if not isinstance(packet, _Packet) or packet.missing or len(packet.ip) <= mtu:
                frames.append(packet.frame if isinstance(packet, _Packet) else packet)
                continue
            step = (mtu - 20) // 8 * 8
            pieces = []
            for at in range(0, len(packet.body), step):
                more = 0x2000 if at + step < len(packet.body) else 0
                whole = bytearray(packet.header)
                whole[4:8] = struct.pack(">HH", number % 65535 + 1, more | at // 8)
                piece = replace(packet, header=bytes(whole))
                pieces.append(_with_body(piece, packet.body[at : at + step], 0))
            frames += reversed(pieces)
        return _written(file, frames)

    return form


def _with_body(packet: _Packet, body: bytes, number: int) -> Frame:
    """The packet with a part of its body; `number` is counted on in its identification."""
    header = bytearray(packet.header)
    header[2:4] = struct.pack(">H", len(header) + len(body))
    if identification := int.from_bytes(header[4:6]):
        header[4:6] = struct.pack(">H", (identification + number - 1) % 65535 + 1)
    header[10:12] = bytes(2)
    header[10:12] = _checksum(bytes(header))
    data = packet.frame.data[:14] + bytes(header) + body
    return replace(packet.frame, data=data, wire_length=len(data))


def wrapping(file: File) -> File:
    """Sequence numbers of TCP begin near their end, so that they wrap."""
    beyond: dict[bytes, int] = {}
    frames = []
    for packet in _packets(file):
        assert isinstance(packet, _Packet)
        if not packet.is_tcp:
            frames.append(packet.frame)
            continue
        data = bytearray(packet.frame.data)
        begin = 14 + len(packet.header)
        source, destination = (packet.header[at : at + 4] for at in (12, 16))
        ports_ = packet.body[:2], packet.body[2:4]
        ahead = source + ports_[0] + destination + ports_[1]
        back = destination + ports_[1] + source + ports_[0]
        for flow, at in ((ahead, begin + 4), (back, begin + 8)):
            if flow is back and not packet.body[13] & 0x10:
                continue
            value = int.from_bytes(data[at : at + 4])
            shift = beyond.setdefault(flow, 0xFFFFF000 - value)
            data[at : at + 4] = struct.pack(">I", (value + shift) & 0xFFFFFFFF)
        _shift_sacks(data, begin, beyond.get(back, 0))
        frames.append(replace(packet.frame, data=bytes(data)))
    return _written(file, frames)


def _shift_sacks(data: bytearray, begin: int, shift: int) -> None:
    """Of selective acknowledgements (RFC 2018), the sequence numbers in a segment's options."""
    at, end = begin + 20, min(begin + (data[begin + 12] >> 4) * 4, len(data))
    while at + 1 < end and data[at]:
        if data[at] == 1:
            at += 1
            continue
        if data[at] == 5:
            for edge in range(at + 2, at + data[at + 1], 4):
                value = int.from_bytes(data[edge : edge + 4])
                data[edge : edge + 4] = struct.pack(">I", (value + shift) & 0xFFFFFFFF)
        at += max(2, data[at + 1])


def _tags(packet: _Packet) -> bytes:
    return ADDRESSES + struct.pack(">5H", 0x88A8, 100, 0x8100, 200, IPV4) + packet.ip


def _typed(*types: int) -> Callable[[_Packet], bytes]:
    """Behind an Ethernet type, what stands in such headers, and that of IPv4; each of 16 bits."""
    return lambda packet: ADDRESSES + struct.pack(f">{len(types) + 1}H", *types, IPV4) + packet.ip


def _frame_within(kind: int, before: bytes) -> Callable[[_Packet], bytes]:
    """A frame in a frame of this type, behind these bytes."""

    def wrap(packet: _Packet) -> bytes:
        inner = INNER_ADDRESSES + struct.pack(">H", IPV4) + packet.ip
        return ADDRESSES + struct.pack(">H", kind) + before + inner

    return wrap


def _tzsp(packet: _Packet) -> bytes:
    tags = bytes([0, 10, 1, 0xCE, 60, 6]) + TZSP_SENSOR + bytes([1])
    inner = struct.pack(">BBH", 1, 0, 1) + tags + INNER_ADDRESSES + struct.pack(">H", IPV4)
    length = 8 + len(inner) + len(packet.ip) + packet.missing
    return struct.pack(">4H", 50_000, 37008, length, 0) + inner


FORMS: dict[str, Form] = {
    "cooked": _within(lambda p: struct.pack(">3H8xH", 0, 1, 6, IPV4) + p.ip, 113),
    "cooked, version 2": _within(
        lambda p: struct.pack(">HHIHBB8x", IPV4, 0, 2, 1, 0, 6) + p.ip, 276
    ),
    "raw": _within(lambda p: p.ip, 101),
    "null": _within(lambda p: struct.pack("<I", 2) + p.ip, 0),
    "loopback of OpenBSD": _within(lambda p: struct.pack(">I", 2) + p.ip, 108),
    "tags within tags": _within(_tags),
    "VN-Tag": _within(_typed(0x8926, 5, 9, 0x8100, 200)),
    "Cisco's metadata": _within(_typed(0x8909, 0x101, 1, 100)),
    "E-Tag": _within(_typed(0x893F, 0, 1, 0)),
    "R-Tag": _within(_typed(0xF1C1, 0, 7)),
    "backbone": _within(_frame_within(0x88E7, struct.pack(">I", 7))),
    "FabricPath": _within(_frame_within(0x8903, struct.pack(">H", 1 << 6 | 32))),
    "pseudowire": _within(_frame_within(0x8847, struct.pack(">I", 1000 << 12 | 0x140))),
    "pseudowire with a control word": _within(
        _frame_within(0x8847, struct.pack(">II", 1000 << 12 | 0x140, 1))
    ),
    "TZSP": _within(_tunnel(UDP, _tzsp)),
    "GRE": _within(_tunnel(47, lambda _: struct.pack(">HH", 0, IPV4))),
    "VXLAN": _within(_tunnel(UDP, _vxlan)),
    "IP in IP": _within(_tunnel(4, lambda _: b"")),
    "MPLS": _within(
        lambda p: ADDRESSES + struct.pack(">HI", 0x8847, 1000 << 12 | 0x140) + p.ip
    ),
    "IPv6": _within(_ipv6),
    "renumbered": renumbered,
    "another port": ports(2049, 12049),
    "sequence numbers that wrap": wrapping,
    "small segments": segments(536),
    "fragments": fragments(576),
}  # fmt: skip
"""Each by its name."""
