//! RDMA traffic: packets of RoCE version 2, and connections of iWARP.
//!
//! RoCE version 2 is a UDP port of its own; what its packets carry is taken from there
//! ([`crate::rdma`]). iWARP is recognised, so that it is named, and not decoded. It shares its port with NFS over TCP (20049), so a
//! connection counts as iWARP from the MPA frame that opens it (RFC 5044 section 7.1); one that was
//! open before the capture began stays a TCP connection without RPC.

use std::net::SocketAddr;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::{Datagram, Payload, Segment};

/// The UDP port of RoCE version 2.
pub const ROCE_PORT: u16 = 4791;
/// Adapters send RoCE from ports above this, whatever they choose them by; programs that happen to
/// use the RoCE port are servers below it.
const ROCE_SOURCES: u16 = 0x8000;
/// Length of the base transport header.
const BASE: usize = 12;
/// Length of the checksum that ends the packet.
const CHECKSUM: usize = 4;
const SMALLEST_ROCE: usize = BASE + CHECKSUM;

/// NFS over RDMA (RFC 8267 section 6).
const NFS_RDMA_PORT: u16 = 20_049;

/// The keys of the frames with which the two sides of an iWARP connection begin.
const MPA_KEYS: [&[u8; 16]; 2] = [b"MPA ID Req Frame", b"MPA ID Rep Frame"];

/// Connections remembered; iWARP connections beyond it are taken for plain TCP (`rdma_limit`).
const CONNECTIONS_LIMIT: usize = 4_096;

/// The partition's own queue pair, over which connections are managed (volume 1, section 13.5.1).
const MANAGING: u32 = 1;

/// What a packet of RoCE version 2 holds: InfiniBand's transport (volume 1, chapter 9) in UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roce<'a> {
    /// Address and port it came from. The port is the sender's choice: it spreads connections over links.
    pub source: SocketAddr,
    /// Address and port it goes to.
    pub destination: SocketAddr,
    /// The queue pair that it goes to, one of the destination's.
    pub queue_pair: u32,
    /// Its sequence number (PSN), 24 bits: that of the request that it is or answers.
    pub sequence: u32,
    /// What it is for.
    pub verb: Verb,
    /// The data, without headers, padding and checksum.
    pub payload: Payload<'a>,
}

/// Where in a message of several packets a packet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// It begins the message.
    pub first: bool,
    /// It ends it.
    pub last: bool,
}

/// Memory of the host that a request goes to (RETH, volume 1, section 9.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its address there.
    pub address: u64,
    /// The key that its owner gave away.
    pub key: u32,
    /// Bytes to move.
    pub length: u32,
}

/// What a packet is for (volume 1, table 38), as far as RPC is carried by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A part of a message.
    Send(Place),
    /// A part of what is written to the receiver's memory; its first packet says where to.
    Write(Place, Option<Target>),
    /// Asks for a part of the receiver's memory.
    ReadRequest(Target),
    /// A part of what was asked for.
    ReadResponse(Place),
    /// All up to this sequence number was received.
    Acknowledge,
    /// Another request, as an atomic one.
    OtherRequest,
    /// A message of connection management, to the queue pair that is there for it.
    Management,
    /// What carries no RPC: another transport service, or a refusal.
    Other,
}

impl<'a> Roce<'a> {
    /// Reads an RDMA packet: InfiniBand's base transport header (volume 1, section 9.2) behind the port
    /// of RoCE. `None`: it is none. Of one whose headers were cut off nothing is known but that it is one.
    #[inline]
    pub(super) fn of(datagram: &Datagram<'a>) -> Option<Self> {
        let right = datagram.destination.port() == ROCE_PORT
            && datagram.source.port() >= ROCE_SOURCES
            && datagram.payload.length >= SMALLEST_ROCE;
        if right { Self::read(datagram) } else { None }
    }

    #[cold]
    fn read(datagram: &Datagram<'a>) -> Option<Self> {
        let [operation, version, ..] = *datagram.payload.bytes else { return None };
        // The operation's class is one of six, the header's version (four bits) is 0.
        if operation >> 5 > 5 || version << 4 != 0 {
            return None;
        }
        let padding = usize::from(version >> 4 & 3);
        let (source, destination) = (datagram.source, datagram.destination);
        let nothing = Payload::new(&[], 0);
        let unread =
            Self { source, destination, queue_pair: 0, sequence: 0, verb: Verb::Other, payload: nothing };
        let Ok((header, rest)) = datagram.payload.header::<BASE>() else { return Some(unread) };
        let [_, _, _, _, _, q0, q1, q2, _, s0, s1, s2] = *header;
        let queue_pair = u32::from_be_bytes([0, q0, q1, q2]);
        let sequence = u32::from_be_bytes([0, s0, s1, s2]);
        let (verb, payload) = verb(operation, queue_pair, rest).unwrap_or((Verb::Other, nothing));
        let length = payload.length.saturating_sub(CHECKSUM + padding);
        Some(Self { source, destination, queue_pair, sequence, verb, payload: payload.of_length(length) })
    }
}

/// What an operation is, and the data behind the headers that it has. `None`: they were cut off.
fn verb(operation: u8, queue_pair: u32, rest: Payload<'_>) -> Option<(Verb, Payload<'_>)> {
    const DATAGRAM_SEND: u8 = 0x64;
    // Headers behind the base one: datagram, immediate data or key to invalidate, acknowledgement.
    const DATAGRAM: usize = 8;
    const IMMEDIATE: usize = 4;
    const ACKNOWLEDGEMENT: usize = 4;
    let place = |first, last| Place { first, last };
    let behind = |size: usize| Some(rest.split(size).ok()?.1);
    if operation == DATAGRAM_SEND && queue_pair == MANAGING {
        return Some((Verb::Management, behind(DATAGRAM)?));
    }
    // The reliable connection is the only service that carries RPC (RFC 8166 section 3.1).
    Some(match operation {
        0x00 => (Verb::Send(place(true, false)), rest),
        0x01 => (Verb::Send(place(false, false)), rest),
        0x02 => (Verb::Send(place(false, true)), rest),
        0x03 | 0x16 => (Verb::Send(place(false, true)), behind(IMMEDIATE)?),
        0x04 => (Verb::Send(place(true, true)), rest),
        0x05 | 0x17 => (Verb::Send(place(true, true)), behind(IMMEDIATE)?),
        0x06 | 0x0a | 0x0b => {
            let (target, mut data) = target(rest)?;
            if operation == 0x0b {
                data = data.split(IMMEDIATE).ok()?.1;
            }
            (Verb::Write(place(true, operation != 0x06), Some(target)), data)
        }
        0x07 => (Verb::Write(place(false, false), None), rest),
        0x08 => (Verb::Write(place(false, true), None), rest),
        0x09 => (Verb::Write(place(false, true), None), behind(IMMEDIATE)?),
        0x0c => {
            let (target, data) = target(rest)?;
            (Verb::ReadRequest(target), data)
        }
        0x0d => (Verb::ReadResponse(place(true, false)), behind(ACKNOWLEDGEMENT)?),
        0x0e => (Verb::ReadResponse(place(false, false)), rest),
        0x0f => (Verb::ReadResponse(place(false, true)), behind(ACKNOWLEDGEMENT)?),
        0x10 => (Verb::ReadResponse(place(true, true)), behind(ACKNOWLEDGEMENT)?),
        0x11 => {
            let (header, data) = rest.header::<4>().ok()?;
            // The syndrome's upper bits tell an acknowledgement from a refusal.
            let [syndrome, ..] = *header;
            (if syndrome >> 5 == 0 { Verb::Acknowledge } else { Verb::Other }, data)
        }
        0x13 | 0x14 => (Verb::OtherRequest, rest),
        _ => (Verb::Other, rest),
    })
}

/// The memory that a request is about.
fn target(rest: Payload<'_>) -> Option<(Target, Payload<'_>)> {
    let (header, data) = rest.header::<16>().ok()?;
    let [a0, a1, a2, a3, a4, a5, a6, a7, k0, k1, k2, k3, l0, l1, l2, l3] = *header;
    let address = u64::from_be_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
    let (key, length) = (u32::from_be_bytes([k0, k1, k2, k3]), u32::from_be_bytes([l0, l1, l2, l3]));
    Some((Target { address, key, length }, data))
}

/// The key with which a segment opens an iWARP connection, if it does.
pub(super) fn opening_key(bytes: &[u8]) -> Option<&'static [u8; 16]> {
    MPA_KEYS.into_iter().find(|key| bytes.starts_with(&key[..]))
}

/// Whether a segment between these ports may be one of iWARP.
#[inline]
pub(super) fn may_be_iwarp(source: u16, destination: u16) -> bool {
    source == NFS_RDMA_PORT || destination == NFS_RDMA_PORT
}

/// The iWARP connections on the port of NFS over RDMA.
#[derive(Default)]
pub(super) struct Iwarp {
    connections: HashSet<(SocketAddr, SocketAddr), RandomState>,
    /// Frames that opened a connection beyond the limit.
    pub(super) overlooked: u64,
}

impl Iwarp {
    /// Whether a segment belongs to an iWARP connection.
    #[inline]
    pub(super) fn carries(&mut self, segment: &Segment<'_>) -> bool {
        may_be_iwarp(segment.source.port(), segment.destination.port()) && self.knows(segment)
    }

    #[cold]
    fn knows(&mut self, segment: &Segment<'_>) -> bool {
        let (source, destination) = (segment.source, segment.destination);
        let ends = (source.min(destination), source.max(destination));
        if segment.flags.syn() {
            self.connections.remove(&ends);
            return false;
        }
        let opens = opening_key(segment.payload.bytes).is_some();
        if opens && self.connections.len() < CONNECTIONS_LIMIT {
            self.connections.insert(ends);
        } else if opens && !self.connections.contains(&ends) {
            self.overlooked += 1;
        }
        self.connections.contains(&ends)
    }
}
