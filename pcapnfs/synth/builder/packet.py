"""One packet: addresses, ports, sequence numbers and payload → the bytes of a link-layer frame.

Headers are packed by hand for speed; ``reference`` builds the same frame with scapy, and a test
holds both side by side.  Checksums are correct.
"""

import struct
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from pcapnfs.record import Record, replace

TCP = 6
UDP = 17
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
ETHERTYPE_VLAN = 0x8100
ETHERTYPE_QINQ = 0x88A8

IPV4_HEADER = 20
IPV6_HEADER = 40
IPV6_FRAGMENT = 44
SMALLEST_ETHERNET = 60


class Link(IntEnum):
    """LINKTYPE_* numbers, as pcap and pcapng carry them."""

    NULL = 0
    ETHERNET = 1
    RAW = 101
    LOOP = 108
    LINUX_SLL = 113
    LINUX_SLL2 = 276


class Packet(Record):
    """What is in one IP packet.  ``options`` are TCP options, padded to four bytes by the caller.

    ``vlans`` (VLAN ids, outermost first) and ``padded`` (to Ethernet's 60 bytes) apply to Ethernet
    only.  Several VLANs make the outer tag a service tag (802.1ad).
    """

    source: str
    destination: str
    source_port: int
    destination_port: int
    payload: bytes = b""
    protocol: int = TCP
    seq: int = 0
    ack: int = 0
    flags: int = ACK
    window: int = 0
    options: bytes = b""
    ip_id: int = 0
    ttl: int = 64
    vlans: tuple[int, ...] = ()
    padded: bool = False

    def encode(self, link: Link = Link.ETHERNET) -> bytes:
        """The frame's bytes, however large."""
        return self._linked(link, self._ip(self._transport()))

    def fragments(self, link: Link = Link.ETHERNET, mtu: int = 1500) -> list[bytes]:
        """The frames of this packet cut into IP fragments that fit ``mtu`` (RFC 791, RFC 8200)."""
        body = self._transport()
        header = IPV6_HEADER if self._is_v6 else IPV4_HEADER
        if header + len(body) <= mtu:
            return [self._linked(link, self._ip(body))]
        room = (mtu - header - (8 if self._is_v6 else 0)) // 8 * 8
        if room <= 0:
            raise ValueError(f"an MTU of {mtu} bytes holds no fragment")
        return [
            self._linked(link, self._ip_fragment(body, start, start + room))
            for start in range(0, len(body), room)
        ]

    @property
    def _is_v6(self) -> bool:
        return len(address_bytes(self.source)) == 16

    def _transport(self) -> bytes:
        if self.protocol == UDP:
            length = 8 + len(self.payload)
            head = struct.pack(">HHHH", self.source_port, self.destination_port, length, 0)
            checksum = self._checksum(head + self.payload) or 0xFFFF
            return head[:6] + checksum.to_bytes(2, "big") + self.payload
        head = struct.pack(
            ">HHIIBBHHH",
            self.source_port,
            self.destination_port,
            self.seq,
            self.ack,
            (5 + len(self.options) // 4) << 4,
            self.flags,
            self.window,
            0,
            0,
        )
        segment = head + self.options + self.payload
        checksum = self._checksum(segment)
        return segment[:16] + checksum.to_bytes(2, "big") + segment[18:]

    def _checksum(self, segment: bytes) -> int:
        addresses = address_bytes(self.source) + address_bytes(self.destination)
        pseudo = addresses + struct.pack(">II", len(segment), self.protocol)
        return internet_checksum(pseudo + segment)

    def _ip(self, body: bytes) -> bytes:
        if self._is_v6:
            return self._ipv6(self.protocol, body)
        dont_fragment = 0x4000 if self.protocol == TCP else 0
        return self._ipv4(dont_fragment, body)

    def _ip_fragment(self, body: bytes, start: int, end: int) -> bytes:
        more = end < len(body)
        if not self._is_v6:
            return self._ipv4(start // 8 | (0x2000 if more else 0), body[start:end])
        extension = struct.pack(">BBHI", self.protocol, 0, start | more, self.ip_id)
        return self._ipv6(IPV6_FRAGMENT, extension + body[start:end])

    def _ipv4(self, flags_offset: int, body: bytes) -> bytes:
        addresses = address_bytes(self.source) + address_bytes(self.destination)
        head = struct.pack(
            ">BBHHHBBH",
            0x45,
            0,
            IPV4_HEADER + len(body),
            self.ip_id,
            flags_offset,
            self.ttl,
            self.protocol,
            0,
        )
        checksum = internet_checksum(head + addresses)
        return head[:10] + checksum.to_bytes(2, "big") + addresses + body

    def _ipv6(self, next_header: int, body: bytes) -> bytes:
        head = struct.pack(">IHBB", 6 << 28, len(body), next_header, self.ttl)
        return head + address_bytes(self.source) + address_bytes(self.destination) + body

    def _linked(self, link: Link, packet: bytes) -> bytes:
        ethertype = ETHERTYPE_IPV6 if self._is_v6 else ETHERTYPE_IPV4
        if link == Link.ETHERNET:
            frame = mac(self.destination) + mac(self.source) + self._tags(ethertype) + packet
            return frame.ljust(SMALLEST_ETHERNET, b"\0") if self.padded else frame
        if link == Link.RAW:
            return packet
        if link in (Link.NULL, Link.LOOP):
            family = 30 if self._is_v6 else 2  # AF_INET6 as on Darwin
            return family.to_bytes(4, "little" if link == Link.NULL else "big") + packet
        address = mac(self.source) + b"\0\0"
        if link == Link.LINUX_SLL:
            return struct.pack(">HHH", 0, 1, 6) + address + ethertype.to_bytes(2, "big") + packet
        return struct.pack(">HHIHBB", ethertype, 0, 1, 1, 0, 6) + address + packet

    def _tags(self, ethertype: int) -> bytes:
        tags = b""
        for index, vlan in enumerate(self.vlans):
            outer = index == 0 and len(self.vlans) > 1
            tags += struct.pack(">HH", ETHERTYPE_QINQ if outer else ETHERTYPE_VLAN, vlan)
        return tags + ethertype.to_bytes(2, "big")


class Frame(Record):
    """A captured frame: time in integer nanoseconds since 1970, and its bytes.

    ``packet`` is what the bytes were made of, while they are still that; ``original_length``
    is the length on the wire when the capture kept less.
    """

    time_ns: int
    data: bytes
    link: Link = Link.ETHERNET
    interface: int = 0
    original_length: int | None = None
    packet: Packet | None = None

    @property
    def wire_length(self) -> int:
        """Length on the wire, in bytes."""
        return len(self.data) if self.original_length is None else self.original_length

    def at(self, time_ns: int) -> "Frame":
        """The same frame at another time."""
        return replace(self, time_ns=time_ns)


@lru_cache(maxsize=4096)
def address_bytes(text: str) -> bytes:
    """An IPv4 or IPv6 address in network order; raises ValueError for anything else."""
    return ip_address(text).packed


@lru_cache(maxsize=4096)
def mac(address: str) -> bytes:
    """A locally administered MAC made from the address' last four bytes (v6: last five)."""
    known = ip_address(address)
    if isinstance(known, IPv6Address):
        return b"\x06" + known.packed[-5:]
    return b"\x02\x00" + known.packed


def internet_checksum(data: bytes) -> int:
    """RFC 1071: the complement of the ones' complement sum of 16-bit words.

    That sum is the number modulo 65535, which Python divides in one step.
    """
    if len(data) % 2:
        data += b"\0"
    rest = int.from_bytes(data, "big") % 0xFFFF
    return 0xFFFF - rest if rest else 0
