//! What collects the values of a column until a batch leaves the core.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, UInt32Type, Utf8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, GenericByteArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::names::paths::text;
use crate::table::BATCH_ROWS;

/// An odd number without pattern (2^64 divided by the golden ratio), to spread what is multiplied by it.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows whose places are made at a time: few enough to be in the processor's first cache when their
/// values come.
const STEP: usize = 256;

/// What all columns without a value in a batch have in common; most columns are.
static ZEROS: LazyLock<Buffer> = LazyLock::new(|| Buffer::from_vec(vec![0_u64; BATCH_ROWS]));

/// The array of a column without a value in a batch: one serves for all batches of as many rows.
#[derive(Default)]
struct Void(Option<ArrayRef>);

impl Void {
    fn array(&mut self, rows: usize, make: impl FnOnce() -> ArrayRef) -> ArrayRef {
        match &self.0 {
            Some(array) if array.len() == rows => Arc::clone(array),
            _ => Arc::clone(self.0.insert(make())),
        }
    }
}

/// A row of a batch. Where its bit is in a column of bits is worked out once for all columns.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    at: usize,
    bit: u8,
}

impl Row {
    /// The row at this place, which is less than [`BATCH_ROWS`].
    #[inline]
    pub fn new(at: usize) -> Self {
        Self { at, bit: 1 << (at % 8) }
    }
}

/// A place for each row of a batch, all of them zero at first.
///
/// Room for the whole batch is taken with the first value: a value is then one store, and a row
/// without one costs nothing, which is what most columns are in most rows.
struct Slots<T> {
    values: Vec<T>,
    /// Nobody wants the values: none gets a place.
    unwanted: bool,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { values: Vec::new(), unwanted: false }
    }
}

impl<T: Copy + Default + ArrowNativeType> Slots<T> {
    #[inline]
    fn put(&mut self, row: Row, value: T) {
        match self.values.get_mut(row.at) {
            Some(slot) => *slot = value,
            None => self.grow(row, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, row: Row, value: T) {
        if self.unwanted {
            return;
        }
        self.values.reserve_exact(BATCH_ROWS.saturating_sub(self.values.len()));
        self.values.resize((row.at + 1).next_multiple_of(STEP), T::default());
        if let Some(slot) = self.values.get_mut(row.at) {
            *slot = value;
        }
    }

    /// Hands over the first `rows` values, and starts anew.
    fn finish(&mut self, rows: usize) -> ScalarBuffer<T> {
        let mut values = std::mem::take(&mut self.values);
        values.resize(rows, T::default());
        ScalarBuffer::from(values)
    }
}

/// One bit per row, all of them 0 at first.
struct Bits([u8; BATCH_ROWS / 8]);

impl Default for Bits {
    fn default() -> Self {
        Self([0; BATCH_ROWS / 8])
    }
}

impl Bits {
    #[inline]
    fn put(&mut self, row: Row, bit: bool) {
        if let Some(byte) = self.0.get_mut(row.at / 8) {
            *byte |= if bit { row.bit } else { 0 };
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, byte| all | byte) == 0
    }

    /// Hands over the bits of the first `rows` rows, and starts anew.
    fn finish(&mut self, rows: usize) -> BooleanBuffer {
        if self.is_empty() {
            return BooleanBuffer::new(ZEROS.clone(), 0, rows);
        }
        let buffer = Buffer::from(self.0.get(..rows.div_ceil(8)).unwrap_or_default());
        self.0.fill(0);
        BooleanBuffer::new(buffer, 0, rows)
    }
}

/// Which rows have a value. In a column that is never NULL all have, and nothing is written down.
#[derive(Default)]
struct Validity<const NULLABLE: bool>(Bits);

impl<const NULLABLE: bool> Validity<NULLABLE> {
    /// Notes that `row` has a value.
    #[inline]
    fn set(&mut self, row: Row) {
        if NULLABLE {
            self.0.put(row, true);
        }
    }

    /// Hands over which of `rows` rows have a value, and starts anew.
    fn finish(&mut self, rows: usize) -> Valid {
        if !NULLABLE {
            return Valid::All;
        }
        if self.0.is_empty() {
            return Valid::None;
        }
        let nulls = NullBuffer::new(self.0.finish(rows));
        if nulls.null_count() == 0 { Valid::All } else { Valid::Some(nulls) }
    }
}

/// Which rows of a batch have a value.
enum Valid {
    All,
    Some(NullBuffer),
    None,
}

/// That no row has a value.
fn no_values(rows: usize) -> NullBuffer {
    NullBuffer::new(BooleanBuffer::new(ZEROS.clone(), 0, rows))
}

/// What can be put into a column: a value, and where NULL may stand also none.
pub trait Value<T, const NULLABLE: bool> {
    /// The value.
    fn given(self) -> Option<T>;
}

impl<T, const NULLABLE: bool> Value<T, NULLABLE> for T {
    #[inline]
    fn given(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Value<T, true> for Option<T> {
    #[inline]
    fn given(self) -> Self {
        self
    }
}

/// What every collector of a column can do. Rows go from 0 to less than [`BATCH_ROWS`].
pub trait Collector {
    /// Says that nobody wants the column: what is put into it is forgotten.
    fn unwant(&mut self);

    /// Whether somebody wants it.
    fn wanted(&self) -> bool;
}

/// Numbers.
pub struct Numbers<T: ArrowPrimitiveType, const NULLABLE: bool> {
    values: Slots<T::Native>,
    validity: Validity<NULLABLE>,
    void: Void,
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Default for Numbers<T, NULLABLE> {
    fn default() -> Self {
        Self { values: Slots::default(), validity: Validity::default(), void: Void::default() }
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Numbers<T, NULLABLE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline]
    pub fn put(&mut self, row: Row, value: impl Value<T::Native, NULLABLE>) {
        if let Some(value) = value.given() {
            self.values.put(row, value);
            self.validity.set(row);
        }
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let nulls = match self.validity.finish(rows) {
            Valid::All => None,
            Valid::Some(nulls) => Some(nulls),
            Valid::None => {
                let zeros = || ScalarBuffer::new(ZEROS.clone(), 0, rows);
                let make = || Arc::new(PrimitiveArray::<T>::new(zeros(), Some(no_values(rows)))) as ArrayRef;
                return self.void.array(rows, make);
            }
        };
        Arc::new(PrimitiveArray::<T>::new(self.values.finish(rows), nulls))
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Collector for Numbers<T, NULLABLE> {
    fn unwant(&mut self) {
        self.values.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.values.unwanted
    }
}

/// Booleans.
#[derive(Default)]
pub struct Bools<const NULLABLE: bool> {
    unwanted: bool,
    values: Bits,
    validity: Validity<NULLABLE>,
}

impl<const NULLABLE: bool> Bools<NULLABLE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline]
    pub fn put(&mut self, row: Row, value: impl Value<bool, NULLABLE>) {
        if let Some(value) = value.given() {
            self.values.put(row, value);
            self.validity.set(row);
        }
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let nulls = match self.validity.finish(rows) {
            Valid::All => None,
            Valid::Some(nulls) => Some(nulls),
            Valid::None => Some(no_values(rows)),
        };
        Arc::new(BooleanArray::new(self.values.finish(rows), nulls))
    }
}

impl<const NULLABLE: bool> Collector for Bools<NULLABLE> {
    fn unwant(&mut self) {
        self.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.unwanted
    }
}

/// Texts or bytes of variable length, one behind the other.
struct Flat<const NULLABLE: bool> {
    unwanted: bool,
    /// Bytes of the batch before: this one will be much like it.
    before: usize,
    bytes: Vec<u8>,
    /// Where the values end, behind a 0; empty as long as there is none.
    ends: Vec<i32>,
    validity: Validity<NULLABLE>,
    void: Void,
}

impl<const NULLABLE: bool> Default for Flat<NULLABLE> {
    fn default() -> Self {
        Self {
            unwanted: false,
            before: 0,
            bytes: Vec::new(),
            ends: Vec::new(),
            validity: Validity::default(),
            void: Void::default(),
        }
    }
}

impl<const NULLABLE: bool> Flat<NULLABLE> {
    #[inline]
    fn put(&mut self, row: Row, value: &[u8]) {
        if self.ends.len() <= row.at && !self.reach(row) {
            return;
        }
        // Arrow could not tell where a longer one ends: nothing is put in its place.
        let end = match i32::try_from(self.bytes.len() + value.len()) {
            Ok(end) => {
                self.bytes.extend_from_slice(value);
                end
            }
            Err(_) => self.last_end(),
        };
        self.ends.push(end);
        self.validity.set(row);
    }

    /// Passes over the rows up to one that gets a value. `false` if nobody wants it.
    #[inline(never)]
    fn reach(&mut self, row: Row) -> bool {
        if self.unwanted {
            return false;
        }
        if self.ends.is_empty() {
            self.ends.reserve_exact(BATCH_ROWS + 1);
            self.bytes.reserve_exact(self.before + self.before / 8);
        }
        self.pass_over(row.at);
        true
    }

    /// Lets all values before a row end that have not.
    fn pass_over(&mut self, row: usize) {
        self.ends.resize((row + 1).max(self.ends.len()), self.last_end());
    }

    fn last_end(&self) -> i32 {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The values of `rows` rows as an Arrow array.
    fn finish<T: ByteArrayType<Offset = i32>>(&mut self, rows: usize) -> ArrayRef {
        if self.ends.is_empty() {
            return self.void.array(rows, || Arc::new(GenericByteArray::<T>::new_null(rows)));
        }
        self.before = self.bytes.len();
        self.pass_over(rows);
        let nulls = match self.validity.finish(rows) {
            Valid::All => None,
            Valid::Some(nulls) => Some(nulls),
            Valid::None => Some(no_values(rows)),
        };
        let ends = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.ends)));
        let bytes = Buffer::from_vec(std::mem::take(&mut self.bytes));
        match GenericByteArray::<T>::try_new(ends.clone(), bytes.clone(), nulls.clone()) {
            Ok(array) => Arc::new(array),
            Err(_) => escaped::<T>(&ends, &bytes, nulls),
        }
    }
}

/// An array of texts some of which are not UTF-8.
#[cold]
#[inline(never)]
fn escaped<T: ByteArrayType<Offset = i32>>(
    ends: &OffsetBuffer<i32>,
    bytes: &[u8],
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let rows = ends.len() - 1;
    let mut texts = Flat::<false>::default();
    for (at, bounds) in ends.windows(2).enumerate() {
        if let [start, end] = *bounds {
            let [start, end] = [start, end].map(|end| end.cast_unsigned() as usize);
            let value = bytes.get(start..end).unwrap_or_default();
            texts.put(Row::new(at), text(value).as_bytes());
        }
    }
    let ends = OffsetBuffer::new(ScalarBuffer::from(texts.ends));
    GenericByteArray::<T>::try_new(ends, Buffer::from_vec(texts.bytes), nulls)
        .map_or_else(|_| Arc::new(GenericByteArray::<T>::new_null(rows)) as ArrayRef, |array| Arc::new(array))
}

/// Free texts, as bytes: whether they are UTF-8 is looked at once for all of a batch, which takes a
/// tenth of what it takes for each. What is not is escaped as of [`text`].
#[derive(Default)]
pub struct Strings<const NULLABLE: bool>(Flat<NULLABLE>);

impl<const NULLABLE: bool> Strings<NULLABLE> {
    /// Writes the value of a row; rows come in order. Without one, and where rows are passed over, it is
    /// NULL.
    #[inline]
    pub fn put<'a>(&mut self, row: Row, value: impl Value<&'a [u8], NULLABLE>) {
        if let Some(value) = value.given() {
            self.0.put(row, value);
        }
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        self.0.finish::<Utf8Type>(rows)
    }
}

impl<const NULLABLE: bool> Collector for Strings<NULLABLE> {
    fn unwant(&mut self) {
        self.0.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.0.unwanted
    }
}

/// Byte strings.
#[derive(Default)]
pub struct Blobs<const NULLABLE: bool>(Flat<NULLABLE>);

impl<const NULLABLE: bool> Blobs<NULLABLE> {
    /// Writes the value of a row; rows come in order. Without one, and where rows are passed over, it is
    /// NULL.
    #[inline]
    pub fn put<'a>(&mut self, row: Row, value: impl Value<&'a [u8], NULLABLE>) {
        if let Some(value) = value.given() {
            self.0.put(row, value);
        }
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        self.0.finish::<BinaryType>(rows)
    }
}

impl<const NULLABLE: bool> Collector for Blobs<NULLABLE> {
    fn unwant(&mut self) {
        self.0.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.0.unwanted
    }
}

/// The value of a column of names.
#[derive(Clone, Copy, Debug)]
pub enum Naming {
    /// A name that stands in the code.
    Name(&'static str),
    /// A number and what tells its name, which is asked once as long as the number comes again and
    /// again. A column of numbers has one meaning for each; one without a name is NULL.
    Number(u64, fn(u64) -> Option<&'static str>),
}

/// Names that stand in the code: each is written once in a dictionary, and known by its address or
/// its number.
#[derive(Default)]
pub struct Names<const NULLABLE: bool>(Words<NULLABLE>);

impl<const NULLABLE: bool> Names<NULLABLE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Each caller knows which kind it has.
    pub fn put(&mut self, row: Row, value: impl Value<Naming, NULLABLE>) {
        let key = match value.given() {
            Some(Naming::Name(name)) => Some(self.0.name(name)),
            Some(Naming::Number(number, name)) => self.0.number(number, name),
            None => None,
        };
        if let Some(key) = key {
            self.0.put_key(row, key);
        }
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        self.0.finish(rows)
    }
}

impl<const NULLABLE: bool> Collector for Names<NULLABLE> {
    fn unwant(&mut self) {
        self.0.unwant();
    }

    fn wanted(&self) -> bool {
        self.0.wanted()
    }
}

/// Where a number is remembered: standards that number alike, as those of statuses, differ in the upper
/// half.
fn numbered_place(number: u64) -> usize {
    (number ^ number >> 32) as usize % RECENT_NUMBERS
}

/// Where a name is remembered.
fn place(address: usize) -> usize {
    (address ^ (address >> 7)) % RECENT_NAMES
}

/// A text that comes again and again. It remembers its key in the column that it was written to last.
#[derive(Debug, Default)]
pub struct Word {
    text: String,
    /// The dictionary of a column, and the key there.
    known: Cell<(u64, u32)>,
}

impl Word {
    /// A word of this text.
    pub fn new(text: String) -> Self {
        Self { text, known: Cell::default() }
    }

    /// Makes it another word.
    pub fn set(&mut self, text: &str) {
        self.text.clear();
        self.text.push_str(text);
        self.known.take();
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The value of a column of words: a word, or a text that is no word yet.
#[derive(Clone, Copy, Debug)]
pub enum Wording<'a> {
    /// One that comes again and again.
    Word(&'a Word),
    /// One that stands in the code.
    Name(&'static str),
    /// Any other text.
    Text(&'a str),
}

/// Dictionaries begun so far: a number for each, in whatever column it is, and never 0.
static DICTIONARIES: AtomicU64 = AtomicU64::new(1);

/// Texts from a small set: each is written once in a dictionary, which serves for many batches.
pub struct Words<const NULLABLE: bool> {
    /// Number of the dictionary.
    dictionary: u64,
    keys: Slots<u32>,
    validity: Validity<NULLABLE>,
    void: Void,
    distinct: Distinct,
    /// What the batch before left with, as long as the dictionary is the same.
    left: Option<ArrayRef>,
    by_text: HashTable<u32>,
    hasher: RandomState,
    /// Words written before, with their keys; the place is chosen by the mark.
    recent: Vec<(Mark, u32)>,
    /// Address and length of names written before, with their keys; the place is chosen by the address.
    named: [(usize, u32, u32); RECENT_NAMES],
    /// Numbers whose names were written before, with their keys; the place is chosen by the number.
    numbered: [(u64, u32); RECENT_NUMBERS],
}

/// Names remembered by address; a power of two above the number of operations that are common.
const RECENT_NAMES: usize = 128;

/// Numbers remembered; a power of two above that of classes, and of statuses that are common.
const RECENT_NUMBERS: usize = 16;

/// What no column has for a number.
const NO_NUMBER: u64 = u64::MAX;

/// Words remembered by their marks; a power of two above the number that alternate.
const RECENT_WORDS: usize = 64;

/// Words of a dictionary, and their bytes, above which the next batch begins another.
const FULL_DICTIONARY: (usize, usize) = (1 << 14, 1 << 19);

impl<const NULLABLE: bool> Default for Words<NULLABLE> {
    fn default() -> Self {
        Self {
            dictionary: DICTIONARIES.fetch_add(1, Ordering::Relaxed),
            keys: Slots::default(),
            validity: Validity::default(),
            void: Void::default(),
            distinct: Distinct::default(),
            left: None,
            by_text: HashTable::default(),
            hasher: RandomState::default(),
            recent: Vec::new(),
            named: [(0, 0, 0); RECENT_NAMES],
            numbered: [(NO_NUMBER, 0); RECENT_NUMBERS],
        }
    }
}

impl<const NULLABLE: bool> Words<NULLABLE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Each caller knows which kind it has.
    pub fn put<'a>(&mut self, row: Row, value: impl Value<Wording<'a>, NULLABLE>) {
        let Some(value) = value.given() else { return };
        if self.keys.unwanted {
            return;
        }
        let key = match value {
            Wording::Word(word) => self.word(word),
            Wording::Name(name) => self.name(name),
            Wording::Text(text) => self.key(text),
        };
        self.put_key(row, key);
    }

    #[inline]
    fn word(&mut self, word: &Word) -> u32 {
        let (dictionary, key) = word.known.get();
        if dictionary == self.dictionary {
            return key;
        }
        let key = self.key(&word.text);
        word.known.set((self.dictionary, key));
        key
    }

    #[inline]
    fn name(&mut self, name: &'static str) -> u32 {
        let (address, length) = (name.as_ptr().addr(), name.len() as u32);
        match self.named.get(place(address)) {
            Some(&(known, same, key)) if known == address && same == length => key,
            _ => self.meet(name),
        }
    }

    #[inline]
    fn number(&mut self, number: u64, name: fn(u64) -> Option<&'static str>) -> Option<u32> {
        match self.numbered.get(numbered_place(number)) {
            Some(&(known, key)) if known == number => Some(key),
            _ => self.meet_number(number, name),
        }
    }

    #[cold]
    #[inline(never)]
    fn meet_number(&mut self, number: u64, name: fn(u64) -> Option<&'static str>) -> Option<u32> {
        let key = self.key(name(number)?);
        if let Some(slot) = self.numbered.get_mut(numbered_place(number)) {
            *slot = (number, key);
        }
        Some(key)
    }

    #[cold]
    #[inline(never)]
    fn meet(&mut self, name: &'static str) -> u32 {
        let key = self.key(name);
        let address = name.as_ptr().addr();
        if let Some(slot) = self.named.get_mut(place(address)) {
            *slot = (address, name.len() as u32, key);
        }
        key
    }

    #[inline]
    fn put_key(&mut self, row: Row, key: u32) {
        self.keys.put(row, key);
        self.validity.set(row);
    }

    /// The values of `rows` rows as an Arrow array. Its dictionary may have words of batches before.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let nulls = match self.validity.finish(rows) {
            Valid::All => None,
            Valid::Some(nulls) => Some(nulls),
            Valid::None => {
                return self.void.array(rows, || {
                    let keys = ScalarBuffer::new(ZEROS.clone(), 0, rows);
                    let keys = PrimitiveArray::<UInt32Type>::new(keys, Some(no_values(rows)));
                    // Keys of NULLs must point somewhere.
                    Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(vec![""]))))
                });
            }
        };
        let keys = PrimitiveArray::<UInt32Type>::new(self.keys.finish(rows), nulls);
        let words = self.words();
        if words.len() > FULL_DICTIONARY.0 || self.distinct.data.len() > FULL_DICTIONARY.1 {
            self.begin();
        }
        debug_assert!(keys.values().iter().all(|key| (*key as usize) < words.len()));
        Arc::new(DictionaryArray::new(keys, words))
    }

    /// The dictionary as it is now.
    fn words(&mut self) -> ArrayRef {
        let count = self.distinct.ends.len() - 1;
        if count == 0 {
            return Arc::new(StringArray::from(vec![""])); // Keys of NULLs must point somewhere.
        }
        if let Some(left) = &self.left
            && left.len() == count
        {
            return Arc::clone(left);
        }
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.distinct.ends.clone()));
        let texts = Buffer::from_vec(self.distinct.data.clone());
        let words: ArrayRef = Arc::new(StringArray::new(ends, texts, None));
        Arc::clone(self.left.insert(words))
    }

    /// Begins another dictionary.
    fn begin(&mut self) {
        self.dictionary = DICTIONARIES.fetch_add(1, Ordering::Relaxed);
        self.distinct = Distinct::default();
        self.left = None;
        self.by_text.clear();
        self.recent.clear();
        self.named.fill((0, 0, 0));
        self.numbered.fill((NO_NUMBER, 0));
    }

    #[inline]
    fn key(&mut self, value: &str) -> u32 {
        let mark = Mark::of(value.as_bytes());
        match self.recent.get(mark.place()) {
            Some(&(known, key)) if known == mark && (mark.is_whole() || self.is(key, value)) => key,
            _ => self.look_up(mark, value),
        }
    }

    fn is(&self, key: u32, value: &str) -> bool {
        self.distinct.word(key) == value.as_bytes()
    }

    #[inline(never)]
    fn look_up(&mut self, mark: Mark, value: &str) -> u32 {
        if self.recent.is_empty() {
            self.recent.resize(RECENT_WORDS, (Mark::NONE, 0));
        }
        let hash = self.hasher.hash_one(value.as_bytes());
        let found = self.by_text.find(hash, |key| self.is(*key, value)).copied();
        let key = found.unwrap_or_else(|| {
            let key = (self.distinct.ends.len() - 1) as u32;
            self.distinct.push(value);
            let (words, hasher) = (&self.distinct, &self.hasher);
            self.by_text.insert_unique(hash, key, |key| hasher.hash_one(words.word(*key)));
            key
        });
        if let Some(slot) = self.recent.get_mut(mark.place()) {
            *slot = (mark, key);
        }
        key
    }
}

impl<const NULLABLE: bool> Collector for Words<NULLABLE> {
    fn unwant(&mut self) {
        self.keys.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.keys.unwanted
    }
}

/// What tells words apart without comparing them: the length, the first eight bytes and the last
/// eight. Up to sixteen bytes that is all of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    length: usize,
    head: u64,
    tail: u64,
}

impl Mark {
    /// Of no word: none is as long.
    const NONE: Self = Self { length: usize::MAX, head: 0, tail: 0 };

    #[inline]
    fn of(word: &[u8]) -> Self {
        let (head, tail) = if let (Some(head), Some(tail)) = (word.first_chunk::<8>(), word.last_chunk::<8>())
        {
            (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
        } else if let (Some(head), Some(tail)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            (u64::from(u32::from_le_bytes(*head)), u64::from(u32::from_le_bytes(*tail)))
        } else {
            (word.iter().fold(0, |head, byte| head << 8 | u64::from(*byte)), 0)
        };
        Self { length: word.len(), head, tail }
    }

    /// Whether the words of equal marks are equal.
    fn is_whole(self) -> bool {
        self.length <= 16
    }

    /// Where a word is remembered.
    fn place(self) -> usize {
        let mixed = (self.head.rotate_left(29) ^ self.tail).wrapping_add(self.length as u64);
        (mixed.wrapping_mul(SPREAD) >> 32) as usize % RECENT_WORDS
    }
}

/// The words of a dictionary, one behind the other.
struct Distinct {
    data: Vec<u8>,
    ends: Vec<i32>,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { data: Vec::new(), ends: vec![0] }
    }
}

impl Distinct {
    fn push(&mut self, word: &str) {
        self.data.extend_from_slice(word.as_bytes());
        self.ends.push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    fn word(&self, key: u32) -> &[u8] {
        let end = |at: usize| self.ends.get(at).map_or(0, |end| end.cast_unsigned() as usize);
        self.data.get(end(key as usize)..end(key as usize + 1)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn words_are_written_once_and_nulls_stay_null() {
        let mut words = Words::<true>::default();
        for (row, value) in [(1, "READ"), (2, "WRITE"), (3, "READ")] {
            words.put(Row::new(row), Wording::Text(value));
        }
        let array = words.finish(5);
        let dictionary = array.as_dictionary::<UInt32Type>();
        assert_eq!(dictionary.values().len(), 2);
        let texts: StringArray = dictionary.values().as_string::<i32>().clone();
        let back: Vec<_> =
            dictionary.keys().iter().map(|key| key.map(|key| texts.value(key as usize).to_owned())).collect();
        assert_eq!(back, [None, Some("READ".into()), Some("WRITE".into()), Some("READ".into()), None]);
    }

    #[test]
    fn words_that_differ_in_any_byte_are_told_apart() {
        let mut words = Words::<false>::default();
        let mut expected = Vec::new();
        for length in 0..40 {
            let plain = vec!["a"; length].concat();
            expected.push(plain.clone());
            for at in 0..length {
                let mut other = plain.clone();
                other.replace_range(at..=at, "b");
                expected.extend([other, plain.clone()]);
            }
        }
        for (row, word) in expected.iter().enumerate() {
            words.put(Row::new(row), Wording::Text(word));
        }
        let array = words.finish(expected.len());
        let texts = array.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
        assert_eq!(texts.into_iter().map(Option::unwrap).collect::<Vec<_>>(), expected);
        assert_eq!(texts.values().len(), (0..40).map(|length| length + 1).sum::<usize>());
    }

    #[test]
    fn a_word_has_its_key_in_each_batch_of_each_column() {
        let (mut one, mut other) = (Words::<false>::default(), Words::<false>::default());
        let (read, mut write) = (Word::new("READ".to_owned()), Word::new("WRITE".to_owned()));
        for _ in 0..2 {
            one.put(Row::new(0), Wording::Text("LOOKUP"));
            one.put(Row::new(1), Wording::Word(&read));
            other.put(Row::new(0), Wording::Word(&read));
            one.put(Row::new(2), Wording::Word(&read));
            one.put(Row::new(3), Wording::Word(&write));
            write.set("COMMIT");
            one.put(Row::new(4), Wording::Word(&write));
            write.set("WRITE");
            for (column, expected) in [
                (&mut other, ["READ"].as_slice()),
                (&mut one, ["LOOKUP", "READ", "READ", "WRITE", "COMMIT"].as_slice()),
            ] {
                let array = column.finish(expected.len());
                let texts = array.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
                assert_eq!(texts.into_iter().map(Option::unwrap).collect::<Vec<_>>(), expected);
            }
        }
    }

    /// The texts of an array of words, and how many its dictionary has.
    fn read(array: &ArrayRef) -> (Vec<&str>, usize) {
        let texts = array.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
        (texts.into_iter().map(Option::unwrap).collect(), texts.values().len())
    }

    #[test]
    fn a_dictionary_serves_for_many_batches() {
        let mut words = Words::<false>::default();
        let known = Word::new("READ".to_owned());
        let batches = [["READ", "LOOKUP"], ["LOOKUP", "READ"], ["READ", "WRITE"]].map(|batch| {
            for (row, word) in batch.into_iter().enumerate() {
                let known = Wording::Word(&known);
                words.put(Row::new(row), if word == "READ" { known } else { Wording::Text(word) });
            }
            words.finish(2)
        });
        let [first, second, third] = &batches;
        assert_eq!(read(first), (vec!["READ", "LOOKUP"], 2));
        assert_eq!(read(second), (vec!["LOOKUP", "READ"], 2));
        assert_eq!(read(third), (vec!["READ", "WRITE"], 3));
        let values = |array: &ArrayRef| array.as_dictionary::<UInt32Type>().values().to_data();
        assert!(values(first).ptr_eq(&values(second)), "copied although nothing came to it");
    }

    #[test]
    fn a_dictionary_that_is_long_is_left_for_another() {
        let mut words = Words::<false>::default();
        let (name, word) = ("READ", Word::new("of a client".to_owned()));
        let mut lengths = Vec::new();
        for batch in 0..8 {
            let hosts: Vec<String> = (2..BATCH_ROWS).map(|row| format!("client {batch} {row}")).collect();
            words.put(Row::new(0), Wording::Name(name));
            words.put(Row::new(1), Wording::Word(&word));
            for (row, host) in hosts.iter().enumerate() {
                words.put(Row::new(2 + row), Wording::Text(host));
            }
            let array = words.finish(BATCH_ROWS);
            let (texts, length) = read(&array);
            assert_eq!(texts[..2], [name, word.text()]);
            assert_eq!(texts[2..], hosts);
            lengths.push(length);
        }
        let limit = FULL_DICTIONARY.0;
        assert!(lengths.iter().all(|length| *length <= limit + BATCH_ROWS), "{lengths:?}");
        assert!(lengths.windows(2).any(|pair| pair[0] > pair[1]), "{lengths:?}");
        // Few that are long take as much.
        words.put(Row::new(0), Wording::Text(&"long ".repeat(FULL_DICTIONARY.1)));
        words.finish(1);
        words.put(Row::new(0), Wording::Text("short"));
        assert_eq!(read(&words.finish(1)), (vec!["short"], 1));
    }

    #[test]
    fn what_nobody_wants_takes_no_memory() {
        let (mut numbers, mut words) = (Numbers::<UInt32Type, true>::default(), Words::<true>::default());
        let (mut texts, mut bools) = (Strings::<true>::default(), Bools::<true>::default());
        let mut names = Names::<true>::default();
        let columns: [&mut dyn Collector; 5] = [&mut numbers, &mut words, &mut names, &mut texts, &mut bools];
        for column in columns {
            assert!(column.wanted());
            column.unwant();
            assert!(!column.wanted());
        }
        for row in 0..1000 {
            numbers.put(Row::new(row), 7);
            words.put(Row::new(row), Wording::Text("READ"));
            names.put(Row::new(row), Naming::Name("READ"));
            texts.put(Row::new(row), b"file".as_slice());
            bools.put(Row::new(row), true);
        }
        assert!(numbers.values.values.is_empty() && names.0.keys.values.is_empty());
        assert!(words.keys.values.is_empty() && words.distinct.data.is_empty());
        assert!(texts.0.bytes.is_empty() && texts.0.ends.is_empty());
    }

    #[test]
    fn a_batch_of_nulls_alone_is_valid() {
        assert_eq!(Words::<true>::default().finish(1).null_count(), 1);
        assert_eq!(Bools::<true>::default().finish(9).null_count(), 9);
        assert_eq!(Blobs::<true>::default().finish(3).null_count(), 3);
        let mut numbers = Numbers::<UInt32Type, true>::default();
        assert_eq!(numbers.finish(BATCH_ROWS).null_count(), BATCH_ROWS);
        numbers.put(Row::new(0), 1);
        assert_eq!(numbers.finish(2).null_count(), 1);
        assert_eq!(numbers.finish(0).len(), 0);
    }

    #[test]
    fn numbers_are_written_by_their_names() {
        let name = |number: u64| match number {
            0 => Some("NFS3_OK"),
            2 => Some("NFS3ERR_NOENT"),
            18 => Some("NFS3ERR_XDEV"), // In the place of 2.
            _ => None,
        };
        let mut names = Names::<true>::default();
        for _ in 0..2 {
            for (row, number) in [0, 2, 18, 7, 2, 0].into_iter().enumerate() {
                names.put(Row::new(row), Naming::Number(number, name));
            }
            names.put(Row::new(6), Naming::Name("NFS3_OK"));
            names.put(Row::new(7), None);
            let array = names.finish(8);
            let texts = array.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
            let (ok, none, device) = (Some("NFS3_OK"), Some("NFS3ERR_NOENT"), Some("NFS3ERR_XDEV"));
            assert_eq!(texts.into_iter().collect::<Vec<_>>(), [ok, none, device, None, none, ok, ok, None]);
            assert_eq!(texts.values().len(), 3);
        }
    }

    #[test]
    fn texts_are_those_put_and_null_elsewhere() {
        let mut texts = Strings::<true>::default();
        for _ in 0..2 {
            texts.put(Row::new(2), b"a".as_slice());
            texts.put(Row::new(3), None);
            texts.put(Row::new(4), b"".as_slice());
            texts.put(Row::new(BATCH_ROWS - 1), "ü".as_bytes());
            let array = texts.finish(BATCH_ROWS);
            let values = array.as_string::<i32>();
            assert_eq!(
                values.iter().take(6).collect::<Vec<_>>(),
                [None, None, Some("a"), None, Some(""), None]
            );
            assert_eq!((values.value(BATCH_ROWS - 1), array.null_count()), ("ü", BATCH_ROWS - 3));
        }
        let dense = &mut Strings::<false>::default();
        (0..3).for_each(|row| dense.put(Row::new(row), b"a".as_slice()));
        assert_eq!((dense.finish(3).null_count(), dense.finish(0).len()), (0, 0));
    }

    #[test]
    fn texts_that_are_not_utf8_are_escaped_whatever_stands_beside_them() {
        let halves = "\u{1f600}".as_bytes().split_at(2);
        let values: [&[u8]; 7] = [b"a", b"caf\xe9", "\u{e9}".as_bytes(), halves.0, halves.1, b"", b"\\x"];
        for wrong in [[].as_slice(), &[1], &[3, 4], &[4], &[0, 1, 2, 3, 4, 5, 6]] {
            let mut texts = Strings::<true>::default();
            let expected: Vec<_> = (0..20)
                .map(|row| {
                    let value = if row < 7 && wrong.contains(&row) { values[row] } else { b"plain" };
                    (row % 8 != 7).then(|| {
                        texts.put(Row::new(row), value);
                        text(value).into_owned()
                    })
                })
                .collect();
            let array = texts.finish(20);
            let told = array.as_string::<i32>().iter().map(|text| text.map(str::to_owned));
            assert_eq!(told.collect::<Vec<_>>(), expected, "{wrong:?}");
        }
    }

    #[test]
    fn rows_passed_over_are_null_wherever_they_are() {
        for filled in [vec![], vec![0], vec![7, 8, 9], (0..20).collect(), vec![0, 1, 2, 15, 16, 19]] {
            let (mut numbers, mut bools, mut blobs) =
                (Numbers::<UInt32Type, true>::default(), Bools::<true>::default(), Blobs::<true>::default());
            for &row in &filled {
                numbers.put(Row::new(row), row as u32);
                bools.put(Row::new(row), row % 2 == 1);
                blobs.put(Row::new(row), [row as u8].as_slice());
            }
            let expected: Vec<Option<u32>> =
                (0..20).map(|row| filled.contains(&(row as usize)).then_some(row)).collect();
            let array = numbers.finish(20);
            assert_eq!(array.as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), expected);
            let array = bools.finish(20);
            let odd = |value: &Option<u32>| value.map(|value| value % 2 == 1);
            assert_eq!(
                array.as_boolean().iter().collect::<Vec<_>>(),
                expected.iter().map(odd).collect::<Vec<_>>()
            );
            let array = blobs.finish(20);
            let bytes: Vec<_> = array.as_binary::<i32>().iter().map(|b| b.map(|b| u32::from(b[0]))).collect();
            assert_eq!(bytes, expected);
        }
    }
}
