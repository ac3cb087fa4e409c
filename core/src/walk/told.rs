//! What clients were told of objects: what replies said, with the calls that they answered.
//!
//! Takes rows of calls ([`Answered::take`]) and of what their replies said ([`Answered::told`]); gives
//! rows of what that meant to the client. `pcapnfs/analyses/caching/told.py` says where they come from.

use std::num::NonZeroU64;
use std::sync::Arc;

use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;

use super::by_call::ByCall;
use super::groups::Key;
use super::input::{flag, flags, number, numbers, whole};

/// A change-ID, as a hash.
pub(super) type ChangeId = NonZeroU64;

/// How a client asked for an object's change-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Getattr,
    Open,
    Verify,
}

impl Question {
    /// The names of the SQL type `question`, by number.
    pub(super) const NAMES: [&str; 3] = ["getattr", "open", "verify"];

    fn of(number: u8) -> Option<Self> {
        [Self::Getattr, Self::Open, Self::Verify].get(usize::from(number)).copied()
    }
}

/// One time that a client was told something of an object, modified it or asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) call: u64,
    pub(super) call_time: i64,
    pub(super) reply_time: i64,
    /// The change-ID that it was told.
    pub(super) change: Option<ChangeId>,
    /// The one that the server says to have found.
    pub(super) before: Option<ChangeId>,
    pub(super) position: u32,
    pub(super) question: Option<Question>,
    /// What a VERIFY or NVERIFY said: whether the change-ID is the one that the client knows.
    pub(super) verified: Option<bool>,
    pub(super) modified: bool,
    pub(super) alone: bool,
}

impl Told {
    /// Reads rows with the columns of [`batch`].
    pub(super) fn each(
        batch: &RecordBatch,
        mut tell: impl FnMut(Key, Told) -> Result<(), ArrowError>,
    ) -> Result<(), ArrowError> {
        let keys = whole::<UInt32Type>(batch, "mount")?.iter().zip(whole::<UInt32Type>(batch, "file")?);
        let places = whole::<UInt64Type>(batch, "call")?.iter().zip(whole::<UInt32Type>(batch, "position")?);
        let times =
            whole::<Int64Type>(batch, "call_time")?.iter().zip(whole::<Int64Type>(batch, "reply_time")?);
        let change = numbers(batch, "change_id")?;
        let before = numbers(batch, "before")?;
        let question = numbers::<UInt8Type>(batch, "question")?;
        let modified = flags(batch, "modified")?;
        let alone = flags(batch, "alone")?;
        let verified = flags(batch, "verified")?;
        for (row, ((key, place), times)) in keys.zip(places).zip(times).enumerate() {
            let told = Told {
                call: *place.0,
                call_time: *times.0,
                reply_time: *times.1,
                change: change_id(change, row),
                before: change_id(before, row),
                position: *place.1,
                question: number(question, row).and_then(Question::of),
                verified: flag(verified, row),
                modified: flag(modified, row) == Some(true),
                alone: flag(alone, row) == Some(true),
            };
            tell((*key.0, *key.1), told)?;
        }
        Ok(())
    }

    /// Whether it says anything.
    pub(super) fn tells(&self) -> bool {
        self.change.is_some() || self.modified || self.question.is_some()
    }
}

/// A hash; that which is 0 is taken for 1, as others are for one another.
fn change_id(column: &PrimitiveArray<UInt64Type>, row: usize) -> Option<ChangeId> {
    number(column, row).map(|hash| ChangeId::new(hash).unwrap_or(ChangeId::MIN))
}

/// The calls that were answered.
#[derive(Default)]
pub struct Answered {
    calls: ByCall<Answer>,
}

#[derive(Clone, Copy)]
struct Answer {
    mount: u32,
    about: Option<u32>,
    call_time: i64,
    reply_time: i64,
    purpose: Option<Question>,
    /// Of a version without change attributes, where times and sizes stand for them.
    by_times: bool,
    /// It did nothing but ask, if it asked.
    single: bool,
    /// Of a data server, which speaks of the data that it holds.
    of_data: bool,
}

impl Answered {
    /// Adds rows: `call`, `mount`, `about` (a file), `call_time`, `reply_time` (ns), `purpose` (0
    /// GETATTR, 1 OPEN), `by_times`, `single`, `of_data`.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let calls = whole::<UInt64Type>(batch, "call")?.iter().zip(whole::<UInt32Type>(batch, "mount")?);
        let times =
            whole::<Int64Type>(batch, "call_time")?.iter().zip(whole::<Int64Type>(batch, "reply_time")?);
        let about = numbers::<UInt32Type>(batch, "about")?;
        let purpose = numbers::<UInt8Type>(batch, "purpose")?;
        let by_times = flags(batch, "by_times")?;
        let single = flags(batch, "single")?;
        let of_data = flags(batch, "of_data")?;
        for (row, ((call, mount), (call_time, reply_time))) in calls.zip(times).enumerate() {
            let known = Answer {
                mount: *mount,
                about: number(about, row),
                call_time: *call_time,
                reply_time: *reply_time,
                purpose: number(purpose, row).and_then(Question::of),
                by_times: flag(by_times, row) == Some(true),
                single: flag(single, row) == Some(true),
                of_data: flag(of_data, row) == Some(true),
            };
            self.calls.push(*call, known);
        }
        Ok(())
    }

    /// What clients were told, as rows for [`super::learned::Learning::take`], from rows as
    /// [`super::learned::Learning::take_said`] has them. The first batch is empty, for its columns.
    pub fn told(
        &mut self,
        said: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    ) -> Result<(RecordBatch, Vec<RecordBatch>), ArrowError> {
        let mut of = |said: &RecordBatch| {
            let (mut keys, mut rows) = (Vec::new(), Vec::new());
            self.each(said, |key, told| {
                if told.tells() {
                    keys.push(key);
                    rows.push(told);
                }
                Ok(())
            })?;
            batch(&keys, &rows)
        };
        Ok((batch(&[], &[])?, said.map(|said| of(&said?)).collect::<Result<_, _>>()?))
    }

    /// Reads rows of what replies said.
    pub(super) fn each(
        &mut self,
        said: &RecordBatch,
        mut tell: impl FnMut(Key, Told) -> Result<(), ArrowError>,
    ) -> Result<(), ArrowError> {
        let calls = whole::<UInt64Type>(said, "call")?;
        let places = whole::<UInt32Type>(said, "position")?.iter().zip(whole::<UInt32Type>(said, "file")?);
        let change = numbers(said, "change_id")?;
        let exact = flags(said, "exact")?;
        let before = numbers(said, "before")?;
        let exact_before = flags(said, "exact_before")?;
        let modified = flags(said, "modified")?;
        let modified_unless_v4 = flags(said, "modified_unless_v4")?;
        let asked = numbers::<UInt8Type>(said, "asked")?;
        let refused = flags(said, "refused")?;
        let verified = flags(said, "verified")?;
        let mut answered = self.calls.look_up();
        for (row, (call, (position, file))) in calls.iter().zip(places).enumerate() {
            let Some(of) = answered.find(*call) else { continue };
            let is = |column| flag(column, row) == Some(true);
            let usable = |exact| !of.of_data && (of.by_times || is(exact));
            let told = Told {
                call: *call,
                call_time: of.call_time,
                reply_time: of.reply_time,
                change: change_id(change, row).filter(|_| usable(exact)),
                before: change_id(before, row).filter(|_| usable(exact_before)),
                position: *position,
                question: match number(asked, row) {
                    Some(VERIFIED) => Some(Question::Verify),
                    Some(state) if of.about == Some(*file) && (state == STATE || of.by_times) => of.purpose,
                    _ => None,
                },
                verified: flag(verified, row),
                modified: is(modified) || of.by_times && is(modified_unless_v4),
                alone: flag(refused, row).unwrap_or(of.single),
            };
            tell((of.mount, *file), told)?;
        }
        Ok(())
    }
}

/// What was asked: a GETATTR for what shows changes,
const STATE: u8 = 1;

/// or whether the change attribute is still the same.
const VERIFIED: u8 = 2;

/// Rows as columns.
fn batch(keys: &[Key], rows: &[Told]) -> Result<RecordBatch, ArrowError> {
    let narrow = |values: &mut dyn Iterator<Item = u32>| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(values))
    };
    let times =
        |of: fn(&Told) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows.iter().map(of))) };
    let ids = |of: fn(&Told) -> Option<ChangeId>| -> ArrayRef {
        Arc::new(rows.iter().map(|told| of(told).map(NonZeroU64::get)).collect::<UInt64Array>())
    };
    let flags = |of: fn(&Told) -> Option<bool>| -> ArrayRef {
        Arc::new(rows.iter().map(of).collect::<BooleanArray>())
    };
    let question = rows.iter().map(|told| told.question.map(|question| question as u8));
    RecordBatch::try_from_iter_with_nullable([
        ("mount", narrow(&mut keys.iter().map(|key| key.0)), false),
        ("file", narrow(&mut keys.iter().map(|key| key.1)), false),
        (
            "call",
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|told| told.call))) as ArrayRef,
            false,
        ),
        ("position", narrow(&mut rows.iter().map(|told| told.position)), false),
        ("call_time", times(|told| told.call_time), false),
        ("reply_time", times(|told| told.reply_time), false),
        ("change_id", ids(|told| told.change), true),
        ("before", ids(|told| told.before), true),
        ("question", Arc::new(question.collect::<UInt8Array>()), true),
        ("modified", flags(|told| Some(told.modified)), false),
        ("alone", flags(|told| Some(told.alone)), false),
        ("verified", flags(|told| told.verified), true),
    ])
}
