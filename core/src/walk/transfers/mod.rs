//! READs, WRITEs and COMMITs of each file, in order: what they came to together.
//!
//! Takes rows of transfers (columns of [`Transfers::take`]); gives the runs ([`runs`]), how WRITEs
//! lie on pages ([`shapes`]), and what had been written before each COMMIT ([`commits`]).

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;

use super::groups::{Groups, Key};
use super::input::{flag, flags, number, numbers, whole};
use commits::Commits;
use pages::Page;
use runs::Runs;
use shapes::Shapes;

mod commits;

mod pages;

mod runs;

pub mod shapes;

pub mod spared;

/// An operation that was answered.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    what: What,
    call: u64,
    position: u32,
    call_time: i64,
    reply_time: i64,
    frame: u64,
    /// The first byte that was asked for, and how many.
    start: Option<u64>,
    requested: u64,
    /// Bytes that were moved.
    count: u64,
    /// The file's size after it.
    size: Option<u64>,
    /// Service time, ns.
    took: Option<i64>,
    share: i64,
    pause: i64,
    /// The part of the call in which nothing of it was moving, 0…1.
    waiting: f64,
    is: Is,
}

impl Transfer {
    /// Where the bytes that were asked for begin and end; None where the call does not tell.
    fn asked(&self) -> Option<(u128, u128)> {
        let start = u128::from(self.start?);
        Some((start, start + u128::from(self.requested)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Read,
    Write,
    Commit,
}

/// What is true of a transfer.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a row")]
struct Is {
    /// On stable storage when answered.
    stable: bool,
    /// Stable storage was asked for.
    sync: bool,
    /// Answered UNSTABLE.
    unstable: bool,
    /// It succeeded.
    done: bool,
    /// Its call is about it.
    main: bool,
}

/// Spans that say what belongs together, ns.
#[derive(Clone, Copy)]
pub struct Spans {
    /// Between calls of one run.
    pub together: i64,
    /// From a READ to the WRITE that it was for.
    pub soon: i64,
}

/// Walks over transfers, some of the files at a time.
pub struct Transfers {
    rows: Groups<Transfer>,
    runs: Runs,
    shapes: Shapes,
    commits: Commits,
}

impl Transfers {
    /// Nothing seen yet; a page has so many bytes.
    pub fn new(spans: Spans, page: NonZeroU64) -> Self {
        Self {
            rows: Groups::default(),
            runs: Runs::new(spans.together, Page(page)),
            shapes: Shapes::new(Page(page), spans.soon),
            commits: Commits::default(),
        }
    }

    /// Adds rows: `mount`, `file`, `what` (0 READ, 1 WRITE, 2 COMMIT), `call`, `position`,
    /// `call_time` and `reply_time` (ns), `call_frame`, `start`, `requested`, `count` and `size`
    /// (bytes), `srt`, `share` and `pause` (ns), `waiting`, `stable`, `sync`, `unstable`, `done`,
    /// `main`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let keys = whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let whats = whole::<UInt8Type>(batch, "what")?;
        let places = whole::<UInt64Type>(batch, "call")?.iter().zip(whole::<UInt32Type>(batch, "position")?);
        let times = whole::<Int64Type>(batch, "call_time")?
            .iter()
            .zip(whole::<Int64Type>(batch, "reply_time")?)
            .zip(whole::<UInt64Type>(batch, "call_frame")?);
        let starts = numbers::<UInt64Type>(batch, "start")?;
        let requested = numbers::<UInt64Type>(batch, "requested")?;
        let counts = numbers::<UInt64Type>(batch, "count")?;
        let sizes = numbers::<UInt64Type>(batch, "size")?;
        let took = numbers::<Int64Type>(batch, "srt")?;
        let costs = whole::<Int64Type>(batch, "share")?
            .iter()
            .zip(whole::<Int64Type>(batch, "pause")?)
            .zip(whole::<Float64Type>(batch, "waiting")?);
        let names = ["stable", "sync", "unstable", "done", "main"];
        let [stable, sync, unstable, done, main] = names.map(|name| flags(batch, name));
        let (stable, sync, unstable, done, main) = (stable?, sync?, unstable?, done?, main?);
        let rows = keys.zip(whats).zip(places.zip(times)).zip(costs).enumerate();
        for (row, (((key, what), ((call, position), ((call_time, reply_time), frame))), costs)) in rows {
            let is = |column: &BooleanArray| flag(column, row) == Some(true);
            let ((share, pause), waiting) = costs;
            let transfer = Transfer {
                what: match what {
                    0 => What::Read,
                    1 => What::Write,
                    _ => What::Commit,
                },
                call: *call,
                position: *position,
                call_time: *call_time,
                reply_time: *reply_time,
                frame: *frame,
                start: number(starts, row),
                requested: number(requested, row).unwrap_or_default(),
                count: number(counts, row).unwrap_or_default(),
                size: number(sizes, row),
                took: number(took, row),
                share: *share,
                pause: *pause,
                waiting: *waiting,
                is: Is {
                    stable: is(stable),
                    sync: is(sync),
                    unstable: is(unstable),
                    done: is(done),
                    main: is(main),
                },
            };
            self.rows.push((*key.0, *key.1), transfer)?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all transfers of these files have come.
    pub fn walk(&mut self) {
        let Self { rows, runs, shapes, commits } = self;
        std::mem::take(rows).visit(
            |transfer| (transfer.call_time, transfer.call, transfer.position),
            |key, transfers| {
                runs.visit(key, transfers);
                shapes.visit(key, transfers);
                commits.visit(key, transfers);
            },
        );
    }

    /// READs and WRITEs that follow one another: `mount`, `file`, `reading`, `calls`, `largest` and
    /// `bytes` (asked for), `share` (f64) and `pause` (ns), `stable_share` of those that were on
    /// stable storage, `frame` (the first one's), and of those that asked for stable storage
    /// `sync`, `sync_share`, `sync_pause`, `sync_bytes`.
    pub fn runs(&self) -> Result<RecordBatch, ArrowError> {
        self.runs.batch()
    }

    /// How the WRITEs of each mount lie on pages.
    pub fn shapes(&self) -> &BTreeMap<u32, shapes::Written> {
        self.shapes.found()
    }

    /// The COMMITs: `mount`, `file`, `frame`, `srt` (ns), `share` (ns), `bytes` written before it.
    pub fn commits(&self) -> Result<RecordBatch, ArrowError> {
        self.commits.batch()
    }
}

/// The columns `mount` and `file`.
fn places(keys: impl Iterator<Item = Key> + Clone) -> [(&'static str, ArrayRef); 2] {
    [
        ("mount", Arc::new(UInt32Array::from_iter_values(keys.clone().map(|key| key.0)))),
        ("file", Arc::new(UInt32Array::from_iter_values(keys.map(|key| key.1)))),
    ]
}
