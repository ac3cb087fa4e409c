//! Shares of time in whole nanoseconds that add up.

use super::{Column, Sums, group_at};

/// Adds to `rounded` the shares as whole numbers of which those of each group add up to its total.
///
/// Running sums are rounded, not the shares, so that each is off by less than one but for what the
/// arithmetic of floats has lost. Totals are not less than 0; what is of a group beyond them is left
/// out.
pub fn round<S: Column<f64> + ?Sized, N: Column<i32> + ?Sized, T: Column<i64> + ?Sized>(
    shares: &S,
    group: &N,
    totals: &T,
    rounded: &mut (impl Sums<i64> + ?Sized),
) {
    let mut groups = vec![Running::default(); totals.len()];
    let of = |place: usize| group_at(group, place);
    for place in 0..shares.len() {
        if let Some(running) = groups.get_mut(of(place)) {
            running.last = place;
        }
    }
    for place in 0..shares.len() {
        let Some(running) = groups.get_mut(of(place)) else { continue };
        running.given += shares.at(place);
        let total = totals.at(of(place));
        #[expect(clippy::cast_possible_truncation, reason = "beyond 64 bits it is the total")]
        let given = running.given.round_ties_even() as i64;
        // No share is less than nothing, whatever floats have lost.
        let reached = if place == running.last { total } else { given.max(running.reached).min(total) };
        rounded.add(place, reached - running.reached);
        running.reached = reached;
    }
}

/// What the shares of a group come to so far.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    given: f64,
    reached: i64,
    /// The place of the group's last share.
    last: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rounded(shares: &[f64], group: &[i32], totals: &[i64]) -> Vec<i64> {
        let mut found = vec![0; shares.len()];
        round(shares, group, totals, found.as_mut_slice());
        found
    }

    #[test]
    fn what_rounding_takes_from_one_it_gives_to_the_next() {
        assert_eq!(rounded(&[1.4, 1.4, 1.4, 0.8], &[0, 0, 0, 0], &[5]), [1, 2, 1, 1]);
    }

    #[test]
    fn each_group_adds_up_to_its_total_and_what_is_of_none_gets_nothing() {
        assert_eq!(rounded(&[0.5, 2.5, 9.0, 0.5, 2.5], &[1, 0, -1, 1, 0], &[5, 1]), [0, 2, 0, 1, 3]);
    }

    proptest! {
        #[test]
        fn whatever_the_shares_are_groups_add_up(
            shares in prop::collection::vec((any::<f64>(), 0_i32..3), 0..30),
            totals in prop::collection::vec(0_i64..1_000, 3),
        ) {
            let (shares, group): (Vec<f64>, Vec<i32>) = shares.into_iter().unzip();
            let found = rounded(&shares, &group, &totals);
            for (of, total) in (0..).zip(totals) {
                let mine = || found.iter().zip(&group).filter(|(_, group)| **group == of).map(|(share, _)| share);
                prop_assert!(mine().next().is_none() || mine().sum::<i64>() == total);
            }
        }
    }
}
