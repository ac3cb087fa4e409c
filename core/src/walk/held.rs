//! What clients held of files in their caches: what they read again, and what they were spared.
//!
//! Takes rows of transfers and of what clients learnt (columns of [`Holding::take`]); gives a row for
//! each file. `pcapnfs/analyses/caching/cache.py` says what the numbers mean.

use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;

use super::groups::{Groups, Key};
use super::input::{flags, numbers, whole};
use super::ranges::Ranges;

/// A transfer of data, or one time that a client asked for a file or learnt that it had changed.
#[derive(Clone, Copy)]
struct Event {
    moment: i64,
    call: u64,
    position: u32,
    what: What,
}

/// Of one reply the data come first: the client has them when it learns of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Data from `start` up to `stop`, read or written.
    Moved { reading: bool, start: i64, stop: i64 },
    /// What the client learnt: whether it had asked, by an OPEN, that its cache was valid, or void.
    Learnt { asked: bool, opened: bool, asked_at: i64, valid: bool, void: bool },
}

/// Gathers events, and walks over them.
pub struct Holding {
    /// Questions that come sooner after the first of a visit are of that visit, ns; an OPEN begins one.
    visit: i64,
    events: Groups<Event>,
}

impl Holding {
    /// Nothing seen yet.
    pub fn new(visit: i64) -> Self {
        Self { visit, events: Groups::default() }
    }

    /// Adds rows: `mount`, `file`, `moment` (ns), `call`, `position`; of transfers `start` and `stop`
    /// (bytes) and `reading`; of others, where `start` is NULL, `asked`, `opened`, `asked_at` (ns),
    /// `valid`, `void`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let keys = whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let places = whole::<Int64Type>(batch, "moment")?
            .iter()
            .zip(whole::<UInt64Type>(batch, "call")?)
            .zip(whole::<UInt32Type>(batch, "position")?);
        let moved = numbers::<Int64Type>(batch, "start")?
            .iter()
            .zip(numbers::<Int64Type>(batch, "stop")?)
            .zip(flags(batch, "reading")?);
        let learnt = flags(batch, "asked")?
            .iter()
            .zip(flags(batch, "opened")?)
            .zip(numbers::<Int64Type>(batch, "asked_at")?)
            .zip(flags(batch, "valid")?.iter().zip(flags(batch, "void")?));
        for (((mount, file), place), (moved, learnt)) in keys.zip(places).zip(moved.zip(learnt)) {
            let ((moment, call), position) = place;
            let ((start, stop), reading) = moved;
            let (((asked, opened), asked_at), (valid, void)) = learnt;
            let is = |flag: Option<bool>| flag == Some(true);
            let what = match start.zip(stop) {
                Some((start, stop)) => What::Moved { reading: is(reading), start, stop },
                None => What::Learnt {
                    asked: is(asked),
                    opened: is(opened),
                    asked_at: asked_at.unwrap_or(*moment),
                    valid: is(valid),
                    void: is(void),
                },
            };
            let event = Event { moment: *moment, call: *call, position: *position, what };
            self.events.push((*mount, *file), event)?;
        }
        Ok(())
    }

    /// `mount`, `file`, `reread` and `saved` (bytes) of the files with any of either.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        let Self { visit, events } = self;
        let mut keys: Vec<Key> = Vec::new();
        let mut sums = Vec::new();
        let mut cached = Cached::default();
        let place = |event: &Event| (event.moment, event.call, event.position, event.what);
        events.visit(place, |key, events| {
            let found = walk(events, visit, &mut cached);
            if found != (0, 0) {
                keys.push(key);
                sums.push(found);
            }
        });
        let column = |part: fn(&(i64, i64)) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(sums.iter().map(part)))
        };
        let key = |part: fn(&Key) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(keys.iter().map(part)))
        };
        RecordBatch::try_from_iter([
            ("mount", key(|key| key.0)),
            ("file", key(|key| key.1)),
            ("reread", column(|sums| sums.0)),
            ("saved", column(|sums| sums.1)),
        ])
    }
}

/// What a client has had of a file.
#[derive(Default)]
struct Cached {
    /// What it has read or written since its cache became void.
    moved: Ranges,
    /// What it had before.
    void: Ranges,
}

/// Bytes read again, and bytes spared; `cached` is that of any other file, for its memory.
fn walk(events: &[Event], visit: i64, cached: &mut Cached) -> (i64, i64) {
    let (mut reread, mut saved) = (0_i64, 0_i64);
    cached.moved.clear();
    cached.void.clear();
    // When the visit began, and what it spares if no data move any more before the next one.
    let mut begun: Option<i64> = None;
    let mut spares = 0;
    for event in events {
        match event.what {
            What::Moved { reading, start, stop } => {
                if reading {
                    reread = reread.saturating_add(cached.void.bytes_in(start, stop));
                }
                cached.moved.add(start, stop);
                spares = 0;
            }
            What::Learnt { asked, opened, asked_at, valid, void } => {
                let next = |begun| opened || asked_at.saturating_sub(begun) >= visit;
                if asked && begun.is_none_or(next) {
                    saved = saved.saturating_add(spares);
                    begun = Some(asked_at);
                }
                spares = if valid { cached.moved.bytes() } else { 0 };
                if void {
                    cached.void.add_all(&cached.moved);
                    cached.moved.clear();
                }
            }
        }
    }
    (reread, saved.saturating_add(spares))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn walked(events: &[(i64, What)]) -> (i64, i64) {
        let event = |(second, what): &(i64, What)| Event {
            moment: second * SECOND,
            call: 0,
            position: 0,
            what: *what,
        };
        walk(&events.iter().map(event).collect::<Vec<_>>(), SECOND, &mut Cached::default())
    }

    fn read(start: i64, stop: i64) -> What {
        What::Moved { reading: true, start, stop }
    }

    fn found(valid: bool, asked_at: i64) -> What {
        What::Learnt { asked: true, opened: false, asked_at: asked_at * SECOND, valid, void: !valid }
    }

    fn opened(asked_at: i64) -> What {
        What::Learnt { asked: true, opened: true, asked_at: asked_at * SECOND, valid: true, void: false }
    }

    #[test]
    fn what_had_been_read_before_somebody_elses_change_is_read_again() {
        let change = found(false, 1);
        assert_eq!(walked(&[(0, read(0, 100)), (1, change), (2, read(50, 200))]), (50, 0));
        assert_eq!(walked(&[(0, read(150, 300)), (1, change), (2, read(50, 200))]), (50, 0));
        assert_eq!(walked(&[(1, change), (2, read(50, 200))]), (0, 0));
    }

    #[test]
    fn a_visit_saves_once_what_had_been_read() {
        let data = (0, read(0, 100));
        assert_eq!(walked(&[data, (1, found(true, 1)), (2, found(true, 1)), (4, found(true, 4))]), (0, 200));
        assert_eq!(walked(&[data, (1, found(true, 1)), (2, read(0, 100))]), (0, 0));
        let void = [data, (1, found(false, 1)), (3, found(true, 3)), (4, read(0, 30)), (6, found(true, 6))];
        assert_eq!(walked(&void), (30, 30), "what somebody else changed is not saved");
        let more = [data, (0, read(50, 150)), (0, read(1 << 40, (1 << 40) + 50)), (1, found(true, 1))];
        assert_eq!(walked(&more), (0, 200), "not what lies between");
    }

    #[test]
    fn a_file_that_is_in_use_all_the_time_is_visited_over_and_over() {
        let asks: Vec<(i64, What)> = (1..=9).map(|second| (second, found(true, second))).collect();
        let events = [&[(0, read(0, 100))], &asks[..]].concat();
        let walked = |visit: i64| {
            let event = |(second, what): &(i64, What)| Event {
                moment: second * SECOND,
                call: 0,
                position: 0,
                what: *what,
            };
            walk(&events.iter().map(event).collect::<Vec<_>>(), visit * SECOND, &mut Cached::default())
        };
        assert_eq!(walked(3), (0, 300), "at 1, 4 and 7 s");
        assert_eq!(walked(1), (0, 900));
    }

    #[test]
    fn each_open_is_a_visit() {
        let data = (0, read(0, 100));
        assert_eq!(walked(&[data, (1, opened(1)), (1, opened(1)), (1, found(true, 1))]), (0, 200));
        assert_eq!(walked(&[data, (1, opened(1)), (1, opened(1)), (1, read(0, 100))]), (0, 100));
    }
}
