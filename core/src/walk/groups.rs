//! Rows by the object that they are about, each object's in order.

use arrow_schema::ArrowError;

/// What rows are grouped by: a mount, and an object as this mount sees it.
pub type Key = (u32, u32);

/// Rows with their objects; as many as 32 bits can number.
pub(super) struct Groups<T> {
    places: Vec<Place>,
    rows: Vec<T>,
}

/// Where the row of an object is.
#[derive(Clone, Copy, Default)]
struct Place {
    object: Key,
    row: u32,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { places: Vec::new(), rows: Vec::new() }
    }
}

impl<T: Copy> Groups<T> {
    /// Adds a row.
    pub(super) fn push(&mut self, object: Key, row: T) -> Result<(), ArrowError> {
        let next = u32::try_from(self.rows.len())
            .map_err(|_| ArrowError::MemoryError("more rows than a walk can number".to_owned()))?;
        self.places.push(Place { object, row: next });
        self.rows.push(row);
        Ok(())
    }

    /// Visits each object with its rows, sorted by what `place` gives.
    pub(super) fn visit<P: Ord>(self, place: impl Fn(&T) -> P, mut visit: impl FnMut(Key, &[T])) {
        let places = by_object(self.places);
        let mut left = places.as_slice();
        let mut rows = Vec::new();
        while let Some((some, others)) = left.split_at_checked(together(left)) {
            if some.is_empty() {
                return;
            }
            left = others;
            rows.clear();
            for place in some {
                if let Some(row) = self.rows.get(place.row as usize) {
                    rows.push(*row);
                }
            }
            let mut rest = rows.as_mut_slice();
            for same in some.chunk_by(|one, next| one.object == next.object) {
                let Some(Place { object, .. }) = same.first() else { continue };
                let Some((own, others)) = rest.split_at_mut_checked(same.len()) else { return };
                // Mostly sorted already: calls are numbered in the order in which they were completed.
                own.sort_by_key(&place);
                visit(*object, own);
                rest = others;
            }
        }
    }
}

/// Rows that are fetched at once. They lie anywhere in memory: who asks for one object's after the
/// other waits for each, and of many the processor fetches several at a time.
const FETCHED: usize = 1 << 10;

/// So many places, or all of these, and the others of the last one's object.
fn together(places: &[Place]) -> usize {
    let Some((some, others)) = places.split_at_checked(FETCHED) else { return places.len() };
    let last = some.last().map(|place| place.object);
    some.len() + others.iter().take_while(|place| Some(place.object) == last).count()
}

/// Sorts places by their objects, and leaves those of each as they are. Digit by digit: to look each
/// object up in a table, most of which is not at hand, takes three times as long.
fn by_object(mut places: Vec<Place>) -> Vec<Place> {
    let first = places.first().map_or(0, Place::number);
    let differing = places.iter().fold(0, |bits, place| bits | (place.number() ^ first));
    let mut sorted = vec![Place::default(); places.len()];
    for shift in (0..u64::BITS).step_by(u8::BITS as usize) {
        if (differing >> shift) as u8 == 0 {
            continue;
        }
        let digit = |place: &Place| usize::from((place.number() >> shift) as u8);
        let mut nexts = [0_u32; 1 << u8::BITS];
        for place in &places {
            if let Some(count) = nexts.get_mut(digit(place)) {
                *count += 1;
            }
        }
        let mut begin = 0;
        for next in &mut nexts {
            (*next, begin) = (begin, begin + *next);
        }
        for place in &places {
            if let Some(next) = nexts.get_mut(digit(place)) {
                if let Some(there) = sorted.get_mut(*next as usize) {
                    *there = *place;
                }
                *next += 1;
            }
        }
        std::mem::swap(&mut places, &mut sorted);
    }
    places
}

impl Place {
    /// The object as one number.
    fn number(&self) -> u64 {
        u64::from(self.object.0) << u32::BITS | u64::from(self.object.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_object_is_visited_once_with_all_its_rows_in_order(
            rows in prop::collection::vec(((0_u32..3, 0_u32..5), any::<i8>()), 0..200),
            // More rows than are fetched at once, too, and numbers of several digits.
            repeated in 1_usize..20,
            apart in prop::sample::select(vec![1_u32, 300, 1 << 28]),
        ) {
            let mut groups = Groups::default();
            let mut expected: BTreeMap<Key, Vec<i8>> = BTreeMap::new();
            for ((mount, file), row) in rows.iter().copied().cycle().take(rows.len() * repeated) {
                let key = (mount * apart, file * apart);
                groups.push(key, row).unwrap();
                expected.entry(key).or_default().push(row);
            }
            for rows in expected.values_mut() {
                rows.sort_unstable();
            }
            let mut found = BTreeMap::new();
            groups.visit(|row| *row, |key, rows| assert!(found.insert(key, rows.to_vec()).is_none()));
            prop_assert_eq!(found, expected);
        }
    }
}
