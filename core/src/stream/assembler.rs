//! One direction of a TCP connection: segments in, bytes in order out.
//!
//! A pure data structure: it does no I/O, knows no protocol and no clock. In-order segments pass
//! through without a copy; segments that came too early are held until the hole before them is
//! filled or given up.

use std::collections::VecDeque;

use crate::packet::{Part, Payload};
use crate::stream::seq::SeqNumber;

/// Time and frame number of a packet, in the order of both: where a capture mixed up its packets, their
/// times tell which came first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Nanoseconds since 1970 UTC.
    pub time_ns: i64,
    /// Frame number; counts on over the files of one decode.
    pub frame: u64,
}

/// A piece of the byte stream: what one segment contributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Length on the wire; what exceeds `bytes` was cut off by the snaplen.
    pub length: usize,
    /// The packet that brought it.
    pub stamp: Stamp,
    /// The packet with which it and all bytes before it were there: that one, or a later one that
    /// filled the hole before it.
    pub ready: Stamp,
    /// The sequence number of its first byte.
    pub sequence: SeqNumber,
    /// The sender's clock when it was sent (RFC 7323), where it matters; 0 where nothing tells.
    pub clock: u32,
}

impl<'a> Piece<'a> {
    /// A piece that did not have to wait, at sequence number 0.
    pub fn new(bytes: &'a [u8], length: usize, stamp: Stamp) -> Self {
        Self { bytes, length, stamp, ready: stamp, sequence: SeqNumber(0), clock: 0 }
    }

    /// What a segment brings that did not have to wait.
    #[inline]
    pub fn of(part: &Part<'a>, stamp: Stamp) -> Self {
        let Payload { bytes, length } = part.payload;
        Self { bytes, length, stamp, ready: stamp, sequence: SeqNumber(part.sequence), clock: 0 }
    }

    /// Leaves out its first bytes.
    pub fn skip(&mut self, length: usize) {
        self.sequence = self.sequence.advance(length);
        self.bytes = self.bytes.get(length..).unwrap_or_default();
        self.length = self.length.saturating_sub(length);
    }
}

/// What became of an offered segment.
#[derive(Debug, PartialEq, Eq)]
pub enum Offered<'a> {
    /// Next in order: here it is, without what was known before.
    InOrder(Piece<'a>),
    /// Too early; held.
    Held,
    /// All of it was known before: a retransmission, or a packet captured twice.
    Known,
    /// The stream is not where it was taken to be: a sequence number that led it astray was wrong.
    /// Here it goes on, after a gap of unknown length; so many bytes were passed over too soon.
    Elsewhere(Piece<'a>, usize),
}

/// Segments held at most while waiting for a hole; beyond it the hole is given up. A window of
/// 16 MiB in segments of 1448 bytes, and a bound for one-byte segments.
const HELD_SEGMENTS_LIMIT: usize = 12_288;

/// Memory held at most while waiting for a hole: the largest window that is common.
const HELD_BYTES_LIMIT: usize = 16 << 20;

/// Nothing is sent again, nor acknowledged, from further back: no TCP has so much under way.
pub const WINDOW: usize = 1 << 26;

/// A hole longer than this may be none: the sequence number that showed it was damaged.
const JUMP: usize = 1 << 20;

/// Ticks of a sender's clock that tell how long one is.
const TICKS: i64 = 20;

/// Segments in a row, each the continuation of the one before, that lie before everything delivered
/// and so show that the stream is elsewhere. Retransmissions do not come in such rows.
pub(super) const STRAY_SEGMENTS: u32 = 4;

/// A segment that waits for the hole before it to be filled.
#[derive(Clone, Copy)]
pub struct Waiting {
    /// Where it starts, and the hole ends.
    pub sequence: SeqNumber,
    /// When it came.
    pub stamp: Stamp,
    /// The sender's clock when it was sent; 0 where nothing tells.
    pub clock: u32,
}

struct Held {
    sequence: SeqNumber,
    clock: u32,
    bytes: Box<[u8]>,
    length: usize,
    stamp: Stamp,
}

impl Held {
    /// Memory that it takes.
    fn charge(&self) -> usize {
        self.bytes.len() + size_of::<Self>()
    }
}

/// Puts one direction's segments in order.
#[derive(Default)]
pub struct Assembler {
    next: Option<SeqNumber>,
    /// Bytes before `next` that were delivered or given up, up to [`WINDOW`]: what comes again of them
    /// is known.
    run: usize,
    /// What came out of order: nothing on most of many connections, whose state should be small.
    disorder: Option<Box<Disorder>>,
}

/// What there is to know of a direction once something came out of order.
#[derive(Default)]
struct Disorder {
    /// Segments after a hole, by sequence number; each starts behind its predecessor's start.
    held: VecDeque<Held>,
    /// Memory that they take.
    held_bytes: usize,
    /// The sender's clock when it sent the first of all that were held, and when that came: by both, how fast
    /// it ticks.
    first: Option<(u32, i64)>,
    /// The piece that `take_ready` lent last.
    lent: Option<Held>,
    /// The first byte that was passed over without any behind it, or before one that may have a wrong number
    /// ([`JUMP`]), and how many, until the stream goes on there.
    skipped: Option<(SeqNumber, usize)>,
    /// Where the next of a row of segments before that run would start, and how many there were.
    stray: (SeqNumber, u32),
}

impl Assembler {
    /// Sets the next sequence number expected, forgetting what was held (SYN).
    pub fn begin(&mut self, next: SeqNumber) {
        *self = Self { next: Some(next), ..Self::default() };
    }

    /// The next sequence number expected; `None` before the first segment.
    pub fn next(&self) -> Option<SeqNumber> {
        self.next
    }

    /// Whether this is where the stream begins: nothing came yet after this sequence number, or all that
    /// came followed on it.
    pub fn begins_at(&self, first: SeqNumber) -> bool {
        self.next == Some(first) || self.followed(first)
    }

    /// Whether everything so far followed on this sequence number, as far back as is remembered: a SYN
    /// with it is the beginning of this stream, though it comes late.
    fn followed(&self, first: SeqNumber) -> bool {
        self.next.is_some_and(|next| usize::try_from(next.ahead_of(first)) == Ok(self.run))
    }

    /// Whether this number is among those that were delivered or given up, as far back as is remembered.
    pub fn has_passed(&self, sequence: SeqNumber) -> bool {
        let by = self.next.map(|next| usize::try_from(next.ahead_of(sequence)));
        matches!(by, Some(Ok(by)) if by <= self.run)
    }

    /// The first segment that waits for a hole to be filled.
    pub fn waiting(&self) -> Option<Waiting> {
        let Held { sequence, clock, stamp, .. } = *self.disorder.as_ref()?.held.front()?;
        Some(Waiting { sequence, stamp, clock })
    }

    /// Memory that the held segments take.
    pub fn held_bytes(&self) -> usize {
        self.disorder.as_ref().map_or(0, |disorder| disorder.held_bytes)
    }

    /// Whether nothing waits behind a hole.
    #[inline]
    pub fn holds_nothing(&self) -> bool {
        self.disorder.as_ref().is_none_or(|disorder| disorder.held.is_empty())
    }

    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    /// Passes over bytes that will not come, where no segment is held behind them: how many. Should
    /// they come all the same, the stream is where it was before.
    pub fn skip_to(&mut self, sequence: SeqNumber) -> usize {
        let Some(next) = self.next.filter(|_| self.holds_nothing()) else { return 0 };
        let length = usize::try_from(sequence.ahead_of(next)).unwrap_or(0);
        if length > 0 {
            self.next = Some(sequence);
            self.disorder().skipped = Some((next, length));
            self.passed(length);
        }
        length
    }

    /// Whether more is held than the limits allow: the hole has to be given up.
    pub fn overfull(&self) -> bool {
        let beyond = |disorder: &Disorder| {
            disorder.held.len() > HELD_SEGMENTS_LIMIT || disorder.held_bytes > HELD_BYTES_LIMIT
        };
        self.disorder.as_deref().is_some_and(beyond)
    }

    /// Takes the length of a segment at which the stream goes on.
    #[inline]
    pub fn go_on(&mut self, next: SeqNumber, length: usize) {
        self.passed(length);
        if let Some(disorder) = &mut self.disorder {
            disorder.skipped = None;
        }
        self.next = Some(next.advance(length));
    }

    /// Offers a segment with at least one byte of payload.
    pub fn offer<'a>(&mut self, sequence: SeqNumber, mut piece: Piece<'a>) -> Offered<'a> {
        let next = *self.next.get_or_insert(sequence);
        let ahead = sequence.ahead_of(next);
        if ahead > 0 {
            self.hold(sequence, piece);
            return Offered::Held;
        }
        let known = usize::try_from(-ahead).unwrap_or(usize::MAX);
        if known >= piece.length {
            return self.behind(sequence, known, piece);
        }
        piece.skip(known);
        self.go_on(next, piece.length);
        Offered::InOrder(piece)
    }

    /// The next held piece that has become contiguous. Call until `None` after each change.
    /// `filled`: the packet that filled the hole; `None` when it was given up.
    pub fn take_ready(&mut self, filled: Option<Stamp>) -> Option<Piece<'_>> {
        let Disorder { held: waiting, held_bytes, lent, .. } = &mut **self.disorder.as_mut()?;
        *lent = None;
        loop {
            let next = self.next?;
            if waiting.front()?.sequence.ahead_of(next) > 0 {
                return None;
            }
            let held = waiting.pop_front()?;
            *held_bytes = held_bytes.saturating_sub(held.charge());
            let known = usize::try_from(next.ahead_of(held.sequence)).unwrap_or(0);
            if known >= held.length {
                continue;
            }
            let held = lent.insert(held);
            let ready = filled.unwrap_or(held.stamp);
            let Held { sequence, clock, length, stamp, .. } = *held;
            let mut piece = Piece { bytes: &held.bytes, length, stamp, ready, sequence, clock };
            piece.skip(known);
            self.run = (self.run + piece.length).min(WINDOW);
            self.next = Some(next.advance(piece.length));
            return Some(piece);
        }
    }

    /// Whether the first held segment is none of the stream here: far ahead of it, though what came later was
    /// `delivered` in order. What is behind a hole comes after all that is before it.
    pub fn is_astray(&self, delivered: Stamp) -> bool {
        let (Some(next), Some(first)) = (self.next, self.waiting()) else { return false };
        first.stamp < delivered
            && usize::try_from(first.sequence.ahead_of(next)).is_ok_and(|length| length > JUMP)
    }

    /// Forgets the first held segment, if it is none of the stream here. `false`: it is, or there is none.
    pub fn forget_astray(&mut self, delivered: Stamp) -> bool {
        if !self.is_astray(delivered) {
            return false;
        }
        let Disorder { held, held_bytes, .. } = self.disorder();
        let first = held.pop_front();
        *held_bytes = held_bytes.saturating_sub(first.map_or(0, |held| held.charge()));
        true
    }

    /// Gives up the hole before the first held segment: its length in bytes, and the segment's stamp.
    pub fn give_up(&mut self) -> Option<(usize, Stamp)> {
        let (next, first) = (self.next?, self.disorder.as_ref()?.held.front()?);
        let length = usize::try_from(first.sequence.ahead_of(next)).ok().filter(|length| *length > 0)?;
        let stamp = first.stamp;
        self.next = Some(first.sequence);
        self.passed(length);
        if length > JUMP {
            self.disorder().skipped = Some((next, length));
        }
        Some((length, stamp))
    }

    /// `next` goes on by `length`. After a long jump it may be that only the number was wrong, and nothing
    /// before it is known.
    fn passed(&mut self, length: usize) {
        self.run = if length > JUMP { 0 } else { (self.run + length).min(WINDOW) };
    }

    /// A segment that ends before `next`, and starts `by` bytes before it.
    fn behind<'a>(&mut self, sequence: SeqNumber, by: usize, piece: Piece<'a>) -> Offered<'a> {
        let end = sequence.advance(piece.length);
        let skipped = self.disorder.as_ref().and_then(|disorder| disorder.skipped);
        let refuted = skipped.filter(|(start, _)| *start == sequence);
        if refuted.is_none() {
            if by <= self.run {
                return Offered::Known;
            }
            let (expected, count) = &mut self.disorder().stray;
            *count = if sequence == *expected { *count + 1 } else { 1 };
            *expected = end;
            if *count < STRAY_SEGMENTS {
                return Offered::Known;
            }
        }
        self.begin(end);
        self.run = piece.length;
        Offered::Elsewhere(piece, refuted.map_or(0, |(_, length)| length))
    }

    /// How long a tick of the sender's clock is, of which it made some since the first segment that was held;
    /// `None` before it made so many that what these took on the way is little beside it.
    #[cold]
    pub fn tick_ns(&self, clock: u32, now_ns: i64) -> Option<i64> {
        let (first, since_ns) = self.disorder.as_ref()?.first?;
        let ticks = SeqNumber(clock).ahead_of(SeqNumber(first));
        (ticks >= TICKS).then(|| now_ns.saturating_sub(since_ns) / ticks)
    }

    fn hold(&mut self, sequence: SeqNumber, piece: Piece<'_>) {
        let Disorder { held: waiting, held_bytes, first, .. } = self.disorder();
        if piece.clock != 0 {
            first.get_or_insert((piece.clock, piece.stamp.time_ns));
        }
        let after = waiting.partition_point(|held| sequence.ahead_of(held.sequence) >= 0);
        let twin = after.checked_sub(1).and_then(|before| waiting.get(before));
        if twin.is_some_and(|held| held.sequence == sequence && held.length >= piece.length) {
            return; // The same segment again.
        }
        let (bytes, length) = (piece.bytes.into(), piece.length);
        let held = Held { sequence, clock: piece.clock, bytes, length, stamp: piece.stamp };
        *held_bytes = held_bytes.saturating_add(held.charge());
        waiting.insert(after, held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(bytes: &[u8], frame: u64) -> Piece<'_> {
        Piece::new(bytes, bytes.len(), Stamp { frame, time_ns: 0 })
    }

    fn at(sequence: u32, piece: Piece<'_>) -> Piece<'_> {
        Piece { sequence: SeqNumber(sequence), ..piece }
    }

    /// Everything that comes out, as bytes; a gap that was given up is `None`s.
    fn run(assembler: &mut Assembler, segments: &[(u32, Vec<u8>)], give_up: bool) -> Vec<Option<u8>> {
        let mut out = Vec::new();
        for (frame, (sequence, bytes)) in segments.iter().enumerate() {
            if let Offered::InOrder(piece) | Offered::Elsewhere(piece, _) =
                assembler.offer(SeqNumber(*sequence), piece(bytes, frame as u64))
            {
                out.extend(piece.bytes.iter().copied().map(Some));
            }
            while let Some(piece) = assembler.take_ready(None) {
                out.extend(piece.bytes.iter().copied().map(Some));
            }
        }
        while give_up && let Some((length, _)) = assembler.give_up() {
            out.extend(std::iter::repeat_n(None, length));
            while let Some(piece) = assembler.take_ready(None) {
                out.extend(piece.bytes.iter().copied().map(Some));
            }
        }
        out
    }

    #[test]
    fn a_segment_in_order_passes_through() {
        let mut assembler = Assembler::default();
        assembler.begin(SeqNumber(10));
        assert_eq!(assembler.offer(SeqNumber(10), piece(b"abc", 1)), Offered::InOrder(piece(b"abc", 1)));
        assert_eq!(assembler.next(), Some(SeqNumber(13)));
    }

    #[test]
    fn a_retransmission_is_known_and_an_overlap_gives_only_what_is_new() {
        let mut assembler = Assembler::default();
        assembler.begin(SeqNumber(0));
        assembler.offer(SeqNumber(0), piece(b"abcd", 1));
        assert_eq!(assembler.offer(SeqNumber(0), piece(b"abcd", 2)), Offered::Known);
        assert_eq!(
            assembler.offer(SeqNumber(2), piece(b"cdef", 3)),
            Offered::InOrder(at(2, piece(b"ef", 3)))
        );
    }

    #[test]
    fn an_early_segment_waits_for_the_hole() {
        let mut assembler = Assembler::default();
        assembler.begin(SeqNumber(u32::MAX));
        assert_eq!(assembler.offer(SeqNumber(1), piece(b"cd", 1)), Offered::Held);
        assert_eq!(assembler.take_ready(None), None);
        assert_eq!(assembler.offer(SeqNumber(u32::MAX), piece(b"ab", 2)), Offered::InOrder(piece(b"ab", 2)));
        let filled = Stamp { frame: 2, time_ns: 0 };
        let late = Piece { ready: filled, ..at(1, piece(b"cd", 1)) };
        assert_eq!(assembler.take_ready(Some(filled)), Some(late));
        assert_eq!(assembler.take_ready(Some(filled)), None);
    }

    #[test]
    fn a_hole_given_up_says_how_long_it_was() {
        let mut assembler = Assembler::default();
        assembler.begin(SeqNumber(0));
        assembler.offer(SeqNumber(7), piece(b"x", 9));
        assert_eq!(assembler.give_up(), Some((7, Stamp { frame: 9, time_ns: 0 })));
        assert_eq!(assembler.take_ready(None), Some(at(7, piece(b"x", 9))));
        assert_eq!(assembler.give_up(), None);
    }

    #[test]
    fn a_row_of_segments_behind_all_that_was_delivered_shows_that_the_stream_is_there() {
        let mut assembler = Assembler::default();
        assembler.offer(SeqNumber(900_000), piece(b"stray", 1)); // Its sequence number was damaged.
        for i in 0..3 {
            assert_eq!(assembler.offer(SeqNumber(2 * i), piece(b"ab", 2)), Offered::Known);
        }
        assert_eq!(assembler.offer(SeqNumber(6), piece(b"ab", 3)), Offered::Elsewhere(piece(b"ab", 3), 0));
        assert_eq!(assembler.offer(SeqNumber(8), piece(b"cd", 4)), Offered::InOrder(piece(b"cd", 4)));
    }

    #[test]
    fn bytes_passed_over_that_come_after_all_show_where_the_stream_is() {
        let mut assembler = Assembler::default();
        assembler.offer(SeqNumber(0), piece(b"ab", 1));
        assert_eq!(assembler.skip_to(SeqNumber(500)), 498);
        assert_eq!(assembler.offer(SeqNumber(2), piece(b"cd", 2)), Offered::Elsewhere(piece(b"cd", 2), 498));
        assert_eq!(assembler.offer(SeqNumber(4), piece(b"ef", 3)), Offered::InOrder(piece(b"ef", 3)));
        assert_eq!(assembler.skip_to(SeqNumber(500)), 494);
        assert_eq!(assembler.offer(SeqNumber(500), piece(b"gh", 4)), Offered::InOrder(piece(b"gh", 4)));
        assert_eq!(assembler.offer(SeqNumber(6), piece(b"xx", 5)), Offered::Known, "too late");
    }

    #[test]
    fn a_segment_far_ahead_of_what_comes_later_in_order_is_none_of_the_stream() {
        for (ahead, later, astray) in [(2 * JUMP, true, true), (2 * JUMP, false, false), (JUMP, true, false)]
        {
            let mut assembler = Assembler::default();
            assembler.offer(SeqNumber(0), piece(b"ab", 1));
            assembler.offer(SeqNumber(2 + ahead as u32), piece(b"cd", 3));
            assert_eq!(assembler.offer(SeqNumber(2), piece(b"ef", 4)), Offered::InOrder(piece(b"ef", 4)));
            let delivered = Stamp { frame: if later { 4 } else { 2 }, time_ns: 0 };
            assert_eq!(assembler.forget_astray(delivered), astray);
            assert_eq!((assembler.waiting().is_none(), assembler.held_bytes() == 0), (astray, astray));
        }
    }

    #[test]
    fn a_jump_ends_where_the_stream_goes_on_before_it() {
        let far = 600 * JUMP as u32;
        for goes_on_there in [false, true] {
            let mut assembler = Assembler::default();
            assembler.offer(SeqNumber(0), piece(b"ab", 1));
            assert_eq!(assembler.offer(SeqNumber(far), piece(b"cd", 2)), Offered::Held);
            assert_eq!(assembler.give_up().map(|(length, _)| length), Some(far as usize - 2));
            assert!(assembler.take_ready(None).is_some());
            if goes_on_there {
                assembler.offer(SeqNumber(far + 2), piece(b"ef", 3));
            }
            let expected = if goes_on_there {
                Offered::Known
            } else {
                Offered::Elsewhere(piece(b"cd", 4), far as usize - 2)
            };
            assert_eq!(assembler.offer(SeqNumber(2), piece(b"cd", 4)), expected);
        }
    }

    #[test]
    fn a_stream_knows_the_number_that_it_began_with() {
        let mut assembler = Assembler::default();
        assert!(!assembler.followed(SeqNumber(7)));
        assembler.offer(SeqNumber(7), piece(b"abc", 1));
        assembler.offer(SeqNumber(10), piece(b"de", 2));
        assert!(assembler.followed(SeqNumber(7)));
        assert!(!assembler.followed(SeqNumber(8)) && !assembler.followed(SeqNumber(12)));
        assert!(assembler.begins_at(SeqNumber(7)) && !assembler.begins_at(SeqNumber(8)));
        assert!(!assembler.followed(SeqNumber(6)) && !assembler.followed(SeqNumber(1 << 31)));
    }

    #[test]
    fn retransmissions_in_a_row_are_known() {
        let mut assembler = Assembler::default();
        for round in 0..3 {
            for i in 0..20 {
                let offered = assembler.offer(SeqNumber(2 * i), piece(b"ab", 1));
                assert_eq!(offered == Offered::Known, round > 0);
            }
        }
    }

    proptest! {
        /// Against a byte map: any order, any overlap, any repetition of segments of one stream.
        #[test]
        fn the_same_bytes_come_out_whatever_the_order(
            length in 1usize..200,
            start in any::<u32>(),
            cuts in prop::collection::vec((0usize..200, 1usize..60), 1..40),
        ) {
            let stream: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            let segments: Vec<(u32, Vec<u8>)> = cuts
                .iter()
                .map(|&(from, count)| (from.min(length - 1), count))
                .map(|(from, count)| {
                    let to = (from + count).min(length);
                    (start.wrapping_add(from as u32), stream[from..to].to_vec())
                })
                .collect();
            let mut map = vec![None; length];
            for (sequence, bytes) in &segments {
                let from = sequence.wrapping_sub(start) as usize;
                for (i, byte) in bytes.iter().enumerate() {
                    map[from + i] = Some(*byte);
                }
            }
            while map.last() == Some(&None) {
                map.pop();
            }
            let mut assembler = Assembler::default();
            assembler.begin(SeqNumber(start));
            prop_assert_eq!(run(&mut assembler, &segments, true), map);
        }
    }
}
