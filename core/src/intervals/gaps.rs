//! What lies between intervals: the time in which none was open.

use super::times::ordered;
use super::{Column, Sums, group_at};

/// Adds to `found` the pause at each interval: the shorter one of two gaps between intervals of its
/// group, that before its begin and that behind all which began until then. Where one of them is none,
/// since another interval is still open or there is none, there is no pause; nor where both are longer
/// than `limit`.
///
/// Intervals come in order of begin, then of place; those of a group beyond `groups` are left out.
pub fn pauses<T: Column<i64> + ?Sized, N: Column<i32> + ?Sized>(
    (begin, end, group): (&T, &T, &N),
    groups: usize,
    limit: i32,
    found: &mut (impl Sums<i32> + ?Sized),
) {
    let mut clocks = vec![Clock::default(); groups];
    for place in ordered(begin) {
        let place = place as usize;
        let Some(clock) = clocks.get_mut(group_at(group, place)) else { continue };
        let gap = clock.gap(begin.at(place), end.at(place));
        if let (Some(before), Some(after)) = (clock.gap_before, gap)
            && let Ok(pause) = i32::try_from(before.min(after))
            && (1..=limit).contains(&pause)
        {
            found.add(clock.place, pause);
        }
        (clock.place, clock.gap_before) = (place, gap);
    }
}

/// Puts the intervals that are of any group in order of begin, then of place: adds the place of each to
/// `order`, and to `gaps` the time since all before it had ended; less than 0 where one had not.
pub fn in_order<T: Column<i64> + ?Sized, N: Column<i32> + ?Sized>(
    (begin, end, group): (&T, &T, &N),
    order: &mut (impl Sums<i32> + ?Sized),
    gaps: &mut (impl Sums<i64> + ?Sized),
) {
    let mut clock = Clock::default();
    let chosen = ordered(begin).into_iter().filter(|place| group.at(*place as usize) >= 0);
    for (number, place) in chosen.enumerate() {
        order.add(number, i32::try_from(place).unwrap_or(i32::MAX));
        let place = place as usize;
        gaps.add(number, clock.gap(begin.at(place), end.at(place)).unwrap_or_default());
    }
}

/// How far the intervals of a group go.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// The end of all so far.
    reached: Option<i64>,
    /// The last of them, and the gap before it.
    place: usize,
    gap_before: Option<i64>,
}

impl Clock {
    /// The gap before another interval; None before the first.
    fn gap(&mut self, begin: i64, end: i64) -> Option<i64> {
        let gap = self.reached.map(|reached| begin.saturating_sub(reached));
        self.reached = self.reached.max(Some(end));
        gap
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Begin, end and group.
    type Row = (i64, i64, i32);

    fn columns(rows: &[Row]) -> (Vec<i64>, Vec<i64>, Vec<i32>) {
        let group = rows.iter().map(|row| row.2).collect();
        (rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect(), group)
    }

    fn paused(rows: &[Row], groups: usize) -> Vec<i32> {
        let (begin, end, group) = columns(rows);
        let mut found = vec![0; rows.len()];
        let given = (begin.as_slice(), end.as_slice(), group.as_slice());
        pauses(given, groups, 10, found.as_mut_slice());
        found
    }

    fn placed(rows: &[Row]) -> (Vec<i32>, Vec<i64>) {
        let (begin, end, group) = columns(rows);
        let chosen = group.iter().filter(|group| **group >= 0).count();
        let (mut order, mut gaps) = (vec![0; chosen], vec![0; chosen]);
        let given = (begin.as_slice(), end.as_slice(), group.as_slice());
        in_order(given, order.as_mut_slice(), gaps.as_mut_slice());
        (order, gaps)
    }

    #[test]
    fn a_pause_is_the_shorter_gap_unless_both_are_long() {
        let rows = [(0, 5, 0), (8, 10, 0), (14, 20, 0), (35, 40, 0), (60, 61, 0), (63, 64, 0)];
        assert_eq!(paused(&rows, 1), [0, 3, 4, 0, 2, 0]);
    }

    #[test]
    fn who_begins_or_is_left_while_another_is_open_has_no_pause() {
        assert_eq!(
            paused(&[(0, 5, 0), (7, 20, 0), (9, 12, 0), (22, 23, 0), (25, 26, 0)], 1),
            [0, 0, 0, 2, 0]
        );
    }

    #[test]
    fn groups_have_gaps_of_their_own_and_what_is_of_none_has_none() {
        let rows = [(0, 5, 1), (8, 9, 0), (7, 8, 1), (10, 11, 1), (2, 3, -1), (4, 5, 7)];
        assert_eq!(paused(&rows, 2), [0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn all_groups_are_put_in_one_order() {
        let rows = [(8, 9, 0), (0, 5, 1), (8, 12, 1), (11, 13, 0), (3, 99, -1), (15, 16, 4)];
        assert_eq!(placed(&rows), (vec![1, 0, 2, 3, 5], vec![0, 3, -1, -1, 2]));
    }

    proptest! {
        #[test]
        fn whatever_times_are_claimed_nothing_breaks(
            rows in prop::collection::vec((any::<i64>(), any::<i64>(), -1_i32..3), 0..30),
        ) {
            prop_assert!(paused(&rows, 2).iter().all(|pause| (0..=10).contains(pause)));
            let (order, _) = placed(&rows);
            prop_assert!(order.is_sorted_by_key(|place| rows[usize::try_from(*place).unwrap()].0));
        }
    }
}
