//! Packets as they stand in a capture → packets in order of time, where the capture mixed them up.
//!
//! A capture of several interfaces (`dumpcap -i eth0 -i eth1`), or of the queues of one, is written as
//! packets come to hand: those of one behind those of another that came later. Their times are right, and
//! their order is not: replies stand before their calls, and streams go back and forth.
//!
//! Times that go back may as well be wrong, where two directions have clocks of their own or the clock was
//! set. So packets are held, and what they carry is asked: in the order in which they came each segment of
//! TCP goes on where the one before it ended, and acknowledges what was there, and an answer over UDP
//! follows its call. Only where that is much more so in order of
//! time than in that of the file are they taken in order of time, from there on, until none is late for a
//! long while.
//!
//! Takes packets with their numbers; gives them back, with the same numbers. Promises: memory is
//! [`BYTES_LIMIT`] and one packet; but for the [`FIRST`] packets, none is copied as long as none is late.

mod fuller;

mod parts;

mod restore;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::capture::merge::{Merge, Next};
use crate::capture::{LinkType, Packet};
use crate::packet::outline::{Carried, outline};
use crate::stream::seq::SeqNumber;

pub use fuller::{Fuller, Given};
pub use restore::Restore;

/// Bytes of packets that are held at most, and one packet.
const BYTES_LIMIT: usize = 16 << 20;

/// Packets that are held while they are taken in order of time: one that so many later ones stand before
/// stays behind them.
pub const HELD_LIMIT: usize = 1 << 14;

/// Packets that are looked at to know how to take them.
const LOOKED_AT: usize = 1 << 12;

/// Where none of the first so many is late, no more are looked at.
const FIRST: usize = 1 << 9;

/// After so many packets without a late one, they are taken as they stand.
const QUIET: u64 = 1 << 15;

/// After packets were looked at in vain, late ones are not minded for so many, then for twice as many …
const UNMINDED: u64 = 1 << 12;

/// … at most.
const UNMINDED_LIMIT: u64 = 1 << 20;

/// Breaches of TCP's order in that of the file, at least: fewer are what a network does.
const FEW: usize = 3;

/// In order of time there must be so many times fewer.
const FEWER: usize = 4;

/// `msg_type` of RPC (RFC 5531 section 9).
const CALL: u32 = 0;

/// See [`CALL`].
const REPLY: u32 = 1;

/// What a held packet takes beside its bytes.
const BOOKKEEPING: usize = 192;

/// A buffer that is so much larger than need be does not serve again.
const SPARE: usize = 1 << 10;

/// A packet, with its place in the decode.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// The index of its file.
    pub file: usize,
    /// Its number over all files as they stand.
    pub frame: u64,
    /// Its number in the order in which packets are given.
    pub place: u64,
    /// It stood behind packets that came later, and was put before them.
    pub late: bool,
    /// The packet.
    pub packet: Packet<'a>,
}

/// A packet that is held.
struct Held {
    file: usize,
    frame: u64,
    late: bool,
    number: u64,
    time_ns: i64,
    stated_ns: i64,
    link: LinkType,
    wire_length: u32,
    bytes: Vec<u8>,
}

impl Held {
    /// A packet, in a buffer that serves again.
    fn of(file: usize, frame: u64, packet: &Packet<'_>, mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend_from_slice(packet.bytes);
        let Packet { number, time_ns, stated_ns, link, wire_length, .. } = *packet;
        Self { file, frame, late: false, number, time_ns, stated_ns, link, wire_length, bytes }
    }

    fn packet(&self) -> Packet<'_> {
        Packet {
            number: self.number,
            time_ns: self.time_ns,
            stated_ns: self.stated_ns,
            link: self.link,
            wire_length: self.wire_length,
            bytes: &self.bytes,
        }
    }

    fn size(&self) -> usize {
        self.bytes.capacity() + BOOKKEEPING
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Packets are taken as they stand.
    Passing,
    /// Some are held, to be looked at.
    Looking,
    /// They are taken in order of time.
    Sorting,
    /// What is held is given back before others are read.
    Emptying,
}

/// Puts packets in order of time, where that is the one in which they came.
pub struct Order {
    mode: Mode,
    /// The number of the packet that was held last.
    read: u64,
    /// The time of the packet before, as it stands in the file.
    last_ns: i64,
    /// Packets since the last late one.
    quiet: u64,
    /// Late ones among those that are looked at.
    late: usize,
    /// Packets for which late ones are not minded, and for how many they were the last time.
    unminded: u64,
    unminded_last: u64,
    /// In the order of the file; of those in order of time the places.
    held: VecDeque<Held>,
    sorted: BinaryHeap<Reverse<(i64, u64, usize)>>,
    places: Vec<Option<Held>>,
    free: Vec<usize>,
    bytes: usize,
    /// The latest time of those that were sorted.
    latest_ns: i64,
    /// The one that was given back last, whose buffer serves again.
    given: Option<Held>,
}

impl Default for Order {
    /// Begins by looking: nobody knows how a capture begins.
    fn default() -> Self {
        Self {
            mode: Mode::Looking,
            read: 0,
            last_ns: i64::MIN,
            quiet: 0,
            late: 0,
            unminded: 0,
            unminded_last: 0,
            held: VecDeque::new(),
            sorted: BinaryHeap::new(),
            places: Vec::new(),
            free: Vec::new(),
            bytes: 0,
            latest_ns: i64::MIN,
            given: None,
        }
    }
}

impl Order {
    /// Whether the next packet, which has this time, is to be held rather than taken at once.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "into the decode's loop: two questions, whose answer is nearly always no"
    )]
    pub fn holds(&mut self, time_ns: i64) -> bool {
        let in_order = time_ns >= self.last_ns;
        self.last_ns = time_ns;
        if in_order && self.mode == Mode::Passing {
            return false;
        }
        self.minds(in_order)
    }

    #[cold]
    #[inline(never)]
    fn minds(&mut self, in_order: bool) -> bool {
        self.quiet = if in_order { self.quiet.saturating_add(1) } else { 0 };
        self.late += usize::from(!in_order);
        if self.mode == Mode::Passing {
            // Late ones are counted, not packets: few of them are not worth another look.
            self.unminded = self.unminded.saturating_sub(1);
            if self.unminded == 0 {
                (self.mode, self.late) = (Mode::Looking, 1);
            }
        }
        self.mode != Mode::Passing
    }

    /// Holds a packet.
    #[cold]
    #[inline(never)]
    pub fn hold(&mut self, file: usize, frame: u64, packet: &Packet<'_>) {
        let mut bytes = self.given.take().map(|given| given.bytes).unwrap_or_default();
        if bytes.capacity() > SPARE + 2 * packet.bytes.len() {
            bytes = Vec::new(); // Small packets in large buffers would take more than they count.
        }
        let held = Held::of(file, frame, packet, bytes);
        (self.read, self.bytes) = (frame, self.bytes.saturating_add(held.size()));
        if self.mode == Mode::Sorting { self.sort(held) } else { self.held.push_back(held) }
    }

    /// Whether there may be packets to give back.
    #[inline]
    pub fn holding(&self) -> bool {
        self.mode != Mode::Passing
    }

    /// A packet that was held, if it is its turn. `more`: others may follow in the captures.
    #[cold]
    #[inline(never)]
    pub fn release(&mut self, more: bool) -> Option<Placed<'_>> {
        if !self.ready(more) {
            return None;
        }
        let held = self.take()?;
        self.bytes = self.bytes.saturating_sub(held.size());
        let Held { file, frame, late, .. } = held;
        let place = self.read.saturating_sub((self.held.len() + self.sorted.len()) as u64);
        let packet = self.given.insert(held).packet();
        Some(Placed { file, frame, place, late, packet })
    }

    /// Whether it is the turn of a packet that is held.
    fn ready(&mut self, more: bool) -> bool {
        if self.mode == Mode::Looking {
            let enough = if self.late == 0 { FIRST } else { LOOKED_AT };
            let full = self.held.len() >= enough || self.bytes >= BYTES_LIMIT / 2;
            if more && !full {
                return false;
            }
            self.look();
        }
        if self.mode == Mode::Sorting {
            let full = self.sorted.len() >= HELD_LIMIT || self.bytes >= BYTES_LIMIT;
            if self.quiet >= QUIET || !more {
                self.mode = Mode::Emptying;
            } else if !full {
                return false;
            }
        }
        if self.held.is_empty() && self.sorted.is_empty() {
            self.mode = Mode::Passing;
        }
        self.mode != Mode::Passing
    }

    /// Gives the next packet of the captures to `take`; `None` at their end. Why a file ends is not told.
    pub fn next<T>(&mut self, captures: &mut Merge, take: impl FnOnce(&Placed<'_>) -> T) -> Option<T> {
        loop {
            // What is given is lent, so that this cannot be asked and answered in one.
            if self.holding() && self.ready(true) {
                return self.release(true).map(|placed| take(&placed));
            }
            match captures.next() {
                Some(Next::Packet(file, packet)) => {
                    self.read += 1;
                    let frame = self.read;
                    if !self.holds(packet.time_ns) {
                        return Some(take(&Placed { file, frame, place: frame, late: false, packet }));
                    }
                    self.hold(file, frame, &packet);
                }
                Some(Next::End(..)) => {}
                None => return self.release(false).map(|placed| take(&placed)),
            }
        }
    }

    /// The next one in that of both orders which is the packets'.
    fn take(&mut self) -> Option<Held> {
        let Some(Reverse((_, _, place))) = self.sorted.pop() else { return self.held.pop_front() };
        self.free.push(place);
        self.places.get_mut(place)?.take()
    }

    /// Puts a packet among those in order of time.
    fn sort(&mut self, mut held: Held) {
        held.late = held.time_ns < self.latest_ns;
        self.latest_ns = held.time_ns.max(self.latest_ns);
        let place = self.free.pop().unwrap_or(self.places.len());
        self.sorted.push(Reverse((held.time_ns, held.frame, place)));
        match self.places.get_mut(place) {
            Some(free) => *free = Some(held),
            None => self.places.push(Some(held)),
        }
    }

    /// Looks at what is held: how is it to be taken?
    fn look(&mut self) {
        self.mode = Mode::Emptying;
        if std::mem::take(&mut self.late) == 0 {
            return;
        }
        if self.came_in_order_of_time() {
            self.mode = Mode::Sorting;
            self.unminded_last = 0;
            self.latest_ns = i64::MIN;
            for held in std::mem::take(&mut self.held) {
                self.sort(held);
            }
        } else {
            self.unminded_last = (2 * self.unminded_last).clamp(UNMINDED, UNMINDED_LIMIT);
            self.unminded = self.unminded_last;
        }
    }

    /// Whether TCP tells so of the packets that are held.
    fn came_in_order_of_time(&self) -> bool {
        let as_they_stand = breaches(self.held.iter());
        if as_they_stand < FEW {
            return false;
        }
        let mut by_time: Vec<&Held> = self.held.iter().collect();
        by_time.sort_by_key(|held| held.time_ns);
        breaches(by_time.into_iter()).saturating_mul(FEWER) <= as_they_stand
    }
}

/// How many segments, in this order, do not begin where the one before them ended, or acknowledge what is
/// not there; and how many datagrams that answer others stand before these. One that is there twice counts
/// where it is first: a copy begins where its twin did in any order.
fn breaches<'a>(packets: impl Iterator<Item = &'a Held>) -> usize {
    let mut ends: HashMap<(SocketAddr, SocketAddr), SeqNumber, RandomState> = HashMap::default();
    let mut early: HashSet<(SocketAddr, SocketAddr, u32), RandomState> = HashSet::default();
    let mut seen: HashSet<(SocketAddr, SocketAddr, u32, u32, u64), RandomState> = HashSet::default();
    let (mut fields, mut breaches) = (Vec::new(), 0);
    for held in packets {
        fields.clear();
        let packet = held.packet();
        let segment = match outline(&packet, &mut fields) {
            Carried::Segment(segment) => segment,
            Carried::Datagram(datagram) => {
                let (source, destination) = (datagram.source, datagram.destination);
                match rpc_header(datagram.payload.bytes) {
                    Some((xid, CALL)) => breaches += usize::from(early.remove(&(destination, source, xid))),
                    Some((xid, REPLY)) => _ = early.insert((source, destination, xid)),
                    _ => {}
                }
                continue;
            }
            Carried::Fragment(_) | Carried::Other => continue,
        };
        let (source, destination) = (segment.source, segment.destination);
        let begin = SeqNumber(segment.sequence);
        let length = segment.payload.length + usize::from(segment.flags.syn());
        let told = (source, destination, segment.sequence, segment.acknowledgement, length as u64);
        if !seen.insert(told) {
            continue;
        }
        if length > 0 {
            let end = begin.advance(length);
            let before = ends.entry((source, destination)).or_insert(begin);
            breaches += usize::from(*before != begin);
            if segment.flags.syn() || end.ahead_of(*before) > 0 {
                *before = end;
            }
        }
        let acknowledged = SeqNumber(segment.acknowledgement);
        if let Some(end) = ends.get_mut(&(destination, source)).filter(|_| segment.flags.ack())
            && acknowledged.ahead_of(*end) > 1
        {
            breaches += 1;
            *end = acknowledged; // It was there, and is not in the capture, or comes late.
        }
    }
    breaches
}

/// The xid of a message of RPC, and whether it is a call (RFC 5531 section 9).
fn rpc_header(message: &[u8]) -> Option<(u32, u32)> {
    let [xid, kind] = message.as_chunks::<4>().0.first_chunk::<2>()?;
    Some((u32::from_be_bytes(*xid), u32::from_be_bytes(*kind)))
}

#[cfg(test)]
mod tests;
