//! Addresses → others of the same form.
//!
//! An address gets, part for part, others with as many digits, so that it takes the same room as text
//! and stays what it is: unicast, multicast, link-local. Parts depend on those before them: addresses
//! of one network stay addresses of one network. No two addresses get the same pseudonym.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::pseudonyms::{Domain, Pseudonyms, copy};

/// Addresses remembered, since finding their pseudonyms takes many hashes; beyond it they are found anew.
const KNOWN_LIMIT: usize = 1 << 16;

/// What a first octet may become: as many digits, and unicast, loopback, multicast or reserved as before.
const FIRST: &[RangeInclusive<u8>] =
    &[0..=0, 1..=9, 10..=99, 100..=126, 127..=127, 128..=223, 224..=239, 240..=255];

/// What another may.
const OTHERS: &[RangeInclusive<u8>] = &[0..=9, 10..=99, 100..=255];

/// The network of link-local addresses (RFC 3927).
const LINK_LOCAL: [u8; 2] = [169, 254];

/// What the third digit of an IPv6 address that begins with `fe` may become: link-local are 8 to b, and
/// c to f were site-local (RFC 4291).
const AFTER_FE: &[RangeInclusive<u8>] = &[0..=7, 8..=11, 12..=15];

/// Pseudonyms of addresses.
#[derive(Default)]
pub(super) struct Addresses {
    known: HashMap<IpAddr, IpAddr, RandomState>,
}

impl Addresses {
    /// Addresses that were replaced, at most as many as are remembered.
    pub(super) fn count(&self) -> u64 {
        self.known.iter().filter(|(address, other)| address != other).count() as u64
    }

    /// Of an IP address. Those that are nobody's (any, loopback, broadcast) stay.
    pub(super) fn ip(&mut self, pseudonyms: &Pseudonyms, address: IpAddr) -> IpAddr {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let other = match address {
            IpAddr::V4(address) => IpAddr::V4(v4(pseudonyms, address)),
            IpAddr::V6(address) => IpAddr::V6(v6(pseudonyms, address)),
        };
        if self.known.len() >= KNOWN_LIMIT {
            self.known.clear();
        }
        self.known.insert(address, other);
        other
    }

    /// Of an address as text; `false` where it is none.
    pub(super) fn text(&mut self, pseudonyms: &Pseudonyms, text: &[u8], to: &mut [u8]) -> bool {
        let parsed = std::str::from_utf8(text).ok().and_then(|text| text.parse::<IpAddr>().ok());
        let Some(address) = parsed else { return false };
        if address.to_string().as_bytes() == text {
            copy(self.ip(pseudonyms, address).to_string().as_bytes(), to);
        } else {
            // Written in another way than its pseudonym would be.
            pseudonyms.token(text, to);
        }
        true
    }

    /// Of a universal address (RFC 5665 section 5.2.3): an address and the port's two bytes, which stay.
    pub(super) fn universal(&mut self, pseudonyms: &Pseudonyms, text: &[u8], to: &mut [u8]) -> bool {
        let dots = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'.');
        let Some(dot) = dots.map(|(at, _)| at).nth(1) else { return false };
        let (address, port) = text.split_at(dot);
        let digits = port.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        match to.split_at_mut_checked(dot) {
            Some((to_address, to_port)) if digits && port.len() <= ".255.255".len() => {
                to_port.copy_from_slice(port);
                self.text(pseudonyms, address, to_address)
            }
            _ => false,
        }
    }
}

/// Of a hardware address: locally administered, and for one or for many as before.
pub(super) fn hardware(pseudonyms: &Pseudonyms, address: &[u8], to: &mut [u8]) {
    if address.iter().all(|byte| *byte == 0) || address.iter().all(|byte| *byte == 0xff) {
        to.copy_from_slice(address);
        return;
    }
    pseudonyms.hash(Domain::Hardware, &[address], to);
    if let (Some(first), Some(to)) = (address.first(), to.first_mut()) {
        *to = *to & !3 | 2 | first & 1;
    }
}

fn v4(pseudonyms: &Pseudonyms, address: Ipv4Addr) -> Ipv4Addr {
    if address.is_unspecified() || address.is_broadcast() || address.is_loopback() {
        return address;
    }
    let octets = address.octets();
    let mut other = [0; 4];
    dealt(pseudonyms, &octets, &mut other);
    // Link-local addresses change places with those that would become link-local.
    let (network, _) = octets.split_at(LINK_LOCAL.len());
    let (other_network, _) = other.split_at_mut(LINK_LOCAL.len());
    if network == LINK_LOCAL {
        other_network.copy_from_slice(&LINK_LOCAL);
    } else if other_network == LINK_LOCAL {
        dealt(pseudonyms, &LINK_LOCAL, other_network);
    }
    Ipv4Addr::from(other)
}

/// What the first octets of an address become, as many as there are.
fn dealt(pseudonyms: &Pseudonyms, octets: &[u8], other: &mut [u8]) {
    for (place, (octet, to)) in octets.iter().zip(other).enumerate() {
        let before = octets.get(..place).unwrap_or_default();
        let ranges = if place == 0 { FIRST } else { OTHERS };
        let Some(range) = ranges.iter().find(|range| range.contains(octet)) else { continue };
        *to = range.start() + within(pseudonyms, Domain::Ipv4, before, octet - range.start(), range);
    }
}

fn within(
    pseudonyms: &Pseudonyms,
    domain: Domain,
    before: &[u8],
    place: u8,
    range: &RangeInclusive<u8>,
) -> u8 {
    let count = u32::from(range.end() - range.start()) + 1;
    let mut context = before.to_vec();
    context.push(*range.start());
    pseudonyms.dealt(domain, &context, usize::from(place), count) as u8
}

/// Digit by digit, the leading zeros of each group left as they are: so the text has the same length.
fn v6(pseudonyms: &Pseudonyms, address: Ipv6Addr) -> Ipv6Addr {
    if address.is_unspecified() || address.is_loopback() {
        return address;
    }
    if let Some(mapped) = address.to_ipv4_mapped() {
        return v4(pseudonyms, mapped).to_ipv6_mapped();
    }
    let mut before = Vec::with_capacity(32);
    let mut other = [0_u16; 8];
    for (place, (group, to)) in address.segments().iter().zip(&mut other).enumerate() {
        let digits = (16 - group.leading_zeros()).div_ceil(4);
        // Multicast, unique local and the like are told by the first two digits, link-local by the third.
        let kept = if place == 0 && group >> 12 == 0xf { digits.min(2) } else { 0 };
        for digit in (0..digits).rev() {
            let value = (group >> (4 * digit) & 0xf) as u8;
            let leading = digit + 1 == digits;
            let after_fe = place == 0 && digit == 1 && group >> 8 == 0xfe;
            let class = AFTER_FE.iter().find(|range| after_fe && range.contains(&value));
            let range = match (place, leading) {
                (0, true) => 1..=14,
                (_, true) => 1..=15,
                (_, false) => class.cloned().unwrap_or(0..=15),
            };
            let stays = digits - 1 - digit < kept;
            let dealt = if stays {
                value
            } else {
                range.start() + within(pseudonyms, Domain::Ipv6, &before, value - range.start(), &range)
            };
            *to = *to << 4 | u16::from(dealt);
            before.push(value);
        }
        before.push(0x10);
    }
    Ipv6Addr::from(other)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn pseudonyms() -> Pseudonyms {
        Pseudonyms::new([3; 32], false)
    }

    fn is_link_local(address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    #[test]
    fn no_other_network_becomes_link_local_and_no_two_become_one() {
        let pseudonyms = pseudonyms();
        let other = |first, second| v4(&pseudonyms, Ipv4Addr::new(first, second, 7, 7)).octets();
        // Networks of which some would: those whose first octet becomes that of link-local ones.
        let firsts = (128..=223).filter(|first| other(*first, 7)[0] == LINK_LOCAL[0]);
        let mut others = HashSet::new();
        for first in firsts.chain([LINK_LOCAL[0]]).collect::<HashSet<_>>() {
            for second in 100..=255 {
                let [begins, goes_on, ..] = other(first, second);
                assert_eq!(
                    [begins, goes_on] == LINK_LOCAL,
                    [first, second] == LINK_LOCAL,
                    "{first}.{second}"
                );
                assert!(others.insert([begins, goes_on]), "{first}.{second}");
            }
        }
    }

    #[test]
    fn addresses_take_as_much_room_as_text_and_stay_what_they_are() {
        let (pseudonyms, mut addresses) = (pseudonyms(), Addresses::default());
        for text in [
            "10.0.2.20",
            "192.168.1.255",
            "224.0.0.251",
            "fd00::5",
            "2001:db8::1:2",
            "fe80::1234",
            "febf::1",
            "fec0::1",
            "fe10::1",
            "169.254.3.4",
            "ff02::fb",
            "::ffff:10.1.2.3",
        ] {
            let address: IpAddr = text.parse().unwrap();
            let other = addresses.ip(&pseudonyms, address);
            assert_ne!(other, address, "{text}");
            assert_eq!(other.to_string().len(), text.len(), "{text} {other}");
            assert_eq!(other.is_multicast(), address.is_multicast(), "{text} {other}");
            assert_eq!(is_link_local(other), is_link_local(address), "{text} {other}");
        }
        for text in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1"] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(addresses.ip(&pseudonyms, address), address);
        }
    }

    #[test]
    fn no_two_addresses_get_the_same() {
        let (pseudonyms, mut addresses) = (pseudonyms(), Addresses::default());
        let all = (0..1000_u32).map(|n| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n)));
        let seen: HashSet<_> = all.map(|address| addresses.ip(&pseudonyms, address)).collect();
        assert_eq!(seen.len(), 1000);
        let all = (0..1000_u128).map(|n| IpAddr::V6(Ipv6Addr::from(0xfd00_u128 << 112 | n)));
        let seen: HashSet<_> = all.map(|address| addresses.ip(&pseudonyms, address)).collect();
        assert_eq!(seen.len(), 1000);
    }

    #[test]
    fn a_universal_address_keeps_its_port() {
        let (pseudonyms, mut addresses) = (pseudonyms(), Addresses::default());
        let mut to = vec![0; b"10.0.2.20.8.1".len()];
        assert!(addresses.universal(&pseudonyms, b"10.0.2.20.8.1", &mut to));
        let other = addresses.ip(&pseudonyms, "10.0.2.20".parse().unwrap());
        assert_eq!(String::from_utf8(to).unwrap(), format!("{other}.8.1"));
        for text in [&b""[..], b"/run/rpcbind.sock", b"host.8.1", b"10.0.2.20.8.x"] {
            assert!(!addresses.universal(&pseudonyms, text, &mut vec![0; text.len()]));
        }
    }
}
