"""Finds RPC headers in the packets of a capture without taking any protocol apart.

Takes a pcap file, plain or packed; gives the calls of one program and the replies to them, found by
the form of their first words alone (RFC 5531 section 9), wherever they stand in a packet. For the
captures in which tshark loses its place: what is found here is there, whatever became of the
connection. Promises to miss nothing but headers that lie across two packets, and to know nothing of
TCP. Only for captures whose data cannot look like a header by chance; the tests say why it cannot.
"""

from __future__ import annotations

import bz2
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PCAP_LITTLE_ENDIAN = 0xA1B2C3D4
_HEADER, _RECORD = 24, 16
"""Lengths of a pcap file's header and of that of each packet."""
_WORD = 4
"""Bytes of a word of XDR (RFC 4506 section 3)."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first words of a call or of a reply."""

    frame: int
    """The packet, counted from 1."""
    xid: int
    procedure: int | None
    """None in a reply."""


def calls(path: Path, program: int, version: int) -> Iterator[Header]:
    """Calls of one program: their xid stands before CALL, 2, program, version, procedure."""
    words = struct.pack(">IIII", 0, 2, program, version)
    for frame, packet in enumerate(packets(path), start=1):
        for at in places(packet, words):
            procedure = packet[at + len(words) :][:_WORD]
            if len(procedure) == _WORD:
                yield Header(frame, xid_before(packet, at), int.from_bytes(procedure))


def replies(path: Path, xids: frozenset[int]) -> Iterator[Header]:
    """Accepted replies with an empty verifier, to calls of these xids: REPLY, and four zeros."""
    words = struct.pack(">IIIII", 1, 0, 0, 0, 0)
    for frame, packet in enumerate(packets(path), start=1):
        for at in places(packet, words):
            xid = xid_before(packet, at)
            if xid in xids:
                yield Header(frame, xid, None)


def places(packet: bytes, words: bytes) -> Iterator[int]:
    """Where these words stand in a packet, behind another one at least."""
    at = packet.find(words, _WORD)
    while at >= 0:
        yield at
        at = packet.find(words, at + 1)


def xid_before(packet: bytes, at: int) -> int:
    """The word that stands before what was found."""
    return int.from_bytes(packet[at - _WORD : at])


def packets(path: Path) -> Iterator[bytes]:
    """The captured bytes of each packet.

    Raises:
        ValueError: It is no pcap file in little-endian byte order.
    """
    content = path.read_bytes()
    if path.suffix == ".bz2":
        content = bz2.decompress(content)
    (magic,) = struct.unpack_from("<I", content)
    if magic != _PCAP_LITTLE_ENDIAN:
        raise ValueError(f"{path.name}: no little-endian pcap file")
    at = _HEADER
    while at + _RECORD <= len(content):
        (length,) = struct.unpack_from("<I", content, at + 8)
        at += _RECORD
        yield content[at : at + length]
        at += length
