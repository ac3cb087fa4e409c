//! What collects the values of a column until a batch leaves the core.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Which values are there.
///
/// Most columns are NULL in most rows, and the others nearly never: a NULL only counts up, and is
/// written down when a value follows it; while there is no NULL no bits are kept.
#[derive(Default)]
struct Validity {
    length: usize,
    bits: Option<BooleanBufferBuilder>,
    /// NULLs that are not written down yet.
    pending: usize,
}

impl Validity {
    #[inline]
    fn null(&mut self) {
        self.pending += 1;
    }

    /// Notes a value; how many NULLs have to be written before it.
    #[inline]
    fn value(&mut self) -> usize {
        let nulls = if self.pending > 0 { self.settle() } else { 0 };
        if let Some(bits) = &mut self.bits {
            bits.append(true);
        }
        self.length += 1;
        nulls
    }

    /// Writes down the NULLs so far; how many there were.
    #[cold]
    fn settle(&mut self) -> usize {
        let nulls = std::mem::take(&mut self.pending);
        if nulls > 0 {
            let length = self.length;
            let bits = self.bits.get_or_insert_with(|| {
                let mut bits = BooleanBufferBuilder::new(length.saturating_add(nulls));
                bits.append_n(length, true);
                bits
            });
            bits.append_n(nulls, false);
            self.length += nulls;
        }
        nulls
    }

    /// The bits, once the last NULLs are settled.
    fn finish(&mut self) -> Option<NullBuffer> {
        self.length = 0;
        self.bits.take().map(|mut bits| NullBuffer::new(bits.finish()))
    }
}

/// Numbers.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    validity: Validity,
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Self { values: Vec::new(), validity: Validity::default() }
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    /// Appends a value; `None` is NULL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Most pushes are NULLs: one addition, not a call.
    pub fn push(&mut self, value: Option<T::Native>) {
        match value {
            Some(value) => self.value(value),
            None => self.validity.null(),
        }
    }

    fn value(&mut self, value: T::Native) {
        let nulls = self.validity.value();
        self.pad(nulls);
        self.values.push(value);
    }

    fn pad(&mut self, nulls: usize) {
        if nulls > 0 {
            self.values.resize(self.values.len() + nulls, T::Native::default());
        }
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.validity.settle();
        self.pad(nulls);
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, self.validity.finish()))
    }
}

/// Booleans.
pub struct Bools {
    values: BooleanBufferBuilder,
    validity: Validity,
}

impl Default for Bools {
    fn default() -> Self {
        Self { values: BooleanBufferBuilder::new(0), validity: Validity::default() }
    }
}

impl Bools {
    /// Appends a value; `None` is NULL.
    #[inline]
    pub fn push(&mut self, value: Option<bool>) {
        let Some(value) = value else { return self.validity.null() };
        let nulls = self.validity.value();
        self.values.append_n(nulls, false);
        self.values.append(value);
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.validity.settle();
        self.values.append_n(nulls, false);
        Arc::new(BooleanArray::new(self.values.finish(), self.validity.finish()))
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
    fn push(&mut self, value: Option<&[u8]>) {
        let Some(value) = value else { return self.validity.null() };
        let nulls = self.validity.value();
        self.pad(nulls);
        self.data.extend_from_slice(value);
        self.ends.push(i32::try_from(self.data.len()).unwrap_or(i32::MAX));
    }

    fn pad(&mut self, nulls: usize) {
        if nulls > 0 {
            let end = self.ends.last().copied().unwrap_or_default();
            self.ends.resize(self.ends.len() + nulls, end);
        }
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<NullBuffer>) {
        let nulls = self.validity.settle();
        self.pad(nulls);
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let data = std::mem::take(&mut self.data);
        (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(data), self.validity.finish())
    }
}

/// Free texts.
#[derive(Default)]
pub struct Strings(Flat);

impl Strings {
    /// Appends a value; `None` is NULL.
    pub fn push(&mut self, value: Option<&str>) {
        self.0.push(value.map(str::as_bytes));
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        let (offsets, values, nulls) = self.0.finish();
        Arc::new(StringArray::new(offsets, values, nulls))
    }
}

/// Byte strings.
#[derive(Default)]
pub struct Blobs(Flat);

impl Blobs {
    /// Appends a value; `None` is NULL.
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.0.push(value);
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        let (offsets, values, nulls) = self.0.finish();
        Arc::new(BinaryArray::new(offsets, values, nulls))
    }
}

/// Names that stand in the code: each is written once in a batch, and known by its address.
#[derive(Default)]
pub struct Names {
    words: Words,
    /// Address and length of names pushed before, with their keys; the place is chosen by the address.
    recent: Vec<(usize, usize, u32)>,
}

/// Names remembered by address; a power of two above the number of operations that are common.
const RECENT: usize = 128;

impl Names {
    /// Appends a value; `None` is NULL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As for numbers.
    pub fn push(&mut self, value: Option<&'static str>) {
        match value {
            Some(value) => self.value(value),
            None => self.words.validity.null(),
        }
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        self.recent.clear();
        self.words.finish()
    }

    fn value(&mut self, value: &'static str) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, (0, 0, 0));
        }
        let nulls = self.words.validity.value();
        self.words.pad(nulls);
        let (address, length) = (value.as_ptr().addr(), value.len());
        let place = (address ^ (address >> 7)) % RECENT;
        let key = match self.recent.get(place) {
            Some(&(known, same, key)) if known == address && same == length => key,
            _ => {
                let key = self.words.key(value);
                if let Some(slot) = self.recent.get_mut(place) {
                    *slot = (address, length, key);
                }
                key
            }
        };
        self.words.keys.push(key);
    }
}

/// Texts from a small set: each distinct text is written once in a batch.
#[derive(Default)]
pub struct Words {
    keys: Vec<u32>,
    validity: Validity,
    distinct: Flat,
    by_text: HashTable<u32>,
    hasher: RandomState,
    /// The word appended last, which is most often the next one too.
    last: Option<u32>,
}

impl Words {
    /// Appends a value; `None` is NULL.
    #[inline]
    pub fn push(&mut self, value: Option<&str>) {
        let Some(value) = value else { return self.validity.null() };
        let nulls = self.validity.value();
        self.pad(nulls);
        let key = self.key(value);
        self.keys.push(key);
    }

    fn pad(&mut self, nulls: usize) {
        if nulls > 0 {
            self.keys.resize(self.keys.len() + nulls, 0);
        }
    }

    /// The values as an Arrow array.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.validity.settle();
        self.pad(nulls);
        if self.distinct.ends.len() == 1 {
            self.distinct.push(Some(b"")); // Keys of NULLs must point somewhere.
        }
        let (offsets, values, nulls) = self.distinct.finish();
        let words: ArrayRef = Arc::new(StringArray::new(offsets, values, nulls));
        let keys = ScalarBuffer::from(std::mem::take(&mut self.keys));
        let keys = PrimitiveArray::<UInt32Type>::new(keys, self.validity.finish());
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
            self.distinct.push(Some(value.as_bytes()));
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
        for value in [None, Some("READ"), Some("WRITE"), Some("READ"), None] {
            words.push(value);
        }
        let array = words.finish();
        let dictionary = array.as_dictionary::<UInt32Type>();
        assert_eq!(dictionary.values().len(), 2);
        let texts: StringArray = dictionary.values().as_string::<i32>().clone();
        let back: Vec<_> =
            dictionary.keys().iter().map(|key| key.map(|key| texts.value(key as usize).to_owned())).collect();
        assert_eq!(back, [None, Some("READ".into()), Some("WRITE".into()), Some("READ".into()), None]);
    }

    #[test]
    fn a_batch_of_nulls_alone_is_valid() {
        let mut words = Words::default();
        words.push(None);
        assert_eq!(words.finish().null_count(), 1);
        let mut numbers = Numbers::<UInt32Type>::default();
        numbers.push(Some(1));
        numbers.push(None);
        assert_eq!(numbers.finish().null_count(), 1);
        assert_eq!(numbers.finish().len(), 0);
    }
}
