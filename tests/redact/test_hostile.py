"""What nobody can name is not told: markers in every place where bytes can hide, and damage."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pcapnfs import redaction
from tests.damage import Damage, File, duplicate, flip, lose, snap, swap
from tests.golden.regenerate import SAMPLES
from tests.oracles.tshark import require_tshark
from tests.redact import leaks
from tests.redact.compare import differences
from tests.redact.test_samples import KEY

MARKER = b"TheMarkerThatNobodyMaySee"

CLIENT, SERVER = bytes([10, 0, 0, 11]), bytes([10, 0, 0, 1])
NFS, PORTMAP = 100003, 100000
AUTH_SYS, RPCSEC_GSS = 1, 6


def padded(data: bytes) -> bytes:
    """Opaque data of variable length, as XDR has it."""
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def call(
    procedure: int,
    arguments: bytes,
    program: int = NFS,
    version: int = 3,
    credential: bytes = bytes(8),
    xid: int = 7,
) -> bytes:
    """A call, with its credential and an empty verifier."""
    head = struct.pack(">6I", xid, 0, 2, program, version, procedure)
    return head + credential + bytes(8) + arguments


def reply(results: bytes, verifier: bytes = bytes(8), xid: int = 7) -> bytes:
    """An accepted reply that succeeded."""
    return struct.pack(">3I", xid, 1, 0) + verifier + bytes(4) + results


def marked(message: bytes) -> bytes:
    """A message behind its record mark."""
    return struct.pack(">I", 0x80000000 | len(message)) + message


def ip(payload: bytes, protocol: int, back: bool = False, options: bytes = b"") -> bytes:
    """An IPv4 packet of the client, or back to it."""
    source, target = (SERVER, CLIENT) if back else (CLIENT, SERVER)
    length = 20 + len(options) + len(payload)
    first = 0x45 + len(options) // 4
    head = struct.pack(">BBHHHBBH", first, 0, length, 1, 0, 64, protocol, 0)
    return head + source + target + options + payload


def ethernet(packet: bytes, kind: int = 0x0800) -> bytes:
    """The packet in a frame."""
    return bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]) + struct.pack(">H", kind) + packet


def tcp(
    payload: bytes, sequence: int, back: bool = False, port: int = 2049, options: bytes = b""
) -> bytes:
    """A segment in its frame."""
    ports = (port, 700) if back else (700, port)
    offset = (20 + len(options)) // 4 << 4
    head = struct.pack(">HHIIBBHHH", *ports, sequence, 1, offset, 0x18, 1000, 0, 0)
    return ethernet(ip(head + options + payload, 6, back))


def fragment(offset: int, part: bytes, protocol: int, more: bool = True) -> bytes:
    """A piece of an IPv4 packet in its frame."""
    place = offset // 8 | (0x2000 if more else 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(part), 5, place, 64, protocol, 0)
    return ethernet(head + CLIENT + SERVER + part)


def udp(payload: bytes, back: bool = False, port: int = 2049) -> bytes:
    """A datagram in its frame."""
    ports = (port, 700) if back else (700, port)
    return ethernet(ip(struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload, 17, back))


def pcap(frames: list[bytes]) -> bytes:
    """A capture of Ethernet frames, a millisecond apart."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)]
    for number, frame in enumerate(frames):
        parts += [struct.pack("<IIII", 1, 1000 * number, len(frame), len(frame)), frame]
    return b"".join(parts)


def option(code: int, value: bytes) -> bytes:
    """An option of a block of pcapng."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def pcapng(frames: list[bytes], comment: bytes) -> bytes:
    """A capture with a comment in every place that has room for one."""
    every = b"".join(option(code, comment) for code in (1, 2, 3, 4, 11, 12, 15))
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + every + bytes(4))]
    parts.append(block(1, struct.pack("<HHI", 1, 0, 0) + every + bytes(4)))
    parts.append(block(4, struct.pack("<HH", 1, 4 + len(comment)) + CLIENT + comment + bytes(7)))
    parts.append(block(0xBAD, struct.pack("<I", 1) + padded(comment)))
    for number, frame in enumerate(frames):
        head = struct.pack("<IIIII", 0, 0, 1000 * number, len(frame), len(frame))
        data = frame + bytes(-len(frame) % 4)
        parts.append(block(6, head + data + option(1, comment) + bytes(4)))
    parts.append(block(5, struct.pack("<III", 0, 0, 0) + option(1, comment) + bytes(4)))
    return b"".join(parts)


def handle(data: bytes = b"a handle of 16 b") -> bytes:
    """A file handle of version 3."""
    return padded(data)


def exchange(arguments: bytes, results: bytes, procedure: int, **how: object) -> list[bytes]:
    """A call and its reply over TCP."""
    asked = marked(call(procedure, arguments, **how))  # type: ignore[arg-type]
    return [tcp(asked, 1), tcp(marked(reply(results)), 1, back=True)]


_SYS = struct.pack(">II", AUTH_SYS, 60) + struct.pack(">I", 9) + padded(MARKER)
_SYS += struct.pack(">IIIII", 1000, 1000, 1, 1000, 0)
_SEALED = struct.pack(">7I", RPCSEC_GSS, 20, 1, 0, 5, 3, 0)
_INTEGRITY = struct.pack(">7I", RPCSEC_GSS, 20, 1, 0, 5, 2, 0)
_INIT = struct.pack(">7I", RPCSEC_GSS, 20, 1, 1, 0, 1, 0)
_ATTRIBUTES = struct.pack(">I", 1) + bytes(84)
_LOOKUP, _READ, _WRITE, _CREATE = 3, 6, 7, 8

PLACES: dict[str, list[bytes]] = {
    "a name": exchange(handle() + padded(MARKER), struct.pack(">I", 2), _LOOKUP),
    "a handle": exchange(handle(MARKER), struct.pack(">I", 70), 1),
    "a machine name": exchange(handle(), struct.pack(">I", 2), 1, credential=_SYS[:8] + _SYS[8:68]),
    "data of a READ": exchange(
        handle() + bytes(12),
        struct.pack(">II", 0, 0) + struct.pack(">II", len(MARKER), 1) + padded(MARKER),
        _READ,
    ),
    "data of a WRITE": exchange(
        handle() + struct.pack(">QII", 0, len(MARKER), 2) + padded(MARKER),
        struct.pack(">I", 5),
        _WRITE,
    ),
    "behind the arguments": exchange(handle() + MARKER, struct.pack(">I", 2), 1),
    "behind the results": exchange(handle(), struct.pack(">I", 2) + MARKER, 1),
    "arguments of an unknown procedure": exchange(MARKER * 3, MARKER, 99),
    "arguments of an unknown program": exchange(MARKER, MARKER, 1, program=0x20000001),
    "arguments of a call passed on": exchange(
        struct.pack(">III", NFS, 3, 1) + padded(MARKER), MARKER, 5, program=PORTMAP, version=2
    ),
    "a sealed body": exchange(padded(MARKER * 2), padded(MARKER), 1, credential=_SEALED),
    "a checksum": exchange(
        padded(struct.pack(">I", 5) + handle()) + padded(MARKER), b"", 1, credential=_INTEGRITY
    ),
    "a token of Kerberos": exchange(padded(MARKER), padded(MARKER), 0, credential=_INIT),
    "a verifier": [
        tcp(marked(call(1, handle())), 1),
        tcp(
            marked(reply(struct.pack(">I", 2), struct.pack(">I", 6) + padded(MARKER))), 1, back=True
        ),
    ],
    "a reply without call": [tcp(marked(reply(MARKER * 2, xid=99)), 1, back=True)],
    "no message at all": [tcp(marked(call(1, handle())), 1), tcp(MARKER * 4, 81)],
    "bytes in front of a message": [tcp(MARKER * 2 + marked(call(1, handle())), 1)],
    "the middle of a stream that is no RPC": [tcp(MARKER * 10, 1, port=22)],
    "a message after a hole": [tcp(marked(call(1, handle())), 1), tcp(MARKER * 4, 9999)],
    "a message that goes on in another packet": [
        tcp(
            marked(call(7, handle() + struct.pack(">QII", 0, 50, 2) + padded(MARKER * 2)))[:130], 1
        ),
        tcp(
            marked(call(7, handle() + struct.pack(">QII", 0, 50, 2) + padded(MARKER * 2)))[130:],
            131,
        ),
    ],
    "a segment sent again with other bytes": [
        tcp(marked(call(1, handle())), 1),
        tcp((MARKER * 4)[: len(marked(call(1, handle())))], 1),
    ],
    "UDP data": [udp(MARKER, port=53), udp(MARKER)],
    "a message over UDP": [
        udp(call(_LOOKUP, handle() + padded(MARKER))),
        udp(reply(MARKER), back=True),
    ],
    "ARP": [ethernet(MARKER * 2, 0x0806)],
    "another protocol of Ethernet": [ethernet(MARKER * 2, 0x88CC)],
    "LLC": [ethernet(b"\xaa\xaa\x03" + MARKER, 40)],
    "ICMP": [ethernet(ip(MARKER * 2, 1))],
    "an IP option": [ethernet(ip(bytes(20) + MARKER, 6, options=b"\x44\x18" + MARKER[:22]))],
    "a TCP option": [tcp(b"", 1, options=b"\xfd\x1a" + MARKER[:24] + bytes(2))],
    "behind the IP packet": [tcp(marked(call(1, handle())), 1) + MARKER],
    "behind UDP's length": [
        ethernet(ip(struct.pack(">HHHH", 700, 2049, 8, 0) + MARKER, 17)),
    ],
    "a fragment": [fragment(0, (struct.pack(">HHHH", 700, 2049, 64, 0) + MARKER)[:32], 17)],
    "a fragment of TCP": [fragment(0, tcp(marked(MARKER), 1)[34:82], 6)],
    "TCP in fragments": [
        fragment(16, tcp(marked(call(1, handle()) + MARKER), 1)[50:], 6, more=False),
        fragment(0, tcp(marked(call(1, handle()) + MARKER), 1)[34:50], 6),
    ],
    "another protocol in fragments": [
        fragment(0, MARKER[:16], 132),
        fragment(16, MARKER[16:], 132, more=False),
    ],
    "a tunnel in fragments": [
        fragment(0, (struct.pack(">HH", 0, 0x0800) + ip(MARKER, 132))[:24], 47),
        fragment(24, (struct.pack(">HH", 0, 0x0800) + ip(MARKER, 132))[24:], 47, more=False),
    ],
    "options of GENEVE": [
        udp(struct.pack(">BBHI", 7, 0, 0x6558, 0) + (MARKER + bytes(3)) + tcp(b"", 1), port=6081),
    ],
    "tags of TZSP": [
        udp(
            struct.pack(">BBHBB", 1, 0, 1, 60, len(MARKER)) + MARKER + b"\x01" + tcp(b"", 1),
            port=37008,
        ),
    ],
    "addresses of a frame in a frame": [
        ethernet(struct.pack(">I", 7) + MARKER[:12] + tcp(b"", 1)[12:], 0x88E7),
        ethernet(struct.pack(">II", 0x140, 1) + MARKER[:12] + tcp(b"", 1)[12:], 0x8847),
    ],
    "VXLAN that is none": [udp(struct.pack(">BBHI", 8, 0, 0, 0) + MARKER * 2, port=4789)],
    "RDMA": [udp(MARKER * 2, port=4791)],
    "TLS": [tcp(b"\x17\x03\x03\x00\x19" + MARKER, 1)],
}
"""Captures that hold the marker in one place each."""


def left(found: bytes) -> list[bytes]:
    """Parts of the marker, five bytes long, that are there. Numbers may keep four."""
    return [MARKER[at : at + 5] for at in range(len(MARKER) - 4) if MARKER[at : at + 5] in found]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("strict", [False, True])
def test_a_marker_never_survives(place: str, strict: bool, tmp_path: Path) -> None:
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(pcap(PLACES[place]))
    redaction.redact(source, out, key=KEY, strict=strict)
    assert left(source.read_bytes())
    assert left(out.read_bytes()) == []
    assert len(out.read_bytes()) == len(source.read_bytes())


def test_what_a_capture_says_of_its_host_is_gone(tmp_path: Path) -> None:
    source, out = tmp_path / "in.pcapng", tmp_path / "out.pcapng"
    source.write_bytes(pcapng(PLACES["a name"], MARKER))
    redaction.redact(source, out, key=KEY)
    assert left(out.read_bytes()) == []
    assert differences(source, out) == []


def test_hardware_addresses_are_gone_and_broadcast_stays(tmp_path: Path) -> None:
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    maker = b"\x3c\xfd\xfe\x12\x34\x56"
    source.write_bytes(pcap([b"\xff" * 6 + maker + b"\x08\x06" + maker * 5]))
    redaction.redact(source, out, key=KEY)
    frame = out.read_bytes()[40:]
    assert maker not in frame
    assert (frame[:6], frame[12:14]) == (b"\xff" * 6, b"\x08\x06")
    assert frame[14:] == bytes(30)


_SMALL = [
    "k61-retrans-v3.pcap",
    "cachedread-v3-snap96.pcap",
    "k61-sec-krb5i-v3.pcap",
    "published-v41-tar.pcap",
]


@pytest.mark.parametrize(
    "damage",
    [lose(0.05, 1), snap(120), duplicate(0.1, 1), swap(0.1, 1)],
    ids=["lost", "cut", "seen twice", "out of order"],
)
@pytest.mark.parametrize("name", _SMALL)
def test_a_damaged_capture_tells_the_same_and_no_secret(
    name: str, damage: Damage, tmp_path: Path
) -> None:
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    file = File.read(SAMPLES / name)
    assert file is not None
    damage(file).write(source)
    redaction.redact(source, out, key=KEY)
    assert differences(source, out) == []


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_let_nothing_through(seed: int, tmp_path: Path) -> None:
    require_tshark()
    original = SAMPLES / _SMALL[seed]
    file = File.read(original)
    assert file is not None
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    flip(200, seed)(file).write(source)
    redaction.redact(source, out, key=KEY)
    assert leaks.found(leaks.secrets([original]), out.read_bytes()) == []


def _places() -> Iterator[list[bytes]]:
    yield from PLACES.values()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    frames=st.lists(
        st.sampled_from([frame for frames in _places() for frame in frames]), max_size=6
    ),
    cut=st.integers(0, 400),
    flips=st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 255)), max_size=4),
    packed=st.booleans(),
)
def test_no_bytes_break_it(
    frames: list[bytes], cut: int, flips: list[tuple[int, int]], packed: bool, tmp_path: Path
) -> None:
    data = bytearray(pcap(frames))
    for at, change in flips:
        if 24 <= at < len(data):
            data[at] ^= change
    whole = bytes(data[: max(24, len(data) - cut)])
    source, out = tmp_path / "in.pcap", tmp_path / ("out.pcap.gz" if packed else "out.pcap")
    source.write_bytes(whole)
    told = redaction.redact(source, out, key=KEY, overwrite=True)
    found = gzip.decompress(out.read_bytes()) if packed else out.read_bytes()
    # A flipped byte may make a number of what was none: some words of it then stay.
    assert MARKER not in found
    assert len(found) <= len(whole)
    assert told.packets <= len(frames)
