//! Time shared equally among the intervals that are open at each instant.
//!
//! With F(t) the integral of dt / n(t) over the instants at which n(t) > 0 intervals of a group are
//! open, the share of an interval is F(end) - F(begin), and that of a part of it likewise.
//! `pcapnfs/analyses/asking/equal_shares.py` says what for.

use super::times::Times;
use super::{Column, Sums, group_at};

/// Half-open intervals in nanoseconds, each of a group, and parts of them.
pub struct Intervals<'a, T: ?Sized, N: ?Sized> {
    /// Begin of each.
    pub begin: &'a T,
    /// End of each, not before its begin.
    pub end: &'a T,
    /// Group of each; what is beyond the groups that there are is left out.
    pub group: &'a N,
    /// For each part, the interval that it lies in.
    pub part_of: &'a N,
    /// Begin of each part.
    pub part_begin: &'a T,
    /// End of each part.
    pub part_end: &'a T,
}

/// Adds to `whole` and `parts` the shares of intervals and parts, and to `open` the time in which any
/// interval of each of so many groups was open, all in nanoseconds.
pub fn share<T: Column<i64> + ?Sized, N: Column<i32> + ?Sized>(
    intervals: &Intervals<'_, T, N>,
    groups: usize,
    whole: &mut (impl Sums<f64> + ?Sized),
    parts: &mut (impl Sums<f64> + ?Sized),
    open: &mut (impl Sums<i64> + ?Sized),
) {
    let Intervals { begin, end, group, part_of, part_begin, part_end } = intervals;
    let mut clocks = vec![Clock::default(); groups];
    let of = |interval: usize| group_at(*group, interval);
    let of_part = |part: usize| usize::try_from(part_of.at(part)).map_or(usize::MAX, of);
    let mut begins = Times::of(*begin);
    let mut ends = Times::of(*end);
    let mut part_begins = Times::of(*part_begin);
    let mut part_ends = Times::of(*part_end);
    // At one instant nothing is shared: in which order its events come does not matter, but that what
    // ends has begun. (Where an end lies before its begin, shares are wrong, and nothing else happens.)
    while begins.left() || ends.left() || part_begins.left() || part_ends.left() {
        let now = begins.next.min(ends.next).min(part_begins.next).min(part_ends.next);
        while let Some(interval) = begins.take(*begin, now) {
            if let Some(clock) = clocks.get_mut(of(interval)) {
                whole.add(interval, -clock.at(now));
                clock.open += 1;
            }
        }
        while let Some(part) = part_begins.take(*part_begin, now) {
            if let Some(clock) = clocks.get_mut(of_part(part)) {
                parts.add(part, -clock.at(now));
            }
        }
        while let Some(part) = part_ends.take(*part_end, now) {
            if let Some(clock) = clocks.get_mut(of_part(part)) {
                parts.add(part, clock.at(now));
            }
        }
        while let Some(interval) = ends.take(*end, now) {
            if let Some(clock) = clocks.get_mut(of(interval)) {
                whole.add(interval, clock.at(now));
                clock.open = clock.open.saturating_sub(1);
            }
        }
    }
    for (group, clock) in clocks.iter().enumerate() {
        open.add(group, clock.running);
    }
}

/// What each interval of a group has been given up to an instant, if it is open from the first on.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    now: i64,
    open: u32,
    given: f64,
    /// Time in which any was open.
    running: i64,
}

impl Clock {
    /// The same up to a later instant.
    fn at(&mut self, now: i64) -> f64 {
        if self.open > 0 {
            let passed = now.saturating_sub(self.now);
            #[expect(clippy::cast_precision_loss, reason = "2^53 ns are a hundred days")]
            let passed_ns = passed as f64;
            self.given += passed_ns / f64::from(self.open);
            self.running = self.running.saturating_add(passed);
        }
        self.now = now;
        self.given
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Begin, end and group.
    type Row = (i64, i64, i32);

    fn shared(rows: &[Row], parts: &[(i32, i64, i64)], groups: usize) -> (Vec<f64>, Vec<f64>, Vec<i64>) {
        let column = |which: fn(&Row) -> i64| rows.iter().map(which).collect::<Vec<_>>();
        let (begin, end) = (column(|row| row.0), column(|row| row.1));
        let group: Vec<i32> = rows.iter().map(|row| row.2).collect();
        let part_of: Vec<i32> = parts.iter().map(|part| part.0).collect();
        let part_begin: Vec<i64> = parts.iter().map(|part| part.1).collect();
        let part_end: Vec<i64> = parts.iter().map(|part| part.2).collect();
        let intervals = Intervals {
            begin: begin.as_slice(),
            end: end.as_slice(),
            group: group.as_slice(),
            part_of: part_of.as_slice(),
            part_begin: part_begin.as_slice(),
            part_end: part_end.as_slice(),
        };
        let (mut whole, mut inner) = (vec![0.0; rows.len()], vec![0.0; parts.len()]);
        let mut open = vec![0; groups];
        share(&intervals, groups, whole.as_mut_slice(), inner.as_mut_slice(), open.as_mut_slice());
        (whole, inner, open)
    }

    #[test]
    fn two_that_overlap_share_what_they_have_in_common() {
        let rows = [(6, 16, 0), (0, 10, 0), (20, 23, 0), (4, 4, 0)];
        let (whole, parts, open) = shared(&rows, &[(0, 8, 12)], 1);
        assert_eq!((whole, parts, open), (vec![8.0, 8.0, 3.0, 0.0], vec![3.0], vec![19]));
    }

    #[test]
    fn groups_do_not_share_and_what_is_of_none_gets_nothing() {
        let rows = [(0, 10, 1), (0, 10, 0), (5, 10, 1), (2, 5, 7), (2, 5, -1)];
        let (whole, parts, open) = shared(&rows, &[(3, 2, 4), (-1, 2, 4), (99, 2, 4), (1, 2, 4)], 3);
        assert_eq!(whole, [7.5, 10.0, 2.5, 0.0, 0.0]);
        assert_eq!((parts, open), (vec![0.0, 0.0, 0.0, 2.0], vec![10, 10, 0]));
    }

    proptest! {
        #[test]
        fn shares_of_a_group_add_up_to_the_time_in_which_any_was_open(
            rows in prop::collection::vec((0_i64..40, 0_i64..20, 0_i32..3), 0..30),
        ) {
            let rows: Vec<Row> =
                rows.iter().map(|(begin, length, group)| (*begin, begin + length, *group)).collect();
            let (whole, _, open) = shared(&rows, &[], 3);
            for (group, open) in (0..).zip(open) {
                let mine = || rows.iter().filter(move |row| row.2 == group);
                let instants = (0..60).filter(|now| mine().any(|row| row.0 <= *now && *now < row.1));
                prop_assert_eq!(usize::try_from(open).unwrap(), instants.count());
                let given: f64 = whole.iter().zip(&rows).filter(|(_, row)| row.2 == group).map(|(share, _)| share).sum();
                prop_assert!((given - f64::from(i32::try_from(open).unwrap())).abs() < 1e-9);
            }
        }

        #[test]
        fn whatever_times_are_claimed_nothing_breaks(
            rows in prop::collection::vec((any::<i64>(), any::<i64>(), -1_i32..3), 0..30),
        ) {
            let parts: Vec<_> = rows.iter().map(|(begin, end, group)| (*group, *begin, *end)).collect();
            let (whole, inner, open) = shared(&rows, &parts, 2);
            prop_assert_eq!((whole.len(), inner.len(), open.len()), (rows.len(), rows.len(), 2));
        }
    }
}
