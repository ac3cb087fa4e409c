//! Names in directories → objects, without the names.
//!
//! A capture goes from file to file, so what is kept of one is seldom in the processor's cache when
//! it is needed. A table of 16 bytes a name has a better chance than the names themselves, which are
//! needed only when paths are put together.
//!
//! What stands for a key are 96 bits of two hashes with random seeds. That two of a million keys
//! share them has a probability below 10^-17.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::names::FileId;

/// Which object each key denotes.
#[derive(Default)]
pub(super) struct Index {
    entries: HashTable<Entry>,
    places: RandomState,
    checks: RandomState,
}

/// What stands for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    place: u64,
    check: u32,
}

struct Entry {
    place: u64,
    check: u32,
    file: FileId,
}

impl Index {
    /// What stands for a key.
    #[inline]
    pub(super) fn print(&self, key: impl Hash) -> Print {
        Print { place: self.places.hash_one(&key), check: self.checks.hash_one(&key) as u32 }
    }

    /// The object that a key denotes.
    #[inline]
    pub(super) fn find(&self, Print { place, check }: Print) -> Option<FileId> {
        let is = |entry: &Entry| entry.place == place && entry.check == check;
        self.entries.find(place, is).map(|entry| entry.file)
    }

    /// Lets a key denote `file`; gives what it denoted before.
    pub(super) fn insert(&mut self, Print { place, check }: Print, file: FileId) -> Option<FileId> {
        let is = |entry: &Entry| entry.place == place && entry.check == check;
        if let Some(entry) = self.entries.find_mut(place, is) {
            return Some(std::mem::replace(&mut entry.file, file));
        }
        self.entries.insert_unique(place, Entry { place, check, file }, |entry| entry.place);
        None
    }

    /// Lets no key denote anything.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Lets a key denote nothing; gives what it denoted before.
    pub(super) fn remove(&mut self, Print { place, check }: Print) -> Option<FileId> {
        let is = |entry: &Entry| entry.place == place && entry.check == check;
        let entry = self.entries.find_entry(place, is).ok()?;
        Some(entry.remove().0.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Against a map that keeps its keys: the one of each step, from time to time all of them.
        #[test]
        fn a_key_denotes_what_was_entered_last(
            steps in prop::collection::vec((0..3_u32, prop::collection::vec(0..4_u8, 0..5), any::<bool>()), 1..400),
        ) {
            let (mut index, mut map) = (Index::default(), HashMap::new());
            for (file, (server, key, enters)) in steps.iter().enumerate() {
                let key = (*server, key.as_slice());
                let print = index.print(key);
                if *enters {
                    prop_assert_eq!(index.insert(print, file as FileId), map.insert(key, file as FileId));
                } else {
                    prop_assert_eq!(index.remove(print), map.remove(&key));
                }
                prop_assert_eq!(index.find(print), map.get(&key).copied());
                if file % 16 == 0 || file + 1 == steps.len() {
                    for (server, key, _) in &steps {
                        let key = (*server, key.as_slice());
                        prop_assert_eq!(index.find(index.print(key)), map.get(&key).copied());
                    }
                }
            }
        }
    }

    #[test]
    fn an_entry_takes_a_quarter_of_a_line_of_the_cache() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
