//! READs, or WRITEs, of a file each of which begins where the one before ended.
//!
//! A COMMIT ends a run of WRITEs: who makes sure of what was written before going on has not cut it
//! to size. WRITEs for stable storage also follow one another where the next has the page again in
//! which the one before ended, and more behind it: so small pieces are appended.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;

use super::pages::Page;
use super::{Key, Transfer, What, places};

/// READs or WRITEs that follow one another; often a single one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    key: Key,
    reading: bool,
    /// The first call's.
    frame: u64,
    all: Sums,
    /// Shares of those that were on stable storage when answered, ns.
    stable_share: f64,
    largest: u64,
    /// Those that asked for stable storage.
    sync: Sums,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    calls: i64,
    bytes: u64,
    /// ns, less the time in which their bytes were on their way.
    share: f64,
    pause: i64,
}

impl Sums {
    fn add(&mut self, transfer: &Transfer, share: f64) {
        self.calls += 1;
        self.bytes = self.bytes.saturating_add(transfer.requested);
        self.share += share;
        self.pause = self.pause.saturating_add(transfer.pause);
    }
}

/// Finds the runs of files.
pub(super) struct Runs {
    /// From one call of a run to the next, less than this, ns.
    together: i64,
    page: Page,
    found: Vec<Run>,
}

/// A run that may go on, and its last transfer.
struct Open {
    run: Run,
    last: Transfer,
}

impl Runs {
    pub(super) fn new(together: i64, page: Page) -> Self {
        Self { together, page, found: Vec::new() }
    }

    /// Looks at the transfers of a file, in order.
    pub(super) fn visit(&mut self, key: Key, transfers: &[Transfer]) {
        for what in [What::Read, What::Write] {
            let mut open: Option<Open> = None;
            for transfer in transfers {
                if what == What::Write && transfer.what == What::Commit && transfer.is.done {
                    self.found.extend(open.take().map(|open| open.run));
                }
                if transfer.what != what {
                    continue;
                }
                if transfer.start.is_none() || transfer.requested == 0 || !transfer.is.main {
                    continue;
                }
                if !open.as_ref().is_some_and(|open| self.continues(&open.last, transfer)) {
                    self.found.extend(open.take().map(|open| open.run));
                }
                let open = open.get_or_insert_with(|| Open {
                    run: Run {
                        key,
                        reading: what == What::Read,
                        frame: transfer.frame,
                        all: Sums::default(),
                        stable_share: 0.0,
                        largest: 0,
                        sync: Sums::default(),
                    },
                    last: *transfer,
                });
                open.run.add(transfer);
                open.last = *transfer;
            }
            self.found.extend(open.map(|open| open.run));
        }
    }

    /// Whether a transfer goes on where another one of its kind ended.
    fn continues(&self, last: &Transfer, next: &Transfer) -> bool {
        let (Some(before), Some(behind)) = (last.asked(), next.asked()) else {
            return false;
        };
        let through = next.what == What::Write && last.is.sync && next.is.sync;
        next.call_time.saturating_sub(last.call_time) < self.together
            && (before.1 == behind.0 || through && self.page.has_more(before, behind))
    }

    pub(super) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let mut runs: Vec<&Run> = self.found.iter().collect();
        runs.sort_by_key(|run| (run.key, run.reading, run.frame));
        let float = |of: fn(&Run) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(runs.iter().map(|run| of(run))))
        };
        let whole = |of: fn(&Run) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(runs.iter().map(|run| of(run))))
        };
        let signed = |of: fn(&Run) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(runs.iter().map(|run| of(run))))
        };
        let places = places(runs.iter().map(|run| run.key));
        let columns: [(_, ArrayRef); 12] = [
            ("reading", Arc::new(runs.iter().map(|run| Some(run.reading)).collect::<BooleanArray>())),
            ("calls", signed(|run| run.all.calls)),
            ("largest", whole(|run| run.largest)),
            ("bytes", whole(|run| run.all.bytes)),
            ("share", float(|run| run.all.share)),
            ("pause", signed(|run| run.all.pause)),
            ("stable_share", float(|run| run.stable_share)),
            ("frame", whole(|run| run.frame)),
            ("sync", signed(|run| run.sync.calls)),
            ("sync_share", float(|run| run.sync.share)),
            ("sync_pause", signed(|run| run.sync.pause)),
            ("sync_bytes", whole(|run| run.sync.bytes)),
        ];
        RecordBatch::try_from_iter(places.into_iter().chain(columns))
    }
}

impl Run {
    fn add(&mut self, transfer: &Transfer) {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of 104 days are exact")]
        let share = transfer.share as f64 * transfer.waiting;
        self.frame = self.frame.min(transfer.frame);
        self.largest = self.largest.max(transfer.requested);
        self.all.add(transfer, share);
        if transfer.is.stable {
            self.stable_share += share;
        }
        if transfer.is.sync {
            self.sync.add(transfer, share);
        }
    }
}
