//! The values of one column of one row group, encoded as they come.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, GenericByteArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, ToByteSlice};
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
    keys: Pieces<u32>,
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
    values: Pieces<u8>,
    bools: BooleanBufferBuilder,
    dictionary: Option<Dictionary>,
    range: Option<Range>,
}

/// Where more than one in so many rows is NULL, the numbers of a file that is soon gone are words of a
/// dictionary, each once and in their order. DuckDB copies numbers that are all there, but looks at row
/// after row where some are NULL; of places in a dictionary it unpacks those that are there.
const SPARSE: usize = 2;

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
    /// Which rows have values, and the values as far as they are not in `plain`.
    pub(super) data: Vec<u8>,
    /// Plain values behind that, one piece after the other.
    pub(super) plain: Vec<Vec<u8>>,
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
            values: Pieces::default(),
            bools: BooleanBufferBuilder::new(0),
            dictionary: matches!(column.kind, Kind::Name | Kind::Word).then(Dictionary::default),
            range: None,
        }
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let dictionary = self.dictionary.as_ref();
        self.values.length
            + dictionary.map_or(0, |dictionary| 2 * dictionary.page.len() + 4 * dictionary.keys.length)
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
        let count = values.len() - nulls.map_or(0, NullBuffer::null_count);
        let page = self.values.room(count * size_of::<T::Native>());
        let Some(nulls) = nulls else {
            T::Native::put_all(values, page);
            return bounds(values);
        };
        if runs_are_short(nulls) {
            return T::Native::put_each(nulls.valid_indices().filter_map(|row| values.get(row)), count, page);
        }
        let runs = || nulls.valid_slices().map(|(start, end)| values.get(start..end).unwrap_or_default());
        runs().for_each(|run| T::Native::put_all(run, page));
        bounds(runs().flatten())
    }

    /// Appends texts or bytes: of most columns of them few rows have any.
    fn append_flat<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>, nulls: Option<&NullBuffer>) {
        let count = array.len() - nulls.map_or(0, NullBuffer::null_count);
        let page = self.values.room(array.values().len() + count * size_of::<u32>());
        let mut put = |row| put_bytes(page, array.value(row).as_ref());
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
            None => dictionary.append(keys, keys.len(), texts),
            Some(nulls) if runs_are_short(nulls) => {
                let valid = nulls.valid_indices().filter_map(|row| keys.get(row));
                dictionary.append(valid, nulls.len() - nulls.null_count(), texts);
            }
            Some(nulls) => {
                for (start, end) in nulls.valid_slices() {
                    let run = keys.get(start..end).unwrap_or_default();
                    dictionary.append(run, run.len(), texts);
                }
            }
        }
        Some(())
    }

    /// Hands over what was appended. `narrow`: numbers as steps, where that takes less room.
    pub(super) fn finish(mut self, narrow: bool) -> Pages {
        let mut encoding = Encoding::Plain;
        let mut data = Vec::new();
        if self.nullable {
            put_levels(&mut data, &self.validity.finish(), self.nulls);
        }
        let mut plain = self.values.finish();
        if narrow && put_steps(&mut data, self.kind, &plain) {
            encoding = Encoding::Steps;
            plain.clear();
        }
        let mut dictionary =
            self.dictionary.filter(|dictionary| dictionary.keys.length > 0).map(|dictionary| {
                encoding = Encoding::Words;
                let words = dictionary.places.len();
                put_keys(&mut data, &dictionary.keys.finish(), words);
                (dictionary.page, words)
            });
        let count = self.rows - self.nulls;
        if !narrow && self.range.is_some() && self.nulls > self.rows / SPARSE {
            encoding = Encoding::Words;
            put_keys(&mut data, &[(0..count as u32).collect()], count);
            dictionary = Some((std::mem::take(&mut plain).concat(), count));
        }
        if self.kind == Kind::Bool {
            let bools = self.bools.finish();
            data.extend(bools.inner().as_slice().iter().take(bools.len().div_ceil(8)));
        }
        Pages { dictionary, data, plain, encoding, rows: self.rows, nulls: self.nulls, range: self.range }
    }
}

/// Appends plain numbers as steps; nothing and `false` for other kinds, and where it would take more room.
fn put_steps(page: &mut Vec<u8>, kind: Kind, plain: &[Vec<u8>]) -> bool {
    let begin = page.len();
    let plain = match kind {
        Kind::U32 | Kind::U64 | Kind::I64 => plain.concat(),
        _ => return false,
    };
    if kind == Kind::U32 {
        delta::encode::<i32>(page, plain.as_chunks().0);
    } else {
        delta::encode::<i64>(page, plain.as_chunks().0);
    }
    let smaller = page.len() - begin < plain.len();
    if !smaller {
        page.truncate(begin);
    }
    smaller
}

/// What grows without being moved: many values in few pieces.
#[derive(Default)]
struct Pieces<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
    /// Of all of them together, as was announced.
    length: usize,
}

/// Values of a piece at most, unless more come at once.
const PIECE: usize = 1 << 20;

impl<T> Pieces<T> {
    /// The piece for `count` more values, which has room for them.
    fn room(&mut self, count: usize) -> &mut Vec<T> {
        if self.last.capacity() - self.last.len() < count {
            let next = Vec::with_capacity(self.length.min(PIECE).max(count));
            self.full.push(std::mem::replace(&mut self.last, next));
        }
        self.length += count;
        &mut self.last
    }

    fn finish(mut self) -> Vec<Vec<T>> {
        self.full.push(self.last);
        self.full
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

    /// Appends `count` keys.
    fn append<'a>(&mut self, keys: impl IntoIterator<Item = &'a u32>, count: usize, texts: &StringArray) {
        let Self { places, page, keys: appended, met, .. } = self;
        appended.room(count).extend(keys.into_iter().map(|key| match met.get(*key as usize) {
            Some(place) if *place != NO_PLACE => *place,
            _ => place(places, page, met, *key, texts),
        }));
    }
}

/// The place of a word that is met for the first time in an array's dictionary.
#[cold]
#[inline(never)]
fn place(
    places: &mut HashMap<Vec<u8>, u32, RandomState>,
    page: &mut Vec<u8>,
    met: &mut [u32],
    key: u32,
    texts: &StringArray,
) -> u32 {
    // An array's keys are those of its dictionary.
    let Some(met) = met.get_mut(key as usize) else { return 0 };
    let text = texts.value(key as usize).as_bytes();
    let next = places.len() as u32;
    let place = places.get(text).copied().unwrap_or_else(|| {
        places.insert(text.to_vec(), next);
        put_bytes(page, text);
        next
    });
    *met = place;
    place
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
    fn put_all(values: &[Self], bytes: &mut Vec<u8>);
    /// Appends `count` numbers, and gives the smallest and the largest of them.
    fn put_each<'a>(
        values: impl Iterator<Item = &'a Self>,
        count: usize,
        bytes: &mut Vec<u8>,
    ) -> Option<(Self, Self)>
    where
        Self: 'a;
}

macro_rules! little_endian {
    ($($number:ty)+) => {
        $(impl LittleEndian for $number {
            fn put_all(values: &[Self], bytes: &mut Vec<u8>) {
                if cfg!(target_endian = "little") {
                    bytes.extend_from_slice(values.to_byte_slice());
                } else {
                    for value in values {
                        bytes.extend(value.to_le_bytes());
                    }
                }
            }

            fn put_each<'a>(
                values: impl Iterator<Item = &'a Self>,
                count: usize,
                bytes: &mut Vec<u8>,
            ) -> Option<(Self, Self)> {
                let begin = bytes.len();
                bytes.resize(begin + count * size_of::<Self>(), 0);
                let (places, _) = bytes.split_at_mut(begin).1.as_chunks_mut();
                let (mut low, mut high) = (Self::MAX, Self::MIN);
                for (place, value) in places.iter_mut().zip(values) {
                    *place = value.to_le_bytes();
                    (low, high) = (low.min(*value), high.max(*value));
                }
                (count > 0).then_some((low, high))
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
fn put_keys(page: &mut Vec<u8>, keys: &[Vec<u32>], words: usize) {
    let width = (usize::BITS - words.saturating_sub(1).leading_zeros()).max(1);
    page.push(width as u8);
    let count: usize = keys.iter().map(Vec::len).sum();
    if let Some(first) = keys.iter().flatten().next()
        && keys.iter().all(|piece| piece.iter().all(|key| key == first))
    {
        varint(page, (count as u64) << 1);
        page.extend(first.to_le_bytes().iter().take(width.div_ceil(8) as usize));
        return;
    }
    let groups = count.div_ceil(8);
    varint(page, ((groups as u64) << 1) | 1);
    let end = page.len() + groups * width as usize;
    page.reserve_exact(groups * width as usize);
    let (mut bits, mut held) = (0_u64, 0);
    for key in keys.iter().flatten() {
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

    use super::{Chunk, Dictionary, Encoding, Range, put_keys, put_levels};

    fn keys(keys: &[u32], words: usize) -> Vec<u8> {
        let mut page = Vec::new();
        put_keys(&mut page, &keys.chunks(3).map(<[u32]>::to_vec).collect::<Vec<_>>(), words);
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
        (keys.finish().concat().iter().map(|key| words[*key as usize].clone()).collect(), words)
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
                assert_eq!(chunk.values.finish().concat(), bytes);
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
                assert_eq!(
                    chunk.values.finish().concat(),
                    rows.iter().flat_map(lengths).collect::<Vec<u8>>()
                );
            }
        }
    }

    #[test]
    fn sparse_numbers_that_are_soon_gone_are_words_in_their_order() {
        let column = crate::table::schema::CALLS.columns.iter().find(|column| column.name == "slot").unwrap();
        let finished = |given: &[Option<u32>], narrow| {
            let mut chunk = Chunk::new(column);
            assert!(chunk.append(&UInt32Array::from(given.to_vec())));
            chunk.finish(narrow)
        };
        let sparse = [None, Some(70), None, None, Some(7), None, Some(70), None];
        let pages = finished(&sparse, false);
        let words: Vec<u8> = [70_u32, 7, 70].iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!((pages.encoding, pages.dictionary), (Encoding::Words, Some((words, 3))));
        // The levels, then 0, 1 and 2 in two bits each.
        assert_eq!(pages.data, [2, 0, 0, 0, 0x03, 0b0101_0010, 2, 0x03, 0b10_0100, 0]);
        assert!(pages.plain.is_empty());
        assert_eq!(finished(&sparse, true).dictionary, None);
        // Neither where half of them are there, nor where none is.
        for given in [[None, Some(7)], [None, None]] {
            let pages = finished(&given, false);
            assert_eq!((pages.encoding, pages.dictionary), (Encoding::Plain, None));
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
