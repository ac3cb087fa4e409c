//! How many intervals are open at once: for how long any is, the most, and the mean.
//!
//! Takes rows of intervals (columns of [`Gathered::take`]); gives this for all of them and for each
//! group. `pcapnfs/analyses/times/concurrency.py` says what for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_schema::ArrowError;

use super::Groups;
use crate::walk::input::whole;

/// What is open at once, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// From the first begin to the last end.
    pub span: i64,
    /// The part of it in which any was open.
    pub busy: i64,
    /// The lengths of all, added up.
    pub lengths: i128,
    /// The most at one instant, at which those that end do so before others begin; at least 1.
    pub peak: u32,
}

/// An interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    begin: i64,
    end: i64,
    group: u32,
}

/// Gathers intervals.
#[derive(Debug)]
pub struct Gathered {
    /// By mount.
    groups: Groups,
    intervals: Vec<Interval>,
}

impl Gathered {
    /// Nothing yet; `groups` tells which mounts count as one.
    pub fn new(groups: Groups) -> Self {
        Self { groups, intervals: Vec::new() }
    }

    /// Adds rows: `begin`, `end` (ns), `mount`. Those of a mount without a group are left out.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let times = whole::<Int64Type>(batch, "begin")?.iter().zip(whole::<Int64Type>(batch, "end")?);
        for ((begin, end), mount) in times.zip(whole::<UInt32Type>(batch, "mount")?) {
            if let Some(group) = self.groups.get(mount) {
                self.intervals.push(Interval { begin: *begin, end: *end, group: *group });
            }
        }
        Ok(())
    }

    /// What was open at once of all, and of each group; nothing without intervals.
    ///
    /// Times later than `longest` after the first begin are taken for that.
    pub fn finish(mut self, longest: i64) -> Option<(UnderWay, BTreeMap<u32, UnderWay>)> {
        // Nearly sorted already: calls are numbered in the order in which they were completed.
        self.intervals.sort_by_key(|interval| interval.begin);
        let latest = self.intervals.first()?.begin.saturating_add(longest);
        let mut all = Counting::default();
        let mut groups: BTreeMap<u32, Counting> = BTreeMap::new();
        let mut ends = Ends::default();
        for interval in self.intervals {
            let begin = interval.begin.min(latest);
            let end = interval.end.clamp(begin, latest);
            while let Some(group) = ends.until(begin) {
                all.open -= 1;
                if let Some(group) = groups.get_mut(&group) {
                    group.open -= 1;
                }
            }
            // What has no length ends before anything else begins.
            let open = begin < end;
            all.add(begin, end, open);
            groups.entry(interval.group).or_default().add(begin, end, open);
            if open {
                ends.push(end, interval.group);
            }
        }
        let groups = groups.into_iter().map(|(group, counting)| (group, counting.found)).collect();
        Some((all.found, groups))
    }
}

/// What is known of intervals up to a begin.
#[derive(Debug, Default)]
struct Counting {
    open: u32,
    /// The first begin, and the last end.
    reach: Option<(i64, i64)>,
    found: UnderWay,
}

impl Counting {
    fn add(&mut self, begin: i64, end: i64, open: bool) {
        let (first, reach) = self.reach.unwrap_or((begin, begin));
        self.open += u32::from(open);
        self.reach = Some((first, reach.max(end)));
        let found = &mut self.found;
        found.span = reach.max(end).saturating_sub(first);
        found.busy = found.busy.saturating_add(end.saturating_sub(begin.max(reach)).max(0));
        found.lengths += i128::from(end) - i128::from(begin);
        found.peak = found.peak.max(self.open).max(1);
    }
}

/// Ends of intervals that are open with their groups, the earliest first.
#[derive(Default)]
struct Ends(BinaryHeap<Reverse<(i64, u32)>>);

impl Ends {
    fn push(&mut self, time: i64, group: u32) {
        self.0.push(Reverse((time, group)));
    }

    /// The group of the earliest, if it is not after a time.
    fn until(&mut self, time: i64) -> Option<u32> {
        if self.0.peek()?.0.0 > time {
            return None;
        }
        self.0.pop().map(|Reverse((_, group))| group)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, UInt32Array};
    use proptest::prelude::*;

    use super::*;

    /// Begin, end and group.
    type Row = (i64, i64, u32);

    fn found(rows: &[Row], longest: i64) -> Option<(UnderWay, BTreeMap<u32, UnderWay>)> {
        let begin: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let end: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
        let mount: ArrayRef = Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| 10 + row.2)));
        let batch = RecordBatch::try_from_iter([("begin", begin), ("end", end), ("mount", mount)]).unwrap();
        let mut gathered = Gathered::new((0..4).map(|group| (10 + group, group)).collect());
        gathered.take(&batch).unwrap();
        gathered.finish(longest)
    }

    #[test]
    fn nothing_is_open_without_intervals() {
        assert_eq!(found(&[], 100), None);
    }

    #[test]
    fn what_ends_does_so_before_others_begin() {
        // The last is of a mount that nobody asked for.
        let rows = [(5, 9, 1), (0, 5, 2), (3, 5, 2), (20, 20, 3), (20, 22, 3), (0, 99, 4)];
        let (all, groups) = found(&rows, 100).unwrap();
        assert_eq!(all, UnderWay { span: 22, busy: 11, lengths: 13, peak: 2 });
        assert_eq!(groups[&1], UnderWay { span: 4, busy: 4, lengths: 4, peak: 1 });
        assert_eq!(groups[&2], UnderWay { span: 5, busy: 5, lengths: 7, peak: 2 });
        assert_eq!(groups[&3], UnderWay { span: 2, busy: 2, lengths: 2, peak: 1 });
    }

    #[test]
    fn times_too_late_are_taken_for_the_latest() {
        let (all, _) = found(&[(i64::MIN, 0, 0), (i64::MAX, i64::MAX, 0)], 10).unwrap();
        assert_eq!(all, UnderWay { span: 10, busy: 10, lengths: 10, peak: 1 });
    }

    proptest! {
        #[test]
        fn instants_counted_one_by_one_say_the_same(
            rows in prop::collection::vec((0_i64..30, 0_i64..12, 0_u32..3), 1..20),
        ) {
            let rows: Vec<Row> = rows.iter().map(|(begin, length, group)| (*begin, begin + length, *group)).collect();
            let (all, groups) = found(&rows, 1_000).unwrap();
            let open = |now: i64, group: Option<u32>| {
                let of = |row: &&Row| group.is_none_or(|group| row.2 == group);
                rows.iter().filter(of).filter(|row| row.0 <= now && now < row.1).count()
            };
            for (group, under_way) in groups.iter().map(|(group, found)| (Some(*group), found)).chain([(None, &all)]) {
                let busy = (0..60).filter(|now| open(*now, group) > 0).count();
                let peak = (0..60).map(|now| open(now, group)).max().unwrap_or_default().max(1);
                let lengths: usize = (0..60).map(|now| open(now, group)).sum();
                prop_assert_eq!(usize::try_from(under_way.busy).unwrap(), busy);
                prop_assert_eq!(under_way.peak as usize, peak);
                prop_assert_eq!(usize::try_from(under_way.lengths).unwrap(), lengths);
            }
        }
    }
}
