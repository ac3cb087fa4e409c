//! The values of one column of one row group, encoded as they come.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, GenericByteArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use foldhash::fast::RandomState;

use crate::table::parquet::delta;
use crate::table::parquet::thrift::varint;
use crate::table::schema::{Column, Kind};

/// The smallest and the largest of some numbers, little-endian as the column stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    U32(u32, u32),
    U64(u64, u64),
    I64(i64, i64),
}

impl Range {
    /// The smallest and the largest as Parquet writes them.
    pub(super) fn bytes(self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::U32(low, high) => (low.to_le_bytes().into(), high.to_le_bytes().into()),
            Self::U64(low, high) => (low.to_le_bytes().into(), high.to_le_bytes().into()),
            Self::I64(low, high) => (low.to_le_bytes().into(), high.to_le_bytes().into()),
        }
    }

    /// The largest, unless it is signed: those are times.
    pub(super) fn high(self) -> Option<u64> {
        match self {
            Self::U32(_, high) => Some(high.into()),
            Self::U64(_, high) => Some(high),
            Self::I64(..) => None,
        }
    }
}

/// Values that occur again and again, each written once.
#[derive(Default)]
struct Dictionary {
    places: HashMap<Vec<u8>, u32, RandomState>,
    /// The values in the order of their places, as a page holds them.
    page: Vec<u8>,
    /// For each value that is not NULL, its place.
    keys: Vec<u32>,
    /// The dictionary of the array that was appended last.
    texts: Option<StringArray>,
    /// The places of its words; of those that were not used so far [`NO_PLACE`].
    met: Vec<u32>,
}

/// Of a word that has none: a row group has fewer rows.
const NO_PLACE: u32 = u32::MAX;

/// What a row group holds of a column.
pub(super) struct Chunk {
    kind: Kind,
    nullable: bool,
    /// Which rows have a value.
    validity: BooleanBufferBuilder,
    rows: usize,
    nulls: usize,
    /// Encoded values, but for those in the dictionary and booleans.
    values: Vec<u8>,
    bools: BooleanBufferBuilder,
    dictionary: Option<Dictionary>,
    range: Option<Range>,
}

/// How the values of a page are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    /// As places in the dictionary.
    Words,
    /// As steps from one to the next.
    Steps,
}

/// A row group's column ready to be compressed.
pub(super) struct Pages {
    /// The dictionary's values, and how many they are; `None` also where every row is NULL.
    pub(super) dictionary: Option<(Vec<u8>, usize)>,
    /// Which rows have values, and the values.
    pub(super) data: Vec<u8>,
    /// How the values are encoded.
    pub(super) encoding: Encoding,
    /// Rows, those with NULL too.
    pub(super) rows: usize,
    /// Rows with NULL.
    pub(super) nulls: usize,
    /// The smallest and the largest number, where there are numbers.
    pub(super) range: Option<Range>,
}

impl Chunk {
    pub(super) fn new(column: &Column) -> Self {
        Self {
            kind: column.kind,
            nullable: column.nullable,
            validity: BooleanBufferBuilder::new(0),
            rows: 0,
            nulls: 0,
            values: Vec::new(),
            bools: BooleanBufferBuilder::new(0),
            dictionary: matches!(column.kind, Kind::Name | Kind::Word).then(Dictionary::default),
            range: None,
        }
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let dictionary = self.dictionary.as_ref();
        self.values.len()
            + dictionary.map_or(0, |dictionary| 2 * dictionary.page.len() + 4 * dictionary.keys.len())
    }

    /// Appends the values of an array; `false` if it is not of the column's type.
    #[must_use]
    pub(super) fn append(&mut self, array: &dyn Array) -> bool {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let appended = match self.kind {
            Kind::Bool => array.as_boolean_opt().map(|bools| self.append_bools(bools.values(), nulls)),
            Kind::U32 => array.as_primitive_opt::<UInt32Type>().map(|array| {
                let range = self.append_numbers(array, nulls);
                self.widen(range.map(|(low, high)| Range::U32(low, high)));
            }),
            Kind::U64 => array.as_primitive_opt::<UInt64Type>().map(|array| {
                let range = self.append_numbers(array, nulls);
                self.widen(range.map(|(low, high)| Range::U64(low, high)));
            }),
            Kind::I64 => array.as_primitive_opt::<Int64Type>().map(|array| {
                let range = self.append_numbers(array, nulls);
                self.widen(range.map(|(low, high)| Range::I64(low, high)));
            }),
            Kind::Name | Kind::Word => self.append_words(array, nulls),
            Kind::Text => array.as_string_opt::<i32>().map(|texts| self.append_flat(texts, nulls)),
            Kind::Bytes => array.as_binary_opt::<i32>().map(|blobs| self.append_flat(blobs, nulls)),
        };
        self.rows += array.len();
        self.nulls += nulls.map_or(0, NullBuffer::null_count);
        if self.nullable {
            match nulls {
                Some(nulls) => self.validity.append_buffer(nulls.inner()),
                None => self.validity.append_n(array.len(), true),
            }
        }
        // NULL where there is none by the schema would shift all that follows.
        appended.is_some() && (self.nullable || nulls.is_none())
    }

    fn append_bools(&mut self, bools: &BooleanBuffer, nulls: Option<&NullBuffer>) {
        match nulls {
            None => self.bools.append_buffer(bools),
            Some(nulls) => nulls.valid_indices().for_each(|row| self.bools.append(bools.value(row))),
        }
    }

    /// Appends numbers, and gives the smallest and the largest of them.
    fn append_numbers<T>(
        &mut self,
        array: &PrimitiveArray<T>,
        nulls: Option<&NullBuffer>,
    ) -> Option<(T::Native, T::Native)>
    where
        T: ArrowPrimitiveType,
        T::Native: Ord + LittleEndian,
    {
        let values = array.values();
        let Some(nulls) = nulls else {
            T::Native::put_all(values, &mut self.values);
            return bounds(values);
        };
        if runs_are_short(nulls) {
            let valid = || nulls.valid_indices().filter_map(|row| values.get(row));
            self.values.reserve((nulls.len() - nulls.null_count()) * size_of::<T::Native>());
            valid().for_each(|value| value.put(&mut self.values));
            return bounds(valid());
        }
        let runs = || nulls.valid_slices().map(|(start, end)| values.get(start..end).unwrap_or_default());
        runs().for_each(|run| T::Native::put_all(run, &mut self.values));
        bounds(runs().flatten())
    }

    /// Appends texts or bytes: of most columns of them few rows have any.
    fn append_flat<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>, nulls: Option<&NullBuffer>) {
        let mut put = |row| put_bytes(&mut self.values, array.value(row).as_ref());
        match nulls {
            None => (0..array.len()).for_each(&mut put),
            Some(nulls) => nulls.valid_indices().for_each(&mut put),
        }
    }

    fn widen(&mut self, more: Option<Range>) {
        self.range = match (self.range, more) {
            (Some(Range::U32(a, b)), Some(Range::U32(c, d))) => Some(Range::U32(a.min(c), b.max(d))),
            (Some(Range::U64(a, b)), Some(Range::U64(c, d))) => Some(Range::U64(a.min(c), b.max(d))),
            (Some(Range::I64(a, b)), Some(Range::I64(c, d))) => Some(Range::I64(a.min(c), b.max(d))),
            (before, more) => more.or(before),
        };
    }

    /// Appends words: those of the array's dictionary that it uses get a place in that of the row group.
    fn append_words(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>) -> Option<()> {
        let words = array.as_dictionary_opt::<UInt32Type>()?;
        let texts = words.values().as_string_opt::<i32>()?;
        let dictionary = self.dictionary.as_mut()?;
        dictionary.meet(texts);
        let keys = words.keys().values();
        match nulls {
            None => dictionary.append(keys, texts),
            Some(nulls) if runs_are_short(nulls) => {
                dictionary.append(nulls.valid_indices().filter_map(|row| keys.get(row)), texts);
            }
            Some(nulls) => {
                for (start, end) in nulls.valid_slices() {
                    dictionary.append(keys.get(start..end).unwrap_or_default(), texts);
                }
            }
        }
        Some(())
    }

    /// Hands over what was appended. `narrow`: numbers as steps, where that takes less room.
    pub(super) fn finish(mut self, narrow: bool) -> Pages {
        let mut encoding = Encoding::Plain;
        if narrow && let Some(steps) = self.steps() {
            self.values = steps;
            encoding = Encoding::Steps;
        }
        let mut data = Vec::new();
        if self.nullable {
            put_levels(&mut data, &self.validity.finish(), self.nulls);
        }
        let dictionary = self.dictionary.filter(|dictionary| !dictionary.keys.is_empty()).map(|dictionary| {
            encoding = Encoding::Words;
            let words = dictionary.places.len();
            put_keys(&mut data, &dictionary.keys, words);
            (dictionary.page, words)
        });
        if self.kind == Kind::Bool {
            let bools = self.bools.finish();
            data.extend(bools.inner().as_slice().iter().take(bools.len().div_ceil(8)));
        } else if data.is_empty() {
            data = self.values;
        } else {
            data.extend(self.values);
        }
        Pages { dictionary, data, encoding, rows: self.rows, nulls: self.nulls, range: self.range }
    }

    /// Numbers as steps; `None` for other kinds, and where it would take more room.
    fn steps(&self) -> Option<Vec<u8>> {
        let steps = match self.kind {
            Kind::U32 => {
                delta::encode(self.values.as_chunks().0.iter().map(|each| i32::from_le_bytes(*each)))
            }
            Kind::U64 | Kind::I64 => {
                delta::encode(self.values.as_chunks().0.iter().map(|each| i64::from_le_bytes(*each)))
            }
            _ => return None,
        };
        (steps.len() < self.values.len()).then_some(steps)
    }
}

impl Dictionary {
    /// Takes the dictionary of the array that comes next. Most are that of the array before, or begin
    /// with it: what is known of its words then stays.
    fn meet(&mut self, texts: &StringArray) {
        let goes_on = self.texts.as_ref().is_some_and(|before| {
            texts.value_data().starts_with(before.value_data())
                && texts.value_offsets().starts_with(before.value_offsets())
        });
        if !goes_on {
            self.met.clear();
        }
        self.met.resize(texts.len(), NO_PLACE);
        self.texts = Some(texts.clone());
    }

    fn append<'a>(&mut self, keys: impl IntoIterator<Item = &'a u32>, texts: &StringArray) {
        let keys = keys.into_iter();
        self.keys.reserve(keys.size_hint().0);
        for key in keys {
            let place = match self.met.get(*key as usize) {
                Some(place) if *place != NO_PLACE => *place,
                _ => self.place(*key, texts),
            };
            self.keys.push(place);
        }
    }

    #[cold]
    fn place(&mut self, key: u32, texts: &StringArray) -> u32 {
        // An array's keys are those of its dictionary.
        let Some(met) = self.met.get_mut(key as usize) else { return 0 };
        let text = texts.value(key as usize).as_bytes();
        let next = self.places.len() as u32;
        let place = self.places.get(text).copied().unwrap_or_else(|| {
            self.places.insert(text.to_vec(), next);
            put_bytes(&mut self.page, text);
            next
        });
        *met = place;
        place
    }
}

/// Whether rows with a value stand rather alone: to look for where they begin and end would then take
/// longer than to look at each.
fn runs_are_short(nulls: &NullBuffer) -> bool {
    nulls.null_count() > nulls.len() / 16
}

/// The smallest and the largest.
fn bounds<'a, N: Ord + Copy + 'a>(values: impl IntoIterator<Item = &'a N>) -> Option<(N, N)> {
    let mut values = values.into_iter();
    let first = *values.next()?;
    Some(values.fold((first, first), |(low, high), value| (low.min(*value), high.max(*value))))
}

/// Numbers as Parquet's plain encoding has them.
pub(super) trait LittleEndian: Copy {
    fn put(self, bytes: &mut Vec<u8>);
    fn put_all(values: &[Self], bytes: &mut Vec<u8>);
}

macro_rules! little_endian {
    ($($number:ty)+) => {
        $(impl LittleEndian for $number {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn put_all(values: &[Self], bytes: &mut Vec<u8>) {
                let begin = bytes.len();
                bytes.resize(begin + size_of_val(values), 0);
                let (places, _) = bytes.split_at_mut(begin).1.as_chunks_mut();
                for (place, value) in places.iter_mut().zip(values) {
                    *place = value.to_le_bytes();
                }
            }
        })+
    };
}

little_endian!(u32 u64 i64);

/// A length and so many bytes.
fn put_bytes(page: &mut Vec<u8>, bytes: &[u8]) {
    page.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    page.extend_from_slice(bytes);
}

/// Which rows have a value: the definition levels of a column that is not nested, which are one bit
/// each. A run if all are alike, else the bits as Arrow has them.
fn put_levels(page: &mut Vec<u8>, validity: &BooleanBuffer, nulls: usize) {
    let mut levels = Vec::new();
    let rows = validity.len();
    if nulls == 0 || nulls == rows {
        varint(&mut levels, (rows as u64) << 1);
        levels.push(u8::from(nulls == 0));
    } else {
        let bytes = rows.div_ceil(8);
        varint(&mut levels, ((bytes as u64) << 1) | 1);
        levels.extend(validity.inner().as_slice().iter().take(bytes));
    }
    put_bytes(page, &levels);
}

/// The keys of a dictionary page: their width in bits, and all of them packed.
fn put_keys(page: &mut Vec<u8>, keys: &[u32], words: usize) {
    let width = (usize::BITS - words.saturating_sub(1).leading_zeros()).max(1);
    page.push(width as u8);
    if let Some(first) = keys.first()
        && keys.iter().all(|key| key == first)
    {
        varint(page, (keys.len() as u64) << 1);
        page.extend(first.to_le_bytes().iter().take(width.div_ceil(8) as usize));
        return;
    }
    let groups = keys.len().div_ceil(8);
    varint(page, ((groups as u64) << 1) | 1);
    let end = page.len() + groups * width as usize;
    let (mut bits, mut held) = (0_u64, 0);
    for key in keys {
        bits |= u64::from(*key) << held;
        held += width;
        if held >= 32 {
            page.extend((bits as u32).to_le_bytes());
            bits >>= 32;
            held -= 32;
        }
    }
    page.extend(bits.to_le_bytes().iter().take(held.div_ceil(8) as usize));
    page.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, StringArray, UInt32Array};
    use arrow_buffer::BooleanBuffer;

    use super::{Chunk, Dictionary, Range, put_keys, put_levels};

    fn keys(keys: &[u32], words: usize) -> Vec<u8> {
        let mut page = Vec::new();
        put_keys(&mut page, keys, words);
        page
    }

    #[test]
    fn keys_are_packed_in_the_least_bits_that_hold_them() {
        // The example of Parquet's encodings page: 0 to 7 in three bits each.
        assert_eq!(keys(&[0, 1, 2, 3, 4, 5, 6, 7], 8), [3, 0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        // Nine keys are two groups of eight; the rest is zero.
        assert_eq!(keys(&[1, 0, 1, 0, 0, 0, 0, 0, 1], 2), [1, 0x05, 0b101, 0b1]);
        // All alike are a run, whose value takes whole bytes.
        assert_eq!(keys(&[0, 0, 0], 1), [1, 0x06, 0]);
        assert_eq!(keys(&[300; 2], 301), [9, 0x04, 0x2c, 0x01]);
        assert_eq!(keys(&[u32::MAX >> 1, 0], 1 << 31).len(), 2 + 31);
    }

    /// The texts of a chunk, by row, and the words of its dictionary.
    fn texts(chunk: Chunk) -> (Vec<String>, Vec<String>) {
        let Dictionary { keys, page, .. } = chunk.dictionary.unwrap();
        let (mut words, mut rest) = (Vec::new(), page.as_slice());
        while let Some((length, more)) = rest.split_first_chunk::<4>() {
            let (word, after) = more.split_at(u32::from_le_bytes(*length) as usize);
            words.push(String::from_utf8(word.to_vec()).unwrap());
            rest = after;
        }
        (keys.iter().map(|key| words[*key as usize].clone()).collect(), words)
    }

    #[test]
    fn arrays_keep_their_words_whatever_dictionaries_they_have() {
        let column = crate::table::schema::CALLS.columns.iter().find(|column| column.name == "op").unwrap();
        let mut chunk = Chunk::new(column);
        let arrays: [(&[&str], &[u32]); 6] = [
            (&["READ", "not used", "LOOKUP"], &[2, 0, 2]),
            (&["READ", "not used", "LOOKUP"], &[0, 0]),
            (&["READ", "not used", "LOOKUP", "WRITE"], &[3, 2]), // Longer than the one before.
            (&["READ"], &[0]),                                   // Shorter.
            (&["WRITE", "READ"], &[1, 0]),                       // Another.
            (&["WRIT", "EREAD"], &[1, 0]),                       // Of the same bytes.
        ];
        let mut expected = Vec::new();
        for (words, keys) in arrays {
            let array = DictionaryArray::new(
                UInt32Array::from(keys.to_vec()),
                Arc::new(StringArray::from(words.to_vec())),
            );
            assert!(chunk.append(&array));
            expected.extend(keys.iter().map(|key| words[*key as usize].to_owned()));
        }
        let (rows, words) = texts(chunk);
        assert_eq!(rows, expected);
        assert_eq!(words, ["LOOKUP", "READ", "WRITE", "EREAD", "WRIT"]);
    }

    #[test]
    fn values_are_those_that_are_not_null_however_many_are() {
        let numbers =
            crate::table::schema::CALLS.columns.iter().find(|column| column.name == "slot").unwrap();
        let words =
            crate::table::schema::CALLS.columns.iter().find(|column| column.name == "rpc_status").unwrap();
        let names =
            crate::table::schema::OPERATIONS.columns.iter().find(|column| column.name == "name").unwrap();
        for step in [1, 2, 3, 15, 16, 17, 400, 1000] {
            for most_are_null in [false, true] {
                let is_null = |row: u32| row.is_multiple_of(step) != most_are_null;
                let given: Vec<Option<u32>> =
                    (0..1000).map(|row| (!is_null(row)).then_some(row * 7 % 1009)).collect();
                let given_texts: Vec<Option<String>> =
                    given.iter().map(|number| number.map(|number| number.to_string())).collect();
                let expected: Vec<u32> = given.iter().flatten().copied().collect();
                let mut chunk = Chunk::new(numbers);
                assert!(chunk.append(&UInt32Array::from(given.clone())));
                let bytes: Vec<u8> = expected.iter().flat_map(|number| number.to_le_bytes()).collect();
                assert_eq!(chunk.values, bytes);
                let range = expected.iter().min().zip(expected.iter().max());
                assert_eq!(chunk.range, range.map(|(low, high)| Range::U32(*low, *high)));
                let mut chunk = Chunk::new(words);
                let texts: StringArray = (0..1009).map(|word| Some(word.to_string())).collect();
                assert!(chunk.append(&DictionaryArray::new(UInt32Array::from(given), Arc::new(texts))));
                let (rows, _) = self::texts(chunk);
                assert_eq!(rows, expected.iter().map(u32::to_string).collect::<Vec<_>>());
                let mut chunk = Chunk::new(names);
                let texts: StringArray = given_texts.iter().map(Option::as_deref).collect();
                assert!(chunk.append(&texts));
                let lengths = |text: &String| {
                    (text.len() as u32).to_le_bytes().into_iter().chain(text.bytes()).collect::<Vec<u8>>()
                };
                assert_eq!(chunk.values, rows.iter().flat_map(lengths).collect::<Vec<u8>>());
            }
        }
    }

    #[test]
    fn levels_are_arrows_validity_or_a_run() {
        let levels = |bits: &[bool], nulls| {
            let mut page = Vec::new();
            put_levels(&mut page, &BooleanBuffer::from(bits.to_vec()), nulls);
            page
        };
        assert_eq!(levels(&[true, false, true], 1), [2, 0, 0, 0, 0x03, 0b101]);
        assert_eq!(levels(&[true; 100], 0), [3, 0, 0, 0, 0xc8, 0x01, 1]);
        assert_eq!(levels(&[false; 3], 3), [2, 0, 0, 0, 0x06, 0]);
    }
}
