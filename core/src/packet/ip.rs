//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers: addresses, protocol, and the length of what follows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::link::Network;
use super::{Other, Payload};

/// Protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(super) const UDP: u8 = 17;

/// Length of an IPv6 header without those that extend it.
pub(super) const V6_HEADER: usize = 40;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
/// Protocol number of IPv6's fragment header.
pub const FRAGMENT: u8 = 44;
/// Protocol number of the authentication header (RFC 4302), whose length counts otherwise than others do.
pub const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;

/// Which of an IPv4 header's words of two bytes is the total length.
const TOTAL_LENGTH: usize = 1;

/// IPv6 extension headers beyond this number are taken for damage.
const EXTENSION_LIMIT: usize = 16;

/// What an IP packet carries, from where to where.
#[derive(Clone, Copy)]
pub(super) struct Carried<'a> {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    /// The packet's number at its sender; 0 where there is none, as in IPv6.
    pub(super) identification: u16,
    pub(super) payload: Payload<'a>,
}

/// Which part of a datagram the payload of a fragment is.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) identification: u32,
    /// In bytes.
    pub(super) offset: usize,
    /// More fragments follow: this is not the datagram's end.
    pub(super) more: bool,
}

/// The payload of an IP packet; with a piece, it is a fragment's.
#[inline(always)]
#[expect(clippy::inline_always, reason = "into the dissector, though the outline calls it too")]
pub(super) fn parse(network: Network<'_>) -> Result<(Carried<'_>, Option<Piece>), Other> {
    match network {
        Network::V4(packet) => v4(packet),
        Network::V6(packet) => v6(packet),
    }
}

/// The payload of a datagram put together from fragments, behind its remaining extension headers.
pub(super) fn completed(carried: Carried<'_>) -> Result<Carried<'_>, Other> {
    if carried.source.is_ipv4() {
        return Ok(carried);
    }
    match extensions(carried)? {
        (carried, None) => Ok(carried),
        // Fragments of fragments do not exist.
        (_, Some(_)) => Err(Other::MalformedHeader),
    }
}

#[inline]
pub(super) fn v4(packet: Payload<'_>) -> Result<(Carried<'_>, Option<Piece>), Other> {
    let (header, _) = packet.header::<20>()?;
    let [first, _, l0, l1, i0, i1, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let header_length = usize::from(first & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([l0, l1]));
    // A total length of 0 is a super-segment that the network card has yet to cut (TSO): it goes to
    // the end of the frame.
    let total = match total {
        0 => packet.length,
        _ if total > packet.length && packet.is_whole() => stated_or_whole(packet, total),
        _ => total,
    };
    if first >> 4 != 4 || header_length < 20 || total < header_length {
        return Err(Other::MalformedHeader);
    }
    let (_, payload) = packet.of_length(total).split(header_length)?;
    let source = IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3));
    let destination = IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3));
    let flags = u16::from_be_bytes([f0, f1]);
    let more = flags & 0x2000 != 0;
    let offset = usize::from(flags & 0x1fff) * 8;
    let identification = u16::from_be_bytes([i0, i1]);
    let piece =
        (more || offset != 0).then(|| Piece { identification: u32::from(identification), offset, more });
    Ok((Carried { source, destination, protocol, identification, payload }, piece))
}

/// The total length of an IPv4 packet whose frame was captured whole, and is shorter than the header states.
///
/// Programs that cut packets may leave no word of it in the file: the header is then as it was sent. Where
/// its checksum is that of a packet which ends with the frame, the length was damaged.
#[cold]
fn stated_or_whole(packet: Payload<'_>, stated: usize) -> usize {
    let Ok(whole) = u16::try_from(packet.length) else { return stated };
    let header = packet.bytes.get(..usize::from(packet.bytes.first().map_or(0, |first| first & 0x0f)) * 4);
    let words = header.unwrap_or_default().chunks_exact(2).enumerate();
    let sum: u32 = words
        .map(|(place, word)| match (place, word) {
            (TOTAL_LENGTH, _) => u32::from(whole),
            (_, [high, low]) => u32::from(u16::from_be_bytes([*high, *low])),
            _ => 0,
        })
        .sum();
    // RFC 1071: the sum of all words in one's complement, that of the checksum among them.
    if sum != 0 && sum.is_multiple_of(0xffff) { packet.length } else { stated }
}

#[inline]
pub(super) fn v6(packet: Payload<'_>) -> Result<(Carried<'_>, Option<Piece>), Other> {
    // version, class and flow 4, payload length 2, next header 1, hop limit 1, source 16, destination 16
    let (header, payload) = packet.header::<8>()?;
    let [first, _, _, _, l0, l1, protocol, _] = *header;
    let (source, payload) = payload.header::<16>()?;
    let (destination, payload) = payload.header::<16>()?;
    if first >> 4 != 6 {
        return Err(Other::MalformedHeader);
    }
    let length = usize::from(u16::from_be_bytes([l0, l1]));
    let carried = Carried {
        source: IpAddr::V6(Ipv6Addr::from(*source)),
        destination: IpAddr::V6(Ipv6Addr::from(*destination)),
        protocol,
        identification: 0,
        // 0 is a super-segment as in IPv4, or a jumbogram (RFC 2675), both up to the end of the frame.
        payload: if length == 0 { payload } else { payload.of_length(length) },
    };
    if matches!(protocol, TCP | UDP) { Ok((carried, None)) } else { extensions(carried) }
}

/// Passes over IPv6 extension headers (RFC 8200 section 4) up to the upper layer or a fragment.
fn extensions(mut carried: Carried<'_>) -> Result<(Carried<'_>, Option<Piece>), Other> {
    for _ in 0..EXTENSION_LIMIT {
        match carried.protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HIP | SHIM6 => {
                let ([next, length], _) = carried.payload.header::<2>()?;
                carried.payload = carried.payload.split((usize::from(*length) + 1) * 8)?.1;
                carried.protocol = *next;
            }
            // RFC 4302 section 2.2: its length counts words of four bytes, less two.
            AUTHENTICATION => {
                let ([next, length], _) = carried.payload.header::<2>()?;
                carried.payload = carried.payload.split((usize::from(*length) + 2) * 4)?.1;
                carried.protocol = *next;
            }
            FRAGMENT => {
                // next header 1, reserved 1, offset and flags 2, identification 4
                let ([next, _, f0, f1, identification @ ..], payload) = carried.payload.header::<8>()?;
                let flags = u16::from_be_bytes([*f0, *f1]);
                let (offset, more) = (usize::from(flags & 0xfff8), flags & 1 == 1);
                carried.payload = payload;
                carried.protocol = *next;
                // An atomic fragment is a whole datagram (RFC 6946).
                if more || offset != 0 {
                    let identification = u32::from_be_bytes(*identification);
                    return Ok((carried, Some(Piece { identification, offset, more })));
                }
            }
            _ => return Ok((carried, None)),
        }
    }
    Err(Other::MalformedHeader)
}
