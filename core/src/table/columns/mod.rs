//! What collects the values of a column until a batch leaves the core.

mod words;

use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use arrow_array::types::{ArrowPrimitiveType, BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericByteArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::names::paths::text;
use crate::table::BATCH_ROWS;

pub use words::{Names, Naming, Word, Wording, Words};

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

/// Rows whose values are held together before they go behind those of the rows before: few enough for the
/// values of all columns to be in the processor's first cache.
pub(super) const BLOCK: usize = 16;

/// A row of a batch. Where it is in a block, and where its bit is in a column of bits, is worked out once
/// for all columns.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    at: usize,
    in_block: usize,
    bit: u8,
}

impl Row {
    /// The row at this place, which is less than [`BATCH_ROWS`].
    #[inline]
    pub fn new(at: usize) -> Self {
        Self { at, in_block: at % BLOCK, bit: 1 << (at % 8) }
    }
}

/// A place for each row of a batch.
///
/// Where few rows have a value, the places are zero at first, and room for the whole batch is taken with
/// the first value: a row without one costs nothing, which is what most columns are in most rows.
/// Where all have one, or nearly all, it is dense: a value goes into a block of fixed size, which takes
/// neither a pointer nor a look at how far the places reach; [`Slots::gather`] has to come between the
/// blocks. In the place of a value that lacks there is then any other.
struct Slots<T, const DENSE: bool> {
    values: Vec<T>,
    block: [T; BLOCK],
    /// Nobody wants the values: none gets a place.
    unwanted: bool,
}

impl<T: Copy + Default, const DENSE: bool> Default for Slots<T, DENSE> {
    fn default() -> Self {
        Self { values: Vec::new(), block: [T::default(); BLOCK], unwanted: false }
    }
}

impl<T: Copy + Default + ArrowNativeType, const DENSE: bool> Slots<T, DENSE> {
    #[inline]
    fn put(&mut self, row: Row, value: T) {
        if DENSE {
            if let Some(slot) = self.block.get_mut(row.in_block) {
                *slot = value;
            }
            return;
        }
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

    /// Takes the values of a whole block behind those before.
    #[inline]
    fn gather(&mut self) {
        if !DENSE || self.unwanted {
            return;
        }
        if self.values.is_empty() {
            self.values.reserve_exact(BATCH_ROWS);
        }
        self.values.extend_from_slice(&self.block);
    }

    /// Hands over the first `rows` values, and starts anew.
    fn finish(&mut self, rows: usize) -> ScalarBuffer<T> {
        let mut values = std::mem::take(&mut self.values);
        if DENSE {
            let left = rows.saturating_sub(values.len());
            values.extend_from_slice(self.block.get(..left).unwrap_or_default());
            self.block = [T::default(); BLOCK];
        }
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

    /// Comes when the values of [`BLOCK`] rows have been put, before those of the next.
    fn gather(&mut self) {}
}

/// Numbers.
pub struct Numbers<T: ArrowPrimitiveType, const NULLABLE: bool, const DENSE: bool> {
    values: Slots<T::Native, DENSE>,
    validity: Validity<NULLABLE>,
    void: Void,
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool, const DENSE: bool> Default for Numbers<T, NULLABLE, DENSE> {
    fn default() -> Self {
        Self { values: Slots::default(), validity: Validity::default(), void: Void::default() }
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool, const DENSE: bool> Numbers<T, NULLABLE, DENSE> {
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
                self.values.values.clear();
                let zeros = || ScalarBuffer::new(ZEROS.clone(), 0, rows);
                let make = || Arc::new(PrimitiveArray::<T>::new(zeros(), Some(no_values(rows)))) as ArrayRef;
                return self.void.array(rows, make);
            }
        };
        Arc::new(PrimitiveArray::<T>::new(self.values.finish(rows), nulls))
    }
}

impl<T: ArrowPrimitiveType, const NULLABLE: bool, const DENSE: bool> Collector
    for Numbers<T, NULLABLE, DENSE>
{
    fn unwant(&mut self) {
        self.values.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.values.unwanted
    }

    #[inline]
    fn gather(&mut self) {
        self.values.gather();
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

/// Values of any length, given as bytes; `K` is the kind of array that they become.
pub struct Lengths<K, const NULLABLE: bool>(Flat<NULLABLE>, PhantomData<fn() -> K>);

/// Free texts: whether they are UTF-8 is looked at once for all of a batch, which takes a tenth of what it
/// takes for each. What is not is escaped as of [`text`].
pub type Strings<const NULLABLE: bool> = Lengths<Utf8Type, NULLABLE>;

/// Byte strings.
pub type Blobs<const NULLABLE: bool> = Lengths<BinaryType, NULLABLE>;

impl<K, const NULLABLE: bool> Default for Lengths<K, NULLABLE> {
    fn default() -> Self {
        Self(Flat::default(), PhantomData)
    }
}

impl<K: ByteArrayType<Offset = i32>, const NULLABLE: bool> Lengths<K, NULLABLE> {
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
        self.0.finish::<K>(rows)
    }
}

impl<K, const NULLABLE: bool> Collector for Lengths<K, NULLABLE> {
    fn unwant(&mut self) {
        self.0.unwanted = true;
    }

    fn wanted(&self) -> bool {
        !self.0.unwanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt32Type;

    #[test]
    fn what_nobody_wants_takes_no_memory() {
        let mut numbers = Numbers::<UInt32Type, true, false>::default();
        let (mut texts, mut bools) = (Strings::<true>::default(), Bools::<true>::default());
        let columns: [&mut dyn Collector; 3] = [&mut numbers, &mut texts, &mut bools];
        for column in columns {
            assert!(column.wanted());
            column.unwant();
            assert!(!column.wanted());
        }
        for row in 0..1000 {
            numbers.put(Row::new(row), 7);
            texts.put(Row::new(row), b"file".as_slice());
            bools.put(Row::new(row), true);
        }
        assert!(numbers.values.values.is_empty());
        assert!(texts.0.bytes.is_empty() && texts.0.ends.is_empty());
    }

    #[test]
    fn a_batch_of_nulls_alone_is_valid() {
        assert_eq!(Words::<true, false>::default().finish(1).null_count(), 1);
        assert_eq!(Bools::<true>::default().finish(9).null_count(), 9);
        assert_eq!(Blobs::<true>::default().finish(3).null_count(), 3);
        let mut numbers = Numbers::<UInt32Type, true, false>::default();
        assert_eq!(numbers.finish(BATCH_ROWS).null_count(), BATCH_ROWS);
        numbers.put(Row::new(0), 1);
        assert_eq!(numbers.finish(2).null_count(), 1);
        assert_eq!(numbers.finish(0).len(), 0);
    }

    #[test]
    fn values_that_go_through_blocks_are_those_of_slots() {
        let (mut dense, mut sparse) =
            (Numbers::<UInt32Type, false, true>::default(), Numbers::<UInt32Type, true, false>::default());
        let (mut words, mut others) = (Words::<false, true>::default(), Words::<true, false>::default());
        let lengths = (0..3 * BLOCK).chain([BATCH_ROWS - 1, BATCH_ROWS, 1]);
        for (batch, rows) in lengths.enumerate() {
            for at in 0..rows {
                if at > 0 && at % BLOCK == 0 {
                    dense.gather();
                    words.gather();
                    sparse.gather();
                    others.gather();
                }
                let value = (batch * BATCH_ROWS + at) as u32;
                dense.put(Row::new(at), value);
                sparse.put(Row::new(at), value);
                let text = (value % 100).to_string();
                words.put(Row::new(at), Wording::Text(&text));
                others.put(Row::new(at), Wording::Text(&text));
            }
            assert_eq!(&dense.finish(rows), &sparse.finish(rows));
            if rows > 0 {
                assert_eq!(&words.finish(rows), &others.finish(rows));
            }
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
        let mut dense = Numbers::<UInt32Type, true, true>::default();
        let mut words = Words::<true, true>::default();
        for filled in [vec![], vec![0], vec![7, 8, 9], (0..20).collect(), vec![0, 1, 2, 15, 16, 19], vec![]] {
            let (mut numbers, mut bools, mut blobs) = (
                Numbers::<UInt32Type, true, false>::default(),
                Bools::<true>::default(),
                Blobs::<true>::default(),
            );
            for row in 0..20 {
                if row == BLOCK {
                    dense.gather();
                    words.gather();
                }
                if filled.contains(&row) {
                    dense.put(Row::new(row), row as u32);
                    words.put(Row::new(row), Wording::Text(&row.to_string()));
                }
            }
            for &row in &filled {
                numbers.put(Row::new(row), row as u32);
                bools.put(Row::new(row), row % 2 == 1);
                blobs.put(Row::new(row), [row as u8].as_slice());
            }
            let expected: Vec<Option<u32>> =
                (0..20).map(|row| filled.contains(&(row as usize)).then_some(row)).collect();
            let array = numbers.finish(20);
            assert_eq!(array.as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), expected);
            assert_eq!(&dense.finish(20), &array);
            let array = words.finish(20);
            let texts = array.as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
            let numbers = texts.into_iter().map(|text| text.map(|text| text.parse().unwrap()));
            assert_eq!(numbers.collect::<Vec<Option<u32>>>(), expected);
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
