//! Segments that were sent again, and whether their receiver had them already.
//!
//! Takes what came once more, and what the receiver then says that it received once more (D-SACK, RFC
//! 2883); gives how many of these segments had arrived before, whole: they were sent in vain.

use std::collections::VecDeque;

use crate::packet::Blocks;
use crate::stream::seq::SeqNumber;

/// Segments that are remembered at most; of more, the oldest are forgotten.
const LIMIT: usize = 64;

/// Time after which the receiver says nothing of a segment any more: longer than round trips are.
const PATIENCE_NS: i64 = 3_000_000_000;

/// A segment that came once more.
struct Again {
    sequence: SeqNumber,
    length: i64,
    /// Bytes of it that the receiver has not told.
    untold: i64,
    time_ns: i64,
}

/// Those of one direction. Most connections have none, and there may be tens of thousands.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "a word in each connection, where there are none")]
pub(super) struct Repeated(Option<Box<VecDeque<Again>>>);

impl Repeated {
    /// Whether the receiver may yet say something of one.
    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|known| known.is_empty())
    }

    /// Takes a segment that came once more.
    pub(super) fn sent(&mut self, sequence: SeqNumber, length: usize, time_ns: i64) {
        let known = self.0.get_or_insert_default();
        if known.len() == LIMIT {
            known.pop_front();
        }
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        known.push_back(Again { sequence, length, untold: length, time_ns });
    }

    /// Takes what the receiver acknowledges, and its blocks: how many of the segments had arrived before.
    pub(super) fn told(&mut self, blocks: Blocks, acknowledged: SeqNumber) -> u32 {
        let Some(known) = &mut self.0 else { return 0 };
        let Some((mut from, until)) = received_again(blocks, acknowledged) else { return 0 };
        for again in known.iter_mut() {
            let start = from.ahead_of(again.sequence).max(0);
            let end = until.ahead_of(again.sequence).min(again.length);
            if start < end {
                again.untold -= end - start;
                from = again.sequence.advance(usize::try_from(end).unwrap_or_default());
            }
        }
        let before = known.len();
        known.retain(|again| again.untold > 0);
        u32::try_from(before - known.len()).unwrap_or(u32::MAX)
    }

    /// Forgets those of which the receiver has had time enough to speak.
    pub(super) fn forget(&mut self, now_ns: i64) {
        let Some(known) = &mut self.0 else { return };
        while known.front().is_some_and(|again| now_ns.saturating_sub(again.time_ns) > PATIENCE_NS) {
            known.pop_front();
        }
    }
}

/// What the first block tells to have come twice: it lies below the acknowledgement, or within the second
/// block (RFC 2883 section 4).
fn received_again(blocks: Blocks, acknowledged: SeqNumber) -> Option<(SeqNumber, SeqNumber)> {
    let [left, right] = blocks.first.map(SeqNumber);
    let within = |[from, until]: [SeqNumber; 2]| left.ahead_of(from) >= 0 && right.ahead_of(until) <= 0;
    let again = right.ahead_of(acknowledged) <= 0
        || blocks.second.is_some_and(|second| within(second.map(SeqNumber)));
    (again && right.ahead_of(left) > 0).then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    fn block(left: u32, right: u32) -> Blocks {
        Blocks { first: [left, right], second: None }
    }

    /// 100 bytes across the wrap of the numbers, and 100 behind them.
    fn two() -> Repeated {
        let mut repeated = Repeated::default();
        repeated.sent(SeqNumber(u32::MAX - 49), 100, 0);
        repeated.sent(SeqNumber(50), 100, SECOND_NS);
        repeated
    }

    #[test]
    fn what_lies_below_the_acknowledgement_came_twice() {
        let mut repeated = two();
        assert_eq!(repeated.told(block(50, 150), SeqNumber(149)), 0, "a block of what came early");
        assert_eq!(repeated.told(block(u32::MAX - 49, 50), SeqNumber(50)), 1);
        assert_eq!(repeated.told(block(u32::MAX - 49, 50), SeqNumber(50)), 0);
        assert_eq!(repeated.told(block(50, 150), SeqNumber(150)), 1);
        assert!(repeated.is_empty());
    }

    #[test]
    fn what_lies_within_the_second_block_came_twice() {
        let blocks = |second| Blocks { first: [50, 150], second: Some(second) };
        for (second, told) in [([50, 150], 1), ([0, 900], 1), ([51, 900], 0), ([0, 149], 0)] {
            assert_eq!(two().told(blocks(second), SeqNumber(0)), told, "{second:?}");
        }
    }

    #[test]
    fn a_segment_may_be_told_in_pieces_and_several_in_one() {
        let mut repeated = two();
        assert_eq!(repeated.told(block(50, 120), SeqNumber(150)), 0);
        assert_eq!(repeated.told(block(120, 150), SeqNumber(150)), 1);
        assert_eq!(two().told(block(u32::MAX - 49, 150), SeqNumber(150)), 2);
    }

    #[test]
    fn what_came_three_times_is_told_twice() {
        let mut repeated = Repeated::default();
        repeated.sent(SeqNumber(1), 100, 0);
        repeated.sent(SeqNumber(1), 100, 0);
        assert_eq!(repeated.told(block(1, 101), SeqNumber(101)), 1);
        assert_eq!(repeated.told(block(1, 101), SeqNumber(101)), 1);
    }

    #[test]
    fn an_empty_or_reversed_block_tells_nothing() {
        assert_eq!(two().told(block(50, 50), SeqNumber(150)), 0);
        assert_eq!(two().told(block(150, 50), SeqNumber(150)), 0);
    }

    #[test]
    fn only_some_are_remembered_and_for_some_time() {
        let mut repeated = two();
        repeated.forget(PATIENCE_NS);
        assert_eq!(repeated.0.as_ref().map_or(0, |known| known.len()), 2);
        repeated.forget(PATIENCE_NS + 1);
        assert_eq!(repeated.0.as_ref().map_or(0, |known| known.len()), 1);
        for _ in 0..2 * LIMIT {
            repeated.sent(SeqNumber(1), 1, SECOND_NS);
        }
        assert_eq!(repeated.0.as_ref().map_or(0, |known| known.len()), LIMIT);
    }
}
