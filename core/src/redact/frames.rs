//! The second reading: packet for packet, with what the journal tells of its payload.
//!
//! A datagram in fragments is written anew when it is put together, as if it had come in one packet, and then cut
//! as it was ([`Fragments`]). Of one of which fragments are missing UDP is told as far as it goes.

use std::hash::BuildHasher;
use std::io;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::fragments::{self, Fragments, Piece, Waiting, removed};
use super::headers;
use super::journal::{Ledger, StreamId};
use super::message::{Counter, DATAGRAMS, Ends, Opening, datagram_place, ordered};
use super::values::Values;
use crate::capture::{LinkType, Packet};
use crate::order;
use crate::packet::outline::{Carried, Field, Fragment, Placed, opens_rdma, outline};
use crate::packet::{Content, Datagram, Dissector, Other, Segment, Whole};
use crate::stream::Sides;

/// Datagrams remembered, so that the second copy of one that was captured twice is found; beyond it all
/// are forgotten.
const COPIES_LIMIT: usize = 1 << 13;

/// Datagrams in fragments remembered; beyond it all are forgotten.
const FRAGMENTED_LIMIT: usize = 1 << 13;

const UDP_HEADER: usize = 8;

/// Takes a packet that was written anew.
pub(super) type Sink<'a> = dyn FnMut(&order::Placed<'_>, &[u8]) -> io::Result<()> + 'a;

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
    fragments: Fragments,
    /// The frame with which each datagram began.
    begun: HashMap<fragments::Of, u64, RandomState>,
    copies: HashMap<u64, u64, RandomState>,
    hasher: RandomState,
    frame: u64,
    fields: Vec<Placed>,
    bytes: Vec<u8>,
    removed: u64,
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
            fragments: Fragments::default(),
            begun: HashMap::default(),
            copies: HashMap::default(),
            hasher: RandomState::default(),
            frame: 0,
            fields: Vec::new(),
            bytes: Vec::new(),
            removed: 0,
        }
    }

    /// Bytes that were not zero and are now.
    pub(super) fn removed(&self) -> u64 {
        self.removed + self.fragments.removed()
    }

    /// What was replaced.
    pub(super) fn into_values(self) -> Values {
        self.values
    }

    /// Takes the next packet; gives it, and those that waited for it, as they may be told.
    pub(super) fn next(&mut self, placed: &order::Placed<'_>, to: &mut Sink<'_>) -> io::Result<()> {
        let packet = &placed.packet;
        self.dissector.read_from(placed.file);
        self.frame += 1;
        while let Some(opening) = self.openings.next_if(|opening| opening.frame <= self.frame) {
            let Opening { ends, streams, .. } = opening;
            self.conversations.insert(ends, Conversation { streams, counters: Sides::default() });
        }
        let carried = self.headers(packet);
        let seen = self.see(packet);
        match carried {
            Carried::Segment(segment) => self.segment(packet, &segment)?,
            Carried::Datagram(datagram) => self.datagram(packet, &datagram, seen)?,
            Carried::Fragment(fragment) => {
                let piece = self.piece(packet, &fragment, seen);
                self.fragments.hold(Waiting::of(placed, self.bytes.clone(), Some(piece)));
                self.put_together(packet, seen)?;
                return self.release(true, to);
            }
            Carried::Other => {}
        }
        self.removed += removed(packet.bytes, &self.bytes);
        if self.fragments.is_empty() {
            return to(placed, &self.bytes);
        }
        self.fragments.hold(Waiting::of(placed, self.bytes.clone(), None));
        self.release(true, to)
    }

    /// Gives what still waits: there are no more packets.
    pub(super) fn end(&mut self, to: &mut Sink<'_>) -> io::Result<()> {
        self.release(false, to)
    }

    /// Begins a packet with its headers; gives what they carry.
    fn headers<'a>(&mut self, packet: &Packet<'a>) -> Carried<'a> {
        self.fields.clear();
        let carried = outline(packet, &mut self.fields);
        self.bytes.clear();
        self.bytes.resize(packet.bytes.len(), 0);
        for field in &self.fields {
            headers::write(*field, packet.bytes, &mut self.bytes, &mut self.values);
        }
        carried
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
        self.told(packet, datagram, frame)
    }

    /// Writes what the journal tells of a datagram that began with this frame.
    fn told(&mut self, packet: &Packet<'_>, datagram: &Datagram<'_>, frame: u64) -> io::Result<()> {
        let payload = datagram.payload;
        let at = offset(packet, payload.bytes);
        if let Some(to) = self.bytes.get_mut(at..at + payload.bytes.len()) {
            self.ledger.read(DATAGRAMS, datagram_place(frame), to)?;
        }
        self.seal(payload.length);
        Ok(())
    }

    /// What a frame has of a datagram; nothing of it is written yet.
    fn piece(&mut self, packet: &Packet<'_>, fragment: &Fragment<'_>, seen: Seen) -> Piece {
        let before = self.begun.get(&fragment.of).copied().filter(|_| seen == Seen::Copy);
        let completed = self.dissector.completed().map(|whole| whole.first.0);
        let began = completed.or_else(|| self.dissector.begun(fragment.of)).or(before).unwrap_or(self.frame);
        if self.begun.len() >= FRAGMENTED_LIMIT {
            self.begun.clear();
        }
        self.begun.insert(fragment.of, began);
        let Fragment { offset: from, payload, .. } = *fragment;
        Piece {
            of: fragment.of,
            began,
            at: offset(packet, payload.bytes),
            length: payload.bytes.len(),
            offset: from,
            is_udp: fragment.is_udp(),
            original: packet.bytes.to_vec(),
        }
    }

    /// Writes the datagram anew that the packet completed, if it did.
    fn put_together(&mut self, packet: &Packet<'_>, seen: Seen) -> io::Result<()> {
        let Some(whole) = self.dissector.completed() else { return Ok(()) };
        let (began, _) = whole.first;
        let (link, bytes, header) = in_one(&whole);
        let wire_length = (header + whole.payload.length) as u32;
        let packet = Packet { link, bytes: &bytes, wire_length, ..*packet };
        match self.headers(&packet) {
            Carried::Segment(segment) => self.segment(&packet, &segment)?,
            Carried::Datagram(datagram) if self.is_bare() => self.told(&packet, &datagram, began)?,
            Carried::Datagram(datagram) => self.datagram(&packet, &datagram, seen)?,
            // Fragments in fragments stay empty.
            Carried::Fragment(_) | Carried::Other => {}
        }
        self.fragments.complete(began, self.bytes.get(header..).unwrap_or_default().to_vec());
        Ok(())
    }

    /// Whether the packet is in no tunnel.
    fn is_bare(&self) -> bool {
        self.fields.iter().filter(|(field, ..)| matches!(field, Field::Ipv4 | Field::Ipv6)).count() == 1
    }

    /// Gives the frames that wait for nothing any more; all, unless packets follow.
    fn release(&mut self, more: bool, to: &mut Sink<'_>) -> io::Result<()> {
        loop {
            let dissector = &self.dissector;
            let waits = |piece: &Piece| more && dissector.begun(piece.of) == Some(piece.began);
            let Some(mut frame) = self.fragments.next(waits) else { return Ok(()) };
            if let Some(piece) = frame.piece.take() {
                self.incomplete(&piece, &mut frame.bytes)?;
                self.removed += removed(&piece.original, &frame.bytes);
            }
            to(&frame.placed, &frame.bytes)?;
        }
    }

    /// Writes a fragment of a datagram of which others are missing, or came too late.
    fn incomplete(&mut self, piece: &Piece, bytes: &mut [u8]) -> io::Result<()> {
        if !piece.is_udp {
            return Ok(());
        }
        let mut at = piece.at;
        let end = at + piece.length;
        let mut place = datagram_place(piece.began) + piece.offset as u64;
        if piece.offset == 0 {
            headers::write((Field::Udp, at, UDP_HEADER), &piece.original, bytes, &mut self.values);
            at += UDP_HEADER;
        } else {
            place -= UDP_HEADER as u64;
        }
        match bytes.get_mut(at..end) {
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
        // What comes of it later begins a datagram of its own.
        while self.dissector.overdue(Some(packet.time_ns)).is_some() {}
        match self.dissector.dissect(packet) {
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
    Other,
}

/// A datagram as one packet: its link type, its bytes, and how long its header is. No length is stated, which has
/// room for any.
fn in_one(whole: &Whole<'_>) -> (LinkType, Vec<u8>, usize) {
    let (link, mut bytes) = match (whole.source, whole.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 0, whole.protocol, 0, 0];
            header.extend(source.octets());
            header.extend(destination.octets());
            (LinkType::IPV4, header)
        }
        (source, destination) => {
            let mut header = vec![0x60, 0, 0, 0, 0, 0, whole.protocol, 0];
            for address in [source, destination] {
                header.extend(match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    IpAddr::V6(address) => address.octets(),
                });
            }
            (LinkType::IPV6, header)
        }
    };
    let length = bytes.len();
    bytes.extend_from_slice(whole.payload.bytes);
    (link, bytes, length)
}

/// Where in the packet these bytes of it begin.
fn offset(packet: &Packet<'_>, bytes: &[u8]) -> usize {
    bytes.as_ptr().addr().saturating_sub(packet.bytes.as_ptr().addr())
}
