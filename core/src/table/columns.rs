//! What collects the values of a column until a batch leaves the core.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::table::BATCH_ROWS;

/// Rows for which room is made: a batch, and the operations of a last call of usual length.
const ROOM: usize = BATCH_ROWS + 64;

/// An odd number without pattern (2^64 divided by the golden ratio), to spread what is multiplied by it.
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows whose places are made at a time: few enough to be in the processor's first cache when their
/// values come.
const STEP: usize = 256;

/// What all columns without a value in a batch have in common; most columns are.
static ZEROS: LazyLock<Buffer> = LazyLock::new(|| Buffer::from_vec(vec![0_u64; ROOM]));

/// So many zeros.
fn zeros<T: ArrowNativeType>(length: usize) -> ScalarBuffer<T> {
    if length <= ROOM {
        ScalarBuffer::new(ZEROS.clone(), 0, length)
    } else {
        ScalarBuffer::from(vec![T::default(); length])
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

impl<T: Copy + Default> Slots<T> {
    #[inline]
    fn get_mut(&mut self, at: usize, room: usize) -> Option<&mut T> {
        if at >= self.values.len() {
            self.grow(at, room);
        }
        self.values.get_mut(at)
    }

    #[cold]
    fn grow(&mut self, at: usize, room: usize) {
        if self.unwanted {
            return;
        }
        let all = (at + 1).next_multiple_of(room);
        self.values.reserve_exact(all - self.values.len());
        self.values.resize((at + 1).next_multiple_of(STEP).min(all), T::default());
    }

    /// The first `length` values; `None` when there is none but zero.
    fn finish(&mut self, length: usize) -> Option<Vec<T>> {
        let mut values = std::mem::take(&mut self.values);
        (!values.is_empty()).then(|| {
            values.resize(length, T::default());
            values
        })
    }
}

impl<T: Copy + Default + ArrowNativeType> Slots<T> {
    /// The same for Arrow.
    fn buffer(&mut self, length: usize) -> ScalarBuffer<T> {
        self.finish(length).map_or_else(|| zeros(length), ScalarBuffer::from)
    }
}

/// One bit per row, all of them 0 at first.
#[derive(Default)]
struct Bits(Slots<u8>);

impl Bits {
    #[inline]
    fn set(&mut self, row: usize) {
        if let Some(byte) = self.0.get_mut(row / 8, ROOM / 8) {
            *byte |= 1 << (row % 8);
        }
    }

    /// Sets the bits of the first `rows` rows.
    fn set_first(&mut self, rows: usize) {
        self.set(rows.saturating_sub(1));
        let bytes = rows / 8;
        if let Some(whole) = self.0.values.get_mut(..bytes) {
            whole.fill(u8::MAX);
        }
        (bytes * 8..rows).for_each(|row| self.set(row));
    }

    /// The bits of the first `rows` rows.
    fn finish(&mut self, rows: usize) -> BooleanBuffer {
        BooleanBuffer::new(self.0.buffer(rows.div_ceil(8)).into_inner(), 0, rows)
    }
}

/// Which rows have a value. In a column that is never NULL all have, and nothing is written down.
#[derive(Default)]
struct Validity<const NULLABLE: bool> {
    /// So many rows at first all have one. In columns that are seldom NULL that is all of them.
    leading: usize,
    /// Those that have one of the rows after them.
    others: Bits,
}

impl<const NULLABLE: bool> Validity<NULLABLE> {
    /// Notes that `row` has a value.
    #[inline]
    fn set(&mut self, row: usize) {
        if NULLABLE && row == self.leading {
            self.leading += 1;
        } else if NULLABLE {
            self.others.set(row);
        }
    }

    /// Which of `rows` rows have a value; `None` when all have.
    fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        let leading = std::mem::take(&mut self.leading);
        if !NULLABLE || leading >= rows {
            return None;
        }
        if leading > 0 {
            self.others.set_first(leading);
        }
        Some(NullBuffer::new(self.others.finish(rows)))
    }
}

/// What every collector of a column can do.
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
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Default for Numbers<T, NULLABLE> {
    fn default() -> Self {
        Self { values: Slots::default(), validity: Validity::default() }
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Numbers<T, NULLABLE> {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: T::Native) {
        if let Some(slot) = self.values.get_mut(row, ROOM) {
            *slot = value;
        }
        self.validity.set(row);
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let values = self.values.buffer(rows);
        Arc::new(PrimitiveArray::<T>::new(values, self.validity.finish(rows)))
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool> Collector for Numbers<T, NULLABLE> {
    fn unwant(&mut self) {
        self.values.unwanted = true;
        self.validity.others.0.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.values.unwanted
    }
}

/// Booleans.
#[derive(Default)]
pub struct Bools<const NULLABLE: bool> {
    values: Bits,
    validity: Validity<NULLABLE>,
}

impl<const NULLABLE: bool> Bools<NULLABLE> {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: bool) {
        if value {
            self.values.set(row);
        }
        self.validity.set(row);
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        Arc::new(BooleanArray::new(self.values.finish(rows), self.validity.finish(rows)))
    }
}

impl<const NULLABLE: bool> Collector for Bools<NULLABLE> {
    fn unwant(&mut self) {
        self.values.0.unwanted = true;
        self.validity.others.0.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.values.0.unwanted
    }
}

/// Bytes of variable length, one value behind the other.
struct Flat<const NULLABLE: bool> {
    unwanted: bool,
    /// Bytes and values of the batch before: this one will be much like it.
    before: (usize, usize),
    data: Vec<u8>,
    ends: Vec<i32>,
    validity: Validity<NULLABLE>,
}

impl<const NULLABLE: bool> Default for Flat<NULLABLE> {
    fn default() -> Self {
        Self {
            unwanted: false,
            before: (0, 0),
            data: Vec::new(),
            ends: vec![0],
            validity: Validity::default(),
        }
    }
}

impl<const NULLABLE: bool> Flat<NULLABLE> {
    #[inline]
    fn put(&mut self, row: usize, value: &[u8]) {
        if self.unwanted {
            return;
        }
        if self.data.is_empty() {
            self.data.reserve_exact(self.before.0);
            self.ends.reserve_exact(self.before.1);
        }
        self.pad(row);
        self.validity.set(row);
        self.data.extend_from_slice(value);
        self.ends.push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    /// Writes empty values up to `row`, in the place of NULLs.
    #[inline]
    fn pad(&mut self, row: usize) {
        if self.ends.len() <= row {
            let end = self.ends.last().copied().unwrap_or_default();
            self.ends.resize(row + 1, end);
        }
    }

    fn finish(&mut self, rows: usize) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        let ends = if self.ends.len() > 1 {
            self.pad(rows);
            ScalarBuffer::from(std::mem::replace(&mut self.ends, vec![0]))
        } else {
            zeros(rows + 1)
        };
        let data = std::mem::take(&mut self.data);
        self.before = (data.len(), ends.len());
        (OffsetBuffer::new(ends), Buffer::from_vec(data), self.validity.finish(rows))
    }
}

/// Free texts.
#[derive(Default)]
pub struct Strings<const NULLABLE: bool>(Flat<NULLABLE>);

impl<const NULLABLE: bool> Strings<NULLABLE> {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    pub fn put(&mut self, row: usize, value: &str) {
        self.0.put(row, value.as_bytes());
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let (offsets, values, nulls) = self.0.finish(rows);
        Arc::new(StringArray::new(offsets, values, nulls))
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
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: &[u8]) {
        self.0.put(row, value);
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let (offsets, values, nulls) = self.0.finish(rows);
        Arc::new(BinaryArray::new(offsets, values, nulls))
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

/// Names that stand in the code: each is written once in a batch, and known by its address.
#[derive(Default)]
pub struct Names<const NULLABLE: bool>(Words<NULLABLE>);

impl<const NULLABLE: bool> Names<NULLABLE> {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: &'static str) {
        let key = self.0.name(value);
        self.0.put_key(row, key);
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

impl Default for Wording<'_> {
    fn default() -> Self {
        Self::Text("")
    }
}

/// Dictionaries begun so far: a number for each, in whatever column it is, and never 0.
static DICTIONARIES: AtomicU64 = AtomicU64::new(1);

/// Texts from a small set: each is written once in a dictionary, which serves for many batches.
pub struct Words<const NULLABLE: bool> {
    /// Number of the dictionary.
    dictionary: u64,
    keys: Slots<u32>,
    validity: Validity<NULLABLE>,
    distinct: Flat<false>,
    /// What the batch before left with, as long as the dictionary is the same.
    left: Option<ArrayRef>,
    by_text: HashTable<u32>,
    hasher: RandomState,
    /// Words written before, with their keys; the place is chosen by the mark.
    recent: Vec<(Mark, u32)>,
    /// Address and length of names written before, with their keys; the place is chosen by the address.
    named: Vec<(usize, usize, u32)>,
}

/// Names remembered by address; a power of two above the number of operations that are common.
const RECENT_NAMES: usize = 128;

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
            distinct: Flat::default(),
            left: None,
            by_text: HashTable::default(),
            hasher: RandomState::default(),
            recent: Vec::new(),
            named: Vec::new(),
        }
    }
}

impl<const NULLABLE: bool> Words<NULLABLE> {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Each caller knows which kind it has.
    pub fn put(&mut self, row: usize, value: Wording<'_>) {
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
        let (address, length) = (name.as_ptr().addr(), name.len());
        match self.named.get(place(address)) {
            Some(&(known, same, key)) if known == address && same == length => key,
            _ => self.meet(name),
        }
    }

    #[cold]
    fn meet(&mut self, name: &'static str) -> u32 {
        if self.named.is_empty() {
            self.named.resize(RECENT_NAMES, (0, 0, 0));
        }
        let key = self.key(name);
        let address = name.as_ptr().addr();
        if let Some(slot) = self.named.get_mut(place(address)) {
            *slot = (address, name.len(), key);
        }
        key
    }

    #[inline]
    fn put_key(&mut self, row: usize, key: u32) {
        if let Some(slot) = self.keys.get_mut(row, ROOM) {
            *slot = key;
        }
        self.validity.set(row);
    }

    /// The values of `rows` rows as an Arrow array. Its dictionary may have words of batches before.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let keys = self.keys.buffer(rows);
        let keys = PrimitiveArray::<UInt32Type>::new(keys, self.validity.finish(rows));
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
        self.distinct = Flat::default();
        self.left = None;
        self.by_text.clear();
        self.recent.clear();
        self.named.clear();
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
        word(&self.distinct, key) == value.as_bytes()
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
            self.distinct.put(key as usize, value.as_bytes());
            let (words, hasher) = (&self.distinct, &self.hasher);
            self.by_text.insert_unique(hash, key, |key| hasher.hash_one(word(words, *key)));
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
        self.validity.others.0.unwanted = true;
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

fn word(words: &Flat<false>, key: u32) -> &[u8] {
    let end = |at: usize| words.ends.get(at).map_or(0, |end| end.cast_unsigned() as usize);
    words.data.get(end(key as usize)..end(key as usize + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn words_are_written_once_and_nulls_stay_null() {
        let mut words = Words::<true>::default();
        for (row, value) in [(1, "READ"), (2, "WRITE"), (3, "READ")] {
            words.put(row, Wording::Text(value));
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
            words.put(row, Wording::Text(word));
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
            one.put(0, Wording::Text("LOOKUP"));
            one.put(1, Wording::Word(&read));
            other.put(0, Wording::Word(&read));
            one.put(2, Wording::Word(&read));
            one.put(3, Wording::Word(&write));
            write.set("COMMIT");
            one.put(4, Wording::Word(&write));
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
                words.put(row, if word == "READ" { known } else { Wording::Text(word) });
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
            let hosts: Vec<String> = (0..BATCH_ROWS).map(|row| format!("client {batch} {row}")).collect();
            words.put(0, Wording::Name(name));
            words.put(1, Wording::Word(&word));
            for (row, host) in hosts.iter().enumerate() {
                words.put(2 + row, Wording::Text(host));
            }
            let array = words.finish(2 + BATCH_ROWS);
            let (texts, length) = read(&array);
            assert_eq!(texts[..2], [name, word.text()]);
            assert_eq!(texts[2..], hosts);
            lengths.push(length);
        }
        let limit = FULL_DICTIONARY.0;
        assert!(lengths.iter().all(|length| *length <= limit + 2 + BATCH_ROWS), "{lengths:?}");
        assert!(lengths.windows(2).any(|pair| pair[0] > pair[1]), "{lengths:?}");
        // Few that are long take as much.
        words.put(0, Wording::Text(&"long ".repeat(FULL_DICTIONARY.1)));
        words.finish(1);
        words.put(0, Wording::Text("short"));
        assert_eq!(read(&words.finish(1)), (vec!["short"], 1));
    }

    #[test]
    fn what_nobody_wants_takes_no_memory() {
        let (mut numbers, mut words) = (Numbers::<UInt32Type, true>::default(), Words::<true>::default());
        let (mut texts, mut bools) = (Strings::<true>::default(), Bools::<true>::default());
        let columns: [&mut dyn Collector; 4] = [&mut numbers, &mut words, &mut texts, &mut bools];
        for column in columns {
            assert!(column.wanted());
            column.unwant();
            assert!(!column.wanted());
        }
        for row in 0..1000 {
            numbers.put(row, 7);
            words.put(row, Wording::Text("READ"));
            texts.put(row, "file");
            bools.put(row, true);
        }
        assert!(numbers.values.values.is_empty() && numbers.validity.others.0.values.is_empty());
        assert!(words.keys.values.is_empty() && words.distinct.data.is_empty());
        assert!(texts.0.data.is_empty() && bools.values.0.values.is_empty());
    }

    #[test]
    fn a_batch_of_nulls_alone_is_valid() {
        assert_eq!(Words::<true>::default().finish(1).null_count(), 1);
        assert_eq!(Bools::<true>::default().finish(9).null_count(), 9);
        assert_eq!(Blobs::<true>::default().finish(3).null_count(), 3);
        let mut numbers = Numbers::<UInt32Type, true>::default();
        assert_eq!(numbers.finish(70_000).null_count(), 70_000);
        numbers.put(0, 1);
        assert_eq!(numbers.finish(2).null_count(), 1);
        assert_eq!(numbers.finish(0).len(), 0);
    }

    #[test]
    fn rows_passed_over_are_null_wherever_they_are() {
        for filled in [vec![], vec![0], vec![7, 8, 9], (0..20).collect(), vec![0, 1, 2, 15, 16, 19]] {
            let (mut numbers, mut bools, mut blobs) =
                (Numbers::<UInt32Type, true>::default(), Bools::<true>::default(), Blobs::<true>::default());
            for &row in &filled {
                numbers.put(row, row as u32);
                bools.put(row, row % 2 == 1);
                blobs.put(row, &[row as u8]);
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
