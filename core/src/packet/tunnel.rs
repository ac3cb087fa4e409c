//! Packets in packets: from what an IP packet or a UDP datagram carries to the packet inside it.
//!
//! IP in IP (RFC 2003, RFC 4213, RFC 2473), GRE (RFC 2784, RFC 2890) with whatever an Ethernet type
//! names in it, ERSPAN (draft-foschiano-erspan), EtherIP (RFC 3378), MPLS in IP (RFC 4023), VXLAN
//! (RFC 7348), GENEVE (RFC 8926) and TZSP, by which MikroTik's routers and some access points send what they
//! capture. A UDP port only suggests what a datagram holds: the headers
//! must agree, and so must the packet inside, or else the datagram is delivered as it is.

use super::link::{self, Network};
use super::{Other, Payload, tags};

const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const ETHER_IP: u8 = 97;
const MPLS_IN_IP: u8 = 137;

const VXLAN_PORT: u16 = 4789;
/// Where Linux put VXLAN before it had a port; some overlay networks still use it.
const VXLAN_LINUX_PORT: u16 = 8472;
const GENEVE_PORT: u16 = 6081;
const TZSP_PORT: u16 = 37_008;

/// An Ethernet frame inside GRE or GENEVE.
const ETHERNET: u16 = 0x6558;
/// ERSPAN types I and II.
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

/// The packet inside an IP packet of another protocol than TCP and UDP.
pub(super) fn in_ip(protocol: u8, payload: Payload<'_>) -> Result<Network<'_>, Other> {
    match protocol {
        IPV4_IN_IP => Ok(Network::V4(payload)),
        IPV6_IN_IP => Ok(Network::V6(payload)),
        GRE => gre(payload),
        ETHER_IP => ether_ip(payload),
        MPLS_IN_IP => tags::mpls(payload),
        _ => Err(Other::OtherProtocol),
    }
}

/// The packet inside a datagram to this port; `None` where it holds none.
#[inline]
pub(super) fn in_udp(port: u16, payload: Payload<'_>) -> Option<Network<'_>> {
    match port {
        VXLAN_PORT | VXLAN_LINUX_PORT => vxlan(payload),
        GENEVE_PORT => geneve(payload),
        TZSP_PORT => tzsp(payload),
        _ => None,
    }
}

/// The headers between two IP packets.
#[derive(Clone, Copy)]
pub(super) struct Between {
    /// So many bytes are numbers; behind them there may be options, of which nothing is said.
    pub(super) numbers: usize,
    /// Where the link-layer header of the packet inside begins, or its tags.
    pub(super) link: usize,
    /// It is an Ethernet header.
    pub(super) ethernet: bool,
    /// So many bytes right before it are numbers, too.
    pub(super) closing: usize,
}

/// What stands before the packet that [`in_ip`] found.
pub(super) fn before_in_ip(protocol: u8, payload: &[u8]) -> Between {
    match (protocol, payload) {
        (ETHER_IP, _) => Between { numbers: 2, link: 2, ethernet: true, closing: 0 },
        (GRE, [flags, _, k0, k1, ..]) => {
            // Checksum, key, sequence number.
            let options = [0x80, 0x20, 0x10].into_iter().filter(|flag| flags & flag != 0).count();
            let header = 4 + 4 * options;
            let kind = u16::from_be_bytes([*k0, *k1]);
            let mirror = match kind {
                ERSPAN if flags & 0x10 != 0 => 8,
                ERSPAN_III if payload.get(header + 11).is_some_and(|last| last & 1 == 1) => 20,
                ERSPAN_III => 12,
                _ => 0,
            };
            let ethernet = matches!(kind, ETHERNET | ERSPAN | ERSPAN_III);
            Between { numbers: header + mirror, link: header + mirror, ethernet, closing: 0 }
        }
        _ => Between { numbers: 0, link: 0, ethernet: false, closing: 0 },
    }
}

/// What stands before the packet that [`in_udp`] found. GENEVE has options, into which anybody may put
/// anything.
pub(super) fn before_in_udp(port: u16, payload: &[u8]) -> Between {
    match (port, payload) {
        (GENEVE_PORT, [first, _, k0, k1, ..]) => {
            let link = 8 + 4 * usize::from(first & 0x3f);
            Between { numbers: 8, link, ethernet: u16::from_be_bytes([*k0, *k1]) == ETHERNET, closing: 0 }
        }
        // Tags tell of the one that sent it.
        (TZSP_PORT, _) => {
            Between { numbers: 4, link: tzsp_header(payload).unwrap_or(4), ethernet: true, closing: 1 }
        }
        _ => Between { numbers: 8, link: 8, ethernet: true, closing: 0 },
    }
}

fn gre(packet: Payload<'_>) -> Result<Network<'_>, Other> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const VERSION: u16 = 0x0007;
    let ([f0, f1, k0, k1], rest) = packet.header::<4>()?;
    let flags = u16::from_be_bytes([*f0, *f1]);
    // RFC 1701's source routes are long forgotten; version 1 is PPTP's.
    if flags & (ROUTING | VERSION) != 0 {
        return Err(Other::OtherProtocol);
    }
    let options = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    let (_, inner) = rest.split(4 * options)?;
    match u16::from_be_bytes([*k0, *k1]) {
        ETHERNET => link::ethernet(inner),
        // Type I has no header of its own, and no sequence number before it.
        ERSPAN if flags & SEQUENCE == 0 => link::ethernet(inner),
        ERSPAN => link::ethernet(inner.split(8)?.1),
        ERSPAN_III => erspan_3(inner),
        kind => tags::bare_tags(kind, inner),
    }
}

/// ERSPAN type III: 12 bytes, the last bit of which announces 8 more.
fn erspan_3(packet: Payload<'_>) -> Result<Network<'_>, Other> {
    let (header, rest) = packet.header::<12>()?;
    let [.., last] = *header;
    link::ethernet(if last & 1 == 1 { rest.split(8)?.1 } else { rest })
}

/// RFC 3378 section 3: version 3 in four bits, then twelve that are zero.
fn ether_ip(packet: Payload<'_>) -> Result<Network<'_>, Other> {
    match packet.header::<2>()? {
        ([0x30, 0], frame) => link::ethernet(frame),
        _ => Err(Other::OtherProtocol),
    }
}

/// RFC 7348 section 5; the bits of a group policy (draft-smith-vxlan-group-policy) are let pass.
fn vxlan(datagram: Payload<'_>) -> Option<Network<'_>> {
    const NETWORK_GIVEN: u8 = 0x08;
    const GROUP_POLICY: u8 = 0x80;
    // flags 1, group policy 3, network 3, reserved 1
    let ([flags, _, _, _, _, _, _, reserved], frame) = datagram.header::<8>().ok()?;
    if flags & !GROUP_POLICY != NETWORK_GIVEN || *reserved != 0 {
        return None;
    }
    link::ethernet(frame).ok()
}

/// RFC 8926 section 3.4.
fn geneve(datagram: Payload<'_>) -> Option<Network<'_>> {
    // version 2 bits, length of the options 6 bits, flags 1, type 2, network 3, reserved 1
    let ([first, flags, k0, k1, _, _, _, reserved], rest) = datagram.header::<8>().ok()?;
    if first >> 6 != 0 || flags & 0x3f != 0 || *reserved != 0 {
        return None;
    }
    let (_, inner) = rest.split(4 * usize::from(first & 0x3f)).ok()?;
    match u16::from_be_bytes([*k0, *k1]) {
        ETHERNET => link::ethernet(inner).ok(),
        kind => tags::bare_tags(kind, inner).ok(),
    }
}

/// Version 1, type of a packet that was received or sent 1, what it is of 2, then tags.
fn tzsp(datagram: Payload<'_>) -> Option<Network<'_>> {
    let [1, 0 | 1, 0, 1, ..] = datagram.bytes else { return None };
    link::ethernet(datagram.split(tzsp_header(datagram.bytes)?).ok()?.1).ok()
}

/// The length of the header with its tags, of which all but two have a length of their own.
fn tzsp_header(payload: &[u8]) -> Option<usize> {
    const PADDING: u8 = 0;
    const END: u8 = 1;
    let mut at = 4;
    loop {
        at += match payload.get(at..)? {
            [END, ..] => return Some(at + 1),
            [PADDING, ..] => 1,
            [_, length, ..] => 2 + usize::from(*length),
            _ => return None,
        };
    }
}
