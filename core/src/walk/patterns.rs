//! Files folded into classes by their calls in order, runs collapsed.
//!
//! Takes rows of calls (columns of [`Folding::take`]); gives the classes that took longest.
//! `pcapnfs/analyses/by_file/patterns.py` says what a pattern is; here steps are codes.

use std::cmp::Reverse;

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

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
    /// The steps' codes, runs collapsed.
    pub codes: Vec<u64>,
    /// There were more runs than are told apart.
    pub cut: bool,
    /// How often each step came in a row, at least and at most.
    pub lengths: Vec<(u64, u64)>,
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

/// Walks over calls, some of the files at a time.
pub struct Folding {
    /// Runs that tell classes apart.
    longest: usize,
    calls: Groups<Call>,
    classes: HashMap<Pattern, Class, RandomState>,
    files: u64,
}

#[derive(PartialEq, Eq, Hash)]
struct Pattern {
    kind: u32,
    codes: Box<[u64]>,
    cut: bool,
}

impl Folding {
    /// Nothing seen yet; so many runs tell classes apart.
    pub fn new(longest: usize) -> Self {
        Self { longest, calls: Groups::default(), classes: HashMap::default(), files: 0 }
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
        let Self { longest, calls, classes, files } = self;
        std::mem::take(calls).visit(
            |call| (call.time, call.number),
            |(kind, file), calls| {
                *files += 1;
                collapse(calls, &mut runs);
                let cut = runs.len() > *longest;
                runs.truncate(*longest);
                let codes = runs.iter().map(|(code, _)| *code).collect();
                let class = classes.entry(Pattern { kind, codes, cut }).or_default();
                class.add(file, calls, &runs);
            },
        );
    }

    /// Files that together have each code of any class: what a code stands for can be looked up there.
    pub fn examples(&self) -> Vec<u32> {
        let mut known: HashSet<u64, RandomState> = HashSet::default();
        let mut tells_more = |pattern: &Pattern| {
            // All of them, and not up to the first that is new.
            pattern.codes.iter().filter(|code| known.insert(**code)).count() > 0
        };
        self.classes
            .iter()
            .filter(|(pattern, _)| tells_more(pattern))
            .map(|(_, class)| class.example.1)
            .collect()
    }

    /// Files, classes, and of these as many as asked for, those that took longest first.
    pub fn finish(self, top: usize) -> (u64, usize, Vec<Class>) {
        let number = self.classes.len();
        let full = |(pattern, class): (Pattern, Class)| Class {
            kind: pattern.kind,
            codes: pattern.codes.into_vec(),
            cut: pattern.cut,
            ..class
        };
        let mut classes: Vec<Class> = self.classes.into_iter().map(full).collect();
        classes.sort_unstable_by_key(|class| (Reverse((class.time, class.files)), class.example.1));
        classes.truncate(top);
        (self.files, number, classes)
    }
}

/// The codes of the calls in order with how often each came in a row.
fn collapse(calls: &[Call], runs: &mut Vec<(u64, u64)>) {
    runs.clear();
    for call in calls {
        match runs.last_mut() {
            Some((code, length)) if *code == call.code => *length += 1,
            _ => runs.push((call.code, 1)),
        }
    }
}

impl Class {
    fn add(&mut self, file: u32, calls: &[Call], runs: &[(u64, u64)]) {
        let stable = || calls.iter().filter(|call| call.stable);
        let sum = |time: i64, call: &Call| time.saturating_add(call.srt.unwrap_or_default());
        let time = calls.iter().fold(0, sum);
        let begin = calls.iter().map(|call| call.first_time).min().unwrap_or_default();
        let end = calls.iter().map(|call| call.last_time).max().unwrap_or_default();
        let example = (calls.iter().map(|call| call.first_frame).min().unwrap_or_default(), file);
        let slowest = (time, Reverse(file));
        if self.files == 0 {
            self.lengths = runs.iter().map(|(_, length)| (*length, *length)).collect();
            (self.example, self.slowest) = (example, slowest);
        } else {
            for ((least, most), (_, length)) in self.lengths.iter_mut().zip(runs) {
                (*least, *most) = ((*least).min(*length), (*most).max(*length));
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

    fn folded(files: &[&[u64]], longest: usize) -> (u64, usize, Vec<Class>) {
        walked(files, longest).finish(usize::MAX)
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
        let (files, number, classes) = folded(&[&[5, 7, 7, 7], &[5, 5, 7], &[7, 5]], 24);
        assert_eq!((files, number), (3, 2));
        assert_eq!(classes[0].codes, [5, 7]);
        assert_eq!(classes[0].lengths, [(1, 2), (1, 3)]);
        assert_eq!((classes[0].files, classes[0].calls, classes[0].stable_calls), (2, 7, 4));
        assert_eq!((classes[0].time, classes[0].stable_time, classes[0].lifetime), (7, 4, 7));
        assert_eq!((classes[0].example, classes[0].slowest), ((0, 0), (4, Reverse(0))));
    }

    #[test]
    fn what_comes_after_the_longest_pattern_tells_no_classes_apart() {
        let (_, number, classes) = folded(&[&[1, 2, 3], &[1, 2, 4, 5], &[1, 2]], 2);
        assert_eq!(number, 2);
        assert!(classes[0].cut && !classes[1].cut);
        assert_eq!(classes[0].codes, classes[1].codes);
    }
}
