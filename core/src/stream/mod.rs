//! Segments → connections whose two directions deliver bytes in order.
//!
//! Takes segments and datagrams, gives for each connection and side pieces of the stream, gaps that
//! will not be filled any more, and ends. It counts what TCP itself shows (handshake, losses,
//! windows) and knows no RPC.
//!
//! A hole in a direction is filled when its segments come late, and given up when the receiver has
//! acknowledged it and nothing came for a while: then the capture, not the network, lost it.

pub mod assembler;

pub mod seq;

use std::collections::VecDeque;
use std::net::SocketAddr;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::packet::{Datagram, Segment};
use crate::stream::assembler::{Assembler, Offered, Piece, Stamp, WINDOW};
use crate::stream::seq::SeqNumber;

/// Number of a connection within one decode.
pub type ConnectionId = u32;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end whose address and port sort first.
    #[default]
    Low,
    /// The other end.
    High,
}

impl Side {
    /// The other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }
}

/// Something that each side has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides<T> {
    /// Of the side that sorts first.
    pub low: T,
    /// Of the other side.
    pub high: T,
}

impl<T> Sides<T> {
    /// What `side` has.
    pub fn of(&self, side: Side) -> &T {
        match side {
            Side::Low => &self.low,
            Side::High => &self.high,
        }
    }

    /// What `side` has, to be changed.
    pub fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Low => &mut self.low,
            Side::High => &mut self.high,
        }
    }
}

/// What a direction delivers.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Bytes in order.
    Piece(Piece<'a>),
    /// Bytes that are not in the capture; the stamp is that of the segment after them.
    Gap {
        /// How many.
        length: usize,
        /// Of the segment after the gap.
        stamp: Stamp,
    },
}

/// TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP: a stream of records.
    Tcp,
    /// UDP: a message per datagram.
    Udp,
}

/// What one side of a connection was seen to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct SideCounts {
    /// Segments or datagrams with data.
    pub segments: u64,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Segments whose bytes had all been seen.
    pub retransmitted: u64,
    /// Segments that came before their predecessors.
    pub out_of_order: u64,
    /// Bytes sent and acknowledged that are not in the capture.
    pub missing_bytes: u64,
    /// Payload bytes past the snaplen.
    pub truncated_bytes: u64,
    /// Segments that announced a window of 0.
    pub zero_windows: u64,
}

/// What is known about a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// TCP or UDP.
    pub transport: Transport,
    /// Address and port of each end.
    pub ends: Sides<SocketAddr>,
    /// First frame.
    pub first: Stamp,
    /// Last frame.
    pub last: Stamp,
    /// The side that sent the SYN, and when.
    pub syn: Option<(Side, i64)>,
    /// When the SYN+ACK came.
    pub syn_ack: Option<i64>,
    /// When the handshake was completed.
    pub established: Option<i64>,
    /// The smaller of the maximum segment sizes that the sides announced.
    pub segment_size: Option<u16>,
    /// What each side was seen to do.
    pub counts: Sides<SideCounts>,
}

/// Frames after which an acknowledged hole is given up: a capture of two ports
/// can put an ACK before the segment that it acknowledges, but not by many frames …
const ACKNOWLEDGED_PATIENCE_FRAMES: u64 = 64;

/// … and not by much time.
const ACKNOWLEDGED_PATIENCE_NS: i64 = 20_000_000;

/// After this time a hole is given up even though no ACK was seen for it: longer than any sensible
/// retransmission takes, so that a capture of one direction alone is still decoded.
const PATIENCE_NS: i64 = 60_000_000_000;

/// Length of the gap that is told when a direction turns out to be somewhere else: longer than any
/// record.
const ELSEWHERE: usize = 1 << 31;

/// Connections kept at most. Beyond it half are forgotten: those that carry no RPC, then those that
/// were silent longest (`connections_forgotten`). Packets of theirs that follow count as new ones.
pub const CONNECTIONS_LIMIT: usize = 1 << 14;

/// Memory that all connections together may hold behind holes. Beyond it the hole that waited longest
/// is given up (`held_limit`).
const HELD_TOTAL_LIMIT: usize = 32 << 20;

/// A hole at the end of what was sent is believed up to this length: longer than any record.
const TAIL_LIMIT: i64 = 1 << 21;

/// After this time a hole at the end is given up, if nothing came meanwhile: longer than the clocks of
/// two capture ports are apart as a rule, shorter than a reply is held for its call.
const TAIL_PATIENCE_NS: i64 = 500_000_000;

/// Frames between two visits to connections that wait behind a hole: their own packets may have
/// ended, while the calls and replies behind the hole are wanted.
const VISIT_FRAMES: u64 = 16;

/// Connections visited at a time, and after a pause.
const VISITS: (usize, usize) = (4, 64);

/// Directions of connections that are remembered.
const RECENT: usize = 64;

/// What identifies a connection (both ends in order) or a direction (source first), with the protocol.
type Ends = (SocketAddr, SocketAddr, Transport);

#[derive(Default)]
struct Direction {
    assembler: Assembler,
    /// The segment that last continued what was delivered.
    delivered: Stamp,
    /// The highest acknowledgement that the other side sent for this direction.
    acknowledged: Option<SeqNumber>,
    /// An end of the stream beyond what was delivered, as the latest packets claim it, and the first
    /// of them.
    beyond: Option<(SeqNumber, Stamp)>,
    /// What seemed lost at the end of the stream was not: the other side's packets come first here.
    misled: bool,
    /// The end of the stream, once FIN told it.
    fin: Option<SeqNumber>,
}

struct State {
    connection: Connection,
    directions: Sides<Direction>,
    /// Nobody wants this connection's bytes.
    ignored: bool,
    /// It is among those that wait behind a hole.
    listed: bool,
    /// Holes given up because more was held than the limits allow.
    overfull: u64,
    /// Memory held behind holes.
    held_bytes: usize,
}

/// All connections of a decode.
#[derive(Default)]
pub struct Connections {
    states: HashMap<ConnectionId, State, RandomState>,
    by_ends: HashMap<Ends, ConnectionId, RandomState>,
    count: u32,
    /// Directions of connections looked up before, each in a place that its ports choose: a capture
    /// has few that are busy at a time, and comparing ends is cheaper than ordering and hashing them.
    recent: Vec<Option<(Ends, Side, ConnectionId)>>,
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
}

impl Connections {
    /// What is known about a connection.
    pub fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.states.get(&id).map(|state| &state.connection)
    }

    /// Stops delivering a connection's bytes (it carries no RPC).
    pub fn ignore(&mut self, id: ConnectionId) {
        if let Some(state) = self.states.get_mut(&id) {
            state.ignored = true;
            state.directions = Sides::default();
            self.account(id);
        }
    }

    /// Takes a TCP segment; `sink` gets what both directions can deliver now, in order.
    pub fn segment(
        &mut self,
        segment: &Segment<'_>,
        stamp: Stamp,
        mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>),
    ) -> ConnectionId {
        let (side, id) = self.connection(segment.source, segment.destination, Transport::Tcp, stamp);
        // A SYN with data on a pair of ports in use is no opening but a damaged packet.
        let opens = segment.flags.syn() && !segment.flags.ack() && segment.payload.length == 0;
        let id = if opens && self.states.get(&id).is_some_and(|state| state.reused_by(side, segment)) {
            self.flush_one(id, &mut sink);
            self.open(segment.source, segment.destination, Transport::Tcp, stamp)
        } else {
            id
        };
        if let Some(state) = self.states.get_mut(&id) {
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
            let Some(state) = self.states.get_mut(&id) else { continue };
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
        let Some(state) = self.states.get_mut(&id) else { return };
        let held_bytes =
            state.directions.low.assembler.held_bytes() + state.directions.high.assembler.held_bytes();
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
        if let Some(state) = self.states.get_mut(&id) {
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
        let mut ages: Vec<(bool, u64, ConnectionId)> = self
            .states
            .iter()
            .map(|(id, state)| (!state.ignored, state.connection.last.frame, *id))
            .collect();
        ages.sort_unstable();
        let mut gone: Vec<ConnectionId> =
            ages.into_iter().take(CONNECTIONS_LIMIT / 2).map(|(_, _, id)| id).collect();
        gone.sort_unstable();
        for id in &gone {
            self.flush_one(*id, &mut sink);
        }
        self.stalled.retain(|id| gone.binary_search(id).is_err());
        self.recent.clear();
        let states = &mut self.states;
        let forgotten: Vec<_> =
            gone.iter().filter_map(|id| Some((*id, states.remove(id)?.connection))).collect();
        self.by_ends.retain(|_, id| states.contains_key(id));
        self.forgotten += forgotten.len() as u64;
        forgotten
    }

    /// Takes a UDP datagram: the exchange it belongs to, and the side that sent it.
    pub fn datagram(&mut self, datagram: &Datagram<'_>, stamp: Stamp) -> (ConnectionId, Side) {
        let (side, id) = self.connection(datagram.source, datagram.destination, Transport::Udp, stamp);
        if let Some(state) = self.states.get_mut(&id) {
            state.connection.last = stamp;
            let counts = state.connection.counts.of_mut(side);
            counts.segments += 1;
            counts.bytes += datagram.payload.length as u64;
            counts.truncated_bytes += (datagram.payload.length - datagram.payload.bytes.len()) as u64;
        }
        (id, side)
    }

    /// Ends all connections: what is still held is delivered, with the gaps before it.
    pub fn flush(&mut self, mut sink: impl FnMut(ConnectionId, &Connection, Side, Event<'_>)) {
        let mut ids: Vec<_> = self.states.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.flush_one(id, &mut sink);
        }
    }

    fn flush_one(
        &mut self,
        id: ConnectionId,
        sink: &mut impl FnMut(ConnectionId, &Connection, Side, Event<'_>),
    ) {
        let Some(state) = self.states.get_mut(&id) else { return };
        for side in [Side::Low, Side::High] {
            while state.give_up(side, &mut |connection, side, event| sink(id, connection, side, event)) {}
        }
        self.account(id);
    }

    fn connection(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        transport: Transport,
        stamp: Stamp,
    ) -> (Side, ConnectionId) {
        let direction = (source, destination, transport);
        if let Some(Some((recent, side, id))) = self.recent.get(place(&direction))
            && *recent == direction
        {
            return (*side, *id);
        }
        let (side, ends) = ordered(source, destination, transport);
        let id = match self.by_ends.get(&ends) {
            Some(id) => *id,
            None => self.open(source, destination, transport, stamp),
        };
        self.remember(direction, side, id);
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
        let connection = Connection {
            transport,
            ends: Sides { low: ends.0, high: ends.1 },
            first: stamp,
            last: stamp,
            syn: None,
            syn_ack: None,
            established: None,
            segment_size: None,
            counts: Sides::default(),
        };
        self.states.insert(id, State::new(connection));
        self.by_ends.insert(ends, id);
        // An earlier connection between these ports must not be found any more, from either side.
        self.recent.clear();
        id
    }

    fn remember(&mut self, direction: Ends, side: Side, id: ConnectionId) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        if let Some(recent) = self.recent.get_mut(place(&direction)) {
            *recent = Some((direction, side, id));
        }
    }
}

/// The ends of a connection in order, and on which side `source` is.
fn ordered(source: SocketAddr, destination: SocketAddr, transport: Transport) -> (Side, Ends) {
    if source <= destination {
        (Side::Low, (source, destination, transport))
    } else {
        (Side::High, (destination, source, transport))
    }
}

/// Where a direction is remembered: not where the other one is.
fn place((source, destination, _): &Ends) -> usize {
    usize::from(source.port().wrapping_mul(3) ^ destination.port()) % RECENT
}

impl State {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            directions: Sides::default(),
            ignored: false,
            listed: false,
            overfull: 0,
            held_bytes: 0,
        }
    }

    /// Whether a SYN from `side` opens a new connection on the same pair of ports.
    fn reused_by(&self, side: Side, segment: &Segment<'_>) -> bool {
        let direction = self.directions.of(side);
        let first = SeqNumber(segment.sequence).advance(1);
        let begun = direction.assembler.next().is_some_and(|next| next != first)
            && !direction.assembler.followed(first);
        let seen_data = self.connection.counts.low.segments + self.connection.counts.high.segments > 0;
        begun || (seen_data && direction.assembler.next().is_none())
    }

    fn take(
        &mut self,
        side: Side,
        segment: &Segment<'_>,
        stamp: Stamp,
        mut sink: impl FnMut(&Connection, Side, Event<'_>),
    ) {
        self.connection.last = stamp;
        if segment.window == 0 && !segment.flags.rst() && !segment.flags.syn() {
            self.connection.counts.of_mut(side).zero_windows += 1;
        }
        if self.ignored {
            return;
        }
        self.handshake(side, segment, stamp);
        let mut sequence = SeqNumber(segment.sequence);
        if segment.flags.syn() {
            sequence = sequence.advance(1);
            if segment.payload.length > 0 && self.directions.of(side).assembler.next().is_some() {
                return;
            }
            let assembler = &mut self.directions.of_mut(side).assembler;
            if assembler.next() != Some(sequence) && !assembler.followed(sequence) {
                assembler.begin(sequence);
            }
        }
        if segment.payload.length > 0 && !segment.flags.rst() {
            let piece = Piece { bytes: segment.payload.bytes, length: segment.payload.length, stamp };
            self.data(side, sequence, piece, &mut sink);
        }
        let direction = self.directions.of_mut(side);
        if segment.flags.fin() {
            direction.fin = Some(sequence.advance(segment.payload.length));
        }
        if segment.flags.ack() && !segment.flags.rst() {
            self.directions.of_mut(side.other()).acknowledge(SeqNumber(segment.acknowledgement), stamp);
        }
        self.give_up_hopeless(stamp, &mut sink);
    }

    /// Whether a direction waits for bytes that were sent.
    fn waits(&self) -> bool {
        self.directions.low.waits() || self.directions.high.waits()
    }

    fn give_up_hopeless(&mut self, now: Stamp, sink: &mut impl FnMut(&Connection, Side, Event<'_>)) {
        for side in [Side::Low, Side::High] {
            while self.hopeless(side, now) && self.give_up(side, sink) {}
        }
    }

    fn handshake(&mut self, side: Side, segment: &Segment<'_>, stamp: Stamp) {
        let connection = &mut self.connection;
        let flags = segment.flags;
        if flags.syn()
            && let Some(size) = segment.maximum_segment_size()
        {
            connection.segment_size = Some(connection.segment_size.map_or(size, |other| other.min(size)));
        }
        match (flags.syn(), flags.ack()) {
            (true, false) if connection.syn_ack.is_none() => {
                connection.syn = Some((side, stamp.time_ns));
            }
            (true, true) => {
                connection.syn_ack.get_or_insert(stamp.time_ns);
            }
            (false, true)
                if connection.established.is_none()
                    && connection.syn_ack.is_some()
                    && connection.syn.is_some_and(|(opener, _)| opener == side) =>
            {
                connection.established = Some(stamp.time_ns);
            }
            _ => {}
        }
    }

    fn data(
        &mut self,
        side: Side,
        sequence: SeqNumber,
        piece: Piece<'_>,
        sink: &mut impl FnMut(&Connection, Side, Event<'_>),
    ) {
        self.connection.counts.of_mut(side).segments += 1;
        match self.directions.of_mut(side).assembler.offer(sequence, piece) {
            Offered::Known => self.connection.counts.of_mut(side).retransmitted += 1,
            Offered::Held => self.connection.counts.of_mut(side).out_of_order += 1,
            Offered::Elsewhere(piece, too_soon) => {
                let counts = self.connection.counts.of_mut(side);
                counts.missing_bytes = counts.missing_bytes.saturating_sub(too_soon as u64);
                self.directions.of_mut(side).misled |= too_soon > 0;
                sink(&self.connection, side, Event::Gap { length: ELSEWHERE, stamp: piece.stamp });
                deliver(&mut self.connection, side, piece, sink);
            }
            Offered::InOrder(piece) => {
                self.directions.of_mut(side).delivered = piece.stamp;
                deliver(&mut self.connection, side, piece, sink);
                self.deliver_ready(side, sink);
            }
        }
    }

    fn deliver_ready(&mut self, side: Side, sink: &mut impl FnMut(&Connection, Side, Event<'_>)) {
        let direction = self.directions.of_mut(side);
        while let Some(piece) = direction.assembler.take_ready() {
            deliver(&mut self.connection, side, piece, sink);
        }
    }

    /// Whether the hole that `side`'s direction waits for will not be filled any more.
    fn hopeless(&self, side: Side, now: Stamp) -> bool {
        let direction = self.directions.of(side);
        let assembler = &direction.assembler;
        let (received, since) = match (assembler.waiting(), direction.beyond) {
            // The receiver has what is missing here.
            (Some((waiting_at, since)), _) => {
                (direction.acknowledged.is_some_and(|until| until.ahead_of(waiting_at) >= 0), since)
            }
            (None, Some((_, since))) => {
                let since = since.max(direction.delivered);
                return now.time_ns.saturating_sub(since.time_ns) > TAIL_PATIENCE_NS;
            }
            (None, None) => return false,
        };
        // While bytes arrive in order, what is held lies not behind a hole but out of place.
        let since = since.max(direction.delivered);
        let waited_ns = now.time_ns.saturating_sub(since.time_ns);
        if assembler.overfull() || waited_ns > PATIENCE_NS {
            return true;
        }
        // The capture had time enough to show it.
        let waited_frames = now.frame.saturating_sub(since.frame);
        received && (waited_frames > ACKNOWLEDGED_PATIENCE_FRAMES || waited_ns > ACKNOWLEDGED_PATIENCE_NS)
    }

    /// Gives up the next hole of a direction and delivers what is behind it.
    fn give_up(&mut self, side: Side, sink: &mut impl FnMut(&Connection, Side, Event<'_>)) -> bool {
        let direction = self.directions.of_mut(side);
        self.overfull += u64::from(direction.assembler.overfull());
        let gap = direction.assembler.give_up().or_else(|| direction.skip_tail());
        let Some((length, stamp)) = gap else { return false };
        self.connection.counts.of_mut(side).missing_bytes += length as u64;
        sink(&self.connection, side, Event::Gap { length, stamp });
        self.deliver_ready(side, sink);
        true
    }
}

impl Direction {
    /// Takes what the other side has received.
    fn acknowledge(&mut self, acknowledged: SeqNumber, stamp: Stamp) {
        let ahead = self.acknowledged.map(|before| acknowledged.ahead_of(before));
        // Far behind: the numbers are those of another connection between these ports.
        if ahead.is_none_or(|ahead| ahead > 0 || ahead.unsigned_abs() > WINDOW as u64) {
            self.acknowledged = Some(acknowledged);
        }
        self.claim(acknowledged, stamp);
    }

    /// Takes where the stream ends by a packet that acknowledges it. The nearest end that is claimed
    /// counts, since a single number may be damaged. (That bytes were sent proves nothing: the network
    /// may have lost them, and they come again.)
    #[inline]
    fn claim(&mut self, end: SeqNumber, stamp: Stamp) {
        let Some(next) = self.assembler.next() else { return };
        let end = self.fin.filter(|fin| end.ahead_of(*fin) > 0).unwrap_or(end);
        // FIN counts as a byte; where it was not seen, a single one may be that.
        let least = if self.fin.is_some() { 1 } else { 2 };
        self.beyond = if !self.misled && (least..=TAIL_LIMIT).contains(&end.ahead_of(next)) {
            let nearer = |(before, since): (SeqNumber, Stamp)| {
                (if end.ahead_of(before) > 0 { before } else { end }, since)
            };
            Some(self.beyond.map_or((end, stamp), nearer))
        } else {
            None
        };
    }

    /// Whether bytes were sent that are not there.
    fn waits(&self) -> bool {
        self.beyond.is_some() || self.assembler.waiting().is_some()
    }

    /// Passes over what was sent but not captured, where nothing is held: its length.
    fn skip_tail(&mut self) -> Option<(usize, Stamp)> {
        let (end, stamp) = self.beyond.take()?;
        let length = self.assembler.skip_to(end);
        (length > 0).then_some((length, stamp))
    }
}

fn deliver(
    connection: &mut Connection,
    side: Side,
    piece: Piece<'_>,
    sink: &mut impl FnMut(&Connection, Side, Event<'_>),
) {
    let counts = connection.counts.of_mut(side);
    counts.bytes += piece.length as u64;
    counts.truncated_bytes += (piece.length - piece.bytes.len()) as u64;
    sink(connection, side, Event::Piece(piece));
}
