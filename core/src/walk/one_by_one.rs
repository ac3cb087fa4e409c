//! Calls about entries that a listing told without attributes, and those that attributes would have
//! spared.
//!
//! Takes rows of such calls (columns of [`Asking::take`]); gives those that count.
//! `pcapnfs/analyses/namespace/listing_costs.py` says which these are.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use super::groups::Groups;
use super::input::{flag, flags, whole};

/// A call about an entry. Times in ns.
#[derive(Clone, Copy)]
struct Asked {
    call: u64,
    moment: i64,
    reply_time: i64,
    /// What the client itself took for it.
    pause: i64,
    /// Hash of the entry's name.
    title: u64,
    /// The call that told the entry, and when.
    listing: u64,
    told: i64,
    /// For how long its attributes would have been believed.
    fresh: i64,
    /// What is asked again of this entry, attributes do not spare.
    once: bool,
}

/// A call that counts.
struct Found {
    call: u64,
    first: bool,
    spared: bool,
}

/// Walks over calls, those of some directories at a time.
pub struct Asking {
    /// Entries that are asked about after a longer pause are not looked at one by one, ns.
    longest: i64,
    asked: Groups<Asked>,
    found: Vec<Found>,
}

impl Asking {
    /// Nothing seen yet.
    pub fn new(longest: i64) -> Self {
        Self { longest, asked: Groups::default(), found: Vec::new() }
    }

    /// Adds rows: `mount`, `directory`, `call`, `moment`, `reply_time` and `pause` (ns), `title` (a hash
    /// of the entry's name), `listing`, `told` (ns), `fresh` (ns), `once`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let objects =
            whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "directory")?);
        let calls = whole::<UInt64Type>(batch, "call")?.iter().zip(whole::<UInt64Type>(batch, "listing")?);
        let times = whole::<Int64Type>(batch, "moment")?.iter().zip(whole::<Int64Type>(batch, "reply_time")?);
        let spans = whole::<Int64Type>(batch, "pause")?.iter().zip(whole::<Int64Type>(batch, "fresh")?);
        let entries = whole::<UInt64Type>(batch, "title")?.iter().zip(whole::<Int64Type>(batch, "told")?);
        let once = flags(batch, "once")?;
        let rows = objects.zip(calls).zip(times).zip(spans).zip(entries).enumerate();
        for (row, ((((object, numbers), times), spans), entry)) in rows {
            let asked = Asked {
                call: *numbers.0,
                moment: *times.0,
                reply_time: *times.1,
                pause: *spans.0,
                title: *entry.0,
                listing: *numbers.1,
                told: *entry.1,
                fresh: *spans.1,
                once: flag(once, row).unwrap_or_default(),
            };
            self.asked.push((*object.0, *object.1), asked)?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all rows of these directories have come.
    pub fn walk(&mut self) {
        let Self { longest, asked, found } = self;
        std::mem::take(asked).visit(
            |asked| (asked.moment, asked.call),
            |_, calls| {
                let mut directory = Directory::default();
                found.extend(calls.iter().filter_map(|asked| directory.ask(asked, *longest)));
            },
        );
    }

    /// What was found since this was last asked for: `call`, `first`, `spared`.
    pub fn found(&mut self) -> Result<RecordBatch, ArrowError> {
        let found = std::mem::take(&mut self.found);
        let call: ArrayRef = Arc::new(UInt64Array::from_iter_values(found.iter().map(|each| each.call)));
        let flags = |which: fn(&Found) -> bool| -> ArrayRef {
            Arc::new(BooleanArray::from(found.iter().map(which).collect::<Vec<_>>()))
        };
        RecordBatch::try_from_iter([
            ("call", call),
            ("first", flags(|each| each.first)),
            ("spared", flags(|each| each.spared)),
        ])
    }
}

/// What is known of a directory, call after call.
#[derive(Default)]
struct Directory {
    spared: Vec<Saved>,
    listings: HashMap<u64, Listing, RandomState>,
    /// Entries that were asked about, with the listing that told them.
    seen: HashSet<(u64, u64), RandomState>,
    /// When an entry was last asked about for the first time.
    last: Option<i64>,
}

struct Listing {
    /// What had been saved when it told.
    saved: i64,
    /// There was too long a pause since.
    late: bool,
}

/// A call that was spared.
struct Saved {
    moment: i64,
    /// When it and all before it had been answered.
    until: i64,
    /// What all of them saved.
    total: i64,
}

impl Directory {
    fn ask(&mut self, asked: &Asked, longest: i64) -> Option<Found> {
        let saved = self.saved_at(asked.moment);
        let before = self.saved_at(asked.told);
        let listing = self.listings.entry(asked.listing).or_insert(Listing { saved: before, late: false });
        let first = self.seen.insert((asked.title, asked.listing));
        if first {
            let since = self.last.map_or(asked.told, |last| last.max(asked.told));
            listing.late |= asked.moment.saturating_sub(since) > longest;
            self.last = Some(asked.moment);
        }
        if listing.late {
            return None;
        }
        // By the clock of a client that did not send the calls before: it would have asked earlier.
        let age = asked.moment.saturating_sub(asked.told).saturating_sub(saved.saturating_sub(listing.saved));
        let spared = age < asked.fresh && (first || !asked.once);
        if spared {
            self.save(asked);
        }
        (first || spared).then_some(Found { call: asked.call, first, spared })
    }

    /// Adds what a call saves: the time until its reply, but once where others are under way, and the
    /// pause.
    fn save(&mut self, asked: &Asked) {
        let (until, total) = self.spared.last().map_or((i64::MIN, 0), |last| (last.until, last.total));
        let took = asked.reply_time.saturating_sub(until.max(asked.moment)).max(0);
        self.spared.push(Saved {
            moment: asked.moment,
            until: until.max(asked.reply_time),
            total: total.saturating_add(took).saturating_add(asked.pause),
        });
    }

    /// What had been saved at a moment.
    fn saved_at(&self, moment: i64) -> i64 {
        let place = self.spared.partition_point(|saved| saved.moment < moment);
        let Some(last) = place.checked_sub(1).and_then(|place| self.spared.get(place)) else { return 0 };
        last.total.saturating_sub(last.until.saturating_sub(moment).max(0))
    }
}
