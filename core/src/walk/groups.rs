//! Rows by the object that they are about, each object's in order.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use arrow_schema::ArrowError;

/// What rows are grouped by: a mount, and an object as this mount sees it.
pub type Key = (u32, u32);

/// Rows with their objects; as many as 32 bits can number.
pub(super) struct Groups<T> {
    numbers: HashMap<Key, u32, RandomState>,
    /// By number.
    keys: Vec<Key>,
    /// The number of each row's object.
    objects: Vec<u32>,
    rows: Vec<T>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { numbers: HashMap::default(), keys: Vec::new(), objects: Vec::new(), rows: Vec::new() }
    }
}

impl<T: Copy> Groups<T> {
    /// Adds a row.
    pub(super) fn push(&mut self, key: Key, row: T) -> Result<(), ArrowError> {
        let next = u32::try_from(self.rows.len())
            .map_err(|_| ArrowError::MemoryError("more rows than a walk can number".to_owned()))?;
        let objects = self.keys.len() as u32; // At most one for each row.
        let number = *self.numbers.entry(key).or_insert(objects);
        if number == objects {
            self.keys.push(key);
        }
        debug_assert!(number <= next);
        self.objects.push(number);
        self.rows.push(row);
        Ok(())
    }

    /// Whether an object has rows.
    pub(super) fn has(&self, key: Key) -> bool {
        self.numbers.contains_key(&key)
    }

    /// Visits each object with its rows, sorted by what `place` gives.
    pub(super) fn visit<P: Ord>(&self, place: impl Fn(&T) -> P, mut visit: impl FnMut(Key, &[T])) {
        let mut ends = vec![0_u32; self.keys.len()];
        for object in &self.objects {
            if let Some(count) = ends.get_mut(*object as usize) {
                *count += 1;
            }
        }
        let mut begin = 0;
        for end in &mut ends {
            (*end, begin) = (begin, begin + *end);
        }
        // Now the place of each object's first row; when its rows are in place, that after its last.
        let mut sorted = vec![0_u32; self.rows.len()];
        for (row, object) in (0_u32..).zip(&self.objects) {
            if let Some(end) = ends.get_mut(*object as usize) {
                if let Some(place) = sorted.get_mut(*end as usize) {
                    *place = row;
                }
                *end += 1;
            }
        }
        let mut rows = Vec::new();
        let mut rest = sorted.as_slice();
        let mut begin = 0;
        for (key, end) in self.keys.iter().zip(ends) {
            let Some((own, others)) = rest.split_at_checked((end - begin) as usize) else { return };
            (rest, begin) = (others, end);
            rows.clear();
            rows.extend(own.iter().filter_map(|row| self.rows.get(*row as usize)).copied());
            // Mostly sorted already: calls are numbered in the order in which they were completed.
            rows.sort_by_key(&place);
            visit(*key, &rows);
        }
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
        ) {
            let mut groups = Groups::default();
            let mut expected: BTreeMap<Key, Vec<i8>> = BTreeMap::new();
            for (key, row) in rows {
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
