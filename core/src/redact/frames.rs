//! The second reading: packet for packet, with what the journal tells of its payload.

use std::hash::BuildHasher;
use std::io;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::headers;
use super::journal::{Ledger, StreamId};
use super::message::{Counter, DATAGRAMS, Ends, Opening, datagram_place, ordered};
use super::values::Values;
use crate::capture::Packet;
use crate::packet::outline::{Carried, Field, Fragment, Placed, opens_rdma, outline};
use crate::packet::{Content, Datagram, Dissector, Other, Segment};
use crate::stream::Sides;

/// Datagrams remembered, so that the second copy of one that was captured twice is found; beyond it all
/// are forgotten.
const COPIES_LIMIT: usize = 1 << 13;

/// Datagrams in fragments remembered; beyond it all are forgotten.
const FRAGMENTED_LIMIT: usize = 1 << 13;

/// As long as fragments with the same number belong together (see `packet/fragment.rs`).
const PATIENCE_NS: u64 = 30_000_000_000;

const UDP_HEADER: usize = 8;

/// The datagram to which a fragment belongs.
type Whole = (std::net::IpAddr, std::net::IpAddr, u8, u32);

#[derive(Clone, Copy)]
struct Begun {
    frame: u64,
    time_ns: i64,
    complete: bool,
}

struct Conversation {
    streams: Sides<StreamId>,
    counters: Sides<Counter>,
}

/// Writes packets anew.
pub(super) struct Frames {
    values: Values,
    ledger: Ledger,
    openings: std::iter::Peekable<std::vec::IntoIter<Opening>>,
    conversations: HashMap<Ends, Conversation, RandomState>,
    /// Tells what the first reading saw as a copy or as a part of a datagram.
    dissector: Dissector,
    fragmented: HashMap<Whole, Begun, RandomState>,
    /// By the frame with which each began.
    begun: HashMap<u64, Whole, RandomState>,
    copies: HashMap<u64, u64, RandomState>,
    hasher: RandomState,
    frame: u64,
    fields: Vec<Placed>,
    bytes: Vec<u8>,
    /// Bytes that were not zero and are now.
    pub(super) removed: u64,
}

impl Frames {
    /// Frames of the capture from which the ledger was written, which are in so many files.
    pub(super) fn new(values: Values, ledger: Ledger, mut openings: Vec<Opening>, files: usize) -> Self {
        openings.sort_by_key(|opening| opening.frame);
        Self {
            values,
            ledger,
            openings: openings.into_iter().peekable(),
            conversations: HashMap::default(),
            dissector: Dissector::of_files(files),
            fragmented: HashMap::default(),
            begun: HashMap::default(),
            copies: HashMap::default(),
            hasher: RandomState::default(),
            frame: 0,
            fields: Vec::new(),
            bytes: Vec::new(),
            removed: 0,
        }
    }

    /// What was replaced.
    pub(super) fn into_values(self) -> Values {
        self.values
    }

    /// The next packet as it may be told, which comes from the file with this index.
    pub(super) fn next(&mut self, file: usize, packet: &Packet<'_>) -> io::Result<&[u8]> {
        self.dissector.read_from(file);
        self.frame += 1;
        while let Some(opening) = self.openings.next_if(|opening| opening.frame <= self.frame) {
            let Opening { ends, streams, .. } = opening;
            self.conversations.insert(ends, Conversation { streams, counters: Sides::default() });
        }
        self.fields.clear();
        let carried = outline(packet, &mut self.fields);
        self.bytes.clear();
        self.bytes.resize(packet.bytes.len(), 0);
        for field in &self.fields {
            headers::write(*field, packet.bytes, &mut self.bytes, &mut self.values);
        }
        let seen = self.see(packet);
        match carried {
            Carried::Segment(segment) => self.segment(packet, &segment)?,
            Carried::Datagram(datagram) => self.datagram(packet, &datagram, seen)?,
            Carried::Fragment(fragment) => self.fragment(packet, &fragment, seen)?,
            Carried::Other => {}
        }
        let removed = self.bytes.iter().zip(packet.bytes).filter(|(to, from)| **to == 0 && **from != 0);
        self.removed += removed.count() as u64;
        Ok(&self.bytes)
    }

    fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> io::Result<()> {
        let (ends, side) = ordered(segment.source, segment.destination);
        let payload = segment.payload;
        if let Some(conversation) = self.conversations.get_mut(&ends) {
            let place = conversation.counters.of_mut(side).count(segment.sequence);
            let place = place + u64::from(segment.flags.syn());
            let at = offset(packet, payload.bytes);
            if let Some(to) = self.bytes.get_mut(at..at + payload.bytes.len()) {
                self.ledger.read(*conversation.streams.of(side), place, to)?;
            }
        }
        if let Some(key) = opens_rdma(segment) {
            let at = offset(packet, payload.bytes);
            if let Some(to) = self.bytes.get_mut(at..at + key.len()) {
                to.copy_from_slice(key);
            }
        }
        self.seal(payload.length);
        Ok(())
    }

    fn datagram(&mut self, packet: &Packet<'_>, datagram: &Datagram<'_>, seen: Seen) -> io::Result<()> {
        let payload = datagram.payload;
        let print = self.hasher.hash_one((datagram.source, datagram.destination, payload.bytes));
        let frame = if seen == Seen::Copy {
            self.copies.get(&print).copied().unwrap_or(self.frame)
        } else {
            if self.copies.len() >= COPIES_LIMIT {
                self.copies.clear();
            }
            self.copies.insert(print, self.frame);
            self.frame
        };
        let at = offset(packet, payload.bytes);
        if let Some(to) = self.bytes.get_mut(at..at + payload.bytes.len()) {
            self.ledger.read(DATAGRAMS, datagram_place(frame), to)?;
        }
        self.seal(payload.length);
        Ok(())
    }

    fn fragment(&mut self, packet: &Packet<'_>, fragment: &Fragment<'_>, seen: Seen) -> io::Result<()> {
        let known = self.fragmented.get(&fragment.of).copied().filter(|begun| {
            let young = packet.time_ns.abs_diff(begun.time_ns) <= PATIENCE_NS;
            seen == Seen::Copy || young && !begun.complete
        });
        let begun = known.unwrap_or(Begun { frame: self.frame, time_ns: packet.time_ns, complete: false });
        if self.fragmented.len() >= FRAGMENTED_LIMIT {
            self.fragmented.clear();
            self.begun.clear();
        }
        let complete = begun.complete || seen == Seen::Whole;
        if let Some(before) = self.fragmented.insert(fragment.of, Begun { complete, ..begun })
            && before.frame != begun.frame
        {
            self.begun.remove(&before.frame);
        }
        self.begun.insert(begun.frame, fragment.of);
        if !fragment.is_udp() {
            return Ok(());
        }
        let mut at = offset(packet, fragment.payload.bytes);
        let end = at + fragment.payload.bytes.len();
        let mut place = datagram_place(begun.frame) + fragment.offset as u64;
        if fragment.offset == 0 {
            let header = (Field::Udp, at, UDP_HEADER);
            headers::write(header, packet.bytes, &mut self.bytes, &mut self.values);
            at += UDP_HEADER;
        } else {
            place -= UDP_HEADER as u64;
        }
        match self.bytes.get_mut(at..end) {
            Some(to) => self.ledger.read(DATAGRAMS, place, to),
            None => Ok(()),
        }
    }

    /// Checksums, unless the packet was cut.
    fn seal(&mut self, payload: usize) {
        let header = self.fields.last().map_or(0, |(_, _, length)| *length);
        headers::seal(&self.fields, header + payload, &mut self.bytes);
    }

    fn see(&mut self, packet: &Packet<'_>) -> Seen {
        while let Some(part) = self.dissector.overdue(Some(packet.time_ns)) {
            // What comes of it later begins a datagram of its own.
            let frame = part.datagram.began.map_or(0, |(frame, _)| frame);
            if let Some(whole) = self.begun.remove(&frame) {
                self.fragmented.remove(&whole);
            }
        }
        match self.dissector.dissect(packet) {
            Content::Datagram(datagram) if datagram.began.is_some() => Seen::Whole,
            Content::Other(Other::Duplicate) => Seen::Copy,
            _ => Seen::Other,
        }
    }
}

/// What the first reading made of a packet, as far as its place depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// A copy of one before.
    Copy,
    /// The fragment that completed a datagram.
    Whole,
    Other,
}

/// Where in the packet these bytes of it begin.
fn offset(packet: &Packet<'_>, bytes: &[u8]) -> usize {
    bytes.as_ptr().addr().saturating_sub(packet.bytes.as_ptr().addr())
}
