//! Headers of packets → the same with other addresses.
//!
//! A header is copied field by field: what is no number or address stays zero, and so do options that
//! are not known. Checksums of IP, TCP and UDP are made anew where the whole of what they cover is
//! there, and 0 where it is not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::addresses::hardware;
use super::values::Values;
use crate::packet::outline::{AUTHENTICATION, FRAGMENT, Field, Placed};

/// An option that does nothing, alike in IPv4 (RFC 791) and TCP (RFC 9293).
const NO_OPERATION: u8 = 1;

/// TCP options that are numbers: maximum segment size, window scale, selective acknowledgements
/// permitted and given (RFC 2018), timestamps (RFC 7323).
const KNOWN_OPTIONS: std::ops::RangeInclusive<u8> = 2..=5;
const TIMESTAMPS: u8 = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes a field of the packet `from` into `to`, which is zero and as long.
pub(super) fn write((field, at, length): Placed, from: &[u8], to: &mut [u8], values: &mut Values) {
    let range = at..at.saturating_add(length);
    let (Some(from), Some(to)) = (from.get(range.clone()), to.get_mut(range)) else { return };
    match field {
        Field::Numbers => to.copy_from_slice(from),
        Field::Hardware => hardware(&values.pseudonyms, from, to),
        Field::Ipv4 => ipv4(from, to, values),
        Field::Ipv6 => ipv6(from, to, values),
        Field::Extensions(first) => extensions(first, from, to),
        Field::Tcp => tcp(from, to),
        Field::Udp => {
            to.copy_from_slice(from);
            zero(to, 6, 2);
        }
    }
}

fn ipv4(from: &[u8], to: &mut [u8], values: &mut Values) {
    to.fill(NO_OPERATION);
    if let (Some(from), Some(to)) = (from.first_chunk::<20>(), to.first_chunk_mut::<20>()) {
        *to = *from;
        let [.., c0, c1, s0, s1, s2, s3, d0, d1, d2, d3] = to;
        (*c0, *c1) = (0, 0);
        for address in [[s0, s1, s2, s3], [d0, d1, d2, d3]] {
            let octets = Ipv4Addr::from(address.each_ref().map(|octet| **octet));
            if let IpAddr::V4(other) = values.addresses.ip(&values.pseudonyms, IpAddr::V4(octets)) {
                for (to, octet) in address.into_iter().zip(other.octets()) {
                    *to = octet;
                }
            }
        }
    }
    let sum = checksum(sum(to));
    put(to, 10, sum);
}

fn ipv6(from: &[u8], to: &mut [u8], values: &mut Values) {
    to.copy_from_slice(from);
    for address in to.get_mut(8..).unwrap_or_default().as_chunks_mut::<16>().0 {
        let original = IpAddr::V6(Ipv6Addr::from(*address));
        if let IpAddr::V6(other) = values.addresses.ip(&values.pseudonyms, original) {
            *address = other.octets();
        }
    }
}

/// Which header follows and how long each is; of fragments also which part they are. What the headers
/// hold beside that reads as padding.
fn extensions(first: u8, from: &[u8], to: &mut [u8]) {
    let (mut kind, mut at) = (first, 0);
    while let Some([next, length, ..]) = from.get(at..) {
        let whole = match kind {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(*length) + 2) * 4,
            _ => (usize::from(*length) + 1) * 8,
        };
        let told = if kind == FRAGMENT { 8 } else { 2 };
        if let (Some(from), Some(to)) = (from.get(at..at + told), to.get_mut(at..at + told)) {
            to.copy_from_slice(from);
        }
        (kind, at) = (*next, at + whole);
    }
}

fn tcp(from: &[u8], to: &mut [u8]) {
    let (Some((from, mut options)), Some((to, mut to_options))) =
        (from.split_first_chunk::<20>(), to.split_first_chunk_mut::<20>())
    else {
        return;
    };
    *to = *from;
    zero(to, 16, 2);
    to_options.fill(NO_OPERATION);
    loop {
        let length = match options {
            [] | [0, ..] => return,
            [NO_OPERATION, ..] => 1,
            [_, length, ..] if *length >= 2 => usize::from(*length),
            _ => return,
        };
        let (Some((option, rest)), Some((to, to_rest))) =
            (options.split_at_checked(length), to_options.split_at_mut_checked(length))
        else {
            return;
        };
        if let [kind, ..] = option
            && (KNOWN_OPTIONS.contains(kind) || *kind == TIMESTAMPS)
        {
            to.copy_from_slice(option);
        }
        (options, to_options) = (rest, to_rest);
    }
}

/// Puts the checksum into the innermost TCP or UDP header of a packet that was written, where all that
/// it covers is there: the datagram, and the addresses of the IP header before it.
pub(super) fn seal(fields: &[Placed], datagram: usize, to: &mut [u8]) {
    let Some((header, at, _)) = fields.last().copied() else { return };
    let protocol = match header {
        Field::Tcp => TCP,
        Field::Udp => UDP,
        _ => return,
    };
    let ip = fields.iter().rev().find(|(field, ..)| matches!(field, Field::Ipv4 | Field::Ipv6));
    let Some((field, ip, _)) = ip.copied() else { return };
    let (from, length) = if field == Field::Ipv4 { (ip + 12, 8) } else { (ip + 8, 32) };
    let Some(addresses) = to.get(from..from + length).map(sum) else { return };
    let Some(covered) = to.get_mut(at..at.saturating_add(datagram)) else { return };
    let pseudo_header = addresses + u64::from(protocol) + datagram as u64;
    let mut sum = checksum(pseudo_header + sum(covered));
    if protocol == UDP && sum == 0 {
        sum = 0xffff; // RFC 768: 0 says that there is none.
    }
    put(covered, if protocol == TCP { 16 } else { 6 }, sum);
}

/// The sum of 16-bit numbers (RFC 1071), not folded yet.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>() + last
}

fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put(to: &mut [u8], at: usize, value: u16) {
    if let Some(to) = to.get_mut(at..at + 2) {
        to.copy_from_slice(&value.to_be_bytes());
    }
}

fn zero(to: &mut [u8], at: usize, length: usize) {
    if let Some(to) = to.get_mut(at..at + length) {
        to.fill(0);
    }
}
