//! Memory that hosts let others read and write: messages that are too long to be sent lie there.
//!
//! A client tells with its call where a long reply may be written, and where a long call can be read
//! (RFC 8166 section 3.5). What is written there, or answers a request to read there, is kept until the
//! message is known to be complete. Of data of files only how much came is known.

use std::collections::VecDeque;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::error::Reason;
use crate::packet::Payload;
use crate::rdma::header::Segment;
use crate::stream::assembler::Stamp;

/// Segments that are remembered; beyond it those that were given away first are forgotten, which counts if
/// anything lay in them (`rdma_limit`).
const SEGMENTS_LIMIT: usize = 1 << 14;

/// Bytes that all of them hold together; beyond it no more is kept of any (`rdma_limit`).
const BYTES_LIMIT: usize = 32 << 20;

/// Bytes that are kept of one: a listing has a megabyte at most.
const KEPT_LIMIT: usize = (1 << 20) + (1 << 16);

/// Whose memory it is, who may use it, and the key.
pub(super) type Key = (IpAddr, IpAddr, u32);

/// A segment, and what lies in it.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Which of those that were given away this is.
    number: u64,
    address: u64,
    /// It holds a message, or data that are wanted.
    kept: bool,
    /// Bytes that came, from its beginning on.
    came: usize,
    /// Those of them that are kept.
    pub(super) bytes: Vec<u8>,
    /// Why there are no more, if something was to follow.
    pub(super) limit: Option<Reason>,
    /// The packet with its first byte.
    pub(super) first: Option<Stamp>,
}

/// All segments that may hold messages.
#[derive(Default)]
pub(super) struct Memory {
    regions: HashMap<Key, Region, RandomState>,
    /// Their keys in order, with their numbers: those that were given away again since are others.
    order: VecDeque<(Key, u64)>,
    count: u64,
    bytes: usize,
    /// Segments that were forgotten, and those of which something was not kept.
    pub(super) overlooked: u64,
}

impl Memory {
    /// Takes that a segment is given away. `kept`: what is moved to or from it is wanted; else only how much.
    pub(super) fn expose(&mut self, key: Key, segment: &Segment, kept: bool) {
        self.count += 1;
        let region = Region { number: self.count, address: segment.address, kept, ..Region::default() };
        self.order.push_back((key, self.count));
        if let Some(former) = self.regions.insert(key, region) {
            self.bytes = self.bytes.saturating_sub(former.bytes.len());
        }
        while self.order.len() > SEGMENTS_LIMIT {
            let Some((key, number)) = self.order.pop_front() else { break };
            if self.regions.get(&key).is_some_and(|region| region.number == number)
                && let Some(forgotten) = self.take(key)
            {
                // Most that is offered for replies is never used.
                self.overlooked += u64::from(forgotten.came > 0);
            }
        }
    }

    /// Whether what is moved by this key may belong to a message.
    pub(super) fn knows(&self, key: Key) -> bool {
        self.regions.contains_key(&key)
    }

    /// Takes bytes that are moved to or from an address of a segment.
    pub(super) fn store(&mut self, key: Key, address: u64, payload: Payload<'_>, stamp: Stamp) {
        let Some(region) = self.regions.get_mut(&key) else { return };
        let Some(at) = address.checked_sub(region.address).and_then(|at| usize::try_from(at).ok()) else {
            return;
        };
        // What came before need not come again; what follows on a hole comes again behind what was lost.
        let Some(known) = region.came.checked_sub(at) else { return };
        region.first.get_or_insert(stamp);
        region.came += payload.length.saturating_sub(known);
        if region.limit.is_some() || !region.kept {
            return;
        }
        let fresh = payload.bytes.get(known..).unwrap_or_default();
        let room = KEPT_LIMIT.saturating_sub(region.bytes.len()).min(BYTES_LIMIT.saturating_sub(self.bytes));
        region.bytes.extend_from_slice(fresh.get(..room).unwrap_or(fresh));
        self.bytes += fresh.len().min(room);
        if fresh.len() > room {
            region.limit = Some(Reason::RecordLimit);
            self.overlooked += 1;
        } else if payload.bytes.len() < payload.length && known < payload.length {
            region.limit = Some(Reason::Truncated);
        }
    }

    /// What lies in a segment, of which nothing more is wanted.
    pub(super) fn take(&mut self, key: Key) -> Option<Region> {
        let region = self.regions.remove(&key)?;
        self.bytes = self.bytes.saturating_sub(region.bytes.len());
        Some(region)
    }

    /// Whether so many bytes of a segment came; of one that is not remembered, nothing more will.
    pub(super) fn has(&self, key: Key, length: usize) -> bool {
        self.regions.get(&key).is_none_or(|region| region.came >= length)
    }

    /// Bytes that all segments hold.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.bytes
    }
}
