//! COMMITs, and what had been written before each.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;

use super::{Key, Transfer, What, places};

/// A COMMIT that succeeded.
struct Commit {
    key: Key,
    call: u64,
    frame: u64,
    took: Option<i64>,
    share: i64,
    /// What WRITEs answered UNSTABLE had brought since the one before.
    bytes: u64,
}

/// Finds the COMMITs of files.
#[derive(Default)]
pub(super) struct Commits {
    found: Vec<Commit>,
}

impl Commits {
    /// Looks at the transfers of a file, in order.
    pub(super) fn visit(&mut self, key: Key, transfers: &[Transfer]) {
        let mut bytes = 0_u64;
        for transfer in transfers.iter().filter(|transfer| transfer.is.done) {
            match transfer.what {
                What::Commit => self.found.push(Commit {
                    key,
                    call: transfer.call,
                    frame: transfer.frame,
                    took: transfer.took,
                    share: transfer.share,
                    bytes: std::mem::take(&mut bytes),
                }),
                What::Write if transfer.is.unstable => {
                    bytes = bytes.saturating_add(transfer.count);
                }
                What::Read | What::Write => {}
            }
        }
    }

    pub(super) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let mut commits: Vec<&Commit> = self.found.iter().collect();
        commits.sort_by_key(|commit| (commit.key.0, commit.call, commit.key.1));
        let whole = |of: fn(&Commit) -> u64| {
            Arc::new(UInt64Array::from_iter_values(commits.iter().map(|commit| of(commit))))
        };
        let places = places(commits.iter().map(|commit| commit.key));
        let columns: [(_, ArrayRef); 4] = [
            ("frame", whole(|commit| commit.frame)),
            ("srt", Arc::new(commits.iter().map(|commit| commit.took).collect::<Int64Array>())),
            ("share", Arc::new(Int64Array::from_iter_values(commits.iter().map(|commit| commit.share)))),
            ("bytes", whole(|commit| commit.bytes)),
        ];
        RecordBatch::try_from_iter(places.into_iter().chain(columns))
    }
}
