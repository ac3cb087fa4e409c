"""The same frame by scapy: the reference for ``packet``, and a start for frames it cannot make.

Needs the extra ``pcapnfs[synth]``; raises ImportError without it.
"""

from typing import TYPE_CHECKING, Any

from pcapnfs.synth.builder.packet import TCP, Link, Packet, address_bytes, mac

if TYPE_CHECKING:
    from scapy.packet import Packet as ScapyPacket


def scapy_packet(packet: Packet, link: Link = Link.ETHERNET) -> "ScapyPacket":
    """A scapy packet with every field set, so that ``bytes()`` of it is deterministic.

    Trailing padding is left out: scapy does not know to what length a frame was padded.
    """
    from scapy.layers import inet
    from scapy.layers.inet6 import IPv6
    from scapy.packet import Raw

    is_v6 = len(address_bytes(packet.source)) == 16
    ip: ScapyPacket
    if is_v6:
        ip = IPv6(src=packet.source, dst=packet.destination, hlim=packet.ttl, nh=packet.protocol)
    else:
        ip = inet.IP(
            src=packet.source,
            dst=packet.destination,
            id=packet.ip_id,
            flags="DF" if packet.protocol == TCP else 0,
            ttl=packet.ttl,
            proto=packet.protocol,
        )
    transport: ScapyPacket
    if packet.protocol == TCP:
        transport = inet.TCP(
            sport=packet.source_port,
            dport=packet.destination_port,
            seq=packet.seq,
            ack=packet.ack,
            flags=packet.flags,
            window=packet.window,
            dataofs=5 + len(packet.options) // 4,
            options=_options(packet.options),
        )
    else:
        transport = inet.UDP(sport=packet.source_port, dport=packet.destination_port)
    layers = ip / transport
    if packet.payload:
        layers = layers / Raw(packet.payload)
    header = _link_header(packet, link, 0x86DD if is_v6 else 0x0800)
    return layers if header is None else header / layers


def _options(encoded: bytes) -> list[tuple[Any, Any]]:
    from scapy.layers.inet import TCPOptionsField

    field: Any = TCPOptionsField("options", b"")
    decoded: list[tuple[Any, Any]] = field.m2i(None, encoded)
    return decoded


def _link_header(packet: Packet, link: Link, ethertype: int) -> "ScapyPacket | None":
    from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
    from scapy.packet import Raw

    if link == Link.RAW:
        return None
    if link in (Link.NULL, Link.LOOP):
        family = 30 if ethertype == 0x86DD else 2
        if link == Link.NULL:
            return Loopback(type=family)
        return Raw(family.to_bytes(4, "big"))  # scapy knows this one on OpenBSD only
    address = mac(packet.source)
    if link == Link.LINUX_SLL:
        return CookedLinux(
            pkttype=0, lladdrtype=1, lladdrlen=6, src=address + b"\0\0", proto=ethertype
        )
    if link == Link.LINUX_SLL2:
        return CookedLinuxV2(
            proto=ethertype,
            ifindex=1,
            lladdrtype=1,
            pkttype=0,
            lladdrlen=6,
            src=address + b"\0\0",
        )
    header: ScapyPacket = Ether(dst=mac(packet.destination).hex(":"), src=address.hex(":"))
    for index, vlan in enumerate(packet.vlans):
        outer = index == 0 and len(packet.vlans) > 1
        header = header / (Dot1AD if outer else Dot1Q)(vlan=vlan)
    header.lastlayer().type = ethertype
    return header
