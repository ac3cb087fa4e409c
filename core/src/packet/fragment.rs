//! IP fragments → datagrams (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! Takes fragments in any order, twice, overlapping (what came first stays) and cut by the
//! snaplen; gives the datagram when its last missing piece arrives. Memory stays within
//! [`BYTES_LIMIT`] and [`DATAGRAM_LIMIT`]; beyond them the oldest datagram is given up and its
//! fragments are counted. The only part of [`super`] that allocates.

use std::collections::BTreeMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::At;
use super::ip::{Carried, Piece};
use super::{Datagram, Other, Payload};

/// Bytes held for incomplete datagrams, bookkeeping included.
const BYTES_LIMIT: usize = 16 << 20;

/// Incomplete datagrams held.
const DATAGRAM_LIMIT: usize = 4096;

/// A datagram incomplete for longer is given up when its identification appears again: hosts use
/// the 65,536 identifications of IPv4 over and over. RFC 8200 section 4.5 allows 60 s, Linux 30 s.
const PATIENCE_NS: i64 = 30_000_000_000;

/// A datagram to which nothing came for so long is delivered as far as it goes: the capture lost a
/// fragment, and the reply to the call in it may be waiting.
const LATE_NS: u64 = 200_000_000;

/// Longest payload of an IP datagram.
const LONGEST: usize = 65_535;

/// What every datagram is charged beside its bytes.
const BOOKKEEPING: usize = size_of::<Assembly>() + 2 * size_of::<Key>() + 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
    /// 0 for IPv6, where only the first fragment's next header counts (RFC 8200 section 4.5).
    protocol: u8,
}

impl Key {
    fn of(source: IpAddr, destination: IpAddr, protocol: u8, identification: u32) -> Self {
        let protocol = if source.is_ipv4() { protocol } else { 0 };
        Self { source, destination, identification, protocol }
    }

    fn carried<'a>(&self, protocol: u8, payload: Payload<'a>) -> Carried<'a> {
        let Self { source, destination, identification, .. } = *self;
        Carried { source, destination, protocol, identification: identification as u16, payload }
    }
}

/// A range of the datagram that was on the wire.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    /// Where the snaplen cut it; `end` if it did not.
    captured: usize,
}

struct Assembly {
    /// Position in the order of age.
    age: u64,
    started_ns: i64,
    /// Number and time of the packets that began it and added to it last.
    first: At,
    last: At,
    frames: u64,
    /// Known when the fragment without *more* arrived.
    total: Option<usize>,
    /// What the first fragment says follows the IP headers.
    protocol: u8,
    /// Bytes in `spans`.
    covered: usize,
    /// In order, without overlap.
    spans: Vec<Span>,
    data: Vec<u8>,
}

/// A datagram that was put together.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// Where it came from.
    pub source: IpAddr,
    /// Where it goes to.
    pub destination: IpAddr,
    /// The protocol of its first header.
    pub protocol: u8,
    /// What its fragments carried, up to where the snaplen cut one.
    pub payload: Payload<'a>,
    /// Which packet began it, and its time.
    pub first: At,
}

/// What is known of the datagram that was delivered last, beside its bytes.
struct Delivered {
    key: Key,
    protocol: u8,
    total: usize,
    first: At,
}

/// A datagram of which fragments are missing.
pub(super) struct Part<'a> {
    /// Its beginning, up to the first missing fragment.
    pub(super) carried: Carried<'a>,
    /// Number and time of the packet that began it.
    pub(super) first: At,
    /// Number and time of the packet that came last.
    pub(super) last: At,
}

/// The datagrams that wait for fragments.
#[derive(Default)]
pub(super) struct Fragments {
    /// Keys come from the capture: the hash is seeded at random.
    waiting: HashMap<Key, Assembly, RandomState>,
    by_age: BTreeMap<u64, Key>,
    born: u64,
    bytes: usize,
    /// Frames of waiting datagrams, and of those given up.
    held: u64,
    given_up: u64,
    /// The datagram that was delivered last.
    whole: Vec<u8>,
    /// The same, if all of it came.
    delivered: Option<Delivered>,
}

impl Fragments {
    /// The datagram that was put together last.
    pub(super) fn last(&self) -> Option<Whole<'_>> {
        let Delivered { key: Key { source, destination, .. }, protocol, total, first } =
            *self.delivered.as_ref()?;
        let payload = Payload::new(&self.whole, total);
        Some(Whole { source, destination, protocol, payload, first })
    }

    /// Which packet began the datagram with these addresses, protocol and number that waits for fragments.
    pub(super) fn begun(&self, of: (IpAddr, IpAddr, u8, u32)) -> Option<u64> {
        let (source, destination, protocol, identification) = of;
        let (first, _) = self.waiting.get(&Key::of(source, destination, protocol, identification))?.first;
        Some(first)
    }

    /// Frames whose datagram is not complete.
    pub(super) fn unfinished(&self) -> u64 {
        self.held + self.given_up
    }

    /// Takes a fragment; gives the payload of the datagram that it completes, and what
    /// packet began that.
    pub(super) fn add(
        &mut self,
        carried: &Carried<'_>,
        piece: Piece,
        at: At,
    ) -> Result<Option<(Carried<'_>, At)>, Other> {
        let length = carried.payload.length;
        let end = piece.offset + length;
        // All but the last carry a multiple of eight bytes.
        if length == 0 || end > LONGEST || (piece.more && !length.is_multiple_of(8)) {
            return Err(Other::MalformedHeader);
        }
        let key = Key::of(carried.source, carried.destination, carried.protocol, piece.identification);
        let assembly = self.assembly(key, carried.protocol, at);
        let before = assembly.charge();
        assembly.insert(piece.offset, carried.payload);
        assembly.frames += 1;
        assembly.last = at;
        if piece.offset == 0 {
            assembly.protocol = carried.protocol;
        }
        if !piece.more {
            assembly.total.get_or_insert(end);
        }
        let complete = assembly.complete();
        let grown = assembly.charge() - before;
        self.bytes += grown;
        self.held += 1;

        let Some(total) = complete else {
            self.keep_within_limits();
            return Ok(None);
        };
        let Some(assembly) = self.remove(&key) else {
            return Ok(None);
        };
        let captured = assembly.prefix().min(total);
        self.whole = assembly.data;
        self.whole.truncate(captured);
        let Assembly { protocol, first, .. } = assembly;
        self.delivered = Some(Delivered { key, protocol, total, first });
        let payload = Payload::new(&self.whole, total);
        Ok(Some((Carried { protocol, payload, ..*carried }, first)))
    }

    /// The datagram that a fragment belongs to, which begins if none waits for it, or only one of long ago.
    fn assembly(&mut self, key: Key, protocol: u8, at: At) -> &mut Assembly {
        let (_, time_ns) = at;
        let is_over = |old: &Assembly| old.started_ns.abs_diff(time_ns) > PATIENCE_NS.unsigned_abs();
        if self.waiting.get(&key).is_some_and(is_over) {
            self.give_up(&key);
        }
        self.waiting.entry(key).or_insert_with(|| {
            self.born += 1;
            self.by_age.insert(self.born, key);
            self.bytes += BOOKKEEPING;
            Assembly {
                age: self.born,
                started_ns: time_ns,
                first: at,
                last: at,
                frames: 0,
                total: None,
                protocol,
                covered: 0,
                spans: Vec::new(),
                data: Vec::new(),
            }
        })
    }

    /// Whether a datagram waits for fragments.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        !self.by_age.is_empty()
    }

    /// The next datagram that will not be completed, if its header is there. `now_ns`: `None` at the
    /// end of the capture. Its frames count as unfinished.
    pub(super) fn overdue(&mut self, now_ns: Option<i64>) -> Option<Part<'_>> {
        loop {
            let key = *self.by_age.first_key_value()?.1;
            let late = |last_ns: i64| now_ns.is_none_or(|now_ns| now_ns.abs_diff(last_ns) > LATE_NS);
            if !self.waiting.get(&key).is_none_or(|assembly| late(assembly.last.1)) {
                return None;
            }
            let Some(assembly) = self.remove(&key) else {
                self.by_age.pop_first();
                continue;
            };
            self.given_up += assembly.frames;
            let captured = assembly.prefix();
            // Pieces of a TCP segment have a place in a stream, where losses are seen too.
            if captured == 0 || assembly.protocol != super::ip::UDP {
                continue;
            }
            let Assembly { protocol, total, first, last, mut data, .. } = assembly;
            data.truncate(captured);
            let total = total.unwrap_or(LONGEST);
            // Of one without a header nothing can be told; others may be late as well.
            if Datagram::parse(&key.carried(protocol, Payload::new(&data, total))).is_err() {
                continue;
            }
            self.delivered = None;
            self.whole = data;
            let carried = key.carried(protocol, Payload::new(&self.whole, total));
            return Some(Part { carried, first, last });
        }
    }

    fn keep_within_limits(&mut self) {
        while self.bytes > BYTES_LIMIT || self.waiting.len() > DATAGRAM_LIMIT {
            let Some((_, oldest)) = self.by_age.first_key_value() else {
                return;
            };
            let oldest = *oldest;
            self.give_up(&oldest);
        }
    }

    fn give_up(&mut self, key: &Key) {
        if let Some(assembly) = self.remove(key) {
            self.given_up += assembly.frames;
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Assembly> {
        let assembly = self.waiting.remove(key)?;
        self.by_age.remove(&assembly.age);
        self.bytes = self.bytes.saturating_sub(assembly.charge() + BOOKKEEPING);
        self.held = self.held.saturating_sub(assembly.frames);
        Some(assembly)
    }
}

impl Assembly {
    /// Memory that grows with the fragments.
    fn charge(&self) -> usize {
        self.data.capacity() + self.spans.capacity() * size_of::<Span>()
    }

    /// Puts a fragment where nothing is yet.
    fn insert(&mut self, start: usize, fragment: Payload<'_>) {
        let end = start + fragment.length;
        let mut from = start;
        let mut index = self.spans.partition_point(|span| span.end <= start);
        while from < end {
            let next = self.spans.get(index).copied();
            let gap_end = next.map_or(end, |span| span.start.min(end));
            if from < gap_end {
                let captured = (start + fragment.bytes.len()).clamp(from, gap_end);
                let bytes = fragment.bytes.get(from - start..captured - start).unwrap_or_default();
                self.write(from, bytes);
                self.covered += gap_end - from;
                self.spans.insert(index, Span { start: from, end: gap_end, captured });
                index += 1;
            }
            from = next.map_or(end, |span| span.end);
            index += 1;
        }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        if let Some(place) = self.data.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
    }

    /// The datagram's length, if all of it was on the wire.
    fn complete(&self) -> Option<usize> {
        let total = self.total.filter(|total| self.covered >= *total)?;
        let mut reached = 0;
        for span in &self.spans {
            if span.start > reached {
                return None;
            }
            reached = span.end;
        }
        (reached >= total).then_some(total)
    }

    /// Bytes from the start that were captured without interruption.
    fn prefix(&self) -> usize {
        let mut reached = 0;
        for span in &self.spans {
            if span.start > reached {
                break;
            }
            // Less than its end where the snaplen cut it: then the next span starts too late.
            reached = span.captured;
        }
        reached
    }
}

#[cfg(test)]
#[path = "fragment_tests.rs"]
mod tests;
