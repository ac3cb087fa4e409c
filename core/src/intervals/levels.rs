//! For how long how many intervals were open at once.
//!
//! Takes rows of intervals (columns of [`Levels::take`]); gives this for each group. Begins and ends are
//! kept apart, since who ends does not matter. `pcapnfs/walks.py` says who asks.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_schema::ArrowError;

use super::times::Times as Ordered;
use super::{Column, Groups, Sums, group_at};
use crate::walk::input::whole;

/// Begins and ends of the intervals of a group.
#[derive(Debug, Default)]
struct Times {
    begins: Vec<i64>,
    ends: Vec<i64>,
}

/// Gathers intervals.
#[derive(Debug)]
pub struct Levels {
    groups: Groups,
    times: BTreeMap<u32, Times>,
    latest: i64,
}

impl Levels {
    /// Nothing yet; `groups` tells which keys count as one. Times after `latest` are taken for that.
    pub fn new(groups: Groups, latest: i64) -> Self {
        Self { groups, times: BTreeMap::new(), latest }
    }

    /// Adds rows: `begin`, `end` (ns), `key`. Those of a key without a group are left out, and what ends
    /// before it begins is of no length.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let times = whole::<Int64Type>(batch, "begin")?.iter().zip(whole::<Int64Type>(batch, "end")?);
        for ((begin, end), key) in times.zip(whole::<UInt32Type>(batch, "key")?) {
            if let Some(group) = self.groups.get(key) {
                let begin = (*begin).min(self.latest);
                let times = self.times.entry(*group).or_default();
                times.begins.push(begin);
                times.ends.push((*end).clamp(begin, self.latest));
            }
        }
        Ok(())
    }

    /// For each group, the time in which 0, 1, 2 … were open, up to `most`; more count as that. What
    /// ends does so before others begin.
    pub fn finish(self, most: usize) -> BTreeMap<u32, Vec<i64>> {
        self.times.into_iter().map(|(group, times)| (group, times.levels(most))).collect()
    }
}

impl Times {
    #[expect(clippy::stable_sort_primitive, reason = "nearly sorted already, which only that makes use of")]
    fn levels(mut self, most: usize) -> Vec<i64> {
        self.begins.sort();
        self.ends.sort();
        let (mut begins, mut ends) = (self.begins.into_iter().peekable(), self.ends.into_iter().peekable());
        let mut levels = vec![0];
        let mut open = 0_i64;
        let mut now = begins.peek().copied().unwrap_or_default();
        while let Some(end) = ends.peek() {
            // Of an interval without length the end comes first, and nothing is closed by it.
            let begin = begins.peek().filter(|begin| *begin < end);
            let next = *begin.unwrap_or(end);
            if next > now {
                let level = usize::try_from(open).unwrap_or_default().min(most);
                if level >= levels.len() {
                    levels.resize(level + 1, 0_i64);
                }
                if let Some(time) = levels.get_mut(level) {
                    *time = time.saturating_add(next.saturating_sub(now));
                }
                now = next;
            }
            if begin.is_some() {
                begins.next();
                open += 1;
            } else {
                ends.next();
                open -= 1;
            }
        }
        levels
    }
}

/// Adds to `found` how many intervals of its group were open when each began, itself included. One that
/// ends before it begins is of no length; what ends does so before others begin. Those of a group beyond
/// `groups` are left out.
pub fn open_at_begin<T: Column<i64> + ?Sized, N: Column<i32> + ?Sized>(
    (begin, end, group): (&T, &T, &N),
    groups: usize,
    found: &mut (impl Sums<i32> + ?Sized),
) {
    let of = |place: usize| group_at(group, place);
    let mut open = vec![0_i32; groups];
    let end = &Ends { begin, end };
    let (mut begins, mut ends) = (Ordered::of(begin), Ordered::of(end));
    let mut newcomers = Vec::new();
    while begins.left() {
        let now = begins.next.min(ends.next);
        newcomers.extend(std::iter::from_fn(|| begins.take(begin, now)));
        for place in &newcomers {
            if let Some(open) = open.get_mut(of(*place)) {
                *open = open.saturating_add(1);
            }
        }
        while let Some(place) = ends.take(end, now) {
            if let Some(open) = open.get_mut(of(place)) {
                *open = open.saturating_sub(1);
            }
        }
        for place in newcomers.drain(..) {
            if let Some(open) = open.get(of(place)) {
                // One of no length has ended by now.
                found.add(place, (*open).max(1));
            }
        }
    }
}

/// Ends, none of which lies before its begin.
struct Ends<'a, T: ?Sized> {
    begin: &'a T,
    end: &'a T,
}

impl<T: Column<i64> + ?Sized> Column<i64> for Ends<'_, T> {
    fn len(&self) -> usize {
        self.end.len()
    }

    fn at(&self, place: usize) -> i64 {
        self.end.at(place).max(self.begin.at(place))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, UInt32Array};
    use proptest::prelude::*;

    use super::*;

    /// Begin, end and key.
    type Row = (i64, i64, u32);

    /// Of the groups 0 to 3, which have the keys 10 to 13.
    fn found(rows: &[Row], most: usize, latest: i64) -> BTreeMap<u32, Vec<i64>> {
        let begin: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let end: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
        let key: ArrayRef = Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.2)));
        let batch = RecordBatch::try_from_iter([("begin", begin), ("end", end), ("key", key)]).unwrap();
        let mut levels = Levels::new((0..4).map(|group| (10 + group, group)).collect(), latest);
        levels.take(&batch).unwrap();
        levels.finish(most)
    }

    #[test]
    fn each_group_has_its_own_levels() {
        let rows = [(0, 10, 10), (5, 8, 10), (8, 12, 10), (30, 31, 10), (0, 100, 12), (4, 4, 13), (0, 9, 99)];
        let expected = [(0, vec![18, 8, 5]), (2, vec![0, 100]), (3, vec![0])];
        assert_eq!(found(&rows, 100, 1_000), BTreeMap::from(expected));
        assert_eq!(found(&[], 100, 1_000), BTreeMap::new());
    }

    #[test]
    fn more_than_the_most_count_as_that_and_later_than_the_latest_as_that() {
        let rows = [(0, 10, 10), (1, 10, 10), (2, 10, 10), (3, 99, 10)];
        assert_eq!(found(&rows, 2, 20)[&0], [0, 11, 9]);
        assert_eq!(found(&[(i64::MIN, 7, 10), (i64::MAX, 0, 10)], 2, 20)[&0], [13, i64::MAX]);
    }

    #[test]
    fn what_ends_before_it_begins_is_of_no_length() {
        assert_eq!(found(&[(5, 3, 10), (9, 10, 10)], 9, 99)[&0], [4, 1]);
    }

    fn at_begin(rows: &[(i64, i64, i32)], groups: usize) -> Vec<i32> {
        let (begin, end): (Vec<_>, Vec<_>) = rows.iter().map(|row| (row.0, row.1)).unzip();
        let group: Vec<_> = rows.iter().map(|row| row.2).collect();
        let mut found = vec![0; rows.len()];
        let given = (begin.as_slice(), end.as_slice(), group.as_slice());
        open_at_begin(given, groups, found.as_mut_slice());
        found
    }

    #[test]
    fn who_begins_counts_itself_and_those_of_its_group_that_are_open() {
        let rows =
            [(0, 10, 0), (5, 8, 0), (8, 12, 0), (6, 9, 1), (7, 3, 0), (7, 7, 1), (1, 2, -1), (1, 2, 2)];
        assert_eq!(at_begin(&rows, 2), [1, 2, 2, 1, 2, 1, 0, 0]);
        assert_eq!(at_begin(&[(i64::MAX, i64::MIN, 0), (i64::MIN, i64::MAX, 0)], 1), [1, 1]);
    }

    proptest! {
        #[test]
        fn those_open_at_a_begin_are_all_that_have_begun_and_not_ended(
            rows in prop::collection::vec((0_i64..20, -3_i64..9, 0_i32..2), 0..30),
        ) {
            let rows: Vec<_> = rows.iter().map(|(begin, length, of)| (*begin, begin + length, *of)).collect();
            for (found, (now, _, of)) in at_begin(&rows, 2).into_iter().zip(&rows) {
                let open = rows.iter().filter(|row| row.2 == *of && row.0 <= *now && *now < row.1).count();
                prop_assert_eq!(usize::try_from(found).unwrap(), open.max(1));
            }
        }

        #[test]
        fn each_instant_is_counted_once(
            rows in prop::collection::vec((0_i64..60, 0_i64..20, 10_u32..12), 1..30),
        ) {
            let rows: Vec<Row> = rows.iter().map(|(begin, length, key)| (*begin, begin + length, *key)).collect();
            let levels = found(&rows, 100, 1_000);
            for group in 0..2 {
                let mine: Vec<_> = rows.iter().filter(|row| row.2 == group + 10).collect();
                let first = mine.iter().map(|row| row.0).min().unwrap_or_default();
                let last = mine.iter().map(|row| row.1).max().unwrap_or_default();
                let mut expected = vec![0; usize::from(!mine.is_empty())];
                for now in first..last {
                    let open = mine.iter().filter(|row| row.0 <= now && now < row.1).count();
                    expected.resize(expected.len().max(open + 1), 0);
                    expected[open] += 1;
                }
                prop_assert_eq!(levels.get(&group).cloned().unwrap_or_default(), expected);
            }
        }
    }
}
