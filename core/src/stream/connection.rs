//! What the stream stage tells of a connection: its ends, what it delivers, what was seen of it.

use std::net::SocketAddr;

use crate::packet::TcpFlags;
use crate::stream::assembler::{Piece, Stamp};
use crate::stream::belated::Belated;
use crate::stream::direction::{Direction, TAIL_LIMIT};
use crate::stream::full_windows::{FullWindows, Told};
use crate::stream::seq::SeqNumber;
use crate::stream::timing::{AckTimes, Came};
use crate::stream::unreceived::Unreceived;
use crate::stream::zero_windows::ZeroWindows;

/// Maximum segment size where the handshake is not in the capture: that of jumbo frames.
const LARGEST_SEGMENT: u16 = 8960;

/// What the timestamps option takes of it (RFC 7323 section 3.2, padded).
const TIMESTAMPS: i64 = 12;

/// An ACK that came after another within this part of what it took was delayed by no more than that.
const SOON: i64 = 4;

/// A sender that waited for an acknowledgement goes on so soon after it came, and what the network takes.
const AT_ONCE_NS: i64 = 1_000_000;

/// The longest time after which a first SYN is sent again (RFC 1122 section 4.2.3.1; RFC 6298 has 1 s), and
/// something for a timer that is late.
const SYN_DUE_NS: i64 = 4_000_000_000;

/// The time of what never was: before all others.
const NEVER: i64 = i64::MIN;

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

    /// What `side` has, and what the other one has, to be changed.
    #[inline]
    pub fn both_mut(&mut self, side: Side) -> (&mut T, &mut T) {
        match side {
            Side::Low => (&mut self.low, &mut self.high),
            Side::High => (&mut self.high, &mut self.low),
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
    /// RDMA: messages that are sent, read or written.
    Rdma,
}

/// What one side of a connection was seen to do.
#[derive(Clone, Debug, Default)]
pub struct SideCounts {
    /// Segments or datagrams with data.
    pub segments: u64,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Segments whose bytes had all been seen.
    pub retransmitted: u64,
    /// Those of them that the other side had received before, as it says.
    pub spurious: u32,
    /// Those of them that came sooner than TCP's timer runs out.
    pub early: u32,
    /// Segments that came before their predecessors.
    pub out_of_order: u32,
    /// Segments that filled a hole and were sent for that.
    pub refilled: u32,
    /// Bytes that were sent and are not in the capture.
    pub missing_bytes: u64,
    /// Those of them that the other side did not get either, once the connection was flushed.
    pub unreceived_bytes: u32,
    /// Payload bytes past the snaplen.
    pub truncated_bytes: u64,
    /// The windows of 0 that it announced.
    pub zero_windows: ZeroWindows,
    /// When it first sent FIN.
    pub fin: Option<i64>,
    /// When it first sent RST, not counting what precedes the handshake.
    pub rst: Option<i64>,
    /// Bytes at the end of what it sent that the other side has not acknowledged, once the connection
    /// was flushed; `None` where either is not in the capture.
    pub unacknowledged: Option<u32>,
    /// Since when it has acknowledged nothing more, where there are any.
    pub unacknowledged_since: Option<i64>,
    /// Bytes at the end of what it sent that never came, nor did the other side acknowledge them, once
    /// the connection was flushed.
    pub lost_bytes: u32,
    /// Times that it sent nothing more until the other side acknowledged what it had sent, which that delayed,
    /// and then went on at once.
    pub ack_waits: u32,
}

impl SideCounts {
    /// Bytes that were sent and are not in the capture, though the other side has them, or may have.
    pub fn uncaptured_bytes(&self) -> u64 {
        self.missing_bytes.saturating_sub(u64::from(self.unreceived_bytes))
    }

    /// Bytes that were sent and came neither to the capture point nor to the other side.
    pub fn lost_on_the_way(&self) -> u64 {
        u64::from(self.lost_bytes) + u64::from(self.unreceived_bytes)
    }
}

/// By how many bits the windows of a side are shifted (RFC 7323 section 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Its SYN is not in the capture.
    #[default]
    Unknown,
    /// Its SYN had no such option: windows are not scaled, neither way.
    None,
    /// By so many.
    By(u8),
}

/// More than 14 are not allowed (RFC 7323 section 2.3): a receiver of that takes it for so many.
const MOST_SHIFT: u8 = 14;

/// How a connection was asked for, and what the answers were until there was one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// SYNs of the side that asked.
    pub syns: u32,
    /// When the first of them was sent.
    pub first_ns: Option<i64>,
    /// The clock of that side when it sent the last of them (TSval, RFC 7323); 0 where it does not say.
    clock: u32,
    /// Those of the attempts before.
    pub syns_before: u32,
    /// SYN+ACKs of the other side.
    pub syn_acks: u16,
    /// ACKs without SYN by which it answered: those of a former connection (RFC 9293 section 3.10.7.4,
    /// RFC 5961 section 4).
    pub challenges: u16,
    /// Resets by which it answered, those of the attempts before included.
    pub refusals: u32,
    /// Those of the attempts before.
    refused_before: u32,
    /// Attempts before that came to nothing: between the same ports, by SYNs with other sequence numbers,
    /// or from other ports.
    pub attempts: u32,
    /// When the first SYN of the first of these was sent.
    pub attempted_ns: Option<i64>,
}

impl Opening {
    /// Takes a reset, if it is one: copies of it are not told from others.
    fn refused(&mut self, is_reset: bool) {
        let asked = self.syns_before.saturating_add(self.syns);
        self.refusals = self.refusals.saturating_add(u32::from(is_reset)).min(asked);
    }

    /// Whether the last SYN is the one that is answered with a clock (TSecr). Of several a time tells nothing
    /// else (Karn's algorithm, RFC 6298 section 3): a SYN+ACK that is sent again answers an earlier one.
    fn is_answered_by(&self, echo: Option<u32>) -> bool {
        self.syns == 1 || self.clock != 0 && echo == Some(self.clock)
    }

    /// What precedes the next attempt, when this one came to nothing.
    pub(super) fn again(&self) -> Self {
        Self {
            refusals: self.refusals,
            refused_before: self.refusals,
            syns_before: self.syns_before.saturating_add(self.syns),
            attempts: self.attempts.saturating_add(1),
            attempted_ns: self.attempted_ns.or(self.first_ns),
            ..Self::default()
        }
    }
}

/// What is known about a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// TCP, UDP or RDMA.
    pub transport: Transport,
    /// Address and port of each end.
    pub ends: Sides<SocketAddr>,
    /// First frame.
    pub first: Stamp,
    /// Last frame.
    pub last: Stamp,
    /// The side that sent the SYN, and when it did last before it was answered.
    pub syn: Option<(Side, i64)>,
    /// Whether it is that SYN which was answered: of several a time tells nothing.
    syn_answered: bool,
    /// When the SYN+ACK came.
    pub syn_ack: Option<i64>,
    /// When the handshake was completed.
    pub established: Option<i64>,
    /// How it was asked for.
    pub opening: Opening,
    /// The smaller of the maximum segment sizes that the sides announced.
    pub segment_size: Option<u16>,
    /// The clock of each side when it sent what came from it last, in order (TSval, RFC 7323); 0 where nothing
    /// tells.
    pub clocks: Sides<u32>,
    /// When either side last sent a segment again; `i64::MIN` without any.
    pub resent_ns: i64,
    /// When it did before that; likewise.
    resent_before_ns: i64,
    /// What each side was seen to do.
    pub counts: Sides<SideCounts>,
    /// How each side's windows are scaled, as its SYN says.
    pub scales: Sides<Scale>,
    /// For how long each side's window was full, so that the other one stood.
    pub full_windows: Sides<FullWindows>,
    /// How long each side took to acknowledge what the other had sent.
    pub acks: Sides<AckTimes>,
    /// Of what each side sent, up to where the other one had received it, and when.
    pub unreceived: Sides<Unreceived>,
    /// What of each side came after the other had acknowledged it, from the first sign of that on. Most have
    /// none, and no memory for it.
    pub belated: Option<Box<Sides<Belated>>>,
}

impl Connection {
    /// A connection of which nothing is known but its ends, and its first frame.
    pub(super) fn new(transport: Transport, ends: Sides<SocketAddr>, first: Stamp) -> Self {
        Self {
            transport,
            ends,
            first,
            last: first,
            syn: None,
            syn_answered: false,
            syn_ack: None,
            established: None,
            opening: Opening::default(),
            segment_size: None,
            clocks: Sides::default(),
            resent_ns: NEVER,
            resent_before_ns: NEVER,
            counts: Sides::default(),
            scales: Sides::default(),
            full_windows: Sides::default(),
            acks: Sides::default(),
            unreceived: Sides::default(),
            belated: None,
        }
    }

    /// Takes that either side sent a segment again.
    #[cold]
    pub(super) fn resent(&mut self, time_ns: i64) {
        if time_ns != self.resent_ns {
            self.resent_before_ns = self.resent_ns;
        }
        self.resent_ns = time_ns;
    }

    /// What of `side` came after the other had acknowledged it; `None` where nothing seemed to.
    pub fn belated(&self, side: Side) -> Option<&Belated> {
        self.belated.as_deref().map(|belated| belated.of(side))
    }

    /// When either side last sent a segment again before a time, if that was one of the last two.
    pub fn resent_before(&self, time_ns: i64) -> Option<i64> {
        let last_two = [self.resent_ns, self.resent_before_ns];
        last_two.into_iter().find(|resent_ns| (NEVER + 1..time_ns).contains(resent_ns))
    }

    /// When the SYN was sent that was answered; `None` where several were and nothing tells which one it was.
    pub fn answered_syn(&self) -> Option<i64> {
        self.syn.filter(|_| self.syn_answered).map(|(_, asked_ns)| asked_ns)
    }

    /// A usual round trip of the whole path, as far as it is known by now: that of the handshake, or what both
    /// sides take to acknowledge, whichever is less.
    #[cold]
    pub(super) fn round_trip(&self) -> Option<i64> {
        let opened = self.answered_syn().zip(self.established).map(|(syn, established)| established - syn);
        let acknowledged = self.acks.low.usual().zip(self.acks.high.usual()).map(|(one, other)| one + other);
        opened.into_iter().chain(acknowledged).min()
    }

    /// Takes an acknowledgement from `side` of what was sent at a time: `alone` has how many bytes it takes
    /// in, where it comes without data. The one before it came at `before_ns`, if not earlier. Gives whether
    /// the side delayed it.
    #[inline(never)] // Once, instead of wherever segments are taken.
    pub(super) fn answered(
        &mut self,
        side: Side,
        time_ns: i64,
        sent_ns: i64,
        before_ns: i64,
        alone: Option<i64>,
    ) -> bool {
        let two_full = 2 * (i64::from(self.segment_size.unwrap_or(LARGEST_SEGMENT)) - TIMESTAMPS);
        // What had arrived by then was acknowledged by that.
        let delayed_ns = time_ns.wrapping_sub(before_ns);
        let came = Came {
            with_data: alone.is_none(),
            full: alone.is_some_and(|bytes| bytes >= two_full),
            soon: alone.is_some() && delayed_ns <= time_ns.wrapping_sub(sent_ns) / SOON,
        };
        let acks = self.acks.of_mut(side);
        let delayed = alone.is_some() && !came.soon && acks.is_delayed(time_ns.wrapping_sub(sent_ns));
        acks.add(time_ns, sent_ns, came);
        delayed
    }

    /// Takes that `side` goes on at a time, after an acknowledgement for which it may have waited: what a
    /// sender that it set free sends is here a round trip later at most.
    #[cold]
    pub(super) fn goes_on(&mut self, side: Side, time_ns: i64, acknowledged_ns: i64) {
        let since_ns = time_ns.saturating_sub(acknowledged_ns);
        if since_ns <= AT_ONCE_NS + self.round_trip().unwrap_or(0) {
            let waits = &mut self.counts.of_mut(side).ack_waits;
            *waits = waits.saturating_add(1);
        }
    }

    /// Takes what a segment with SYN, FIN or RST tells of how the connection began or ended.
    #[cold]
    pub(super) fn bounded(
        &mut self,
        side: Side,
        flags: TcpFlags,
        timestamps: Option<(u32, u32)>,
        time_ns: i64,
    ) {
        let asked_for = self.is_asked_for();
        let other = self.syn.is_some_and(|(opener, _)| opener != side);
        let opening = &mut self.opening;
        match (flags.syn(), flags.ack()) {
            (true, true) => {
                opening.syn_acks = opening.syn_acks.saturating_add(1);
                if self.syn_ack.is_none() {
                    let is_known = opening.is_answered_by(timestamps.map(|(_, echo)| echo));
                    self.syn_answered = is_known;
                    self.syn_ack = Some(time_ns);
                }
            }
            (true, false) => {
                if self.syn_ack.is_none() {
                    self.syn = Some((side, time_ns));
                    if other {
                        *opening = Opening::default();
                    }
                    opening.clock = timestamps.map_or(0, |(value, _)| value);
                }
                opening.syns = opening.syns.saturating_add(1);
                opening.first_ns.get_or_insert(time_ns);
            }
            // The opener's is one of the former connection, as was the answer to its SYN.
            (false, _) if asked_for => opening.refused(flags.rst() && other),
            (false, _) => {
                let counts = self.counts.of_mut(side);
                let ended = if flags.rst() { &mut counts.rst } else { &mut counts.fin };
                ended.get_or_insert(time_ns);
            }
        }
    }

    /// Whether something was acknowledged of `side` that has not come.
    #[inline]
    pub(super) fn awaits(&self, side: Side) -> bool {
        self.belated.as_ref().is_some_and(|belated| belated.of(side).is_awaited())
    }

    /// Takes an acknowledgement of what `side` has sent, which came up to a number.
    #[cold]
    pub(super) fn acknowledged(
        &mut self,
        side: Side,
        acknowledged: SeqNumber,
        came_until: Option<SeqNumber>,
        now_ns: i64,
    ) {
        let ahead = came_until.map_or(0, |until| acknowledged.ahead_of(until));
        // A single one may be a FIN.
        if (2..=TAIL_LIMIT).contains(&ahead) {
            self.belated.get_or_insert_default().of_mut(side).acknowledged(acknowledged, now_ns);
        } else if let Some(belated) = &mut self.belated {
            belated.of_mut(side).forget();
        }
    }

    /// Whether it was asked for, and nothing came of it so far.
    pub(super) fn is_asked_for(&self) -> bool {
        let Self { syn, syn_ack, counts, .. } = self;
        syn.is_some() && syn_ack.is_none() && counts.low.segments + counts.high.segments == 0
    }

    /// Whether nobody waits for it any more that was asked for in vain: it was refused, or no SYN came when
    /// it would have been sent again.
    pub(super) fn is_given_up(&self, now_ns: i64) -> bool {
        let Opening { first_ns, refusals, refused_before, .. } = self.opening;
        let (Some((_, last_ns)), Some(first_ns)) = (self.syn, first_ns) else { return false };
        // The timer doubles, so that the next SYN takes about as long as all before took.
        let due_ns = last_ns.saturating_sub(first_ns).saturating_add(SYN_DUE_NS);
        refusals > refused_before || now_ns.saturating_sub(last_ns) > due_ns
    }

    /// Takes the scale of a side's windows, of its SYN.
    pub(super) fn scaled(&mut self, side: Side, shift: Option<u8>) {
        *self.scales.of_mut(side) = shift.map_or(Scale::None, |shift| Scale::By(shift.min(MOST_SHIFT)));
    }

    /// Whether windows are scaled; `None` where a SYN is not in the capture.
    pub fn is_scaled(&self) -> Option<bool> {
        match (self.scales.low, self.scales.high) {
            (Scale::Unknown, _) | (_, Scale::Unknown) => None,
            (low, high) => Some(low != Scale::None && high != Scale::None),
        }
    }

    /// A window of `side` in bytes; `None` where nothing tells.
    fn window(&self, side: Side, window: u16) -> Option<u32> {
        let scaled = self.is_scaled()?;
        let shift = match *self.scales.of(side) {
            Scale::By(shift) if scaled => shift,
            _ => 0,
        };
        Some(u32::from(window) << shift)
    }

    /// Takes an ACK without data from `side`, which announces a window: `other` is what was known of the
    /// other's data before it.
    #[inline(never)] // Once, instead of wherever segments are taken.
    pub(super) fn announced_window(
        &mut self,
        side: Side,
        acknowledged: SeqNumber,
        window: u16,
        time_ns: i64,
        other: &Direction,
    ) {
        let (Some(window), Some(came)) = (self.window(side, window), other.assembler.next()) else { return };
        let sender = side.other();
        let handshake = if self.syn.is_some_and(|(opener, _)| opener == sender) {
            self.established.zip(self.syn_ack)
        } else {
            self.syn_ack.zip(self.answered_syn())
        };
        let took_ns = handshake.map(|(until_ns, from_ns)| until_ns.saturating_sub(from_ns));
        let lag_ns = took_ns.into_iter().chain(self.acks.of(sender).quickest()).min().unwrap_or(0).max(0);
        let told = Told {
            time_ns,
            acknowledged,
            window,
            came,
            since_ns: other.timer_ns,
            newly: other.newly(acknowledged),
            segment: i64::from(self.segment_size.unwrap_or(LARGEST_SEGMENT)) - TIMESTAMPS,
            lag_ns,
            resent_ns: self.resent_ns,
        };
        self.full_windows.of_mut(side).told(&told);
    }

    /// Takes the maximum segment size that a side announced.
    pub(super) fn announced(&mut self, size: u16) {
        let size = self.segment_size.map_or(size, |other| other.min(size));
        self.segment_size = Some(size);
    }
}
