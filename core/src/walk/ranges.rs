//! Which bytes of a file a client has had, in memory that is bounded.

/// Ranges that are kept apart. Of more the smallest gaps are passed over: a range then tells where its
/// bytes lie less well, and still how many they are.
const APART_LIMIT: usize = 1 << 10;

/// Bytes of a file, as ranges in order that do not touch.
#[derive(Default)]
pub(super) struct Ranges(Vec<Range>);

/// From `start` up to `stop`, of which no more than `bytes` are meant: fewer than lie between the two
/// where gaps were passed over.
#[derive(Clone, Copy)]
struct Range {
    start: i64,
    stop: i64,
    bytes: i64,
}

impl Range {
    /// With the other one, and what lies between them, but for its bytes.
    fn with(self, other: Self) -> Self {
        let (start, stop) = (self.start.min(other.start), self.stop.max(other.stop));
        // Where gaps were passed over, nobody knows which bytes are in both: as if none were.
        let bytes = self.bytes.saturating_add(other.bytes).min(stop.saturating_sub(start));
        Self { start, stop, bytes }
    }
}

impl Ranges {
    /// Adds the bytes from `start` up to `stop`.
    pub(super) fn add(&mut self, start: i64, stop: i64) {
        self.put(Range { start, stop, bytes: stop.saturating_sub(start) });
    }

    /// Adds those of another one.
    pub(super) fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|range| self.put(*range));
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many there are.
    pub(super) fn bytes(&self) -> i64 {
        self.0.iter().fold(0, |bytes, range| bytes.saturating_add(range.bytes))
    }

    /// How many there are from `start` up to `stop`; where gaps were passed over, at most.
    pub(super) fn bytes_in(&self, start: i64, stop: i64) -> i64 {
        let first = self.0.partition_point(|range| range.stop <= start);
        self.0.iter().skip(first).take_while(|range| range.start < stop).fold(0, |bytes, range| {
            let common = stop.min(range.stop).saturating_sub(start.max(range.start));
            bytes.saturating_add(common.min(range.bytes))
        })
    }

    fn put(&mut self, range: Range) {
        if range.stop <= range.start {
            return;
        }
        let first = self.0.partition_point(|other| other.stop < range.start);
        let touched = self.0.iter().skip(first).take_while(|other| other.start <= range.stop);
        let (count, whole) =
            touched.fold((0, range), |(count, whole), other| (count + 1, whole.with(*other)));
        self.0.splice(first..first + count, [whole]);
        if self.0.len() > APART_LIMIT {
            self.pass_over_gaps();
        }
    }

    /// Passes over the smaller half of the gaps: one by one, each would cost a look at all of them.
    fn pass_over_gaps(&mut self) {
        let gap = |one: &Range, next: &Range| next.start.saturating_sub(one.stop);
        let mut gaps: Vec<i64> = self.0.iter().zip(self.0.iter().skip(1)).map(|(a, b)| gap(a, b)).collect();
        let mut left = gaps.len() / 2;
        let (_, largest, _) = gaps.select_nth_unstable(left);
        let largest = *largest;
        self.0.dedup_by(|next, one| {
            let joins = left > 0 && gap(one, next) <= largest;
            if joins {
                left -= 1;
                *one = one.with(*next);
            }
            joins
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_the_bytes_that_were_added(
            added in prop::collection::vec((0_i64..100, 0_i64..20), 0..30),
            (start, length) in (0_i64..100, 0_i64..40),
        ) {
            let mut ranges = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (start, length) in added {
                ranges.add(start, start + length);
                bytes.extend(start..start + length);
            }
            prop_assert_eq!(ranges.bytes(), i64::try_from(bytes.len()).unwrap());
            let within = bytes.range(start..start + length).count();
            prop_assert_eq!(ranges.bytes_in(start, start + length), i64::try_from(within).unwrap());
        }
    }

    /// Every other of so many blocks, the last ones first and then from the first on.
    fn scattered(blocks: i64) -> Ranges {
        let mut ranges = Ranges::default();
        for block in (blocks / 2..blocks).rev().chain(0..blocks / 2) {
            ranges.add(block * 8192, block * 8192 + 4096);
        }
        ranges
    }

    #[test]
    fn more_ranges_than_are_kept_apart_are_as_many_bytes_all_the_same() {
        let blocks = 100_000;
        let ranges = scattered(blocks);
        assert!(ranges.0.len() <= APART_LIMIT);
        assert_eq!(ranges.bytes(), blocks * 4096);
        assert_eq!(ranges.bytes_in(0, blocks * 8192), blocks * 4096);
        assert_eq!(ranges.bytes_in(blocks * 8192, i64::MAX), 0);
    }

    #[test]
    fn what_is_added_over_and_over_is_never_more_than_its_extent() {
        let mut ranges = scattered(3000);
        let extent = 2999 * 8192 + 4096;
        for _ in 0..3 {
            ranges.add_all(&scattered(3000));
        }
        assert!((3000 * 4096..=extent).contains(&ranges.bytes()), "{}", ranges.bytes());
    }

    #[test]
    fn far_gaps_are_kept_where_near_ones_are_passed_over() {
        let mut ranges = Ranges::default();
        ranges.add(1 << 40, (1 << 40) + 100);
        for block in 0..5000 {
            ranges.add(block * 200, block * 200 + 100);
        }
        assert_eq!(ranges.bytes_in(5000 * 200, 1 << 40), 0);
        assert_eq!(ranges.bytes_in(1 << 40, i64::MAX), 100);
    }
}
