//! Copies that servers carry out in the background: how far into its file each will have written.
//!
//! The reply of COPY names a state and no byte; CB_OFFLOAD tells of that state how many bytes were
//! written (RFC 7862 sections 4.8.1 and 16.1), and only COPY's arguments from where on.

use foldhash::quality;
use hashbrown::HashMap;

use crate::names::FileId;
use crate::nfs::facts::{Facts, StateId};

/// Copies under way at once; beyond it those known stay, and the sizes of the others are those that
/// attributes tell.
const OFFLOADS_LIMIT: usize = 1024;

/// The copies under way: where each begins in its file.
#[derive(Default)]
pub(super) struct Offloads {
    begun: HashMap<(FileId, StateId), u64, quality::RandomState>,
}

impl Offloads {
    /// Takes what began, if the operation says from where on, or what ended: gives the first byte behind
    /// what was written.
    #[cold]
    pub(super) fn take(&mut self, file: FileId, state: StateId, facts: &Facts<'_>) -> Option<u64> {
        let key = (file, state);
        let Some(offset) = facts.offset else {
            let offset = self.begun.remove(&key)?;
            return facts.count.map(|count| offset.saturating_add(count));
        };
        if self.begun.len() < OFFLOADS_LIMIT || self.begun.contains_key(&key) {
            self.begun.insert(key, offset);
        }
        None
    }

    /// Files get other numbers, or none.
    pub(super) fn move_files(&mut self, to: impl Fn(FileId) -> Option<FileId>) {
        let begun = std::mem::take(&mut self.begun).into_iter();
        self.begun = begun.filter_map(|((file, state), offset)| Some(((to(file)?, state), offset))).collect();
    }
}
