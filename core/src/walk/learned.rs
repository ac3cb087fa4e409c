//! What a client learnt of an object's change-ID, time by time, and who had changed the object.
//!
//! Takes rows of what clients were told (columns of [`Learning::take`]); gives those that matter to
//! whoever asks about caches, and counts for each object. `pcapnfs/analyses/caching/change_ids.py` says what
//! a change-ID is and where the rows come from; here is what follows from their order.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;

use super::groups::{Groups, Key};
use super::told::{Answered, ChangeId, Question, Told};

/// What a client found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    First,
    Unchanged,
    Own,
    Other,
}

impl Finding {
    /// The names of the SQL type `finding`, by number.
    const NAMES: [&str; 4] = ["first", "unchanged", "self", "other"];
}

/// Which operation's reply told something: its call, and its place there.
type Place = (u64, u32);

/// What a client knows of an object.
#[derive(Clone, Copy)]
struct Known {
    change: ChangeId,
    /// Reply that told it, and the call of this reply.
    place: Place,
    reply_time: i64,
    call_time: i64,
    /// That call modified the object, by this operation or an earlier one.
    modified: bool,
}

/// Gathers what clients were told, and walks over it.
#[derive(Default)]
pub struct Learning {
    told: Groups<Told>,
}

impl Learning {
    /// Adds rows: `mount`, `file`, `call`, `position`, `call_time`, `reply_time` (ns), `change_id`
    /// and `before` (hashes), `question` (0 GETATTR, 1 OPEN, 2 VERIFY), `modified`, `alone`,
    /// `verified`. Rows that tell nothing are passed over.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        Told::each(batch, |key, told| self.add(key, told))
    }

    /// Adds rows of what replies to these calls said: `call`, `position`, `file`, `change_id` and
    /// `before` (hashes), whether each of them is `exact` and `exact_before`, `modified` in any version
    /// and `modified_unless_v4`, `asked` (0 and 1 GETATTR, 2 whether it is unchanged), `refused`,
    /// `verified`.
    pub fn take_said(&mut self, calls: &mut Answered, batch: &RecordBatch) -> Result<(), ArrowError> {
        calls.each(batch, |key, told| self.add(key, told))
    }

    fn add(&mut self, key: Key, told: Told) -> Result<(), ArrowError> {
        if told.tells() { self.told.push(key, told) } else { Ok(()) }
    }

    /// What clients learnt, and a row for each object that they asked about, or that somebody else
    /// changed. Of what they learnt all rows, or just those of a question or somebody else's change.
    pub fn finish(self, all: bool) -> Result<(RecordBatch, RecordBatch), ArrowError> {
        let mut learned = Learned::default();
        let mut asked = Asked::default();
        let mut after = Vec::new();
        let place = |told: &Told| (told.reply_time, told.call, told.position, told.change, told.before);
        self.told.visit(place, |key, rows| {
            modified_after(rows, &mut after);
            let mut client = Client::default();
            let mut counts = Counts::default();
            for (told, after) in rows.iter().zip(after.iter().rev()) {
                let learnt = client.learn(told, *after);
                if told.question.is_some() || learnt.finding == Some(Finding::Other) {
                    counts.add(told, learnt.finding);
                } else if !all {
                    continue;
                }
                learned.push(key, told, &learnt);
            }
            asked.push(key, &counts);
        });
        Ok((learned.finish()?, asked.finish()?))
    }
}

/// For each row, from the last to the first, when the first of the calls was made that modified the
/// object and were answered later: of several under way, that may be any.
fn modified_after(rows: &[Told], after: &mut Vec<Option<i64>>) {
    after.clear();
    let mut first = None;
    for told in rows.iter().rev() {
        after.push(first);
        if told.modified {
            first = Some(earlier(first, told.call_time));
        }
    }
}

/// What a client knows of an object, and did to it.
#[derive(Default)]
struct Client {
    known: Option<Known>,
    /// The last call that modified the object; its reply, and that to the one before.
    modifying: Option<u64>,
    modified: Option<i64>,
    modified_earlier: Option<i64>,
    /// A call that modified the object came after the one that told what is known: by their order,
    /// since a coarse clock gives both one time.
    meddled: bool,
}

/// What a row meant to the client.
struct Learnt {
    finding: Option<Finding>,
    known: Option<Known>,
    meddled: bool,
}

impl Client {
    fn learn(&mut self, told: &Told, modified_after: Option<i64>) -> Learnt {
        let known = self.known;
        let meddled = self.known.is_some() && self.meddled;
        let finding = self.finding(told, modified_after, meddled);
        if let Some(change) = told.change {
            self.known = Some(Known {
                change,
                place: (told.call, told.position),
                reply_time: told.reply_time,
                call_time: told.call_time,
                modified: told.modified || self.modifying == Some(told.call),
            });
        }
        self.meddled = told.change.is_none() && (self.meddled || told.modified);
        if told.modified && self.modifying != Some(told.call) {
            self.modifying = Some(told.call);
            self.modified_earlier = self.modified.replace(told.reply_time);
        }
        Learnt { finding, known, meddled }
    }

    fn finding(&self, told: &Told, modified_after: Option<i64>, meddled: bool) -> Option<Finding> {
        let whose = |own: bool| if own { Finding::Own } else { Finding::Other };
        match told.verified {
            Some(true) => return Some(Finding::Unchanged),
            Some(false) => return Some(whose(meddled)),
            None => {}
        }
        let change = told.change?;
        let Some(known) = self.known else { return Some(Finding::First) };
        if change == known.change {
            return Some(Finding::Unchanged);
        }
        // Replies may come in another order than the server worked in: what was under way around this
        // one, or around the one before, may explain the difference.
        let under_way =
            later(self.modified, Some(told.call_time)) || later(Some(told.reply_time), modified_after);
        let before_known = if known.modified { self.modified_earlier } else { self.modified };
        let since_known =
            if told.modified { Some(earlier(modified_after, told.call_time)) } else { modified_after };
        let was_under_way =
            later(before_known, Some(known.call_time)) || later(Some(known.reply_time), since_known);
        let by_this = told.modified && told.before.is_none_or(|before| before == known.change);
        Some(whose(meddled || under_way || was_under_way || by_this))
    }
}

/// The earlier one, or that which is known.
fn earlier(first: Option<i64>, second: i64) -> i64 {
    first.map_or(second, |first| first.min(second))
}

/// Whether both are known, and the first is the later one.
fn later(first: Option<i64>, second: Option<i64>) -> bool {
    first.zip(second).is_some_and(|(first, second)| first > second)
}

/// What a client asked about an object, as `pcapnfs/analyses/caching/cache.py` counts it.
#[derive(Clone, Copy, Default)]
struct Counts {
    any: bool,
    revalidations: u64,
    by_getattr: u64,
    by_open: u64,
    by_verify: u64,
    findings: [u64; Finding::NAMES.len()],
    unknown: u64,
    invalidations: u64,
    time: i64,
}

impl Counts {
    fn add(&mut self, told: &Told, finding: Option<Finding>) {
        self.any = true;
        self.invalidations += u64::from(finding == Some(Finding::Other));
        let Some(question) = told.question else { return };
        self.by_getattr += u64::from(question == Question::Getattr);
        self.by_verify += u64::from(question == Question::Verify);
        if told.alone && question != Question::Open {
            self.time = self.time.saturating_add(told.reply_time.saturating_sub(told.call_time));
        }
        // A first OPEN of a file asks nothing that the client could have known.
        if question == Question::Open && finding.is_none_or(|finding| finding == Finding::First) {
            return;
        }
        self.by_open += u64::from(question == Question::Open);
        self.revalidations += 1;
        match finding.and_then(|finding| self.findings.get_mut(finding as usize)) {
            Some(count) => *count += 1,
            None => self.unknown += 1,
        }
    }
}

/// Columns of the rows of a question, and of others.
#[derive(Default)]
struct Learned {
    mount: Vec<u32>,
    file: Vec<u32>,
    call: Vec<u64>,
    position: Vec<u32>,
    call_time: Vec<i64>,
    reply_time: Vec<i64>,
    question: Vec<Option<Question>>,
    modified: Vec<bool>,
    alone: Vec<bool>,
    known_call: Vec<Option<u64>>,
    known_position: Vec<Option<u32>>,
    known_time: Vec<Option<i64>>,
    meddled: Vec<bool>,
    finding: Vec<Option<Finding>>,
}

impl Learned {
    fn push(&mut self, (mount, file): Key, told: &Told, learnt: &Learnt) {
        self.mount.push(mount);
        self.file.push(file);
        self.call.push(told.call);
        self.position.push(told.position);
        self.call_time.push(told.call_time);
        self.reply_time.push(told.reply_time);
        self.question.push(told.question);
        self.modified.push(told.modified);
        self.alone.push(told.alone);
        self.known_call.push(learnt.known.map(|known| known.place.0));
        self.known_position.push(learnt.known.map(|known| known.place.1));
        self.known_time.push(learnt.known.map(|known| known.reply_time));
        self.meddled.push(learnt.meddled);
        self.finding.push(learnt.finding);
    }

    fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_from_iter_with_nullable([
            ("mount", array(UInt32Array::from(self.mount)), false),
            ("file", array(UInt32Array::from(self.file)), false),
            ("call", array(UInt64Array::from(self.call)), false),
            ("position", array(UInt32Array::from(self.position)), false),
            ("call_time", array(Int64Array::from(self.call_time)), false),
            ("reply_time", array(Int64Array::from(self.reply_time)), false),
            (
                "question",
                words(self.question.iter().map(|asked| asked.map(|asked| asked as u8)), &Question::NAMES)?,
                true,
            ),
            ("modified", array(BooleanArray::from(self.modified)), false),
            ("alone", array(BooleanArray::from(self.alone)), false),
            ("known_call", array(UInt64Array::from(self.known_call)), true),
            ("known_position", array(UInt32Array::from(self.known_position)), true),
            ("known_time", array(Int64Array::from(self.known_time)), true),
            ("meddled", array(BooleanArray::from(self.meddled)), false),
            (
                "finding",
                words(self.finding.iter().map(|found| found.map(|found| found as u8)), &Finding::NAMES)?,
                true,
            ),
        ])
    }
}

/// Columns of the counts by object.
#[derive(Default)]
struct Asked {
    keys: Vec<Key>,
    counts: Vec<Counts>,
}

impl Asked {
    fn push(&mut self, key: Key, counts: &Counts) {
        if counts.any {
            self.keys.push(key);
            self.counts.push(*counts);
        }
    }

    fn finish(self) -> Result<RecordBatch, ArrowError> {
        let key = |part: fn(&Key) -> u32| array(UInt32Array::from_iter_values(self.keys.iter().map(part)));
        let count = |part: &dyn Fn(&Counts) -> u64| {
            array(UInt64Array::from_iter_values(self.counts.iter().map(part)))
        };
        let found = |which: Finding| {
            count(&move |counts| counts.findings.get(which as usize).copied().unwrap_or_default())
        };
        let time = array(Int64Array::from_iter_values(self.counts.iter().map(|counts| counts.time)));
        RecordBatch::try_from_iter([
            ("mount", key(|key| key.0)),
            ("file", key(|key| key.1)),
            ("revalidations", count(&|counts| counts.revalidations)),
            ("by_getattr", count(&|counts| counts.by_getattr)),
            ("by_open", count(&|counts| counts.by_open)),
            ("by_verify", count(&|counts| counts.by_verify)),
            ("first_sight", found(Finding::First)),
            ("unchanged", found(Finding::Unchanged)),
            ("changed_by_self", found(Finding::Own)),
            ("changed_by_other", found(Finding::Other)),
            ("unknown", count(&|counts| counts.unknown)),
            ("invalidations", count(&|counts| counts.invalidations)),
            ("time", time),
        ])
    }
}

fn array(column: impl Array + 'static) -> ArrayRef {
    Arc::new(column)
}

/// A column of few words, by their places.
fn words(places: impl Iterator<Item = Option<u8>>, words: &[&'static str]) -> Result<ArrayRef, ArrowError> {
    let words = StringArray::from_iter_values(words);
    Ok(array(DictionaryArray::<UInt8Type>::try_new(places.collect::<UInt8Array>(), array(words))?))
}
