//! What collects the values of a column until a batch leaves the core.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::table::BATCH_ROWS;

/// Rows for which room is made: a batch, and the operations of a last call of usual length.
const ROOM: usize = BATCH_ROWS + 64;

/// A place for each row of a batch, all of them zero at first.
///
/// Room for the whole batch is made with the first value: a value is then one store, and a row
/// without one costs nothing, which is what most columns are in most rows.
struct Slots<T>(Vec<T>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Default> Slots<T> {
    #[inline]
    fn get_mut(&mut self, at: usize, room: usize) -> Option<&mut T> {
        if at >= self.0.len() {
            self.grow(at, room);
        }
        self.0.get_mut(at)
    }

    #[cold]
    fn grow(&mut self, at: usize, room: usize) {
        let length = (at + 1).next_multiple_of(room);
        if self.0.is_empty() {
            self.0 = vec![T::default(); length]; // The allocator may know it to be zero already.
        } else {
            self.0.resize(length, T::default());
        }
    }

    fn finish(&mut self, length: usize) -> Vec<T> {
        let mut values = std::mem::take(&mut self.0);
        values.resize(length, T::default());
        values
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

    /// The bits of the first `rows` rows.
    fn finish(&mut self, rows: usize) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.0.finish(rows.div_ceil(8))), 0, rows)
    }
}

/// Which rows have a value.
#[derive(Default)]
struct Validity {
    bits: Bits,
    values: usize,
}

impl Validity {
    /// Notes that `row` has a value.
    #[inline]
    fn set(&mut self, row: usize) {
        self.bits.set(row);
        self.values += 1;
    }

    /// Which of `rows` rows have a value; `None` when all have.
    fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        let validity = std::mem::take(self);
        let mut bits = validity.bits;
        (validity.values < rows).then(|| NullBuffer::new(bits.finish(rows)))
    }
}

/// Numbers.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Slots<T::Native>,
    validity: Validity,
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Self { values: Slots::default(), validity: Validity::default() }
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
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
        let values = ScalarBuffer::from(self.values.finish(rows));
        Arc::new(PrimitiveArray::<T>::new(values, self.validity.finish(rows)))
    }
}

/// Booleans.
#[derive(Default)]
pub struct Bools {
    values: Bits,
    validity: Validity,
}

impl Bools {
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

/// Bytes of variable length, one value behind the other.
struct Flat {
    data: Vec<u8>,
    ends: Vec<i32>,
    validity: Validity,
}

impl Default for Flat {
    fn default() -> Self {
        Self { data: Vec::new(), ends: vec![0], validity: Validity::default() }
    }
}

impl Flat {
    #[inline]
    fn put(&mut self, row: usize, value: &[u8]) {
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
        self.pad(rows);
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let data = std::mem::take(&mut self.data);
        let validity = self.validity.finish(rows);
        (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(data), validity)
    }
}

/// Free texts.
#[derive(Default)]
pub struct Strings(Flat);

impl Strings {
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

/// Byte strings.
#[derive(Default)]
pub struct Blobs(Flat);

impl Blobs {
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

/// Names that stand in the code: each is written once in a batch, and known by its address.
#[derive(Default)]
pub struct Names {
    words: Words,
    /// Address and length of names written before, with their keys; the place is chosen by the address.
    recent: Vec<(usize, usize, u32)>,
}

/// Names remembered by address; a power of two above the number of operations that are common.
const RECENT: usize = 128;

impl Names {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: &'static str) {
        let (address, length) = (value.as_ptr().addr(), value.len());
        let key = match self.recent.get(place(address)) {
            Some(&(known, same, key)) if known == address && same == length => key,
            _ => self.meet(value),
        };
        self.words.put_key(row, key);
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        self.recent.clear();
        self.words.finish(rows)
    }

    #[cold]
    fn meet(&mut self, value: &'static str) -> u32 {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, (0, 0, 0));
        }
        let key = self.words.key(value);
        let address = value.as_ptr().addr();
        if let Some(slot) = self.recent.get_mut(place(address)) {
            *slot = (address, value.len(), key);
        }
        key
    }
}

/// Where a name is remembered.
fn place(address: usize) -> usize {
    (address ^ (address >> 7)) % RECENT
}

/// Texts from a small set: each distinct text is written once in a batch.
#[derive(Default)]
pub struct Words {
    keys: Slots<u32>,
    validity: Validity,
    distinct: Flat,
    by_text: HashTable<u32>,
    hasher: RandomState,
    /// The word appended last, which is most often the next one too.
    last: Option<u32>,
}

impl Words {
    /// Writes the value of a row; rows come in order, and those passed over are NULL.
    #[inline]
    pub fn put(&mut self, row: usize, value: &str) {
        let key = self.key(value);
        self.put_key(row, key);
    }

    #[inline]
    fn put_key(&mut self, row: usize, key: u32) {
        if let Some(slot) = self.keys.get_mut(row, ROOM) {
            *slot = key;
        }
        self.validity.set(row);
    }

    /// The values of `rows` rows as an Arrow array.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        if self.distinct.ends.len() == 1 {
            self.distinct.put(0, b""); // Keys of NULLs must point somewhere.
        }
        let (offsets, values, _) = self.distinct.finish(self.distinct.ends.len() - 1);
        let words: ArrayRef = Arc::new(StringArray::new(offsets, values, None));
        let keys = ScalarBuffer::from(self.keys.finish(rows));
        let keys = PrimitiveArray::<UInt32Type>::new(keys, self.validity.finish(rows));
        self.by_text.clear();
        self.last = None;
        debug_assert!(keys.values().iter().all(|key| (*key as usize) < words.len()));
        Arc::new(DictionaryArray::new(keys, words))
    }

    fn key(&mut self, value: &str) -> u32 {
        if let Some(last) = self.last
            && word(&self.distinct, last) == value.as_bytes()
        {
            return last;
        }
        let hash = self.hasher.hash_one(value.as_bytes());
        let words = &self.distinct;
        let found = self.by_text.find(hash, |key| word(words, *key) == value.as_bytes()).copied();
        let key = found.unwrap_or_else(|| {
            let key = (self.distinct.ends.len() - 1) as u32;
            self.distinct.put(key as usize, value.as_bytes());
            let (words, hasher) = (&self.distinct, &self.hasher);
            self.by_text.insert_unique(hash, key, |key| hasher.hash_one(word(words, *key)));
            key
        });
        self.last = Some(key);
        key
    }
}

fn word(words: &Flat, key: u32) -> &[u8] {
    let end = |at: usize| words.ends.get(at).map_or(0, |end| end.cast_unsigned() as usize);
    words.data.get(end(key as usize)..end(key as usize + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn words_are_written_once_and_nulls_stay_null() {
        let mut words = Words::default();
        for (row, value) in [(1, "READ"), (2, "WRITE"), (3, "READ")] {
            words.put(row, value);
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
    fn a_batch_of_nulls_alone_is_valid() {
        assert_eq!(Words::default().finish(1).null_count(), 1);
        assert_eq!(Bools::default().finish(9).null_count(), 9);
        assert_eq!(Blobs::default().finish(3).null_count(), 3);
        let mut numbers = Numbers::<UInt32Type>::default();
        assert_eq!(numbers.finish(70_000).null_count(), 70_000);
        numbers.put(0, 1);
        assert_eq!(numbers.finish(2).null_count(), 1);
        assert_eq!(numbers.finish(0).len(), 0);
    }

    #[test]
    fn rows_passed_over_are_null_wherever_they_are() {
        for filled in [vec![], vec![0], vec![7, 8, 9], (0..20).collect(), vec![0, 1, 2, 15, 16, 19]] {
            let (mut numbers, mut bools, mut blobs) =
                (Numbers::<UInt32Type>::default(), Bools::default(), Blobs::default());
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
