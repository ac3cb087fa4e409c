//! Packet → where its headers lie, and what they hold.
//!
//! Walks the way of [`super::Dissector`] with the same parsers, for who wants to write the packet anew:
//! gives the place of each field that may hold an address, and what the payload is. Bytes of which
//! nothing is said here are not part of a header that is known.

use std::net::IpAddr;

use super::ip::{self, Piece};
pub use super::ip::{AUTHENTICATION, FRAGMENT};
use super::link::{self, Network};
use super::tcp::Segment;
use super::tunnel::Between;
use super::udp::Datagram;
use super::{NESTING_LIMIT, Other, Payload, rdma, tags, tunnel};
use crate::capture::{LinkType, Packet};

/// What bytes of a header are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Types, tags and other numbers.
    Numbers,
    /// A hardware address.
    Hardware,
    /// An IPv4 header with its options.
    Ipv4,
    /// An IPv6 header, without those that extend it.
    Ipv6,
    /// The headers that extend an IPv6 header, of which the first is of this protocol.
    Extensions(u8),
    /// A TCP header with its options.
    Tcp,
    /// A UDP header.
    Udp,
}

/// The bytes of a segment that tell a connection as one of iWARP: they are the same in all.
pub fn opens_rdma(segment: &Segment<'_>) -> Option<&'static [u8; 16]> {
    rdma::opening_key(segment.payload.bytes)
}

/// A field, its place in the packet, and its length.
pub type Placed = (Field, usize, usize);

/// What the innermost header carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried<'a> {
    /// A TCP segment.
    Segment(Segment<'a>),
    /// A UDP datagram.
    Datagram(Datagram<'a>),
    /// A piece of an IP datagram.
    Fragment(Fragment<'a>),
    /// Something else.
    Other,
}

/// A piece of an IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The datagram it belongs to: source, destination, protocol and number.
    pub of: (IpAddr, IpAddr, u8, u32),
    /// Where in the datagram it begins.
    pub offset: usize,
    /// Its bytes.
    pub payload: Payload<'a>,
}

impl Fragment<'_> {
    /// Whether the datagram is one of UDP.
    pub fn is_udp(&self) -> bool {
        self.of.2 == ip::UDP
    }
}

/// Appends the fields of a packet's headers to `fields`; gives what they carry.
pub fn outline<'a>(packet: &Packet<'a>, fields: &mut Vec<Placed>) -> Carried<'a> {
    let frame = Payload::new(packet.bytes, packet.wire_length as usize);
    let mut outline = Outline { packet: packet.bytes, fields };
    if let Ok(network) = link::network(packet.link, frame) {
        outline.link(packet.link, 0, outline.place(bytes_of(network)));
        outline.network(network, NESTING_LIMIT)
    } else {
        outline.link(packet.link, 0, smallest(packet.link).min(packet.bytes.len()));
        Carried::Other
    }
}

struct Outline<'a, 'f> {
    packet: &'a [u8],
    fields: &'f mut Vec<Placed>,
}

impl<'a> Outline<'a, '_> {
    /// Where in the packet these bytes of it begin.
    fn place(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr().addr().saturating_sub(self.packet.as_ptr().addr())
    }

    fn field(&mut self, field: Field, from: usize, to: usize) {
        if from < to {
            self.fields.push((field, from, to - from));
        }
    }

    /// The header of a link type, which ends where the IP packet begins: addresses, and around them
    /// types and tags.
    fn link(&mut self, link: LinkType, from: usize, to: usize) {
        let addresses: &[(usize, usize)] = match link {
            LinkType::ETHERNET => {
                self.ethernet(from, to);
                return;
            }
            LinkType::FDDI => &[(1, 6), (7, 6)],
            LinkType::LINUX_SLL => &[(6, 8)],
            LinkType::LINUX_SLL2 => &[(12, 8)],
            // The global route header, of which nothing is needed, stays away.
            LinkType::IPOIB if to > from + 4 => {
                self.field(Field::Numbers, (from + 40).min(to), to);
                return;
            }
            // Attributes tell of users and processes; only that there are some need be known.
            LinkType::NFLOG => {
                self.field(Field::Numbers, from, (from + 4).min(to));
                for (head, _, _) in link::attributes(self.packet).take_while(|(head, _, _)| *head < to) {
                    self.field(Field::Numbers, head, (head + 4).min(to));
                }
                return;
            }
            LinkType::PKTAP | LinkType::ERF => {
                let header = Payload::new(self.packet, self.packet.len());
                let inner = if link == LinkType::PKTAP {
                    // The same is true of what lies between these numbers and the packet.
                    link::pktap_header(header).map(|(link, length)| (link, length, 12))
                } else {
                    link::erf_header(header).map(|(link, length)| (link, length, length))
                };
                if let Ok((link, length, numbers)) = inner {
                    self.field(Field::Numbers, from, (from + numbers).min(to));
                    self.link(link, (from + length).min(to), to);
                }
                return;
            }
            _ => &[],
        };
        let mut at = from;
        for (address, length) in addresses {
            let address = (from + address).min(to);
            let end = (address + length).min(to);
            self.field(Field::Numbers, at, address);
            self.field(Field::Hardware, address, end);
            at = end;
        }
        self.field(Field::Numbers, at, to);
    }

    /// An Ethernet header, its tags, and the headers and tags of the frames in the frame.
    fn ethernet(&mut self, from: usize, to: usize) {
        let header = self.packet.get(from..).unwrap_or_default();
        let mut begins = vec![from];
        if let Some([.., t0, t1]) = header.first_chunk::<14>() {
            let rest = header.get(14..).unwrap_or_default();
            let kind = u16::from_be_bytes([*t0, *t1]);
            begins.extend(
                tags::frames(kind, Payload::new(rest, rest.len())).iter().map(|frame| self.place(frame)),
            );
        }
        begins.retain(|begin| *begin <= to);
        begins.push(to);
        for (begin, end) in begins.iter().zip(begins.iter().skip(1)) {
            let addresses = (begin + 12).min(*end);
            let second = (begin + 6).min(addresses);
            self.field(Field::Hardware, *begin, second);
            self.field(Field::Hardware, second, addresses);
            self.field(Field::Numbers, addresses, *end);
        }
    }

    fn network(&mut self, network: Network<'a>, levels: usize) -> Carried<'a> {
        let Some(levels) = levels.checked_sub(1) else { return Carried::Other };
        let Ok((carried, piece)) = ip::parse(network) else { return Carried::Other };
        let (from, to) = (self.place(bytes_of(network)), self.place(carried.payload.bytes));
        match network {
            Network::V4(_) => self.field(Field::Ipv4, from, to),
            Network::V6(packet) => {
                let next = packet.bytes.get(6).copied().unwrap_or_default();
                self.field(Field::Ipv6, from, from + ip::V6_HEADER);
                self.field(Field::Extensions(next), from + ip::V6_HEADER, to);
            }
        }
        if let Some(Piece { identification, offset, .. }) = piece {
            let of = (carried.source, carried.destination, carried.protocol, identification);
            return Carried::Fragment(Fragment { of, offset, payload: carried.payload });
        }
        match carried.protocol {
            ip::TCP => {
                let mut segment = Segment::EMPTY;
                if segment.read(carried).is_err() {
                    return Carried::Other;
                }
                self.field(Field::Tcp, to, self.place(segment.payload.bytes));
                Carried::Segment(segment)
            }
            ip::UDP => {
                let Ok(datagram) = Datagram::parse(&carried) else { return Carried::Other };
                self.field(Field::Udp, to, self.place(datagram.payload.bytes));
                self.datagram(datagram, levels)
            }
            protocol => match tunnel::in_ip(protocol, carried.payload) {
                Ok(inner) => {
                    let inner_at = self.place(bytes_of(inner));
                    let before = tunnel::before_in_ip(protocol, carried.payload.bytes);
                    self.tunnel(before, to, inner_at);
                    self.network(inner, levels)
                }
                Err(_) => Carried::Other,
            },
        }
    }

    fn datagram(&mut self, datagram: Datagram<'a>, levels: usize) -> Carried<'a> {
        if levels == 0 {
            return Carried::Datagram(datagram);
        }
        let Some(inner) = tunnel::in_udp(datagram.destination.port(), datagram.payload) else {
            return Carried::Datagram(datagram);
        };
        if let Err(Other::MalformedHeader | Other::NotIp) = ip::parse(inner) {
            // The port misled, as the dissector sees it.
            return Carried::Datagram(datagram);
        }
        let (from, to) = (self.place(datagram.payload.bytes), self.place(bytes_of(inner)));
        let before = tunnel::before_in_udp(datagram.destination.port(), datagram.payload.bytes);
        self.tunnel(before, from, to);
        self.network(inner, levels)
    }

    /// The headers between two IP packets, of which the outer ends at `from`.
    fn tunnel(&mut self, before: Between, from: usize, to: usize) {
        let numbers = (from + before.numbers).min(to);
        let link = (from + before.link).min(to);
        self.field(Field::Numbers, from, numbers);
        self.field(Field::Numbers, numbers.max(link - before.closing.min(link)), link);
        if before.ethernet {
            self.link(LinkType::ETHERNET, link, to);
        } else {
            self.field(Field::Numbers, link, to);
        }
    }
}

fn bytes_of(network: Network<'_>) -> &[u8] {
    let (Network::V4(packet) | Network::V6(packet)) = network;
    packet.bytes
}

/// Length of a header in front of anything but IP.
fn smallest(link: LinkType) -> usize {
    match link {
        LinkType::ETHERNET => 14,
        LinkType::LINUX_SLL => 16,
        LinkType::LINUX_SLL2 => 20,
        LinkType::FDDI => 13,
        LinkType::NULL | LinkType::LOOP => 4,
        _ => 0,
    }
}
