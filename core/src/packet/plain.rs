//! One look at the headers that most packets have: Ethernet or a cooked capture, IP and TCP, with
//! nothing between them but a VLAN's tag.
//!
//! Gives what a segment says as numbers, without making addresses of them first. Of any other packet it
//! says nothing: [`super::Dissector`] knows what that is, and would give the same segment for these.

use std::net::{Ipv6Addr, SocketAddr};

use super::tcp::{self, Part, TcpFlags};
use super::{Payload, ip, rdma, tags};
use crate::capture::LinkType;

/// A segment behind plain headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'a> {
    /// Where it came from, as [`number_v4`] or [`number_v6`] has it.
    pub source: u64,
    /// Where it goes to.
    pub destination: u64,
    /// Both addresses of IPv6, of which the numbers do not say all.
    addresses: Option<&'a [u8; 32]>,
    /// The packet's number at its sender; 0 in IPv6.
    identification: u16,
    /// See [`stamps`].
    stamps: u64,
    /// The sender's clock when it sent it (TSval, RFC 7323); 0 where it does not say.
    pub clock: u32,
    /// What it brings.
    pub part: Part<'a>,
}

/// The odd part of 2^64 divided by the golden ratio, which spreads what differs in few bits.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What tells a segment with data from all others: what was sent again has another number or other timestamps.
#[inline(always)]
#[expect(clippy::inline_always, reason = "into the decode's loop, as what is below")]
pub(super) fn print(
    [source, destination]: [u64; 2],
    identification: u16,
    stamps: u64,
    part: &Part<'_>,
) -> u64 {
    let Part { sequence, acknowledgement, flags, window, payload } = *part;
    let ends = source.rotate_left(32) ^ destination;
    let at = u64::from(sequence) << 32 | u64::from(acknowledgement);
    let header = u64::from(identification) << 48 | u64::from(window) << 32 | u64::from(flags.0) << 24;
    let mixed = (ends ^ stamps).wrapping_mul(SPREAD) ^ at;
    let mixed = mixed.wrapping_mul(SPREAD).rotate_right(29) ^ header ^ payload.length as u64;
    mixed.wrapping_mul(SPREAD).rotate_right(32)
}

/// The timestamps of a segment with no other options (RFC 7323 appendix A); else 0.
pub(super) fn stamps(options: &[u8]) -> u64 {
    let stamps = if options.len() == STAMPED - 20 { options.last_chunk() } else { None };
    stamps.map_or(0, |stamps| u64::from_be_bytes(*stamps))
}

/// An end as a number: no two ends of IPv4 have the same, nor one of IPv4 and one of IPv6.
#[inline]
pub fn number(end: SocketAddr) -> u64 {
    match end {
        SocketAddr::V4(end) => number_v4(end.ip().to_bits(), end.port()),
        SocketAddr::V6(end) => number_v6(end.ip().to_bits(), end.port()),
    }
}

/// The length of a header of TCP with timestamps alone.
const STAMPED: usize = 32;

/// What stands before timestamps where they are the only option: two bytes that pad, kind and length.
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];

impl<'a> Plain<'a> {
    /// What tells it from all others, if it brings data.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub(super) fn print(&self) -> u64 {
        print([self.source, self.destination], self.identification, self.stamps, &self.part)
    }

    /// The segment of a frame that is plain, and cannot be one of RDMA; `wire_length`: that of the frame.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop, so that its fields stay numbers")]
    pub fn of(link: LinkType, frame: &'a [u8], wire_length: u32) -> Option<Self> {
        let (kind, packet) = network(link, frame)?;
        match kind {
            tags::IPV4 => v4(packet, wire_length as usize == frame.len()),
            tags::IPV6 => v6(packet),
            _ => None,
        }
    }

    /// Source and destination, where their numbers may be those of others.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let (source, destination) = self.addresses?.split_at_checked(16)?;
        let end = |address: &[u8], number: u64| {
            let address = Ipv6Addr::from(*address.first_chunk::<16>()?);
            Some(SocketAddr::new(address.into(), port_v6(address, number)))
        };
        Some((end(source, self.source)?, end(destination, self.destination)?))
    }
}

/// An end of IPv4 as a number: no other end has the same.
#[inline]
pub(super) fn number_v4(address: u32, port: u16) -> u64 {
    u64::from(address) << 16 | u64::from(port)
}

/// An end of IPv6 as a number: no end of IPv4 has the same, but some of IPv6 do.
#[inline]
pub(super) fn number_v6(address: u128, port: u16) -> u64 {
    1 << 63 | ((mixed(address) ^ u64::from(port)) & ((1 << 62) - 1))
}

#[inline]
fn mixed(address: u128) -> u64 {
    let (high, low) = ((address >> 64) as u64, address as u64);
    high.rotate_left(24) ^ low.rotate_left(16)
}

/// The port of an end with this address and number.
fn port_v6(address: Ipv6Addr, number: u64) -> u16 {
    (number ^ mixed(address.to_bits())) as u16
}

/// The kind of packet that a frame holds, and its bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "into the decode's loop, so that its fields stay numbers")]
fn network(link: LinkType, frame: &[u8]) -> Option<(u16, &[u8])> {
    let ([k0, k1], rest) = match link {
        LinkType::ETHERNET => {
            let ([.., k0, k1], rest) = frame.split_first_chunk::<14>()?;
            ([*k0, *k1], rest)
        }
        LinkType::LINUX_SLL => {
            let ([.., k0, k1], rest) = frame.split_first_chunk::<16>()?;
            ([*k0, *k1], rest)
        }
        LinkType::LINUX_SLL2 => {
            let ([k0, k1, ..], rest) = frame.split_first_chunk::<20>()?;
            ([*k0, *k1], rest)
        }
        _ => return None,
    };
    let kind = u16::from_be_bytes([k0, k1]);
    if kind != tags::VLAN {
        return Some((kind, rest));
    }
    // priority and VLAN 2, type 2
    let ([_, _, k0, k1], rest) = rest.split_first_chunk::<4>()?;
    Some((u16::from_be_bytes([*k0, *k1]), rest))
}

#[inline(always)] // Into the decode's loop, as those above.
fn v4(packet: &[u8], whole: bool) -> Option<Plain<'_>> {
    const VERSION_AND_LENGTH: u8 = 0x45;
    let (header, rest) = packet.split_first_chunk::<20>()?;
    let [first, _, l0, l1, i0, i1, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let length = usize::from(u16::from_be_bytes([l0, l1])).checked_sub(20)?;
    let fragment = u16::from_be_bytes([f0, f1]) & 0x3fff != 0;
    if first != VERSION_AND_LENGTH || protocol != ip::TCP || fragment {
        return None;
    }
    let (from, to, (stamps, clock), part) = tcp(rest, length)?;
    if part.payload.bytes.len() < part.payload.length && whole {
        return None; // Either the packet was cut without a word, or its length is damaged.
    }
    let source = number_v4(u32::from_be_bytes([s0, s1, s2, s3]), from);
    let destination = number_v4(u32::from_be_bytes([d0, d1, d2, d3]), to);
    let identification = u16::from_be_bytes([i0, i1]);
    Some(Plain { source, destination, addresses: None, identification, stamps, clock, part })
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "into the decode's loop, so that its fields stay numbers")]
fn v6(packet: &[u8]) -> Option<Plain<'_>> {
    let ([first, _, _, _, l0, l1, protocol, _], rest) = packet.split_first_chunk::<8>()?;
    let (addresses, rest) = rest.split_first_chunk::<32>()?;
    if first >> 4 != 6 || *protocol != ip::TCP {
        return None;
    }
    let (from, to, (stamps, clock), part) = tcp(rest, usize::from(u16::from_be_bytes([*l0, *l1])))?;
    let source = number_v6(u128::from_be_bytes(*addresses.first_chunk()?), from);
    let destination = number_v6(u128::from_be_bytes(*addresses.last_chunk()?), to);
    let addresses = Some(addresses);
    Some(Plain { source, destination, addresses, identification: 0, stamps, clock, part })
}

/// The ports, the timestamps ([`stamps`]), the sender's clock and what a segment of this length brings, in an IP packet that holds these bytes of it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "into the decode's loop, so that its fields stay numbers")]
fn tcp(segment: &[u8], length: usize) -> Option<(u16, u16, (u64, u32), Part<'_>)> {
    let header = segment.first_chunk::<20>()?;
    let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, w0, w1, _, _, _, _] = *header;
    let header_length = usize::from(offset >> 4) * 4;
    let (from, to) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
    if header_length < 20 || header_length > length || rdma::may_be_iwarp(from, to) {
        return None;
    }
    let bytes = segment.get(header_length..)?;
    let stamped = if header_length == STAMPED { segment.get(20..)?.first_chunk()? } else { &[0; 12] };
    let [kind @ .., v0, v1, v2, v3, e0, e1, e2, e3] = *stamped;
    let stamps = u64::from_be_bytes([v0, v1, v2, v3, e0, e1, e2, e3]);
    let clock = if kind == TIMESTAMPS {
        u32::from_be_bytes([v0, v1, v2, v3])
    } else if header_length > 20 {
        tcp::clock(segment.get(20..header_length)?)
    } else {
        0
    };
    let length = length - header_length;
    let part = Part {
        sequence: u32::from_be_bytes([q0, q1, q2, q3]),
        acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
        flags: TcpFlags(flags),
        window: u16::from_be_bytes([w0, w1]),
        payload: Payload { bytes: bytes.get(..length).unwrap_or(bytes), length },
    };
    Some((from, to, (stamps, clock), part))
}
