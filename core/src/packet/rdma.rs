//! RDMA traffic: recognised, so that it is named, and not decoded.
//!
//! RoCE version 2 is a UDP port of its own. iWARP shares its port with NFS over TCP (20049), so a
//! connection counts as iWARP from the MPA frame that opens it (RFC 5044 section 7.1); one that was
//! open before the capture began stays a TCP connection without RPC.

use std::net::SocketAddr;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::{Datagram, Segment};

const ROCE_PORT: u16 = 4791;
/// Adapters send RoCE from ports above this, whatever they choose them by; programs that happen to
/// use the RoCE port are servers below it.
const ROCE_SOURCES: u16 = 0x8000;
/// Length of the base transport header, and of the checksum that ends the packet.
const SMALLEST_ROCE: usize = 12 + 4;

/// NFS over RDMA (RFC 8267 section 6).
const NFS_RDMA_PORT: u16 = 20_049;

/// The keys of the frames with which the two sides of an iWARP connection begin.
const MPA_KEYS: [&[u8; 16]; 2] = [b"MPA ID Req Frame", b"MPA ID Rep Frame"];

/// Connections remembered; iWARP connections beyond it are taken for plain TCP (`rdma_limit`).
const CONNECTIONS_LIMIT: usize = 4_096;

/// Whether a datagram is an RDMA packet: InfiniBand's base transport header (volume 1, section 9.2)
/// behind the port of RoCE.
#[inline]
pub(super) fn is_roce(datagram: &Datagram<'_>) -> bool {
    datagram.destination.port() == ROCE_PORT
        && datagram.source.port() >= ROCE_SOURCES
        && datagram.payload.length >= SMALLEST_ROCE
        // The operation's class is one of six, the header's version (four bits) is 0.
        && matches!(datagram.payload.bytes, [operation, version, ..] if operation >> 5 <= 5 && version << 4 == 0)
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
