//! A segment that was cut, and those behind it that bring its bytes in parts → when they have brought more of it.
//!
//! A host captures what it sends before its network card or kernel cuts it, and beside that, on a bridge or a
//! mirror port, the packets that leave: a snaplen keeps the first bytes of the one, and of each of the others. The
//! parts of a segment have its acknowledgement, window and options; by the timestamps among these (RFC 7323) they
//! are told from what is sent again, or where there are none by their times.
//!
//! Takes stretches of streams. Memory is a few words for each that waits.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::packet::Segment;
use crate::stream::seq::SeqNumber;

/// Segments of a flow that wait at a time: as many as leave before the sender's clock ticks.
const WAITING_LIMIT: usize = 64;

/// The longest time between a segment without timestamps and its parts: less than it takes to send it again.
const UNTIMED_NS: u64 = 2_000_000;

/// What a segment brings of a stream.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    /// What it has in common with its parts.
    pub(super) flow: u64,
    from: SeqNumber,
    to: SeqNumber,
    captured: usize,
    time_ns: i64,
    /// Its timestamps are among what it has in common with its parts.
    timed: bool,
}

/// One that waits for its parts.
struct Whole {
    number: u64,
    stretch: Stretch,
    /// Up to where parts have come, and how many bytes of them were captured.
    until: SeqNumber,
    captured: usize,
}

/// Segments that were cut, by flow.
#[derive(Default)]
pub(super) struct Parts {
    by_flow: HashMap<u64, VecDeque<Whole>, RandomState>,
}

impl Parts {
    /// What a segment with data brings, if it can be in parts or one of them.
    pub(super) fn stretch(&self, segment: &Segment<'_>, time_ns: i64) -> Option<Stretch> {
        if !segment.flags.amid() {
            return None;
        }
        let Segment { source, destination, acknowledgement, window, options, payload, .. } = *segment;
        let flow = self.by_flow.hasher().hash_one((source, destination, acknowledgement, window, options));
        let from = SeqNumber(segment.sequence);
        let (to, captured) = (from.advance(payload.length), payload.bytes.len());
        Some(Stretch { flow, from, to, captured, time_ns, timed: segment.timestamps().is_some() })
    }

    /// A segment waits for its parts. `false`: so many do that it is not looked for them.
    pub(super) fn wait(&mut self, stretch: &Stretch, number: u64) -> bool {
        let waiting = self.by_flow.entry(stretch.flow).or_default();
        let waits = waiting.len() < WAITING_LIMIT;
        if waits {
            waiting.push_back(Whole { number, stretch: *stretch, until: stretch.from, captured: 0 });
        }
        waits
    }

    /// Takes a segment: whether it is a part of one that waits. Those of which all has come now, and more than of
    /// themselves, wait no more: their numbers are `brought`.
    pub(super) fn take(&mut self, part: &Stretch, brought: &mut Vec<u64>) -> bool {
        let Some(waiting) = self.by_flow.get_mut(&part.flow) else { return false };
        let mut is_part = false;
        waiting.retain_mut(|whole| {
            if !whole.continues_with(part) {
                return true;
            }
            is_part = true;
            whole.until = part.to;
            whole.captured += part.captured;
            let all = part.to.ahead_of(whole.stretch.to) >= 0;
            let more = all && whole.captured > whole.stretch.captured;
            if more {
                brought.push(whole.number);
            }
            !more
        });
        self.tidy(part.flow);
        is_part
    }

    /// A segment waits no more.
    pub(super) fn forget(&mut self, flow: u64, number: u64) {
        if let Some(waiting) = self.by_flow.get_mut(&flow) {
            waiting.retain(|whole| whole.number != number);
        }
        self.tidy(flow);
    }

    fn tidy(&mut self, flow: u64) {
        if self.by_flow.get(&flow).is_some_and(VecDeque::is_empty) {
            self.by_flow.remove(&flow);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_flow.is_empty()
    }
}

impl Whole {
    /// Whether this goes on where its parts so far ended, and is shorter than itself.
    fn continues_with(&self, part: &Stretch) -> bool {
        let Stretch { from, to, time_ns, timed, .. } = self.stretch;
        part.from.ahead_of(self.until) <= 0
            && part.to.ahead_of(self.until) > 0
            && self.until.ahead_of(to) < 0
            && part.to.ahead_of(part.from) < to.ahead_of(from)
            && (timed || time_ns.abs_diff(part.time_ns) <= UNTIMED_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Payload, TcpFlags};

    const CUT: usize = 100;

    /// Bytes of a stream in a segment at a time, of which a capture keeps so many.
    fn of(parts: &Parts, from: u32, length: usize, kept: usize, time_ns: i64, options: &[u8]) -> Stretch {
        let bytes = vec![0; kept.min(length)];
        let segment = Segment {
            sequence: from,
            flags: TcpFlags(0x10),
            options,
            payload: Payload::new(&bytes, length),
            ..Segment::EMPTY
        };
        parts.stretch(&segment, time_ns).unwrap()
    }

    /// Those that are brought by these parts, each from here to there, of segments that wait.
    fn brought(wholes: &[(u32, u32)], of_parts: &[(u32, u32)], kept: usize) -> Vec<u64> {
        let (mut parts, mut brought) = (Parts::default(), Vec::new());
        for (number, (from, to)) in (0..).zip(wholes) {
            let whole = of(&parts, *from, to.wrapping_sub(*from) as usize, CUT, 0, &[]);
            assert!(parts.wait(&whole, number));
        }
        for (from, to) in of_parts {
            let part = of(&parts, *from, to.wrapping_sub(*from) as usize, kept, 0, &[]);
            parts.take(&part, &mut brought);
        }
        for number in 0..wholes.len() as u64 {
            parts.forget(of(&parts, 0, 1, 0, 0, &[]).flow, number);
        }
        assert!(parts.is_empty());
        brought
    }

    #[test]
    fn what_all_of_came_in_parts_is_brought() {
        for whole in [(0, 3_000), (u32::MAX - 99, 2_900)] {
            let at = |from: u32| whole.0.wrapping_add(from);
            let three = [(at(0), at(1_000)), (at(1_000), at(2_000)), (at(2_000), at(3_000))];
            assert_eq!(brought(&[whole], &three, CUT), [0]);
            assert_eq!(brought(&[whole], &three[..2], CUT), [], "not yet");
            assert_eq!(brought(&[whole], &three[1..], CUT), [], "the first is missing");
            assert_eq!(brought(&[whole], &[three[0], three[2]], CUT), [], "one amid them is");
            assert_eq!(brought(&[whole], &three, CUT / 4), [], "they hold less of it");
        }
        let straddling = [(0, 600), (600, 1_200), (1_200, 1_800), (1_800, 2_000)];
        assert_eq!(brought(&[(0, 1_000), (1_000, 2_000)], &straddling, CUT), [0, 1]);
        assert_eq!(brought(&[(0, 1_000)], &[(0, 1_000)], 2 * CUT), [], "another copy of it");
    }

    #[test]
    fn what_is_sent_again_is_no_part() {
        const STAMPS: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let takes = |before: &[u8], after: &[u8], later_ns: i64| {
            let mut parts = Parts::default();
            let whole = of(&parts, 0, 2_000, CUT, 0, before);
            parts.wait(&whole, 0);
            let part = of(&parts, 0, 1_000, CUT, later_ns, after);
            parts.take(&part, &mut Vec::new())
        };
        let (soon_ns, late_ns) = (UNTIMED_NS.cast_signed(), UNTIMED_NS.cast_signed() + 1);
        assert!(takes(&[], &[], soon_ns) && !takes(&[], &[], late_ns));
        assert!(takes(STAMPS, STAMPS, late_ns));
        let ticked = [&STAMPS[..7], &[2], &STAMPS[8..]].concat();
        assert!(!takes(STAMPS, &ticked, soon_ns));
    }

    #[test]
    fn only_so_many_of_a_flow_wait() {
        let mut parts = Parts::default();
        for number in 0..WAITING_LIMIT as u64 {
            assert!(parts.wait(&of(&parts, 0, 2_000, CUT, 0, &[]), number));
        }
        let further = of(&parts, 0, 2_000, CUT, 0, &[]);
        assert!(!parts.wait(&further, 999));
        parts.forget(further.flow, 7);
        assert!(parts.wait(&further, 999));
    }
}
