//! Packets of RDMA → RPC messages: RPC over RDMA version 1 (RFC 8166), carried by RoCE version 2.
//!
//! Short messages are sent; long ones, and the data of files, lie in memory that the other side reads or
//! writes. Takes packets in the order of the capture; gives each message once it is known to be
//! complete, in order for each direction, with where data that were moved beside it belong. Promises that memory
//! is bounded: queue pairs, segments and bytes that wait have limits of their own (`rdma_limit`).
//!
//! A packet names the queue pair that it goes to, not the one that it comes from. Which two make a
//! connection says the communication manager, or, where the capture began later, an
//! acknowledgement, or a reply with the transaction identifier of a call.

mod header;

mod management;

mod memory;

mod messages;

mod queue;

mod state;

mod told;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use self::header::Segment;
use self::management::Managed;
use self::memory::Memory;
use self::queue::{Order, after};
use self::state::{Asked, Direction, LongCall, Parts, Read, Sent, Traffic, Whole};
pub(crate) use self::told::{Beside, Message, Told};
use crate::error::Reason;
use crate::packet::{Payload, Place, Roce, Target, Verb};
use crate::stream::assembler::Stamp;

/// Queue pairs that are told apart, each way for itself; packets to others are passed over.
const QUEUES_LIMIT: usize = 1 << 16;

/// Bytes that wait for their turn, or for the rest of their message, over all queue pairs.
const HELD_LIMIT: usize = 32 << 20;

/// Bytes of a message that is sent in pieces; the receiver has room for a few thousand.
const MESSAGE_LIMIT: usize = 1 << 18;

/// Calls of which something is being read, and requests for a connection, that are remembered.
const UNDER_WAY_LIMIT: usize = 1 << 10;

/// Requests to read that one host may have at another; adapters allow a few dozen for each queue pair.
const READS_LIMIT: usize = 1 << 8;

/// Messages that are remembered until they are acknowledged.
const SENT_KNOWN: usize = 16;

/// From whom, to whom.
type Way = (IpAddr, IpAddr);

/// All queue pairs of a decode.
#[derive(Default)]
pub(crate) struct Rdma {
    ways: HashMap<Way, Traffic, RandomState>,
    /// How many queue pairs these have.
    queues: usize,
    memory: Memory,
    /// Calls that are to be read.
    long_calls: VecDeque<LongCall>,
    /// Connections that were asked for.
    asked: VecDeque<Asked>,
    held_bytes: usize,
    overlooked: u64,
    /// Packets that are not in the capture.
    pub(crate) lost: u64,
}

impl Rdma {
    /// What was passed over or forgotten because of a limit.
    pub(crate) fn overlooked(&self) -> u64 {
        self.overlooked + self.memory.overlooked
    }

    /// Takes a packet; `sink` gets what it tells.
    pub(crate) fn take(&mut self, packet: &Roce<'_>, stamp: Stamp, sink: &mut impl FnMut(&Told<'_>)) {
        let sent = Sent { packet: *packet, stamp };
        match packet.verb {
            Verb::Send(_) | Verb::Write(..) | Verb::ReadRequest(_) | Verb::OtherRequest => {
                self.request(&sent, sink);
            }
            Verb::ReadResponse(place) => self.answer(&sent, place, sink),
            Verb::Acknowledge => self.acknowledge(&sent, sink),
            Verb::Management => self.manage(&sent),
            Verb::Other => {}
        }
    }

    /// Delivers what is still held.
    pub(crate) fn flush(&mut self, sink: &mut impl FnMut(&Told<'_>)) {
        let mut places: Vec<(Way, u32)> = Vec::new();
        for (way, traffic) in &self.ways {
            places.extend(traffic.queues.keys().map(|queue_pair| (*way, *queue_pair)));
        }
        places.sort_unstable();
        for (way, queue_pair) in &places {
            while self.give_up(*way, *queue_pair, sink) {}
        }
        while self.give_up_call(sink) {}
        for (way, queue_pair) in places {
            self.forget(way, queue_pair);
        }
    }

    /// What goes to a queue pair. `None`: too many are known.
    fn direction(&mut self, way: Way, queue_pair: u32) -> Option<&mut Direction> {
        let known = self.ways.get(&way).is_some_and(|traffic| traffic.queues.contains_key(&queue_pair));
        if !known {
            if self.queues >= QUEUES_LIMIT {
                self.overlooked += 1;
                return None;
            }
            self.queues += 1;
        }
        Some(self.ways.entry(way).or_default().queues.entry(queue_pair).or_default())
    }

    /// A request, in the order of its queue pair.
    fn request(&mut self, sent: &Sent<'_>, sink: &mut impl FnMut(&Told<'_>)) {
        let (way, queue_pair) = (sent.way(), sent.packet.queue_pair);
        let Some(direction) = self.direction(way, queue_pair) else { return };
        match direction.queue.place(sent.packet.sequence) {
            Order::Next => {
                direction.queue.advance(sent.packet.sequence, sent.packet.verb);
                self.process(sent, sink);
                self.release(way, queue_pair, sent.stamp, sink);
            }
            Order::Again => {
                direction.sent.clear();
                if let Some((source, destination)) = direction.ends {
                    sink(&Told::Again { source, destination, time_ns: sent.stamp.time_ns });
                }
                if let Verb::ReadRequest(target) = sent.packet.verb {
                    self.ask(sent, target);
                }
            }
            Order::Early => {
                let before = direction.queue.held_bytes;
                let full = direction.queue.hold(&sent.packet, sent.stamp);
                self.held_bytes += direction.queue.held_bytes - before;
                if full || self.held_bytes > HELD_LIMIT {
                    self.give_up(way, queue_pair, sink);
                }
            }
        }
    }

    /// Takes what waited, as long as it is its turn: not before `now`, when the hole before it was filled, nor
    /// before what stands before it came.
    fn release(&mut self, way: Way, queue_pair: u32, mut now: Stamp, sink: &mut impl FnMut(&Told<'_>)) {
        loop {
            let Some(direction) = self.ways.get_mut(&way).and_then(|ways| ways.queues.get_mut(&queue_pair))
            else {
                return;
            };
            let before = direction.queue.held_bytes;
            let Some(held) = direction.queue.release() else { return };
            direction.queue.advance(held.sequence, held.verb);
            self.held_bytes = self.held_bytes.saturating_sub(before - direction.queue.held_bytes);
            now = if held.stamp.frame < now.frame { now } else { held.stamp };
            let sent = Sent { packet: held.packet(queue_pair), stamp: now };
            self.process(&sent, sink);
        }
    }

    /// Gives up what is missing before the packets that wait. `false`: none do.
    fn give_up(&mut self, way: Way, queue_pair: u32, sink: &mut impl FnMut(&Told<'_>)) -> bool {
        let Some(direction) = self.direction(way, queue_pair) else { return false };
        let Some(lost) = direction.queue.give_up() else { return false };
        direction.write = None;
        direction.sent.clear();
        let parts = direction.message.take().map_or(0, |parts| parts.bytes.len());
        self.held_bytes = self.held_bytes.saturating_sub(parts);
        self.lost += u64::from(lost);
        self.release(way, queue_pair, Stamp::default(), sink);
        true
    }

    /// A request whose turn it is.
    fn process(&mut self, sent: &Sent<'_>, sink: &mut impl FnMut(&Told<'_>)) {
        let (way, payload, stamp) = (sent.way(), sent.packet.payload, sent.stamp);
        let Some(direction) = self.direction(way, sent.packet.queue_pair) else { return };
        match sent.packet.verb {
            Verb::Send(place) => {
                direction.write = None;
                if place.last {
                    if direction.sent.len() >= SENT_KNOWN {
                        direction.sent.pop_front();
                    }
                    direction.sent.push_back((sent.packet.sequence, stamp.time_ns));
                }
                self.send(sent, place, sink);
            }
            Verb::Write(place, target) => {
                let Some((target, at)) = target.map(|target| (target, 0)).or(direction.write) else { return };
                direction.write = (!place.last).then_some((target, at + payload.length));
                let key = (way.1, way.0, target.key);
                if self.memory.knows(key) {
                    self.memory.store(key, target.address.wrapping_add(at as u64), payload, stamp);
                }
            }
            Verb::ReadRequest(target) => self.ask(sent, target),
            _ => {}
        }
    }

    /// A part of a message.
    fn send(&mut self, sent: &Sent<'_>, place: Place, sink: &mut impl FnMut(&Told<'_>)) {
        let Payload { bytes, length } = sent.packet.payload;
        let cut = |of: Payload<'_>| (of.bytes.len() < of.length).then_some(Reason::Truncated);
        if place.first && place.last {
            let limit = cut(sent.packet.payload).unwrap_or(Reason::Truncated);
            return self.message(sent, &Whole { bytes, length, limit, first: sent.stamp }, sink);
        }
        let begun = if place.first { Some(Parts::begin(sent.stamp)) } else { None };
        let Some(direction) = self.direction(sent.way(), sent.packet.queue_pair) else { return };
        let former = direction.message.take();
        let before = former.as_ref().map_or(0, |parts| parts.bytes.len());
        self.held_bytes = self.held_bytes.saturating_sub(before);
        let Some(mut parts) = begun.or(former) else { return };
        if parts.limit.is_none() {
            let most = HELD_LIMIT.saturating_sub(self.held_bytes).min(MESSAGE_LIMIT);
            let room = most.saturating_sub(parts.bytes.len());
            parts.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            parts.limit =
                if bytes.len() > room { Some(Reason::RecordLimit) } else { cut(sent.packet.payload) };
        }
        parts.length += length;
        if place.last {
            return self.message(sent, &parts.whole(), sink);
        }
        self.held_bytes += parts.bytes.len();
        if let Some(direction) = self.direction(sent.way(), sent.packet.queue_pair) {
            direction.message = Some(parts);
        }
    }

    /// A request to read from the receiver's memory, if a message may lie there.
    fn ask(&mut self, sent: &Sent<'_>, target: Target) {
        let (user, owner) = sent.way();
        if !self.memory.knows((owner, user, target.key)) {
            return;
        }
        let reads = &mut self.ways.entry((user, owner)).or_default().reads;
        reads.retain(|read| read.sequence != sent.packet.sequence);
        if reads.len() >= READS_LIMIT {
            reads.pop_front();
        }
        reads.push_back(Read { sequence: sent.packet.sequence, next: sent.packet.sequence, target, came: 0 });
    }

    /// A part of what was to be read.
    fn answer(&mut self, sent: &Sent<'_>, place: Place, sink: &mut impl FnMut(&Told<'_>)) {
        let (owner, user) = sent.way();
        let Some(traffic) = self.ways.get_mut(&(user, owner)) else { return };
        // What was lost is asked for again, from there on.
        let Some(at) = traffic.reads.iter().position(|read| read.next == sent.packet.sequence) else {
            return;
        };
        let Some(read) = traffic.reads.get_mut(at) else { return };
        let key = (owner, user, read.target.key);
        let address = read.target.address.wrapping_add(read.came as u64);
        read.came += sent.packet.payload.length;
        read.next = after(sent.packet.sequence);
        self.memory.store(key, address, sent.packet.payload, sent.stamp);
        if !place.last {
            return;
        }
        traffic.reads.remove(at);
        let (_, _, read_key) = key;
        let memory = &self.memory;
        let complete = |call: &LongCall| {
            let key = |segment: &Segment| (call.way.0, call.way.1, segment.key);
            let has = |segment: &Segment| memory.has(key(segment), segment.length as usize);
            call.way == (owner, user)
                && call.segments.iter().any(|segment| segment.key == read_key)
                && call.segments.iter().all(has)
        };
        let Some(at) = self.long_calls.iter().position(complete) else { return };
        if let Some(call) = self.long_calls.remove(at) {
            self.deliver_call(&call, sent.stamp, sink);
        }
    }

    /// An acknowledgement of what went the other way.
    fn acknowledge(&mut self, sent: &Sent<'_>, sink: &mut impl FnMut(&Told<'_>)) {
        let (from, to) = sent.way();
        let Some(direction) = self.direction((from, to), sent.packet.queue_pair) else { return };
        let peer = direction.peer;
        let Some(back) = self.ways.get_mut(&(to, from)) else { return };
        let known =
            |direction: &Direction| direction.sent.iter().any(|(known, _)| *known == sent.packet.sequence);
        let queue_pair = peer.or_else(|| {
            back.queues.iter().find(|(_, direction)| known(direction)).map(|(queue_pair, _)| *queue_pair)
        });
        let Some(queue_pair) = queue_pair else { return };
        let Some(direction) = back.queues.get_mut(&queue_pair) else { return };
        if direction.queue.lost(sent.packet.sequence, sent.stamp) {
            self.give_up((to, from), queue_pair, sink);
            return;
        }
        let Some(at) = direction.sent.iter().position(|(known, _)| *known == sent.packet.sequence) else {
            return;
        };
        let (_, sent_ns) = direction.sent.drain(..=at).next_back().unwrap_or_default();
        if let Some((source, destination)) = direction.ends {
            sink(&Told::Acknowledged { source, destination, sent_ns, time_ns: sent.stamp.time_ns });
        }
        if peer.is_none() {
            self.pair((from, to), sent.packet.queue_pair, queue_pair);
        }
    }

    /// A message of connection management.
    fn manage(&mut self, sent: &Sent<'_>) {
        let way @ (from, to) = sent.way();
        match management::parse(sent.packet.payload.bytes) {
            Some(Managed::Request { id, queue_pair, port }) => {
                self.forget((to, from), queue_pair);
                if self.asked.len() >= UNDER_WAY_LIMIT {
                    self.asked.pop_front();
                }
                self.asked.push_back(Asked { way, id, queue_pair, port });
            }
            Some(Managed::Reply { id, queue_pair }) => {
                let asked = |asked: &Asked| asked.way == (to, from) && asked.id == id;
                let Some(at) = self.asked.iter().rposition(asked) else { return };
                let Some(asked) = self.asked.remove(at) else { return };
                self.forget((to, from), queue_pair);
                self.pair((to, from), queue_pair, asked.queue_pair);
                if let Some(direction) = self.direction((to, from), queue_pair) {
                    direction.port = asked.port;
                }
            }
            None => {}
        }
    }

    /// Forgets what went to a queue pair of which a new connection is made.
    fn forget(&mut self, way: Way, queue_pair: u32) {
        let Some(traffic) = self.ways.get_mut(&way) else { return };
        if let Some(direction) = traffic.queues.remove(&queue_pair) {
            self.queues -= 1;
            let parts = direction.message.map_or(0, |parts| parts.bytes.len());
            self.held_bytes = self.held_bytes.saturating_sub(direction.queue.held_bytes + parts);
        }
    }
}
