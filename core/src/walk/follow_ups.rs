//! Calls about entries of directories that followed their listing.
//!
//! Takes rows of entries that were told and of calls about entries (columns of [`Following::take`]);
//! gives what followed, by directory, and for how long something was under way.
//! `pcapnfs/analyses/namespace/readdir.py` says what a follow-up is.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;

use super::groups::Groups;
use super::input::{flag, flags, number, numbers, whole};

/// An entry that was told, or a call about it.
#[derive(Clone, Copy)]
struct Event {
    /// Hash of the entry's name.
    title: u64,
    moment: i64,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A listing told it, with its attributes or without; None where that was cut off.
    Told { plus: Option<bool> },
    /// A call asked about it: which operation, when it was answered, and its service time.
    Asked { op: u8, reply_time: i64, srt: i64 },
}

/// Walks over entries and calls, some of the directories at a time.
pub struct Following {
    /// A call that comes later did not follow, ns.
    longest: i64,
    events: Groups<Event>,
    followed: Followed,
    /// When calls were under way, by the kind of listing that they followed and by mount.
    under_way: BTreeMap<(bool, u32), Vec<(i64, i64)>>,
}

/// What followed one kind of listing of one directory, by operation.
type Followed = BTreeMap<(u32, bool, u8), (u64, i64)>;

impl Following {
    /// Nothing seen yet.
    pub fn new(longest: i64) -> Self {
        Self { longest, events: Groups::default(), followed: Followed::new(), under_way: BTreeMap::new() }
    }

    /// Adds rows: `mount`, `directory`, `title` (a hash of the entry's name), `moment` (ns); of entries
    /// `plus`, or NULL where it was cut off how they were listed; of calls `op` (any number, NULL of
    /// entries), `reply_time` and `srt` (ns).
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let directories =
            whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "directory")?);
        let titles = whole::<UInt64Type>(batch, "title")?;
        let moments = whole::<Int64Type>(batch, "moment")?;
        let plus = flags(batch, "plus")?;
        let op = numbers::<UInt8Type>(batch, "op")?;
        let reply_time = numbers::<Int64Type>(batch, "reply_time")?;
        let srt = numbers::<Int64Type>(batch, "srt")?;
        let rows = directories.zip(titles).zip(moments).enumerate();
        for (row, (((mount, directory), title), moment)) in rows {
            let what = match number(op, row) {
                None => What::Told { plus: flag(plus, row) },
                Some(op) => What::Asked {
                    op,
                    reply_time: number(reply_time, row).unwrap_or(*moment),
                    srt: number(srt, row).unwrap_or_default(),
                },
            };
            self.events.push((*mount, *directory), Event { title: *title, moment: *moment, what })?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all rows of these directories have come.
    pub fn walk(&mut self) {
        let Self { longest, events, followed, under_way } = self;
        // What is told at the moment of the call is known to it.
        std::mem::take(events).visit(
            |event| (event.title, event.moment, event.what),
            |(mount, directory), events| {
                let mut sums: BTreeMap<_, (u64, i64)> = BTreeMap::new();
                for of_entry in events.chunk_by(|one, next| one.title == next.title) {
                    let mut told = None;
                    for event in of_entry {
                        match event.what {
                            What::Told { plus } => told = Some((event.moment, plus)),
                            What::Asked { op, reply_time, srt } => {
                                let since =
                                    told.filter(|(at, _)| event.moment.saturating_sub(*at) <= *longest);
                                // What followed a listing of either kind is of neither.
                                let Some((_, Some(plus))) = since else { continue };
                                let (calls, time) = sums.entry((plus, op)).or_default();
                                (*calls, *time) = (*calls + 1, time.saturating_add(srt));
                                let spans = under_way.entry((plus, mount)).or_default();
                                spans.push((event.moment, reply_time));
                            }
                        }
                    }
                }
                for ((plus, op), (calls, time)) in sums {
                    let all = followed.entry((directory, plus, op)).or_default();
                    *all = (all.0 + calls, all.1.saturating_add(time));
                }
            },
        );
    }

    /// What followed: `directory`, `plus`, `op`, `calls`, `time` (ns).
    pub fn followed(&self) -> Result<RecordBatch, ArrowError> {
        rows(&self.followed)
    }

    /// For how long at least one call was under way after listings without and with attributes, ns:
    /// mount by mount, added up.
    pub fn walls(&mut self) -> [i64; 2] {
        let mut walls = [0_i64; 2];
        for ((plus, _), spans) in &mut self.under_way {
            let [plain_wall, plus_wall] = &mut walls;
            let wall = if *plus { plus_wall } else { plain_wall };
            *wall = wall.saturating_add(covered(spans));
        }
        walls
    }
}

/// Time in which at least one of the spans was under way.
fn covered(spans: &mut [(i64, i64)]) -> i64 {
    spans.sort_unstable();
    let mut total = 0_i64;
    let mut until = i64::MIN;
    for (begin, end) in spans {
        total = total.saturating_add(end.saturating_sub(until.max(*begin)).max(0));
        until = until.max(*end);
    }
    total
}

fn rows(followed: &Followed) -> Result<RecordBatch, ArrowError> {
    let keys = || followed.keys();
    let sums = || followed.values();
    let directory: ArrayRef = Arc::new(UInt32Array::from_iter_values(keys().map(|key| key.0)));
    let plus: ArrayRef = Arc::new(BooleanArray::from(keys().map(|key| key.1).collect::<Vec<_>>()));
    let op: ArrayRef = Arc::new(UInt8Array::from_iter_values(keys().map(|key| key.2)));
    let calls: ArrayRef = Arc::new(UInt64Array::from_iter_values(sums().map(|sums| sums.0)));
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(sums().map(|sums| sums.1)));
    RecordBatch::try_from_iter([
        ("directory", directory),
        ("plus", plus),
        ("op", op),
        ("calls", calls),
        ("time", time),
    ])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn spans_cover_the_instants_that_are_in_any(
            mut spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..20),
        ) {
            for (begin, end) in &mut spans {
                *end += *begin;
            }
            let within = |instant: &i64| spans.iter().any(|(begin, end)| (*begin..*end).contains(instant));
            let expected = (0..100).filter(within).count();
            prop_assert_eq!(usize::try_from(covered(&mut spans)), Ok(expected));
        }
    }
}
