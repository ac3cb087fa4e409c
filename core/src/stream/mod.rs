//! Segments → connections whose two directions deliver bytes in order.
//!
//! Takes segments and datagrams, gives for each connection and side pieces of the stream, gaps that
//! will not be filled any more, and ends. It counts and times what TCP itself shows (handshake,
//! acknowledgements, losses, windows) and knows no RPC.
//!
//! A hole in a direction is filled when its segments come late, and given up when the receiver has
//! acknowledged it and nothing came for a while: then the capture, not the network, lost it.

pub mod seq;

pub mod assembler;

pub mod belated;

pub mod course;

pub mod timing;

pub mod full_windows;

pub mod unreceived;

pub mod vain;

pub mod zero_windows;

pub(crate) mod by_id;

mod connection;

mod direction;

mod repeated;

mod state;

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::packet::plain::{self, Plain};
use crate::packet::{Datagram, Payload, Segment};
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::by_id::ById;
use crate::stream::state::{ACKNOWLEDGED_PATIENCE_NS, State};
use crate::stream::timing::Came;

pub use crate::stream::connection::{Connection, Event, Opening, Scale, Side, SideCounts, Sides, Transport};

/// Number of a connection within one decode.
pub type ConnectionId = u32;

/// Connections kept at most. Beyond it half are forgotten: those that carry no RPC, then those that
/// were silent longest (`connections_forgotten`). Packets of theirs that follow count as new ones.
pub const CONNECTIONS_LIMIT: usize = 1 << 16;

/// Memory that all connections together may hold behind holes. Beyond it the hole that waited longest
/// is given up (`held_limit`).
const HELD_TOTAL_LIMIT: usize = 32 << 20;

/// Frames between two visits to connections that wait behind a hole: their own packets may have
/// ended, while the calls and replies behind the hole are wanted.
const VISIT_FRAMES: u64 = 16;

/// Connections visited at a time, and after a pause.
const VISITS: (usize, usize) = (4, 64);

/// Connections whose ends are remembered at least; a power of two, as all that it grows to.
const RECENT: usize = 1024;

/// An odd number without pattern, to spread what is multiplied by it.
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// What identifies a connection: both ends in order, with the protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends(SocketAddr, SocketAddr, Transport);

impl Hash for Ends {
    /// In two numbers, where the addresses are of IPv4: with thousands of connections each packet's is
    /// hashed, and field by field that takes a dozen steps.
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self(one, other, transport) = self;
        let (SocketAddr::V4(one), SocketAddr::V4(other)) = (one, other) else {
            return (one, other, transport).hash(hasher);
        };
        hasher.write_u64(u64::from(one.ip().to_bits()) << 32 | u64::from(other.ip().to_bits()));
        let protocol = (*transport as u64) << 32;
        hasher.write_u64(protocol | u64::from(one.port()) << 16 | u64::from(other.port()));
    }
}

/// All connections of a decode.
#[derive(Default)]
pub struct Connections {
    states: ById<State>,
    by_ends: HashMap<Ends, ConnectionId, RandomState>,
    /// By the address of a client and the server's address and port, the last one that was asked for.
    asked: HashMap<(IpAddr, SocketAddr), ConnectionId, RandomState>,
    count: u32,
    /// Connections looked up before, each in a place that its ends choose: whether it is the one that
    /// is looked for says its state, which is wanted next.
    recent: Vec<ConnectionId>,
    /// Those that wait behind a hole, to be visited in turn.
    stalled: VecDeque<ConnectionId>,
    /// The time of the last visit.
    visited_ns: i64,
    /// Memory that all of them hold.
    held_bytes: usize,
    /// Connections forgotten because of the limit.
    pub forgotten: u64,
    /// Holes given up because more was held behind them than the limits allow.
    pub overfull: u64,
    /// The last segment came on a connection whose bytes are not delivered ([`Connections::ignore`]).
    pub unheeded: bool,
}

impl Connections {
    /// What is known about a connection.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.states.get(id).map(|state| &state.connection)
    }

    /// Stops delivering a connection's bytes (it carries no RPC).
    pub fn ignore(&mut self, id: ConnectionId) {
        if let Some(state) = self.states.get_mut(id) {
            state.ignore();
            self.account(id);
        }
    }

    /// Delivers a connection's bytes again, from the next segment on, as where a capture begins amid them.
    pub fn heed(&mut self, id: ConnectionId) {
        if let Some(state) = self.states.get_mut(id) {
            state.ignored = false;
        }
    }

    /// Whether both sides of a connection have all that was sent.
    pub fn is_received(&self, id: ConnectionId) -> bool {
        self.states.get(id).is_some_and(State::is_received)
    }

    /// Takes a segment that goes on where its direction was, on a connection that waits for nothing: which
    /// connection, and which side sent it. `None`: it is another, and was not taken.
    ///
    /// It comes to what [`Connections::segment`] does; the piece of the stream is left to the caller.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "into the decode's loop")]
    pub fn next(&mut self, plain: &Plain<'_>, stamp: Stamp) -> Option<(ConnectionId, Side, &Connection)> {
        let (one, other) = (plain.source, plain.destination);
        let id = *self.recent.get(self.place(one, other))?;
        let state = self.states.get_mut(id)?;
        let side = state.side_of(one, other)?;
        if let Some((source, destination)) = plain.ends()
            && !state.is_between(side, &source, &destination)
        {
            return None;
        }
        state.take_next(side, &plain.part, || plain.clock, stamp).then_some((id, side, &state.connection))
    }

    /// Takes a TCP segment; `sink` gets what both directions can deliver now, in order.
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        stamp: Stamp,
        mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>),
    ) -> ConnectionId {
        let (side, id) = self.connection(&segment.source, &segment.destination, Transport::Tcp, stamp);
        // A SYN with data on a pair of ports in use is no opening but a damaged packet.
        let opens = segment.flags.syn() && !segment.flags.ack() && segment.payload.length == 0;
        let another = |state: &State| {
            opens && state.reused_by(side, segment)
                || state.succeeded_by(side, segment, stamp.time_ns)
                || state.asked_again_by(side, segment, stamp.time_ns)
        };
        let id = if self.states.get(id).is_some_and(another) {
            self.flush_one(id, &mut sink);
            let before = id;
            let id = self.open(segment.source, segment.destination, Transport::Tcp, stamp);
            if opens {
                self.asked_for(id, Some(before), segment, stamp);
            } else {
                self.tell_attempts(id, before, true, stamp);
            }
            id
        } else {
            if opens && self.get(id).is_some_and(|connection| connection.first == stamp) {
                self.asked_for(id, None, segment, stamp);
            }
            id
        };
        if let Some(state) = self.states.get_mut(id) {
            if state.take_next(side, &segment.part(), || segment.clock(), stamp) {
                if segment.payload.length > 0 {
                    let piece = Piece::of(&segment.part(), stamp);
                    sink(id, &state.connection, side, Event::Piece(piece));
                }
                return id;
            }
            self.unheeded = state.ignored;
            state.take(side, segment, stamp, |connection, side, event| sink(id, connection, side, event));
            if state.held_bytes > 0 || state.waits() {
                self.account(id);
                while self.held_bytes > HELD_TOTAL_LIMIT && self.give_up_longest(&mut sink) {}
            }
        }
        id
    }

    /// Whether connections that wait behind a hole are to be visited before the packet of this stamp.
    #[inline]
    pub fn visit_due(&self, now: Stamp) -> bool {
        !self.stalled.is_empty() && (now.frame.is_multiple_of(VISIT_FRAMES) || self.paused(now))
    }

    /// Gives up holes of connections that have gone silent.
    pub fn visit(&mut self, now: Stamp, mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>)) {
        let visits = if self.paused(now) { VISITS.1 } else { VISITS.0 };
        self.visited_ns = now.time_ns;
        for _ in 0..visits.min(self.stalled.len()) {
            let Some(id) = self.stalled.pop_front() else { return };
            let Some(state) = self.states.get_mut(id) else { continue };
            state.give_up_hopeless(now, &mut |connection, side, event| sink(id, connection, side, event));
            state.listed = false;
            self.account(id);
        }
    }

    fn paused(&self, now: Stamp) -> bool {
        now.time_ns.saturating_sub(self.visited_ns) > ACKNOWLEDGED_PATIENCE_NS
    }

    /// Counts what a connection holds now, and lists it among those that wait.
    fn account(&mut self, id: ConnectionId) {
        let Some(state) = self.states.get_mut(id) else { return };
        let held_bytes = state.holds();
        self.held_bytes = (self.held_bytes + held_bytes).saturating_sub(state.held_bytes);
        state.held_bytes = held_bytes;
        self.overfull += std::mem::take(&mut state.overfull);
        if state.waits() && !state.listed {
            state.listed = true;
            self.stalled.push_back(id);
        }
    }

    /// Gives up a hole, because all connections together hold too much. `false`: there is none.
    fn give_up_longest(&mut self, sink: &mut impl FnMut(ConnectionId, &Connection, Side, Event<'_>)) -> bool {
        let Some(id) = self.stalled.pop_front() else { return false };
        if let Some(state) = self.states.get_mut(id) {
            for side in [Side::Low, Side::High] {
                let gave =
                    state.give_up(side, &mut |connection, side, event| sink(id, connection, side, event));
                state.overfull += u64::from(gave);
            }
            state.listed = false;
            self.account(id);
        }
        true
    }

    /// Whether there are more connections than are kept: room is to be made before the next packet.
    pub fn crowded(&self) -> bool {
        self.states.len() > CONNECTIONS_LIMIT
    }

    /// Makes room. What the forgotten connections held is delivered; they are given back with what
    /// was known of them, in the order of their numbers.
    pub fn make_room(
        &mut self,
        mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>),
    ) -> Vec<(ConnectionId, Connection)> {
        let mut ages: Vec<(bool, u64, ConnectionId)> =
            self.states.iter().map(|(id, state)| (!state.ignored, state.connection.last.frame, id)).collect();
        ages.sort_unstable();
        let mut gone: Vec<ConnectionId> =
            ages.into_iter().take(CONNECTIONS_LIMIT / 2).map(|(_, _, id)| id).collect();
        gone.sort_unstable();
        for id in &gone {
            self.flush_one(*id, &mut sink);
        }
        self.stalled.retain(|id| gone.binary_search(id).is_err());
        let states = &mut self.states;
        let forgotten: Vec<_> =
            gone.iter().filter_map(|id| Some((*id, states.remove(*id)?.connection))).collect();
        self.by_ends.retain(|_, id| states.contains(*id));
        self.asked.retain(|_, id| states.contains(*id));
        self.forgotten += forgotten.len() as u64;
        forgotten
    }

    /// Takes a UDP datagram: the exchange it belongs to, and the side that sent it.
    pub fn datagram(&mut self, datagram: &Datagram<'_>, stamp: Stamp) -> (ConnectionId, Side) {
        let (side, id) = self.connection(&datagram.source, &datagram.destination, Transport::Udp, stamp);
        self.count(id, side, datagram.payload, stamp);
        (id, side)
    }

    /// Counts what came on a connection that is no stream.
    fn count(&mut self, id: ConnectionId, side: Side, payload: Payload<'_>, stamp: Stamp) {
        let Some(state) = self.states.get_mut(id) else { return };
        state.connection.last = stamp;
        let counts = state.connection.counts.of_mut(side);
        counts.segments += 1;
        counts.bytes += payload.length as u64;
        counts.truncated_bytes += (payload.length - payload.bytes.len()) as u64;
    }

    /// Takes a message that RDMA carried: the connection it belongs to, and the side that sent it.
    pub fn message(
        &mut self,
        source: &SocketAddr,
        destination: &SocketAddr,
        payload: Payload<'_>,
        stamp: Stamp,
    ) -> (ConnectionId, Side) {
        let (side, id) = self.connection(source, destination, Transport::Rdma, stamp);
        self.count(id, side, payload, stamp);
        (id, side)
    }

    /// Takes that a message over RDMA was received, as an acknowledgement says, which the adapter sends at once.
    pub fn received(&mut self, source: &SocketAddr, destination: &SocketAddr, sent_ns: i64, time_ns: i64) {
        let stamp = Stamp { frame: 0, time_ns };
        let (side, id) = self.connection(source, destination, Transport::Rdma, stamp);
        if let Some(state) = self.states.get_mut(id) {
            state.connection.acks.of_mut(side.other()).add(time_ns, sent_ns, Came::default());
        }
    }

    /// Takes that a packet of RDMA was sent again.
    pub fn repeated(&mut self, source: &SocketAddr, destination: &SocketAddr, time_ns: i64) {
        let stamp = Stamp { frame: 0, time_ns };
        let (side, id) = self.connection(source, destination, Transport::Rdma, stamp);
        if let Some(state) = self.states.get_mut(id) {
            state.connection.resent(time_ns);
            state.connection.counts.of_mut(side).retransmitted += 1;
        }
    }

    /// Ends all connections: what is still held is delivered, with the gaps before it.
    pub fn flush(&mut self, mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>)) {
        for id in self.states.ids() {
            self.flush_one(id, &mut sink);
        }
    }

    fn flush_one(
        &mut self,
        id: ConnectionId,
        sink: &mut impl FnMut(ConnectionId, &Connection, Side, Event<'_>),
    ) {
        let Some(state) = self.states.get_mut(id) else { return };
        for side in [Side::Low, Side::High] {
            while state.give_up(side, &mut |connection, side, event| sink(id, connection, side, event)) {}
        }
        state.settle();
        self.account(id);
    }

    /// Those that were asked for, and never came about, however often.
    pub fn unopened(&self) -> impl Iterator<Item = &Connection> {
        self.states.iter().filter(|(_, state)| state.is_unopened()).map(|(_, state)| &state.connection)
    }

    /// How many are kept.
    pub fn kept(&self) -> usize {
        self.states.len()
    }

    /// The connection that probably has these ends, given as numbers; it may be another.
    #[inline]
    pub fn foresee(&self, (one, other): (u64, u64)) -> Option<ConnectionId> {
        self.recent.get(self.place(one, other)).copied()
    }

    /// Reads what a segment of the connection needs: which side sends from one end to the other.
    #[inline]
    pub fn fetch(&self, id: ConnectionId, (one, other): (u64, u64)) -> Option<Side> {
        let state = self.states.glance(id)?;
        state.fetch();
        state.side_of(one, other)
    }

    #[inline]
    fn connection(
        &mut self,
        source: &SocketAddr,
        destination: &SocketAddr,
        transport: Transport,
        stamp: Stamp,
    ) -> (Side, ConnectionId) {
        let (one, other) = (number(source, transport), number(destination, transport));
        if let Some(id) = self.recent.get(self.place(one, other))
            && let Some(state) = self.states.get_mut(*id)
            && let Some(side) = state.side_of(one, other)
            && state.is_between(side, source, destination)
        {
            return (side, *id);
        }
        self.look_up(*source, *destination, transport, stamp)
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        transport: Transport,
        stamp: Stamp,
    ) -> (Side, ConnectionId) {
        let (side, ends) = ordered(source, destination, transport);
        let Some(id) = self.by_ends.get(&ends).copied() else {
            return (side, self.open(source, destination, transport, stamp));
        };
        self.remember(&ends, id);
        (side, id)
    }

    fn open(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        transport: Transport,
        stamp: Stamp,
    ) -> ConnectionId {
        let id = self.count;
        self.count += 1;
        let (_, ends) = ordered(source, destination, transport);
        let connection = Connection::new(transport, Sides { low: ends.0, high: ends.1 }, stamp);
        let numbers = Sides { low: number(&ends.0, transport), high: number(&ends.1, transport) };
        self.states.insert(id, State::new(connection, numbers));
        // An earlier connection between these ports is not found any more, neither here nor there.
        self.by_ends.insert(ends, id);
        self.remember(&ends, id);
        id
    }

    /// Tells a connection that a SYN opens what came before: an attempt between the same ports (`before`), or
    /// the client's last one from another port to this one of the server.
    #[cold]
    fn asked_for(
        &mut self,
        id: ConnectionId,
        before: Option<ConnectionId>,
        segment: &Segment<'_>,
        stamp: Stamp,
    ) {
        let last = self.asked.insert((segment.source.ip(), segment.destination), id);
        if !before.is_some_and(|before| self.tell_attempts(id, before, true, stamp))
            && let Some(last) = last
        {
            self.tell_attempts(id, last, false, stamp);
        }
    }

    /// Tells a connection what came `before`, if nothing came of that. `false`: something did.
    fn tell_attempts(
        &mut self,
        id: ConnectionId,
        before: ConnectionId,
        same_ports: bool,
        stamp: Stamp,
    ) -> bool {
        let attempted = self.states.get_mut(before).and_then(|state| state.attempted(same_ports, stamp));
        let (Some(opening), Some(state)) = (attempted, self.states.get_mut(id)) else { return false };
        state.connection.opening = opening;
        true
    }

    fn remember(&mut self, Ends(one, other, transport): &Ends, id: ConnectionId) {
        if 4 * self.states.len() > self.recent.len() {
            let room = (2 * self.recent.len()).max(RECENT);
            self.recent.clear();
            self.recent.resize(room, id);
        }
        let place = self.place(number(one, *transport), number(other, *transport));
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = id;
        }
    }

    /// Where a connection between two ends, given as numbers, is remembered, whichever comes first.
    #[inline]
    fn place(&self, one: u64, other: u64) -> usize {
        let mixed = one.wrapping_add(other).wrapping_mul(SPREAD);
        (mixed >> 32) as usize & self.recent.len().wrapping_sub(1)
    }
}

/// An end as a number: no two ends of IPv4 have the same, nor one of IPv4 and one of IPv6.
#[inline]
fn number(end: &SocketAddr, transport: Transport) -> u64 {
    let carried = match transport {
        Transport::Tcp => 0,
        Transport::Udp => 1 << 62,
        Transport::Rdma => 1 << 63,
    };
    carried | plain::number(*end)
}

/// The ends of a connection in order, and on which side `source` is.
fn ordered(source: SocketAddr, destination: SocketAddr, transport: Transport) -> (Side, Ends) {
    if source <= destination {
        (Side::Low, Ends(source, destination, transport))
    } else {
        (Side::High, Ends(destination, source, transport))
    }
}

#[cfg(test)]
mod tests;
