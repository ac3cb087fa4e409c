//! What is known of one connection: its two directions, and when a hole in them is given up.
//!
//! Takes the segments of a connection, gives what can be delivered of them. Promises that a hole is
//! told once, with its length, before the bytes behind it.

use std::hint::black_box;
use std::net::SocketAddr;

use crate::packet::{Part, Payload, Segment};
use crate::stream::assembler::{Offered, Piece, STRAY_SEGMENTS, Stamp, WINDOW, Waiting};
use crate::stream::connection::{Connection, Event, Opening, Side, Sides};
use crate::stream::direction::{Direction, Missed, TAIL_LIMIT};
use crate::stream::seq::SeqNumber;

/// Frames after which an acknowledged hole is given up: a capture of two ports
/// can put an ACK before the segment that it acknowledges, but not by many frames, if they took longer
/// than what overtakes others on the way ([`OVERTAKEN_NS`]) …
const ACKNOWLEDGED_PATIENCE_FRAMES: u64 = 64;

/// … not by so many, whatever their times say …
const ACKNOWLEDGED_PATIENCE_MANY_FRAMES: u64 = 4096;

/// … and not by much time.
pub(super) const ACKNOWLEDGED_PATIENCE_NS: i64 = 20_000_000;

/// After this time a hole is given up even though no ACK was seen for it: longer than any sensible
/// retransmission takes, so that a capture of one direction alone is still decoded.
const PATIENCE_NS: i64 = 60_000_000_000;

/// After this time a segment is forgotten that came far ahead of all that followed in order: nothing tells
/// round trips meanwhile. What sends a long hole again needs no longer.
const ASTRAY_PATIENCE_NS: i64 = 2_000_000_000;

/// What fills a hole later than this was lost before the capture point and sent again, where neither the
/// sender's clock tells ([`State::is_again`]) nor a round trip is known that is longer; what fills it sooner
/// was overtaken on the way. Wireshark draws the line there, too.
const OVERTAKEN_NS: i64 = 3_000_000;

/// Tenths of a usual round trip that pass at least until a hole is filled by what is sent again for it: the
/// segment behind the hole goes on to the receiver, whose duplicate ACK has to come to the sender, and what
/// is sent again from there (RFC 5681 section 3.2). Some less, since a usual one is longer than the shortest.
const ROUND_TRIP_TENTHS: i64 = 9;

/// Ticks of the sender's clock at least within that time: then what was sent again does not bear the time of
/// what showed the hole.
const TICKS_BETWEEN: i64 = 2;

/// Length of the gap that is told when a direction turns out to be somewhere else: longer than any
/// record.
const ELSEWHERE: usize = 1 << 31;

/// After this time a hole at the end is given up, if nothing came meanwhile: longer than the clocks of
/// two capture ports are apart as a rule, shorter than a reply is held for its call.
const TAIL_PATIENCE_NS: i64 = 500_000_000;

/// Attempts to connect that are further apart are no longer one wait for the connection. Linux's NFS client
/// waits up to 5 min between two (`XS_TCP_MAX_REEST_TO`); the first may end a minute after its last SYN.
const ATTEMPTS_APART_NS: i64 = 6 * 60_000_000_000;

/// A connection, and what it takes to put its bytes in order.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, in any company")]
pub(super) struct State {
    pub(super) connection: Connection,
    /// Its ends as numbers, to be found by.
    pub(super) numbers: Sides<u64>,
    directions: Sides<Direction>,
    /// Nothing was open when the last segment was taken that was not a next one ([`State::take_next`]).
    calm: bool,
    /// The last segment was a delayed acknowledgement of all that this side had sent, from an end that had
    /// nothing under way itself: what comes next from the side may have waited for that.
    set_free: Option<Side>,
    /// When that came. Apart from the side, so that the state of a connection takes eight bytes less.
    set_free_ns: i64,
    /// Nobody wants this connection's bytes.
    pub(super) ignored: bool,
    /// A side has ended it at once.
    pub(super) reset: bool,
    /// It came to nothing, and was asked for again.
    repeated: bool,
    /// It is among those that wait behind a hole.
    pub(super) listed: bool,
    /// Holes given up because more was held than the limits allow.
    pub(super) overfull: u64,
    /// Memory held behind holes.
    pub(super) held_bytes: usize,
}

impl State {
    pub(super) fn new(connection: Connection, numbers: Sides<u64>) -> Self {
        Self {
            connection,
            numbers,
            directions: Sides::default(),
            calm: false,
            set_free: None,
            set_free_ns: 0,
            ignored: false,
            reset: false,
            repeated: false,
            listed: false,
            overfull: 0,
            held_bytes: 0,
        }
    }

    /// Whether the ends are these, whose numbers are those of this connection: those of IPv6 say less
    /// than their addresses.
    #[inline]
    pub(super) fn is_between(&self, side: Side, source: &SocketAddr, destination: &SocketAddr) -> bool {
        let ends = &self.connection.ends;
        source.is_ipv4() || ends.of(side) == source && ends.of(side.other()) == destination
    }

    /// Reads from all that [`State::take_next`] needs, so that it is in the processor's cache then.
    #[inline]
    pub(super) fn fetch(&self) {
        let Connection { last, counts, acks, .. } = &self.connection;
        let of_sides =
            counts.low.segments ^ counts.high.segments ^ acks.low.alone().count ^ acks.high.alone().count;
        let of_directions = [&self.directions.low, &self.directions.high].map(|direction| {
            let known = direction.assembler.next().is_some() ^ direction.acknowledged.is_some();
            let unsure = direction.misled ^ direction.lost.is_some();
            direction.delivered.frame ^ direction.under_way.fetch() ^ u64::from(known ^ unsure)
        });
        black_box((last.frame ^ of_sides, of_directions, self.ignored));
    }

    /// Whether it was asked for, nothing came of it, and it was not asked for again.
    pub(super) fn is_unopened(&self) -> bool {
        self.connection.is_asked_for() && !self.repeated
    }

    /// What the next attempt of the same client, which begins now, is told of this one, if it was asked for
    /// and nothing came of it. From another port it may be one beside this.
    pub(super) fn attempted(&mut self, same_ports: bool, now: Stamp) -> Option<Opening> {
        let connection = &self.connection;
        let since_ns = now.time_ns.saturating_sub(connection.last.time_ns);
        let over = same_ports || connection.is_given_up(now.time_ns);
        let again = connection.is_asked_for() && over && since_ns <= ATTEMPTS_APART_NS;
        self.repeated |= again;
        again.then(|| connection.opening.again())
    }

    /// Whether a SYN from `side` opens a new connection on the same pair of ports.
    pub(super) fn reused_by(&self, side: Side, segment: &Segment<'_>) -> bool {
        let direction = self.directions.of(side);
        let first = SeqNumber(segment.sequence).advance(1);
        if direction.assembler.next().is_some() {
            return !direction.assembler.begins_at(first);
        }
        // The other side's packets may come first here: then they answer this SYN, and what follows it.
        let answered = direction.acknowledged.map(|end| end.ahead_of(first));
        self.connection.counts.low.segments + self.connection.counts.high.segments > 0
            && !answered.is_some_and(|ahead| (0..=TAIL_LIMIT).contains(&ahead))
    }

    /// Whether a segment from `side`, which comes now, is one of a new connection on the same pair of ports, whose
    /// SYN is not in the capture: this one is over, and it is not among what was under way then.
    pub(super) fn succeeded_by(&self, side: Side, segment: &Segment<'_>, now_ns: i64) -> bool {
        if segment.flags.rst() || !self.is_over() {
            return false;
        }
        let (own, other) = (self.directions.of(side), self.directions.of(side.other()));
        let sequence = SeqNumber(segment.sequence).advance(usize::from(segment.flags.syn()));
        let far = |next| sequence.ahead_of(next).unsigned_abs() > WINDOW as u64;
        if self.reset && own.assembler.next().is_some_and(far) {
            return true; // Never was so much under way.
        }
        let silent_ns = now_ns.saturating_sub(self.connection.last.time_ns);
        let acknowledged = SeqNumber(segment.acknowledgement);
        let elsewhere = own.is_elsewhere(sequence) && other.is_elsewhere(acknowledged);
        // A late copy of what came has both among what has passed.
        let copied = own.assembler.has_passed(sequence) && other.assembler.has_passed(acknowledged);
        silent_ns > ACKNOWLEDGED_PATIENCE_NS && segment.flags.ack() && elsewhere && !copied
    }

    /// Whether a segment from `side`, which comes now, follows on another SYN between the same ports, which is not in
    /// the capture: the one that is known was refused, or nobody waits for it any more. Nothing was sent behind
    /// that one, so that no number can be far from it; and a SYN+ACK answers the SYN whose number it bears.
    pub(super) fn asked_again_by(&self, side: Side, segment: &Segment<'_>, now_ns: i64) -> bool {
        if segment.flags.rst() || !self.connection.is_asked_for() {
            return false;
        }
        let Some((opener, _)) = self.connection.syn else { return false };
        let Some(first) = self.directions.of(opener).assembler.next() else { return false };
        let own = side == opener;
        let number = SeqNumber(if own { segment.sequence } else { segment.acknowledgement });
        let least = if segment.flags.syn() && !own { 1 } else { TAIL_LIMIT.unsigned_abs() };
        segment.flags.ack()
            && number.ahead_of(first).unsigned_abs() >= least
            && self.connection.is_given_up(now_ns)
    }

    /// Whether one side ended it at once, or both did.
    fn is_over(&self) -> bool {
        let Sides { low, high } = &self.directions;
        self.reset || low.fin.is_some() && high.fin.is_some()
    }

    /// The side that sends from one end to the other, given as numbers, if they are the ends.
    #[inline]
    pub(super) fn side_of(&self, one: u64, other: u64) -> Option<Side> {
        // Which side sends is as good as random: no branch depends on it.
        let Sides { low, high } = self.numbers;
        let (side, from, to) = if one == low { (Side::Low, low, high) } else { (Side::High, high, low) };
        ((one ^ from) | (other ^ to) == 0).then_some(side)
    }

    /// Takes a segment from `side` if it is one as most are, which goes on where its direction was, on an
    /// open connection that waits for nothing. `false`: it is another, and was not taken.
    ///
    /// It comes to what [`State::take`] does with it, without asking for all that it cannot be; the piece
    /// of the stream, if it brings one, is left to the caller. `clock`: the sender's, 0 where nothing tells.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "into the decode's loop, though segments of tunnels come here too"
    )]
    pub(super) fn take_next(
        &mut self,
        side: Side,
        part: &Part<'_>,
        clock: impl FnOnce() -> u32,
        stamp: Stamp,
    ) -> bool {
        let sequence = SeqNumber(part.sequence);
        let acknowledged = SeqNumber(part.acknowledgement);
        let (own, other) = self.directions.both_mut(side);
        let next = self.calm
            && part.flags.amid()
            && part.window > 0
            && own.assembler.next() == Some(sequence)
            && other.assembler.next().is_some_and(|next| acknowledged.ahead_of(next) <= 0);
        if !next {
            return false;
        }
        let connection = &mut self.connection;
        connection.last = stamp;
        let Payload { bytes, length } = part.payload;
        if length > 0 {
            let counts = connection.counts.of_mut(side);
            counts.segments += 1;
            counts.bytes += length as u64;
            counts.truncated_bytes += (length - bytes.len()) as u64;
            own.assembler.go_on(sequence, length);
            own.delivered = stamp;
            own.start_timer(sequence, stamp.time_ns);
            own.under_way.sent(sequence.advance(length), stamp.time_ns);
            *connection.clocks.of_mut(side) = clock();
        } else {
            connection.announced_window(side, acknowledged, part.window, stamp.time_ns, other);
        }
        if let Some(sent_ns) = other.under_way.acknowledged(acknowledged) {
            let alone = (length == 0).then(|| other.newly(acknowledged));
            if connection.answered(side, stamp.time_ns, sent_ns, other.timer_ns, alone)
                && other.assembler.next() == Some(acknowledged)
                && own.is_received()
            {
                // What comes next is not one as most are.
                self.calm = false;
                (self.set_free, self.set_free_ns) = (Some(side.other()), stamp.time_ns);
            }
        }
        other.receive(acknowledged, stamp.time_ns);
        if other.leaves_out(acknowledged) {
            connection.unreceived.of_mut(side.other()).acknowledged(acknowledged, stamp.time_ns);
        }
        true
    }

    /// Whether nothing is open: no hole, no window of 0, no handshake, nothing that came once more.
    fn is_calm(&self) -> bool {
        let Connection { counts, syn_ack, established, .. } = &self.connection;
        let calm = |direction: &Direction| {
            direction.assembler.holds_nothing()
                && direction.beyond.is_none()
                && direction.lost.is_none()
                && direction.repeated.is_empty()
                && !direction.assembler.next().is_some_and(|next| direction.is_told_of(next.advance(1)))
        };
        calm(&self.directions.low)
            && calm(&self.directions.high)
            && !counts.low.zero_windows.is_shut()
            && !counts.high.zero_windows.is_shut()
            && (syn_ack.is_none() || established.is_some())
            && self.held_bytes == 0
            && !self.connection.awaits(Side::Low)
            && !self.connection.awaits(Side::High)
            && self.set_free.is_none()
            && !self.ignored
    }

    /// Takes a segment from `side`; `sink` gets what both directions can deliver now, in order.
    pub(super) fn take(
        &mut self,
        side: Side,
        segment: &Segment<'_>,
        stamp: Stamp,
        mut sink: impl FnMut(&Connection, Side, Event<'_>),
    ) {
        self.calm = false;
        let (set_free, set_free_ns) = (self.set_free.take(), self.set_free_ns);
        self.connection.last = stamp;
        self.reset |= segment.flags.rst();
        if !segment.flags.rst() && !segment.flags.syn() {
            self.connection.counts.of_mut(side).zero_windows.announced(segment.window, stamp.time_ns);
        }
        if self.ignored {
            return;
        }
        self.handshake(side, segment, stamp);
        let mut sequence = SeqNumber(segment.sequence);
        let brings_data = segment.payload.length > 0 && !segment.flags.rst();
        if segment.flags.syn() || brings_data {
            self.heard(side);
        }
        if segment.flags.syn() {
            sequence = sequence.advance(1);
            if !self.begin(side, sequence, segment.payload.length) {
                return;
            }
        }
        if brings_data {
            let Payload { bytes, length } = segment.payload;
            let clock = segment.clock();
            let piece = Piece { sequence, clock, ..Piece::new(bytes, length, stamp) };
            if set_free == Some(side) && self.directions.of(side).assembler.next() == Some(sequence) {
                self.connection.goes_on(side, stamp.time_ns, set_free_ns);
            }
            self.data(side, sequence, piece, &mut sink);
        }
        let direction = self.directions.of_mut(side);
        if segment.payload.length == 0 && !segment.flags.rst() {
            direction.claim_lost(sequence, stamp);
        }
        if segment.flags.fin() {
            direction.fin = Some(sequence.advance(segment.payload.length));
        }
        if segment.flags.amid() && segment.payload.length == 0 {
            let (acknowledged, other) =
                (SeqNumber(segment.acknowledgement), self.directions.of(side.other()));
            self.connection.announced_window(side, acknowledged, segment.window, stamp.time_ns, other);
        }
        if segment.flags.ack() && !segment.flags.rst() {
            self.acknowledgement(side, segment, stamp);
        }
        self.give_up_hopeless(stamp, &mut sink);
        self.calm = self.is_calm();
    }

    /// Whether both sides have all that was sent.
    pub(super) fn is_received(&self) -> bool {
        self.directions.low.has_arrived() && self.directions.high.has_arrived()
    }

    /// Whether a direction waits for bytes that were sent.
    pub(super) fn waits(&self) -> bool {
        self.directions.low.waits() || self.directions.high.waits()
    }

    /// Memory held behind holes now; `held_bytes` is what it was when it was last counted.
    pub(super) fn holds(&self) -> usize {
        self.directions.low.assembler.held_bytes() + self.directions.high.assembler.held_bytes()
    }

    /// Stops delivering bytes.
    pub(super) fn ignore(&mut self) {
        self.ignored = true;
        self.calm = false;
        self.directions = Sides::default();
    }

    /// Tells how much of what each side sent was acknowledged, or never came, once no more is delivered.
    pub(super) fn settle(&mut self) {
        for side in [Side::Low, Side::High] {
            let direction = self.directions.of(side);
            let (unacknowledged, lost) = (direction.unacknowledged(), direction.lost_bytes());
            let (since, unreceived) = (direction.unacknowledged_since(), direction.unreceived_bytes());
            let counts = self.connection.counts.of_mut(side);
            counts.unacknowledged = unacknowledged;
            counts.unacknowledged_since = since;
            counts.lost_bytes = lost;
            counts.unreceived_bytes = unreceived;
        }
    }

    /// Gives up the holes that will not be filled any more.
    pub(super) fn give_up_hopeless(
        &mut self,
        now: Stamp,
        sink: &mut impl FnMut(&Connection, Side, Event<'_>),
    ) {
        for side in [Side::Low, Side::High] {
            while self.hopeless(side, now) && self.give_up(side, sink) {}
        }
    }

    /// A direction begins. What was acknowledged of it so far was sent before, and lies outside of the capture
    /// as the beginning of any connection that was open already.
    fn heard(&mut self, side: Side) {
        let direction = self.directions.of_mut(side);
        if std::mem::take(&mut direction.unheard) > 0 {
            self.connection.counts.of_mut(side).missing_bytes = 0;
        }
    }

    /// A SYN has a direction begin at `first`. `false`: it brings data, and comes once more.
    fn begin(&mut self, side: Side, first: SeqNumber, length: usize) -> bool {
        let assembler = &mut self.directions.of_mut(side).assembler;
        if length > 0 && assembler.next().is_some() {
            return false;
        }
        if !assembler.begins_at(first) {
            assembler.begin(first);
        }
        true
    }

    fn handshake(&mut self, side: Side, segment: &Segment<'_>, stamp: Stamp) {
        let connection = &mut self.connection;
        let flags = segment.flags;
        if flags.bounds() {
            connection.bounded(side, flags, segment.timestamps(), stamp.time_ns);
        }
        if flags.syn() {
            if let Some(size) = segment.maximum_segment_size() {
                connection.announced(size);
            }
            connection.scaled(side, segment.window_scale());
        } else if flags.ack()
            && !flags.rst()
            && connection.established.is_none()
            && let Some((opener, _)) = connection.syn
        {
            if connection.syn_ack.is_none() {
                let challenged = opener != side && connection.is_asked_for();
                let opening = &mut connection.opening;
                opening.challenges = opening.challenges.saturating_add(u16::from(challenged));
            } else if opener == side {
                connection.established = Some(stamp.time_ns);
            }
        }
    }

    /// Takes what a segment from `side` acknowledges of the other direction.
    fn acknowledgement(&mut self, side: Side, segment: &Segment<'_>, stamp: Stamp) {
        let acknowledged = SeqNumber(segment.acknowledgement);
        let (own, direction) = self.directions.both_mut(side);
        if !direction.repeated.is_empty() {
            direction.repeated.forget(stamp.time_ns);
            let told = segment.selective_acknowledgement();
            self.connection.counts.of_mut(side.other()).spurious +=
                told.map_or(0, |blocks| direction.repeated.told(blocks, acknowledged));
        }
        if let Some(sent_ns) = direction.sent_until(acknowledged)
            && !segment.flags.fin()
        {
            let alone = (segment.payload.length == 0).then(|| direction.newly(acknowledged));
            if self.connection.answered(side, stamp.time_ns, sent_ns, direction.timer_ns, alone)
                && direction.assembler.next() == Some(acknowledged)
                && own.is_received()
            {
                (self.set_free, self.set_free_ns) = (Some(side.other()), stamp.time_ns);
            }
        }
        direction.acknowledge(acknowledged, stamp);
        if direction.may_wait() || self.connection.awaits(side.other()) {
            let came_until = direction.assembler.next();
            self.connection.acknowledged(side.other(), acknowledged, came_until, stamp.time_ns);
        }
        if direction.leaves_out(acknowledged) {
            self.connection.unreceived.of_mut(side.other()).acknowledged(acknowledged, stamp.time_ns);
        }
        if direction.assembler.next().is_none() {
            self.connection.counts.of_mut(side.other()).missing_bytes = direction.unheard_bytes();
        }
    }

    /// Takes the piece of the stream at `sequence`.
    fn data(
        &mut self,
        side: Side,
        sequence: SeqNumber,
        piece: Piece<'_>,
        sink: &mut impl FnMut(&Connection, Side, Event<'_>),
    ) {
        self.connection.counts.of_mut(side).segments += 1;
        let direction = self.directions.of_mut(side);
        let hole = direction.assembler.waiting();
        let (length, time_ns) = (piece.length, piece.stamp.time_ns);
        let until = sequence.advance(length);
        match direction.assembler.offer(sequence, piece) {
            Offered::Known => self.sent_again(side, sequence, length, time_ns),
            Offered::Held => {
                self.connection.counts.of_mut(side).out_of_order += 1;
                direction.under_way.forget();
            }
            Offered::Elsewhere(piece, too_soon) => {
                self.came(side, sequence, until, time_ns);
                self.go_elsewhere(side, too_soon);
                sink(&self.connection, side, Event::Gap { length: ELSEWHERE, stamp: piece.stamp });
                deliver(&mut self.connection, side, piece, sink);
            }
            Offered::InOrder(piece) => {
                let filled = piece.stamp;
                let clock = piece.clock;
                self.came(side, sequence, until, time_ns);
                let direction = self.directions.of_mut(side);
                direction.delivered = filled;
                direction.start_timer(sequence, time_ns);
                let missed = direction.missed(sequence, hole);
                // What fills a hole, or was sent in part before, came late or twice.
                if hole.is_some() || piece.length < length {
                    direction.under_way.forget();
                } else {
                    direction.under_way.sent(until, piece.stamp.time_ns);
                }
                if let Some(missed) = missed {
                    let again = self.is_again(side, &missed, clock, time_ns);
                    self.fill(side, until, &missed, again, time_ns);
                }
                deliver(&mut self.connection, side, piece, sink);
                self.deliver_ready(side, Some(filled), sink);
            }
        }
    }

    /// Takes what comes from one sequence number up to another, where the other side may have acknowledged it
    /// before.
    #[inline]
    fn came(&mut self, side: Side, sequence: SeqNumber, until: SeqNumber, now_ns: i64) {
        let direction = self.directions.of(side);
        if let Some(acknowledged) = direction.acknowledged
            && (direction.is_told_of(until) || self.connection.awaits(side))
        {
            let acknowledged = (acknowledged, direction.timer_ns);
            let belated = self.connection.belated.get_or_insert_default().of_mut(side);
            belated.came(sequence, until, now_ns, acknowledged);
        }
    }

    /// Counts a segment that brought nothing new.
    fn sent_again(&mut self, side: Side, sequence: SeqNumber, length: usize, time_ns: i64) {
        let direction = self.directions.of_mut(side);
        // A keepalive repeats the last byte (RFC 9293 section 3.8.4).
        if length == 1 && direction.assembler.next() == Some(sequence.advance(1)) {
            return;
        }
        let counts = self.connection.counts.of_mut(side);
        counts.retransmitted += 1;
        counts.early += u32::from(direction.is_early(time_ns));
        self.connection.resent(time_ns);
        direction.under_way.forget();
        direction.repeated.sent(sequence, length, time_ns);
    }

    /// A direction turns out to be somewhere else, after `too_soon` bytes too many were given up.
    fn go_elsewhere(&mut self, side: Side, too_soon: usize) {
        let counts = self.connection.counts.of_mut(side);
        counts.missing_bytes = counts.missing_bytes.saturating_sub(too_soon as u64);
        if too_soon == 0 {
            // Those before it in its row were not sent again either.
            let row = u64::from(STRAY_SEGMENTS) - 1;
            counts.retransmitted = counts.retransmitted.saturating_sub(row);
            counts.early = counts.early.min(u32::try_from(counts.retransmitted).unwrap_or(u32::MAX));
        }
        let direction = self.directions.of_mut(side);
        direction.under_way.forget();
        direction.misled |= too_soon > 0;
        direction.unpass(too_soon);
        direction.filling = 0;
    }

    /// Whether what fills a hole was sent again for it, and not overtaken on the way.
    ///
    /// The sender's clock tells where it has gone on since it sent what showed the hole, or had not come so
    /// far: what it sends for the first time it sends in order. Within a tick of it, the time it took tells;
    /// but nothing is sent again within a tick that is far shorter than the round trip that this takes.
    fn is_again(&self, side: Side, missed: &Missed, clock: u32, now_ns: i64) -> bool {
        let told = clock != 0 && missed.clock != 0;
        if told && clock != missed.clock {
            return SeqNumber(clock).ahead_of(SeqNumber(missed.clock)) > 0;
        }
        let waited_ns = now_ns.saturating_sub(missed.since_ns);
        let soonest = |round_trip_ns: i64| round_trip_ns / 10 * ROUND_TRIP_TENTHS;
        if waited_ns <= OVERTAKEN_NS {
            return false;
        }
        if missed.by_empty {
            return true;
        }
        let Some(soonest_ns) = self.connection.round_trip().map(soonest) else {
            return true;
        };
        let tick_ns = told.then(|| self.directions.of(side).assembler.tick_ns(clock, now_ns)).flatten();
        waited_ns > soonest_ns
            && tick_ns.is_none_or(|tick_ns| soonest_ns < tick_ns.saturating_mul(TICKS_BETWEEN))
    }

    /// Counts what fills a hole, which is there up to `until` now. `again`: it was sent again for it.
    fn fill(&mut self, side: Side, until: SeqNumber, missed: &Missed, again: bool, now_ns: i64) {
        let direction = self.directions.of_mut(side);
        let connection = &mut self.connection;
        if again {
            direction.filling += 1;
            connection.resent(now_ns);
        }
        connection.counts.of_mut(side).refilled += direction.filled(until, missed.end);
    }

    fn deliver_ready(
        &mut self,
        side: Side,
        filled: Option<Stamp>,
        sink: &mut impl FnMut(&Connection, Side, Event<'_>),
    ) {
        let direction = self.directions.of_mut(side);
        while let Some(piece) = direction.assembler.take_ready(filled) {
            direction.delivered = direction.delivered.max(piece.stamp);
            deliver(&mut self.connection, side, piece, sink);
        }
    }

    /// Whether the hole that `side`'s direction waits for will not be filled any more.
    fn hopeless(&self, side: Side, now: Stamp) -> bool {
        let direction = self.directions.of(side);
        let assembler = &direction.assembler;
        let since = match (assembler.waiting(), direction.beyond) {
            (Some(Waiting { stamp, .. }), _) => stamp,
            (None, Some(_)) => {
                let since = direction.claimed.max(direction.delivered);
                return now.time_ns.saturating_sub(since.time_ns) > TAIL_PATIENCE_NS;
            }
            (None, None) => return false,
        };
        // While bytes arrive in order, what is held lies not behind a hole but out of place.
        let held_ns = now.time_ns.saturating_sub(since.time_ns);
        if held_ns > ASTRAY_PATIENCE_NS && assembler.is_astray(direction.delivered) {
            return true;
        }
        let since = since.max(direction.delivered);
        let waited_ns = now.time_ns.saturating_sub(since.time_ns);
        if assembler.overfull() || waited_ns > PATIENCE_NS {
            return true;
        }
        // The receiver has it, and the capture had time enough to show it since it said so: until then what
        // is sent again may be what it says it has.
        let since = since.max(direction.claimed);
        let waited_ns = now.time_ns.saturating_sub(since.time_ns);
        let waited_frames = now.frame.saturating_sub(since.frame);
        let after_frames = waited_frames > ACKNOWLEDGED_PATIENCE_FRAMES && waited_ns > OVERTAKEN_NS;
        let after_many = waited_frames > ACKNOWLEDGED_PATIENCE_MANY_FRAMES;
        direction.has_received_hole() && (after_frames || after_many || waited_ns > ACKNOWLEDGED_PATIENCE_NS)
    }

    /// Gives up the next hole of a direction and delivers what is behind it.
    pub(super) fn give_up(
        &mut self,
        side: Side,
        sink: &mut impl FnMut(&Connection, Side, Event<'_>),
    ) -> bool {
        let direction = self.directions.of_mut(side);
        self.overfull += u64::from(direction.assembler.overfull());
        direction.under_way.forget();
        direction.filling = 0;
        if direction.assembler.forget_astray(direction.delivered) {
            return true;
        }
        let from = direction.assembler.next();
        let gap = direction.assembler.give_up().or_else(|| direction.skip_tail());
        let Some((length, stamp)) = gap else { return false };
        if let Some(from) = from {
            direction.pass(from, length);
        }
        if let Some(belated) = &mut self.connection.belated {
            belated.of_mut(side).forget();
        }
        self.connection.counts.of_mut(side).missing_bytes += length as u64;
        sink(&self.connection, side, Event::Gap { length, stamp });
        self.deliver_ready(side, None, sink);
        true
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
    // What waited for a hole to be filled is taken in later than it came.
    *connection.clocks.of_mut(side) = if piece.ready == piece.stamp { piece.clock } else { 0 };
    sink(connection, side, Event::Piece(piece));
}
