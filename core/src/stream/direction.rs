//! What is known of one direction of a connection: what came, what is missing, what the other side has.
//!
//! Takes sequence numbers and acknowledgements; tells what they show to be sent, lost or received. Knows
//! neither the other direction nor who gets the bytes.

use crate::stream::assembler::{Assembler, Stamp, WINDOW, Waiting};
use crate::stream::repeated::Repeated;
use crate::stream::seq::SeqNumber;
use crate::stream::timing::UnderWay;

/// What is sent again sooner than this after the other side last acknowledged something, or after it was
/// sent where nothing else was under way, is so for another reason than that the retransmission timer ran
/// out (RFC 6298 section 5): 200 ms are the least on Linux and most others, less what a round trip may vary.
const TIMEOUT_NS: i64 = 190_000_000;

/// A hole at the end of what was sent, or between two acknowledgements of what was not captured, is believed
/// up to this length: longer than any record.
pub(super) const TAIL_LIMIT: i64 = 1 << 21;

/// What is known of one direction.
#[derive(Default)]
pub(super) struct Direction {
    pub(super) assembler: Assembler,
    /// The segment that last continued what was delivered.
    pub(super) delivered: Stamp,
    /// The highest acknowledgement that the other side sent for this direction.
    pub(super) acknowledged: Option<SeqNumber>,
    /// An end of the stream beyond what was delivered, as the latest packets claim it.
    pub(super) beyond: Option<SeqNumber>,
    /// The first of them, or the acknowledgement that reached the end of the hole that it waits behind, if
    /// that came later. Apart from the end, so that a direction takes eight bytes less.
    pub(super) claimed: Stamp,
    /// What seemed lost at the end of the stream was not: the other side's packets come first here.
    pub(super) misled: bool,
    /// The end of the stream, once FIN told it.
    pub(super) fin: Option<SeqNumber>,
    /// Since when the sender's retransmission timer may have been running, where anything was
    /// acknowledged: when the other side last acknowledged more, or when the first byte was sent that it
    /// had not.
    pub(super) timer_ns: i64,
    /// What waits for its acknowledgement.
    pub(super) under_way: UnderWay,
    /// An end of the stream beyond what was delivered that an empty segment told: what lies before it was
    /// lost on the way here.
    pub(super) lost: Option<SeqNumber>,
    /// When that came. Apart from the end, so that a direction takes eight bytes less.
    pub(super) lost_ns: i64,
    /// Segments that filled a part of the hole that it waits behind.
    pub(super) filling: u32,
    /// Bytes that the other side acknowledged of this direction while nothing of it came.
    pub(super) unheard: u64,
    /// Bytes of holes that were passed over while the other side had acknowledged nothing of them …
    passed: u32,
    /// … and up to where it had then: once it acknowledges more, it may have them.
    passed_at: SeqNumber,
    /// What came once more, until the other side has said whether it had it before.
    pub(super) repeated: Repeated,
}

/// Bytes that were sent and did not come.
pub(super) struct Missed {
    /// Where they end.
    pub(super) end: SeqNumber,
    /// Since when that has been known.
    pub(super) since_ns: i64,
    /// The sender's clock when it sent what showed it; 0 where nothing tells.
    pub(super) clock: u32,
    /// An empty segment showed it. That has the receiver send nothing: the sender alone may time them.
    pub(super) by_empty: bool,
}

impl Direction {
    /// When the last of what the other side has received now was sent, where that can be told: all of it
    /// must be in the capture.
    #[inline]
    pub(super) fn sent_until(&mut self, acknowledged: SeqNumber) -> Option<i64> {
        if self.assembler.next().is_none_or(|next| acknowledged.ahead_of(next) > 0) {
            self.under_way.forget();
            return None;
        }
        self.under_way.acknowledged(acknowledged)
    }

    /// Takes the sequence number of an empty segment.
    #[inline]
    pub(super) fn claim_lost(&mut self, sequence: SeqNumber, stamp: Stamp) {
        let ahead = self.assembler.next().map_or(0, |next| sequence.ahead_of(next));
        if ahead > 0 && ahead <= TAIL_LIMIT && self.lost.is_none() {
            (self.lost, self.lost_ns) = (Some(sequence), stamp.time_ns);
        }
    }

    /// What has been known of the byte at `sequence`, which comes now, if it was sent before: it lies in the
    /// `hole` that the direction waited behind, or before the end that an empty segment told.
    #[inline]
    pub(super) fn missed(&mut self, sequence: SeqNumber, hole: Option<Waiting>) -> Option<Missed> {
        self.lost = self.lost.filter(|end| sequence.ahead_of(*end) < 0);
        let shown = hole.map(|Waiting { sequence: end, stamp, clock }| {
            let since_ns = stamp.time_ns;
            Missed { end, since_ns, clock, by_empty: false }
        });
        let since_ns = self.lost_ns;
        shown.or(self.lost.map(|end| Missed { end, since_ns, clock: 0, by_empty: true }))
    }

    /// How many segments have filled a hole that ends at `end`, now that one is there up to `until`.
    ///
    /// What is sent again ends where the segment behind it begins, or is a single one that goes beyond. A
    /// stream that goes on as if there were no hole runs over its end somewhere, or never comes there: the
    /// sequence number that showed the hole was damaged.
    pub(super) fn filled(&mut self, until: SeqNumber, end: SeqNumber) -> u32 {
        match until.ahead_of(end) {
            ..0 => 0,
            0 => std::mem::take(&mut self.filling),
            _ => u32::from(std::mem::take(&mut self.filling) == 1),
        }
    }

    /// Takes what the other side has received.
    pub(super) fn acknowledge(&mut self, acknowledged: SeqNumber, stamp: Stamp) {
        if self.assembler.next().is_none() {
            let ahead = self.acknowledged.map_or(0, |before| acknowledged.ahead_of(before));
            let credible = u64::try_from(ahead).ok().filter(|_| ahead <= TAIL_LIMIT);
            self.unheard = self.unheard.saturating_add(credible.unwrap_or(0));
        }
        let reached = self.has_received_hole();
        self.receive(acknowledged, stamp.time_ns);
        self.claim(acknowledged, stamp);
        if !reached && self.has_received_hole() {
            self.claimed = stamp;
        }
    }

    /// Whether the other side has what is missing here, up to the end of the hole that it waits behind.
    pub(super) fn has_received_hole(&self) -> bool {
        let end = self.assembler.waiting().map(|waiting| waiting.sequence);
        self.acknowledged.zip(end).is_some_and(|(until, end)| until.ahead_of(end) >= 0)
    }

    /// Bytes of a direction of which nothing was captured. SYN or FIN count as one.
    pub(super) fn unheard_bytes(&self) -> u64 {
        if self.unheard < 2 { 0 } else { self.unheard }
    }

    /// Bytes at its end that the other side has not acknowledged.
    pub(super) fn unacknowledged(&self) -> Option<u32> {
        let ahead = self.assembler.next()?.ahead_of(self.acknowledged?);
        // FIN counts as one more.
        let bytes = u32::try_from(ahead.max(0)).ok()?;
        (ahead >= -1 && bytes as usize <= WINDOW).then_some(bytes)
    }

    /// Bytes at its end that were sent, as the sequence number of an empty segment shows, and never came.
    pub(super) fn lost_bytes(&self) -> u32 {
        let ahead = self.lost.zip(self.assembler.next()).map_or(0, |(end, next)| {
            // FIN counts as one more.
            self.fin.filter(|fin| end.ahead_of(*fin) > 0).unwrap_or(end).ahead_of(next)
        });
        u32::try_from(ahead.max(0)).unwrap_or(u32::MAX)
    }

    /// Takes that a hole was passed over which begins at a number. One that is longer than any record is
    /// none, but a damaged number.
    pub(super) fn pass(&mut self, from: SeqNumber, length: usize) {
        let Some(until) = self.acknowledged.filter(|until| until.ahead_of(from) <= 0) else { return };
        let Some(length) = u32::try_from(length).ok().filter(|length| i64::from(*length) <= TAIL_LIMIT)
        else {
            return;
        };
        let before = if until == self.passed_at { self.passed } else { 0 };
        (self.passed, self.passed_at) = (before.saturating_add(length), until);
    }

    /// Takes that a hole was none, and that so many bytes were not sent.
    pub(super) fn unpass(&mut self, length: usize) {
        self.passed = self.passed.saturating_sub(u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// Bytes of holes that were passed over and that the other side has not acknowledged either: it
    /// acknowledges nothing behind them, and a receiver does that as soon as it has them.
    pub(super) fn unreceived_bytes(&self) -> u32 {
        if self.acknowledged == Some(self.passed_at) { self.passed } else { 0 }
    }

    /// Since when the other side has acknowledged nothing more, where it has not acknowledged all.
    pub(super) fn unacknowledged_since(&self) -> Option<i64> {
        self.unacknowledged().filter(|bytes| *bytes > 0).map(|_| self.timer_ns)
    }

    /// Whether more may have been acknowledged than has come.
    #[inline]
    pub(super) fn may_wait(&self) -> bool {
        self.beyond.is_some() || self.misled
    }

    /// Whether the other side acknowledged all up to `until` before anything came of it.
    #[inline]
    pub(super) fn is_told_of(&self, until: SeqNumber) -> bool {
        self.delivered == Stamp::default() && self.acknowledged.is_some_and(|end| end.ahead_of(until) >= 0)
    }

    /// How many bytes an acknowledgement takes in that had none.
    #[inline]
    pub(super) fn newly(&self, acknowledged: SeqNumber) -> i64 {
        self.acknowledged.map_or(0, |before| acknowledged.ahead_of(before))
    }

    /// Takes how far the other side has received this direction.
    #[inline]
    pub(super) fn receive(&mut self, acknowledged: SeqNumber, time_ns: i64) {
        let ahead = self.acknowledged.map(|before| acknowledged.ahead_of(before));
        // Far behind: the numbers are those of another connection between these ports.
        if ahead.is_none_or(|ahead| ahead > 0 || ahead.unsigned_abs() > WINDOW as u64) {
            self.acknowledged = Some(acknowledged);
            self.timer_ns = time_ns;
        }
    }

    /// Whether an acknowledgement, the highest so far, leaves out some of what was sent.
    #[inline]
    pub(super) fn leaves_out(&self, acknowledged: SeqNumber) -> bool {
        self.assembler.next().is_some_and(|next| acknowledged.ahead_of(next) < 0)
            && self.acknowledged == Some(acknowledged)
    }

    /// Whether a number is none of what was under way last, or goes on behind it: the other side acknowledged what
    /// follows it, or it is beyond all that was sent.
    pub(super) fn is_elsewhere(&self, number: SeqNumber) -> bool {
        let behind = self.acknowledged.is_some_and(|until| number.ahead_of(until) < 0);
        // FIN counts as one more.
        behind || self.assembler.next().is_some_and(|next| number.ahead_of(next) > 1)
    }

    /// Whether the other side has acknowledged all that was sent.
    #[inline]
    pub(super) fn is_received(&self) -> bool {
        self.acknowledged.is_some() && self.acknowledged == self.assembler.next()
    }

    /// The same, and maybe FIN, which counts as one more.
    pub(super) fn has_arrived(&self) -> bool {
        self.acknowledged.zip(self.assembler.next()).is_some_and(|(until, next)| until.ahead_of(next) >= 0)
    }

    /// The byte at `sequence` is sent for the first time: where nothing else is under way, the sender's timer
    /// starts.
    #[inline]
    pub(super) fn start_timer(&mut self, sequence: SeqNumber, time_ns: i64) {
        if self.acknowledged == Some(sequence) {
            self.timer_ns = time_ns;
        }
    }

    /// Whether what is sent again at a time is so before the sender's timer can have run out. Without an
    /// acknowledgement nothing tells.
    pub(super) fn is_early(&self, time_ns: i64) -> bool {
        self.acknowledged.is_some() && time_ns.saturating_sub(self.timer_ns) < TIMEOUT_NS
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
        if self.misled || !(least..=TAIL_LIMIT).contains(&end.ahead_of(next)) {
            self.beyond = None;
            return;
        }
        if self.beyond.is_none() {
            self.claimed = stamp;
        }
        self.beyond = self.beyond.filter(|before| end.ahead_of(*before) > 0).or(Some(end));
    }

    /// Whether bytes were sent that are not there.
    pub(super) fn waits(&self) -> bool {
        self.beyond.is_some() || self.assembler.waiting().is_some()
    }

    /// Passes over what was sent but not captured, where nothing is held: its length.
    pub(super) fn skip_tail(&mut self) -> Option<(usize, Stamp)> {
        let length = self.assembler.skip_to(self.beyond.take()?);
        (length > 0).then_some((length, self.claimed))
    }
}
