//! Files folded into classes by their calls in order, runs collapsed.
//!
//! Takes rows of calls (columns of [`Folding::take`]); gives the classes that took longest.
//! `pcapnfs/analyses/by_file/patterns.py` says what a pattern is; here steps are codes.

use std::cmp::Reverse;
use std::hash::{BuildHasher, Hash, Hasher};

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};

use super::groups::Groups;
use super::input::{flags, numbers, whole};

/// A call about a file.
#[derive(Clone, Copy)]
struct Call {
    time: i64,
    number: u64,
    code: u64,
    first_frame: u64,
    first_time: i64,
    last_time: i64,
    srt: Option<i64>,
    stable: bool,
}

/// Files of one kind with one pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Kind of the files, as it was given.
    pub kind: u32,
    /// There were more runs than are told apart.
    pub cut: bool,
    /// The steps, runs collapsed. What a step's code is says [`Folded::code`].
    pub runs: Box<[Run]>,
    /// Files.
    pub files: u64,
    /// Their calls.
    pub calls: u64,
    /// Those of them that were stable.
    pub stable_calls: u64,
    /// Sum of the service times, ns.
    pub time: i64,
    /// That of stable calls, ns.
    pub stable_time: i64,
    /// Sum of the times from a file's first call to its last reply, ns.
    pub lifetime: i64,
    /// Frame of the call that came first, and its file.
    pub example: (u64, u32),
    /// The longest service times of a file, ns, and the file.
    pub slowest: (i64, Reverse<u32>),
}

/// A step, and how often it came in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Number of its code.
    step: u32,
    /// At least so often.
    pub least: u32,
    /// At most so often.
    pub most: u32,
}

/// Numbers for codes: of many classes, few have steps that no other has.
#[derive(Default)]
struct Steps {
    codes: Vec<u64>,
    numbers: HashMap<u64, u32, RandomState>,
}

impl Steps {
    fn number(&mut self, code: u64) -> u32 {
        *self.numbers.entry(code).or_insert_with(|| {
            self.codes.push(code);
            (self.codes.len() - 1) as u32
        })
    }
}

/// Walks over calls, some of the files at a time.
///
/// Captures may have nearly as many classes as files: of each, little is held.
pub struct Folding {
    /// Runs that tell classes apart.
    longest: usize,
    calls: Groups<Call>,
    steps: Steps,
    classes: Classes,
    files: u64,
}

/// Classes, each found by what tells it from the others.
#[derive(Default)]
struct Classes {
    list: Vec<Class>,
    /// Places in the list, by kind and steps.
    places: HashTable<u32>,
    hashes: RandomState,
}

impl Classes {
    /// The class that is like this one in what tells classes apart; this one, where there is none yet.
    fn like(&mut self, new: Class) -> Option<&mut Class> {
        let Self { list, places, hashes } = self;
        let hash = |class: &Class| {
            let (kind, cut, steps) = pattern(class);
            let mut hasher = hashes.build_hasher();
            (kind, cut).hash(&mut hasher);
            steps.for_each(|step| step.hash(&mut hasher));
            hasher.finish()
        };
        let same = |place: &u32| list.get(*place as usize).is_some_and(|class| alike(class, &new));
        let found = places.find(hash(&new), same).copied();
        let place = found.unwrap_or_else(|| {
            let (place, value) = (list.len() as u32, hash(&new));
            list.push(new);
            places.insert_unique(value, place, |place| list.get(*place as usize).map_or(0, hash));
            place
        });
        list.get_mut(place as usize)
    }
}

fn alike(one: &Class, other: &Class) -> bool {
    let (kind, cut, steps) = pattern(one);
    let (other_kind, other_cut, other_steps) = pattern(other);
    (kind, cut) == (other_kind, other_cut) && steps.eq(other_steps)
}

/// What a walk came to.
pub struct Folded {
    /// Files.
    pub files: u64,
    /// Their classes.
    pub number: usize,
    /// Of these as many as were asked for, those that took longest first.
    pub classes: Vec<Class>,
    codes: Vec<u64>,
}

impl Folded {
    /// The code of a run's step.
    pub fn code(&self, run: Run) -> u64 {
        self.codes.get(run.step as usize).copied().unwrap_or_default()
    }
}

/// What tells classes apart.
fn pattern(class: &Class) -> (u32, bool, impl Iterator<Item = u32>) {
    (class.kind, class.cut, class.runs.iter().map(|run| run.step))
}

impl Folding {
    /// Nothing seen yet; so many runs tell classes apart.
    pub fn new(longest: usize) -> Self {
        Self {
            longest,
            calls: Groups::default(),
            steps: Steps::default(),
            classes: Classes::default(),
            files: 0,
        }
    }

    /// Adds rows: `file`, `kind`, `code`, `call_time`, `call`, `call_first_frame`, `call_first_time`,
    /// `last_time`, `srt` (ns), `stable`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let files = whole::<UInt8Type>(batch, "kind")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let places = whole::<Int64Type>(batch, "call_time")?.iter().zip(whole::<UInt64Type>(batch, "call")?);
        let begins = whole::<UInt64Type>(batch, "call_first_frame")?
            .iter()
            .zip(whole::<Int64Type>(batch, "call_first_time")?);
        let times = whole::<Int64Type>(batch, "last_time")?.iter().zip(numbers::<Int64Type>(batch, "srt")?);
        let codes = whole::<UInt64Type>(batch, "code")?.iter().zip(flags(batch, "stable")?);
        for ((((kind, file), place), begin), (times, code)) in
            files.zip(places).zip(begins).zip(times.zip(codes))
        {
            let ((time, call), (first_frame, first_time)) = (place, begin);
            let ((last_time, srt), (code, stable)) = (times, code);
            let call = Call {
                time: *time,
                number: *call,
                code: *code,
                first_frame: *first_frame,
                first_time: *first_time,
                last_time: *last_time,
                srt,
                stable: stable == Some(true),
            };
            self.calls.push((u32::from(*kind), *file), call)?;
        }
        Ok(())
    }

    /// Walks over what was taken, and forgets it: all calls of these files have come.
    pub fn walk(&mut self) {
        let mut runs = Vec::new();
        let Self { longest, calls, steps, classes, files } = self;
        std::mem::take(calls).visit(
            |call| (call.time, call.number),
            |(kind, file), calls| {
                *files += 1;
                collapse(calls, steps, &mut runs);
                let cut = runs.len() > *longest;
                runs.truncate(*longest);
                let new = Class { kind, cut, runs: runs.as_slice().into(), ..Class::default() };
                if let Some(class) = classes.like(new) {
                    class.add(file, calls, &runs);
                }
            },
        );
    }

    /// Files that together have each code of any class: what a code stands for can be looked up there.
    pub fn examples(&self) -> Vec<u32> {
        let mut known = vec![false; self.steps.codes.len()];
        let mut tells_more = |class: &&Class| {
            // All of them, and not up to the first that is new.
            let new = |run: &&Run| {
                known.get_mut(run.step as usize).is_some_and(|known| !std::mem::replace(known, true))
            };
            class.runs.iter().filter(new).count() > 0
        };
        self.classes.list.iter().filter(|class| tells_more(class)).map(|class| class.example.1).collect()
    }

    /// Files, classes, and of these as many as asked for, those that took longest first.
    pub fn finish(self, top: usize) -> Folded {
        let Self { classes, steps, files, .. } = self;
        let Classes { list: mut classes, places, .. } = classes;
        drop(places);
        let number = classes.len();
        classes.sort_unstable_by_key(|class| (Reverse((class.time, class.files)), class.example.1));
        classes.truncate(top);
        classes.shrink_to_fit();
        Folded { files, number, classes, codes: steps.codes }
    }
}

/// The steps of the calls in order with how often each came in a row.
fn collapse(calls: &[Call], steps: &mut Steps, runs: &mut Vec<Run>) {
    runs.clear();
    let mut last = None;
    for call in calls {
        match runs.last_mut().filter(|_| last == Some(call.code)) {
            Some(run) => run.most = run.most.saturating_add(1),
            None => runs.push(Run { step: steps.number(call.code), least: 0, most: 1 }),
        }
        last = Some(call.code);
    }
    for run in runs {
        run.least = run.most;
    }
}

impl Class {
    fn add(&mut self, file: u32, calls: &[Call], runs: &[Run]) {
        let stable = || calls.iter().filter(|call| call.stable);
        let sum = |time: i64, call: &Call| time.saturating_add(call.srt.unwrap_or_default());
        let time = calls.iter().fold(0, sum);
        let begin = calls.iter().map(|call| call.first_time).min().unwrap_or_default();
        let end = calls.iter().map(|call| call.last_time).max().unwrap_or_default();
        let example = (calls.iter().map(|call| call.first_frame).min().unwrap_or_default(), file);
        let slowest = (time, Reverse(file));
        if self.files == 0 {
            (self.example, self.slowest) = (example, slowest);
        } else {
            for (run, more) in self.runs.iter_mut().zip(runs) {
                (run.least, run.most) = (run.least.min(more.least), run.most.max(more.most));
            }
            (self.example, self.slowest) = (self.example.min(example), self.slowest.max(slowest));
        }
        self.files += 1;
        self.calls += calls.len() as u64;
        self.stable_calls += stable().count() as u64;
        self.time = self.time.saturating_add(time);
        self.stable_time = self.stable_time.saturating_add(stable().fold(0, sum));
        self.lifetime = self.lifetime.saturating_add(end.saturating_sub(begin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(files: &[&[u64]], longest: usize) -> Folded {
        walked(files, longest).finish(usize::MAX)
    }

    fn codes(folded: &Folded, class: usize) -> Vec<u64> {
        folded.classes[class].runs.iter().map(|run| folded.code(*run)).collect()
    }

    fn walked(files: &[&[u64]], longest: usize) -> Folding {
        let mut folding = Folding::new(longest);
        for (file, codes) in (0_u32..).zip(files) {
            for (time, code) in (0_i64..).zip(*codes) {
                let call = Call {
                    time,
                    number: 0,
                    code: *code,
                    first_frame: u64::from(file),
                    first_time: time,
                    last_time: time + 1,
                    srt: Some(1),
                    stable: *code == 7,
                };
                folding.calls.push((0, file), call).unwrap();
            }
        }
        folding.walk();
        folding
    }

    #[test]
    fn examples_have_all_codes_of_all_classes() {
        let files: [&[u64]; 5] = [&[1, 2], &[2, 1], &[1, 2, 3], &[4], &[1, 2]];
        let examples = walked(&files, 24).examples();
        let mut codes: Vec<u64> = examples.iter().flat_map(|file| files[*file as usize].to_vec()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, [1, 2, 3, 4]);
        assert!(examples.len() <= 4, "{examples:?}");
    }

    #[test]
    fn files_that_differ_in_the_lengths_of_runs_are_of_one_class() {
        let found = folded(&[&[5, 7, 7, 7], &[5, 5, 7], &[7, 5]], 24);
        let class = &found.classes[0];
        assert_eq!((found.files, found.number), (3, 2));
        assert_eq!(codes(&found, 0), [5, 7]);
        assert_eq!(class.runs.iter().map(|run| (run.least, run.most)).collect::<Vec<_>>(), [(1, 2), (1, 3)]);
        assert_eq!((class.files, class.calls, class.stable_calls), (2, 7, 4));
        assert_eq!((class.time, class.stable_time, class.lifetime), (7, 4, 7));
        assert_eq!((class.example, class.slowest), ((0, 0), (4, Reverse(0))));
    }

    #[test]
    fn what_comes_after_the_longest_pattern_tells_no_classes_apart() {
        let found = folded(&[&[1, 2, 3], &[1, 2, 4, 5], &[1, 2]], 2);
        assert_eq!(found.number, 2);
        assert!(found.classes[0].cut && !found.classes[1].cut);
        assert_eq!(codes(&found, 0), codes(&found, 1));
    }

    #[test]
    fn a_class_takes_little() {
        assert!(size_of::<Class>() <= 104 && size_of::<Run>() == 12);
    }
}
