//! Columns of texts from a small set: each is written once in a dictionary, and rows have its key.

use std::cell::Cell;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{Collector, Row, SPREAD, Slots, Valid, Validity, Value, Void, ZEROS, no_values};

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
pub struct Names<const NULLABLE: bool, const DENSE: bool>(Words<NULLABLE, DENSE>);

impl<const NULLABLE: bool, const DENSE: bool> Names<NULLABLE, DENSE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each caller knows which kind it has")]
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

impl<const NULLABLE: bool, const DENSE: bool> Collector for Names<NULLABLE, DENSE> {
    fn unwant(&mut self) {
        self.0.unwant();
    }

    fn wanted(&self) -> bool {
        self.0.wanted()
    }

    #[inline]
    fn gather(&mut self) {
        self.0.gather();
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
pub struct Words<const NULLABLE: bool, const DENSE: bool> {
    /// Number of the dictionary.
    dictionary: u64,
    keys: Slots<u32, DENSE>,
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

impl<const NULLABLE: bool, const DENSE: bool> Default for Words<NULLABLE, DENSE> {
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

impl<const NULLABLE: bool, const DENSE: bool> Words<NULLABLE, DENSE> {
    /// Writes the value of a row. Without one, and where rows are passed over, it is NULL.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each caller knows which kind it has")]
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
                self.keys.values.clear();
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

impl<const NULLABLE: bool, const DENSE: bool> Collector for Words<NULLABLE, DENSE> {
    fn unwant(&mut self) {
        self.keys.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.keys.unwanted
    }

    #[inline]
    fn gather(&mut self) {
        self.keys.gather();
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
    use crate::table::BATCH_ROWS;
    use arrow_array::cast::AsArray;

    #[test]
    fn words_are_written_once_and_nulls_stay_null() {
        let mut words = Words::<true, false>::default();
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
        let mut words = Words::<true, false>::default();
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
        let (mut one, mut other) = (Words::<false, true>::default(), Words::<false, true>::default());
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
        let mut words = Words::<false, true>::default();
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
        let mut words = Words::<true, false>::default();
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
        let (mut words, mut names) = (Words::<true, false>::default(), Names::<true, false>::default());
        let columns: [&mut dyn Collector; 2] = [&mut words, &mut names];
        for column in columns {
            assert!(column.wanted());
            column.unwant();
            assert!(!column.wanted());
        }
        for row in 0..1000 {
            words.put(Row::new(row), Wording::Text("READ"));
            names.put(Row::new(row), Naming::Name("READ"));
        }
        assert!(words.keys.values.is_empty() && names.0.keys.values.is_empty());
        assert!(words.distinct.data.is_empty());
    }

    #[test]
    fn numbers_are_written_by_their_names() {
        let name = |number: u64| match number {
            0 => Some("NFS3_OK"),
            2 => Some("NFS3ERR_NOENT"),
            18 => Some("NFS3ERR_XDEV"), // In the place of 2.
            _ => None,
        };
        let mut names = Names::<true, false>::default();
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
}
