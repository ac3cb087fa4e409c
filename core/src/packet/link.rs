//! Link-layer headers: from the frame to the IP packet in it.
//!
//! Ethernet with any tags (`tags.rs`), Linux cooked captures of both versions, FDDI, IP over InfiniBand
//! (RFC 4391), BSD loopback, PPP (RFC 1661), Cisco's HDLC, the log of Linux' netfilter, packets with what
//! macOS, Solaris or a capture card knows of them, and bare IP.

use super::tags::{self, IPV4, LLC};
use super::{Other, Payload};
use crate::capture::LinkType;

/// An IP packet, with whatever padding the frame has after it.
#[derive(Clone, Copy)]
pub(super) enum Network<'a> {
    V4(Payload<'a>),
    V6(Payload<'a>),
}

/// The IP packet in a frame of this link type.
#[inline(always)]
#[expect(clippy::inline_always, reason = "into the dissector, though the outline calls it too")]
pub(super) fn network(link: LinkType, frame: Payload<'_>) -> Result<Network<'_>, Other> {
    match link {
        LinkType::ETHERNET => ethernet(frame),
        LinkType::LINUX_SLL => {
            // packet type 2, hardware type 2, address length 2, address 8, protocol 2
            let (header, rest) = frame.header::<16>()?;
            let [.., p0, p1] = *header;
            tags::bare_tags(u16::from_be_bytes([p0, p1]), rest)
        }
        LinkType::LINUX_SLL2 => {
            // protocol 2, reserved 2, interface 4, hardware type 2, packet type 1, address length 1, address 8
            let (header, rest) = frame.header::<20>()?;
            let [p0, p1, ..] = *header;
            tags::bare_tags(u16::from_be_bytes([p0, p1]), rest)
        }
        LinkType::FDDI => {
            // frame control 1, destination 6, source 6
            let (_, rest) = frame.header::<13>()?;
            tags::bare_tags(LLC, rest)
        }
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => bare(frame),
        LinkType::IPV4 => Ok(Network::V4(frame)),
        LinkType::IPV6 => Ok(Network::V6(frame)),
        LinkType::NULL | LinkType::LOOP => loopback(frame),
        LinkType::PPP | LinkType::PPP_HDLC => ppp(frame),
        LinkType::PPP_ETHER => pppoe(frame),
        LinkType::C_HDLC => cisco_hdlc(frame),
        LinkType::NFLOG => nflog(frame),
        LinkType::PKTAP => pktap(frame),
        LinkType::ERF => erf(frame),
        LinkType::IPOIB => ipoib(frame),
        LinkType::IPNET => ipnet(frame),
        LinkType::INFINIBAND => Err(Other::Rdma),
        _ => Err(Other::UnsupportedLink),
    }
}

#[inline]
pub(super) fn ethernet(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    // destination 6, source 6, type 2
    let (header, rest) = frame.header::<14>()?;
    let [.., t0, t1] = *header;
    match u16::from_be_bytes([t0, t1]) {
        IPV4 => Ok(Network::V4(rest)),
        kind => tags::tagged(kind, rest),
    }
}

/// What Solaris says of a packet of its own zones: version 1, address family 1, hooks 2, length 4,
/// interfaces 4 and 4, zones 4 and 4.
fn ipnet(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let (header, rest) = frame.header::<24>()?;
    match header {
        [1, 2, ..] => Ok(Network::V4(rest)),
        [1, 26, ..] => Ok(Network::V6(rest)),
        _ => Err(Other::NotIp),
    }
}

/// RFC 4391 section 6: type 2, reserved 2. Before them libpcap leaves the 40 bytes of a global
/// route header, or of addresses in its place, neither of which begins like a type.
fn ipoib(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let encapsulated = match frame.bytes {
        [0x08, 0x00, ..] | [0x86, 0xdd, ..] => frame,
        _ => frame.split(40)?.1,
    };
    let ([t0, t1, _, _], rest) = encapsulated.header::<4>()?;
    tags::bare_tags(u16::from_be_bytes([*t0, *t1]), rest)
}

/// An IP packet of either version.
pub(super) fn bare(packet: Payload<'_>) -> Result<Network<'_>, Other> {
    let ([first], _) = packet.header::<1>()?;
    match first >> 4 {
        4 => Ok(Network::V4(packet)),
        6 => Ok(Network::V6(packet)),
        _ => Err(Other::NotIp),
    }
}

/// The attribute of netfilter's log that is the packet.
const NFLOG_PAYLOAD: u16 = 9;

/// Family 1, version 1, resource 2, then attributes, of which the packet is one.
fn nflog(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    match attributes(frame.bytes).find(|(_, kind, _)| *kind == NFLOG_PAYLOAD) {
        Some((head, _, length)) => bare(frame.split(head + 4)?.1.of_length(length - 4)),
        None if frame.bytes.len() < frame.length => Err(Other::TruncatedHeader),
        None => Err(Other::NotIp),
    }
}

/// The attributes of netfilter's log, as far as they were captured: where the head of each lies, its
/// type, and its length with the head. They have the byte order of the host that captured them; the
/// type of the first is below 256.
pub(super) fn attributes(frame: &[u8]) -> impl Iterator<Item = (usize, u16, usize)> {
    const FLAGS: u16 = 0xc000;
    let big_endian = frame.get(6) == Some(&0);
    let number = move |bytes| if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let mut at = 4;
    std::iter::from_fn(move || {
        // length 2, type 2; padded to four bytes
        let [l0, l1, t0, t1] = *frame.get(at..)?.first_chunk::<4>()?;
        let (head, length) = (at, usize::from(number([l0, l1])));
        at += length.next_multiple_of(4);
        (length >= 4).then_some((head, number([t0, t1]) & !FLAGS, length))
    })
}

/// What macOS puts before a packet of any interface: the length of that, and the packet's link type.
fn pktap(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let (link, length) = pktap_header(frame)?;
    let (_, packet) = frame.split(length)?;
    match link {
        LinkType::ETHERNET => ethernet(packet),
        LinkType::RAW | LinkType::RAW_BSD => bare(packet),
        LinkType::NULL | LinkType::LOOP => loopback(packet),
        LinkType::PPP => ppp(packet),
        _ => Err(Other::UnsupportedLink),
    }
}

/// The link type of the packet behind the header, and the header's length.
pub(super) fn pktap_header(frame: Payload<'_>) -> Result<(LinkType, usize), Other> {
    const PACKET: u32 = 1;
    // length 4, what follows 4, link type 4; all little-endian
    let ([l0, l1, l2, l3, n0, n1, n2, n3, t0, t1, t2, t3], _) = frame.header::<12>()?;
    match u32::from_le_bytes([*n0, *n1, *n2, *n3]) {
        PACKET => {
            let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
            Ok((LinkType(u32::from_le_bytes([*t0, *t1, *t2, *t3])), length as usize))
        }
        _ => Err(Other::NotIp),
    }
}

/// The record of a capture card: time 8, type 1, flags 1, length 2, loss 2, length on the wire 2, and more
/// headers.
fn erf(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let (link, length) = erf_header(frame)?;
    let (_, packet) = frame.split(length)?;
    match link {
        LinkType::ETHERNET => ethernet(packet),
        LinkType::IPV4 => Ok(Network::V4(packet)),
        LinkType::IPV6 => Ok(Network::V6(packet)),
        LinkType::INFINIBAND => Err(Other::Rdma),
        _ => Err(Other::UnsupportedLink),
    }
}

/// The link type of the packet behind the headers, and the length of these.
pub(super) fn erf_header(frame: Payload<'_>) -> Result<(LinkType, usize), Other> {
    const MORE: u8 = 0x80;
    let (header, mut rest) = frame.header::<16>()?;
    let [.., kind, _, _, _, _, _, _, _] = *header;
    let (mut more, mut length) = (kind, header.len());
    while more & MORE != 0 {
        if length > header.len() + 8 * tags::TAG_LIMIT {
            return Err(Other::MalformedHeader);
        }
        let (extension, behind) = rest.header::<8>()?;
        [more, ..] = *extension;
        (rest, length) = (behind, length + extension.len());
    }
    Ok(match kind & !MORE {
        // Of Ethernet in all its kinds; two bytes lead to where the frame begins.
        2 | 11 | 16 | 20 => (LinkType::ETHERNET, length + 2),
        21 => (LinkType::INFINIBAND, length),
        22 => (LinkType::IPV4, length),
        23 => (LinkType::IPV6, length),
        _ => (LinkType::ERF, length),
    })
}

/// Four bytes of address family: big-endian for LOOP, in the order of the capturing host for NULL.
fn loopback(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let (family, rest) = frame.header::<4>()?;
    let (big, little) = (u32::from_be_bytes(*family), u32::from_le_bytes(*family));
    match big.min(little) {
        2 => Ok(Network::V4(rest)),
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, Darwin
        10 | 24 | 28 | 30 => Ok(Network::V6(rest)),
        _ => Err(Other::NotIp),
    }
}

/// PPP with or without address and control (RFC 1662), long or compressed protocol (RFC 1661
/// section 6.5); Cisco's HDLC, which puts an Ethernet type in its place.
fn ppp(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    match frame.bytes {
        [0xff, 0x03, ..] => protocol(frame.split(2)?.1),
        [0x0f | 0x8f, 0x00, ..] => cisco_hdlc(frame),
        _ => protocol(frame),
    }
}

/// Address 1, control 1, Ethernet type 2.
fn cisco_hdlc(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let ([_, _, t0, t1], rest) = frame.header::<4>()?;
    tags::bare_tags(u16::from_be_bytes([*t0, *t1]), rest)
}

/// RFC 2516 section 4.
pub(super) fn pppoe(packet: Payload<'_>) -> Result<Network<'_>, Other> {
    // version and type 1, code 1, session 2, length 2
    let (_, rest) = packet.header::<6>()?;
    ppp(rest)
}

fn protocol(frame: Payload<'_>) -> Result<Network<'_>, Other> {
    let ([first], rest) = frame.header::<1>()?;
    let (number, rest) = if first & 1 == 1 {
        (*first, rest)
    } else {
        let ([high, low], rest) = frame.header::<2>()?;
        if *high != 0 {
            return Err(Other::NotIp);
        }
        (*low, rest)
    };
    match number {
        0x21 => Ok(Network::V4(rest)),
        0x57 => Ok(Network::V6(rest)),
        _ => Err(Other::NotIp),
    }
}
