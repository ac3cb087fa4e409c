//! Link-layer headers: from the frame to the IP packet in it.
//!
//! Ethernet with any tags (IEEE 802.1Q, 802.1ad, MPLS RFC 3032, `PPPoE` RFC 2516), Linux cooked
//! captures of both versions, FDDI, IP over InfiniBand (RFC 4391), BSD loopback, PPP (RFC 1661), Cisco's
//! HDLC, the log of Linux' netfilter, packets with what macOS, Solaris or a capture card knows of them, and
//! bare IP.

use super::{Other, Payload};
use crate::capture::LinkType;

/// An IP packet, with whatever padding the frame has after it.
#[derive(Clone, Copy)]
pub(super) enum Network<'a> {
    V4(Payload<'a>),
    V6(Payload<'a>),
}

/// Tags and labels beyond this number are taken for damage.
const TAG_LIMIT: usize = 8;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
pub(super) const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const OLD_PROVIDER_VLAN: u16 = 0x9100;
const OLDER_PROVIDER_VLAN: u16 = 0x9200;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// RDMA over Ethernet, version 1.
const ROCE: u16 = 0x8915;
/// Stands for the length of an IEEE 802.3 frame where there is none: LLC follows.
const LLC: u16 = 0;
/// Types below are lengths of an IEEE 802.3 frame.
const SMALLEST_TYPE: u16 = 0x0600;

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
            tagged(u16::from_be_bytes([p0, p1]), rest)
        }
        LinkType::LINUX_SLL2 => {
            // protocol 2, reserved 2, interface 4, hardware type 2, packet type 1, address length 1, address 8
            let (header, rest) = frame.header::<20>()?;
            let [p0, p1, ..] = *header;
            tagged(u16::from_be_bytes([p0, p1]), rest)
        }
        LinkType::FDDI => {
            // frame control 1, destination 6, source 6
            let (_, rest) = frame.header::<13>()?;
            tagged(LLC, rest)
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
        kind => tagged(kind, rest),
    }
}

/// What an Ethernet type announces, behind any number of tags.
pub(super) fn tagged(mut kind: u16, mut rest: Payload<'_>) -> Result<Network<'_>, Other> {
    for _ in 0..TAG_LIMIT {
        match kind {
            IPV4 => return Ok(Network::V4(rest)),
            IPV6 => return Ok(Network::V6(rest)),
            VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN | OLDER_PROVIDER_VLAN => {
                // priority and VLAN 2, type 2
                let ([_, _, t0, t1], inner) = rest.header::<4>()?;
                (kind, rest) = (u16::from_be_bytes([*t0, *t1]), inner);
            }
            MPLS | MPLS_MULTICAST => return mpls(rest),
            PPPOE_SESSION => return pppoe(rest),
            ROCE => return Err(Other::Rdma),
            _ if kind < SMALLEST_TYPE => {
                // LLC 3 and SNAP 5 (RFC 1042); anything else is a protocol without IP
                let (header, inner) = rest.header::<8>().map_err(|_| Other::NotIp)?;
                let [0xaa, 0xaa, 3, 0, 0, 0, t0, t1] = *header else {
                    return Err(Other::NotIp);
                };
                (kind, rest) = (u16::from_be_bytes([t0, t1]), inner);
            }
            _ => return Err(Other::NotIp),
        }
    }
    Err(Other::MalformedHeader)
}

/// How many VLAN tags (IEEE 802.1Q) a frame has before its IP packet; `None` where other labels are there.
pub(super) fn vlan_tags(link: LinkType, frame: &[u8]) -> Option<usize> {
    let place = match link {
        LinkType::ETHERNET => 12,
        LinkType::LINUX_SLL => 14,
        LinkType::LINUX_SLL2 => 0,
        _ => return Some(0),
    };
    let header = if link == LinkType::LINUX_SLL2 { 20 } else { place + 2 };
    let kind = |at: usize| frame.get(at..)?.first_chunk().map(|kind| u16::from_be_bytes(*kind));
    let (mut tags, mut next) = (0, kind(place)?);
    while let VLAN | PROVIDER_VLAN | OLD_PROVIDER_VLAN | OLDER_PROVIDER_VLAN = next {
        // priority and VLAN 2, type 2
        next = kind(header + 4 * tags + 2)?;
        tags += 1;
    }
    matches!(next, IPV4 | IPV6).then_some(tags)
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
    tagged(u16::from_be_bytes([*t0, *t1]), rest)
}

/// Labels do not say what follows them; an IP packet shows by its version.
pub(super) fn mpls(mut rest: Payload<'_>) -> Result<Network<'_>, Other> {
    for _ in 0..TAG_LIMIT {
        // label, class and bottom of stack 3, time to live 1
        let ([_, _, bottom, _], inner) = rest.header::<4>()?;
        rest = inner;
        if bottom & 1 == 1 {
            return bare(rest);
        }
    }
    Err(Other::MalformedHeader)
}

/// An IP packet of either version.
fn bare(packet: Payload<'_>) -> Result<Network<'_>, Other> {
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
        if length > header.len() + 8 * TAG_LIMIT {
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
    tagged(u16::from_be_bytes([*t0, *t1]), rest)
}

/// RFC 2516 section 4.
fn pppoe(packet: Payload<'_>) -> Result<Network<'_>, Other> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_counted_and_other_labels_are_told() {
        const FRAMES: [(LinkType, usize, &[u8], Option<usize>); 8] = [
            (LinkType::ETHERNET, 12, &[8, 0], Some(0)),
            (LinkType::ETHERNET, 12, &[0x81, 0, 0, 7, 0x86, 0xdd], Some(1)),
            (LinkType::ETHERNET, 12, &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0], Some(2)),
            (LinkType::ETHERNET, 12, &[0x81, 0, 0, 7, 0x88, 0x47], None), // MPLS
            (LinkType::ETHERNET, 12, &[0, 60, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], None), // SNAP
            (LinkType::LINUX_SLL, 14, &[0x81, 0, 0, 7, 8, 0], Some(1)),
            (LinkType::RAW, 0, &[0x45], Some(0)),
            (LinkType::LINUX_SLL2, 0, &[0x81, 0], None), // cut
        ];
        for (link, place, types, expected) in FRAMES {
            let frame = [vec![0; place], types.to_vec()].concat();
            assert_eq!(vlan_tags(link, &frame), expected, "{link:?} {types:x?}");
        }
        let cooked = [&[0x81, 0], [0; 18].as_slice(), &[0, 7, 8, 0]].concat();
        assert_eq!(vlan_tags(LinkType::LINUX_SLL2, &cooked), Some(1));
    }
}
