//! One direction of a queue pair: packets → requests in the order of their sequence numbers.
//!
//! A reliable connection delivers in order: what is lost is sent again from there on (InfiniBand volume
//! 1, section 9.7.5). So a packet that comes too early waits here for those before it, and one that
//! was seen is dropped. When none of them comes, the capture has lost them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::packet::{Payload, Roce, Target, Verb};
use crate::stream::assembler::Stamp;

/// Sequence numbers have 24 bits.
const NUMBERS: u32 = 1 << 24;

/// Packets that wait behind a hole; with one more it is given up.
const WAITING_LIMIT: usize = 64;

/// Packets in a row that are taken for ones that are sent again: no sender has so many under way.
const AGAIN_LIMIT: u32 = 1 << 12;

/// Packets by which a capture of two ports may have them in another order.
const MIXED_UP_FRAMES: u64 = 4;

/// The smallest packets that data are cut into.
const SMALLEST: u32 = 256;

/// A packet that waits, with bytes of its own.
pub(super) struct Held {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    pub(super) verb: Verb,
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
    pub(super) stamp: Stamp,
}

impl Held {
    /// The packet, to the queue pair that it waited for.
    pub(super) fn packet(&self, queue_pair: u32) -> Roce<'_> {
        let Self { source, destination, sequence, verb, .. } = *self;
        let payload = Payload::new(&self.bytes, self.length);
        Roce { source, destination, queue_pair, sequence, verb, payload }
    }
}

/// Where a packet is, from where its direction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// It is the next one.
    Next,
    /// It was seen.
    Again,
    /// Others are missing before it.
    Early,
}

/// The order of one direction.
#[derive(Default)]
pub(super) struct Queue {
    /// The next sequence number, and how many may be left out before it: those of answers to a request.
    next: Option<(u32, u32)>,
    waiting: VecDeque<Held>,
    /// Memory that those which wait take.
    pub(super) held_bytes: usize,
    /// Packets in a row that had been seen before.
    again: u32,
}

impl Queue {
    /// Where a packet is that comes now.
    pub(super) fn place(&mut self, sequence: u32) -> Order {
        let order = self.order(sequence);
        self.again = if order == Order::Again { self.again + 1 } else { 0 };
        if self.again <= AGAIN_LIMIT {
            return order;
        }
        // Another connection has the queue pair, and its beginning is not in the capture.
        self.next = None;
        self.again = 0;
        Order::Next
    }

    /// Where a packet is.
    fn order(&self, sequence: u32) -> Order {
        let Some((next, passed)) = self.next else { return Order::Next };
        match distance(next, sequence) {
            ahead if ahead <= passed => Order::Next,
            ahead if ahead < NUMBERS / 2 => Order::Early,
            _ => Order::Again,
        }
    }

    /// Takes that the next packet was this one.
    pub(super) fn advance(&mut self, sequence: u32, verb: Verb) {
        // A request to read has the numbers of its answers, of which one holds so many bytes at least.
        let answers = match verb {
            Verb::ReadRequest(Target { length, .. }) => length.div_ceil(SMALLEST).max(1),
            _ => 1,
        };
        self.next = Some((after(sequence), answers - 1));
    }

    /// Holds a packet that came early. `true`: so many wait that the hole is to be given up.
    pub(super) fn hold(&mut self, packet: &Roce<'_>, stamp: Stamp) -> bool {
        let Some((next, _)) = self.next else { return false };
        let ahead = |sequence: u32| distance(next, sequence);
        let at = self.waiting.partition_point(|held| ahead(held.sequence) < ahead(packet.sequence));
        if self.waiting.get(at).is_none_or(|held| held.sequence != packet.sequence) {
            let bytes = packet.payload.bytes.to_vec();
            self.held_bytes += bytes.len() + size_of::<Held>();
            let Roce { source, destination, sequence, verb, payload, .. } = *packet;
            let length = payload.length;
            let held = Held { source, destination, sequence, verb, bytes, length, stamp };
            self.waiting.insert(at, held);
        }
        self.waiting.len() > WAITING_LIMIT
    }

    /// The next of those that wait, if it is its turn.
    pub(super) fn release(&mut self) -> Option<Held> {
        while let Some(held) = self.waiting.front() {
            match self.order(held.sequence) {
                Order::Early => return None,
                Order::Next => return self.take(),
                Order::Again => drop(self.take()),
            }
        }
        None
    }

    /// Whether the receiver has what is missing before the packets that wait, since it acknowledged this
    /// number: then the capture lost it, unless it only mixed up a few packets.
    pub(super) fn lost(&self, acknowledged: u32, now: Stamp) -> bool {
        self.waiting.front().is_some_and(|held| {
            let since = now.frame.saturating_sub(held.stamp.frame);
            self.order(acknowledged) == Order::Early && since > MIXED_UP_FRAMES
        })
    }

    /// Gives up the hole before what waits: how many packets were lost at least.
    pub(super) fn give_up(&mut self) -> Option<u32> {
        let first = self.waiting.front()?.sequence;
        let (next, passed) = self.next.replace((first, 0))?;
        Some(distance(next, first).saturating_sub(passed))
    }

    fn take(&mut self) -> Option<Held> {
        let held = self.waiting.pop_front()?;
        self.held_bytes = self.held_bytes.saturating_sub(held.bytes.len() + size_of::<Held>());
        Some(held)
    }
}

/// The sequence number after another.
pub(super) fn after(sequence: u32) -> u32 {
    (sequence + 1) % NUMBERS
}

/// How far ahead a sequence number is of another.
fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from) % NUMBERS
}
