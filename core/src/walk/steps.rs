//! How clients went through directories and came back to files: what shows whether they kept names
//! and attributes.
//!
//! Takes rows of calls about objects (columns of [`Steps::take`]); gives counts for each mount, which
//! `pcapnfs/analyses/mounts/mount_evidence.py` describes. The kinds of calls are numbered as the SQL type
//! `kind` there names them.

use std::collections::BTreeMap;

use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::ArrowError;

use super::groups::Groups;
use super::input::{flags, numbers, whole};

const ACCESS: u8 = 0;
const GETATTR: u8 = 1;
const LOOKUP: u8 = 2;
const READ: u8 = 3;
const STREAM: u8 = 5;
/// A listing told the file's attributes.
const ENTRY: u8 = 8;

/// What counts as near, and as a pause.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// Calls that are closer together belong to one visit; knowledge that is younger is fresh, ns.
    pub together: i64,
    /// Steps in one directory that are closer together are a move, ns.
    pub neighbours: i64,
    /// Knowledge that is younger was asked for at once, ns.
    pub at_once: i64,
    /// Knowledge of a directory at least so old and at most so old was asked for after a pause, ns.
    pub pause: (i64, i64),
}

/// What the steps of one mount show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Moves from one child of a directory to another.
    pub moves: u64,
    /// Those before which the client had asked for the directory.
    pub moves_asked: u64,
    /// Frames of such questions, with the times of the moves: the first of them.
    pub moves_frames: Vec<(i64, u64)>,
    /// Ways into a directory, from one child of it to the same or another, on which the client had asked
    /// for the directory.
    pub ways_asked: u64,
    /// Those on which it asked exactly twice, the second time at once.
    pub ways_asked_twice: u64,
    /// Frames of the second questions, with their times: the first of them.
    pub ways_frames: Vec<(i64, u64)>,
    /// Visits of files, but for those that did nothing but ask for what had been known for longer: the
    /// smallest timeout explains them, so that they show neither.
    pub visits: u64,
    /// Those in which it asked for what it had just learnt, at all and more than once.
    pub visits_asked: u64,
    /// More than once.
    pub visits_asked_twice: u64,
    /// Frames of the first questions in the latter: the first of them.
    pub visits_frames: Vec<u64>,
    /// Questions about files for what it had just learnt.
    pub files_fresh: u64,
    /// LOOKUPs of files that an earlier one had found.
    pub lookups_again: u64,
    /// Questions about directories after a pause.
    pub paused: u64,
    /// NFSv3: READs right after a listing had told the attributes.
    pub reads_unasked: u64,
    /// NFSv3: READs right after a GETATTR.
    pub reads_asked: u64,
}

/// Walks over steps, some of the objects at a time, and adds up.
pub struct Steps {
    spans: Spans,
    examples: usize,
    moves: Groups<Move>,
    visits: Groups<Visit>,
    found: BTreeMap<u32, Evidence>,
}

/// A step of a client in a directory, or its question about the directory itself.
#[derive(Clone, Copy)]
struct Move {
    time: i64,
    frame: u64,
    call: u64,
    /// None: a question.
    child: Option<u32>,
    /// A question for what the client had learnt a moment ago.
    at_once: bool,
}

/// A call about a file.
#[derive(Clone, Copy)]
struct Visit {
    time: i64,
    frame: u64,
    call: u64,
    kind: u8,
    v3: bool,
    /// It asked for what the client had just learnt.
    young: bool,
    /// It asked for what the client had known for longer.
    old: bool,
}

/// Columns of the rows.
struct Columns<'a> {
    mount: &'a [u32],
    file: &'a [u32],
    directory: &'a PrimitiveArray<UInt32Type>,
    call: &'a [u64],
    frame: &'a [u64],
    time: &'a [i64],
    known_time: &'a PrimitiveArray<Int64Type>,
    kind: &'a [u8],
    v3: &'a BooleanArray,
    of_file: &'a BooleanArray,
    of_directory: &'a BooleanArray,
}

/// One of them.
struct Step {
    mount: u32,
    file: u32,
    directory: Option<u32>,
    call: u64,
    frame: u64,
    time: i64,
    /// How old its knowledge was when it asked for what had not changed, ns.
    age: Option<i64>,
    kind: u8,
    v3: bool,
    of_file: bool,
    of_directory: bool,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        Ok(Self {
            mount: whole::<UInt32Type>(batch, "mount")?,
            file: whole::<UInt32Type>(batch, "file")?,
            directory: numbers(batch, "directory")?,
            call: whole::<UInt64Type>(batch, "call")?,
            frame: whole::<UInt64Type>(batch, "call_frame")?,
            time: whole::<Int64Type>(batch, "call_time")?,
            known_time: numbers(batch, "known_time")?,
            kind: whole::<UInt8Type>(batch, "kind")?,
            v3: flags(batch, "v3")?,
            of_file: flags(batch, "of_file")?,
            of_directory: flags(batch, "of_directory")?,
        })
    }

    fn steps(&self) -> impl Iterator<Item = Step> {
        let objects = self.mount.iter().zip(self.file).zip(self.directory);
        let calls = self.call.iter().zip(self.frame).zip(self.time.iter().zip(self.known_time));
        let roles = self.of_file.iter().zip(self.of_directory);
        let kinds = self.kind.iter().zip(self.v3).zip(roles);
        objects.zip(calls).zip(kinds).map(|((object, call), kind)| {
            let ((mount, file), directory) = object;
            let ((call, frame), (time, known_time)) = call;
            let ((kind, v3), (of_file, of_directory)) = kind;
            Step {
                mount: *mount,
                file: *file,
                directory,
                call: *call,
                frame: *frame,
                time: *time,
                age: known_time.map(|known_time| time.saturating_sub(known_time)),
                kind: *kind,
                v3: v3 == Some(true),
                of_file: of_file == Some(true),
                of_directory: of_directory == Some(true),
            }
        })
    }
}

impl Steps {
    /// Nothing seen yet; `examples` frames are kept of each kind.
    pub fn new(spans: Spans, examples: usize) -> Self {
        Self { spans, examples, moves: Groups::default(), visits: Groups::default(), found: BTreeMap::new() }
    }

    /// Adds rows: `mount`, `file`, `directory`, `call`, `call_frame`, `call_time`, `known_time` (ns; of
    /// calls that asked for what had not changed: when the client had learnt it), `kind`, `v3`,
    /// `of_file`, `of_directory`. A row without any of the last two and `directory` says nothing.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        Columns::of(batch)?.steps().try_for_each(|step| self.sort(&step))
    }

    /// Adds what listings of NFSv3 told of the files of these rows: `mount`, `file`, `call`,
    /// `reply_time`.
    pub fn take_entries(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let objects = whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let calls = whole::<UInt64Type>(batch, "call")?.iter().zip(whole::<Int64Type>(batch, "reply_time")?);
        for ((mount, file), (call, time)) in objects.zip(calls) {
            let told =
                Visit { time: *time, frame: 0, call: *call, kind: ENTRY, v3: true, young: false, old: false };
            self.visits.push((*mount, *file), told)?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all rows of these objects have come.
    pub fn walk(&mut self) {
        let (moves, visits) = (std::mem::take(&mut self.moves), std::mem::take(&mut self.visits));
        self.walk_moves(moves);
        self.walk_visits(visits);
    }

    fn sort(&mut self, step: &Step) -> Result<(), ArrowError> {
        let Step { time, frame, call, kind, .. } = *step;
        let object = (step.mount, step.file);
        if let Some(directory) = step.directory {
            let key = (step.mount, directory);
            if kind != READ && kind != STREAM {
                self.moves.push(key, Move { time, frame, call, child: Some(step.file), at_once: false })?;
            }
        }
        if let Some(age) = step.age
            && step.of_directory
        {
            let at_once = (0..self.spans.at_once).contains(&age);
            self.moves.push(object, Move { time, frame, call, child: None, at_once })?;
            let (shortest, longest) = self.spans.pause;
            if (shortest..=longest).contains(&age) {
                self.found.entry(step.mount).or_default().paused += 1;
            }
        }
        if step.of_file {
            let young = step.age.is_some_and(|age| age < self.spans.together);
            let old = step.age.is_some() && !young;
            self.visits.push(object, Visit { time, frame, call, kind, v3: step.v3, young, old })?;
        }
        Ok(())
    }

    /// From one child of a directory to the next, and whether a question about it lay in between.
    fn walk_moves(&mut self, moves: Groups<Move>) {
        let place = |step: &Move| (step.time, step.frame, step.call, step.child.is_none(), step.child);
        moves.visit(place, |(mount, _), rows| {
            let mut before: Option<&Move> = None;
            let mut last: Option<(u32, i64)> = None;
            // How many questions came since the last child, and the last of them.
            let mut asked: (u64, Option<&Move>) = (0, None);
            for step in rows {
                if let Some(child) = step.child {
                    let (questions, latest) = std::mem::take(&mut asked);
                    let back =
                        last.is_some_and(|(_, time)| step.time.saturating_sub(time) < self.spans.neighbours);
                    if questions > 0 && back {
                        let found = self.found.entry(mount).or_default();
                        found.ways_asked += 1;
                        if let Some(again) = latest.filter(|again| questions == 2 && again.at_once) {
                            found.ways_asked_twice += 1;
                            keep_first(&mut found.ways_frames, (again.time, again.frame), self.examples);
                        }
                    }
                    let near = last.is_some_and(|(other, time)| {
                        child != other && step.time.saturating_sub(time) < self.spans.neighbours
                    });
                    if near {
                        let found = self.found.entry(mount).or_default();
                        found.moves += 1;
                        if let Some(question) = before.filter(|before| before.child.is_none()) {
                            found.moves_asked += 1;
                            let example = (step.time, question.frame);
                            keep_first(&mut found.moves_frames, example, self.examples);
                        }
                    }
                    last = Some((child, step.time));
                } else {
                    asked = (asked.0 + 1, Some(step));
                }
                before = Some(step);
            }
        });
    }

    /// From one call about a file to the next.
    fn walk_visits(&mut self, visits: Groups<Visit>) {
        let place = |step: &Visit| (step.time, step.frame, step.call, step.kind);
        let mut v3: Vec<Visit> = Vec::new();
        visits.visit(place, |(mount, _), rows| {
            // Nobody asks what followed on a file that no call was about.
            if rows.iter().all(|step| step.kind == ENTRY) {
                return;
            }
            let found = self.found.entry(mount).or_default();
            let mut last = None;
            let mut lookups = 0_u64;
            // Whether this visit shows anything.
            let mut telling = false;
            // Questions in this visit, and the first frame of them.
            let mut asked = (0_u64, u64::MAX);
            let mut end = |(questions, frame): (u64, u64)| {
                found.visits_asked += u64::from(questions > 0);
                if questions > 1 {
                    found.visits_asked_twice += 1;
                    keep_first(&mut found.visits_frames, frame, self.examples);
                }
            };
            for step in rows.iter().filter(|step| step.kind != ENTRY) {
                if last.is_none_or(|time| step.time.saturating_sub(time) >= self.spans.together) {
                    end(std::mem::replace(&mut asked, (0, u64::MAX)));
                    telling = false;
                }
                if !telling && !step.old {
                    telling = true;
                    found.visits += 1;
                }
                if step.young {
                    asked = (asked.0 + 1, asked.1.min(step.frame));
                    found.files_fresh += 1;
                }
                lookups += u64::from(step.kind == LOOKUP);
                last = Some(step.time);
            }
            end(asked);
            found.lookups_again += lookups.saturating_sub(1);
            if rows.iter().any(|step| step.v3 && step.kind == READ) {
                v3.clear();
                v3.extend(rows.iter().filter(|step| step.v3 && step.kind != ACCESS));
                v3.sort_by_key(|step| (step.time, step.call, step.kind));
                for pair in v3.windows(2) {
                    let [before, step] = pair else { continue };
                    found.reads_unasked += u64::from(step.kind == READ && before.kind == ENTRY);
                    found.reads_asked += u64::from(step.kind == READ && before.kind == GETATTR);
                }
            }
        });
    }

    /// What the steps of each mount show.
    pub fn found(&self) -> &BTreeMap<u32, Evidence> {
        &self.found
    }
}

/// Adds an example where it is one of the first, of which so many are kept, in order.
fn keep_first<T: Ord>(kept: &mut Vec<T>, example: T, most: usize) {
    let place = kept.partition_point(|other| *other <= example);
    if place < most {
        kept.insert(place, example);
        kept.truncate(most);
    }
}
