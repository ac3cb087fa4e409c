//! Numbers as what each adds to the one before: `DELTA_BINARY_PACKED`.
//!
//! Times, frames and calls grow by little from row to row: two or three bytes each are left of eight,
//! and what compresses them has so much less to do. <https://parquet.apache.org/docs/file-format/data-pages/encodings/>

use super::thrift::{varint, zigzag};

/// Numbers whose least step is told once.
const BLOCK: usize = 128;

/// Numbers that are packed in the same width.
const MINIBLOCK: usize = 32;

/// Numbers with as many bits as the column stores, as Parquet's arithmetic has them: it wraps around.
pub(super) trait Stepping: Copy + Ord + Default {
    /// The number as the plain encoding has it.
    type Plain: Copy;
    fn read(plain: Self::Plain) -> Self;
    /// What a number adds to another.
    fn step(self, before: Self) -> Self;
    /// A step that is not less than the least, beyond that.
    fn beyond(self, least: Self) -> u64;
    fn widened(self) -> i64;
}

impl Stepping for i32 {
    type Plain = [u8; 4];

    fn read(plain: Self::Plain) -> Self {
        Self::from_le_bytes(plain)
    }

    fn step(self, before: Self) -> Self {
        self.wrapping_sub(before)
    }

    fn beyond(self, least: Self) -> u64 {
        self.wrapping_sub(least).cast_unsigned().into()
    }

    fn widened(self) -> i64 {
        self.into()
    }
}

impl Stepping for i64 {
    type Plain = [u8; 8];

    fn read(plain: Self::Plain) -> Self {
        Self::from_le_bytes(plain)
    }

    fn step(self, before: Self) -> Self {
        self.wrapping_sub(before)
    }

    fn beyond(self, least: Self) -> u64 {
        self.wrapping_sub(least).cast_unsigned()
    }

    fn widened(self) -> i64 {
        self
    }
}

/// Appends the numbers as a page has them.
pub(super) fn encode<T: Stepping>(page: &mut Vec<u8>, numbers: &[T::Plain]) {
    page.reserve(size_of_val(numbers) / 2);
    for told in [BLOCK, BLOCK / MINIBLOCK, numbers.len()] {
        varint(page, told as u64);
    }
    let (first, rest) =
        numbers.split_first().map_or((T::default(), numbers), |(first, rest)| (T::read(*first), rest));
    varint(page, zigzag(first.widened()));
    let mut before = first;
    let mut steps = [T::default(); BLOCK];
    for block in rest.chunks(BLOCK) {
        for (step, number) in steps.iter_mut().zip(block) {
            let number = T::read(*number);
            *step = number.step(before);
            before = number;
        }
        put_block(page, steps.get(..block.len()).unwrap_or_default());
    }
}

/// The least of some steps, then what all of them are beyond it: widths of the miniblocks, and each in
/// the width of its own. The last block may have less; a miniblock that has any is filled up.
fn put_block<T: Stepping>(page: &mut Vec<u8>, steps: &[T]) {
    let Some(least) = steps.iter().copied().min() else { return };
    varint(page, zigzag(least.widened()));
    let widths = page.len();
    page.resize(widths + BLOCK / MINIBLOCK, 0);
    for (place, miniblock) in steps.chunks(MINIBLOCK).enumerate() {
        let bits = miniblock.iter().fold(0, |bits, step| bits | step.beyond(least));
        let width = u64::BITS - bits.leading_zeros();
        if let Some(told) = page.get_mut(widths + place) {
            *told = width as u8;
        }
        if width > 0 {
            pack(page, miniblock.iter().map(|step| step.beyond(least)), width);
        }
    }
}

/// Appends the numbers of a miniblock, each in so many bits, and zeros in the place of those that it lacks.
fn pack(page: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let end = page.len() + MINIBLOCK * width as usize / 8;
    let (mut packed, mut held) = (0_u64, 0);
    for number in numbers {
        packed |= number << held;
        held += width;
        if held >= u64::BITS {
            page.extend_from_slice(&packed.to_le_bytes());
            held -= u64::BITS;
            // What had no room of it; all had where the width is left over.
            packed = number.checked_shr(width - held).unwrap_or_default();
        }
    }
    page.extend(packed.to_le_bytes().iter().take(held.div_ceil(8) as usize));
    page.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Stepping;

    trait Plain: Stepping {
        fn plain(self) -> Self::Plain;
    }

    impl Plain for i32 {
        fn plain(self) -> [u8; 4] {
            self.to_le_bytes()
        }
    }

    impl Plain for i64 {
        fn plain(self) -> [u8; 8] {
            self.to_le_bytes()
        }
    }

    fn encode<T: Plain>(numbers: impl Iterator<Item = T>) -> Vec<u8> {
        let mut page = Vec::new();
        super::encode::<T>(&mut page, &numbers.map(T::plain).collect::<Vec<_>>());
        page
    }

    #[test]
    fn the_examples_of_the_page_on_encodings_hold() {
        // 1, 2, 3, 4, 5: a step of 1 each, no bits beyond it.
        let page = encode([1_i64, 2, 3, 4, 5].into_iter());
        assert_eq!(page, [0x80, 0x01, 4, 5, 2, 2, 0, 0, 0, 0]);
        // 7, 5, 3, 1, 2, 3, 4, 5: steps of -2 and 1 are 0 and 3 beyond -2, in two bits each.
        let page = encode([7_i32, 5, 3, 1, 2, 3, 4, 5].into_iter());
        let mut expected = vec![0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111];
        expected.resize(expected.len() + 6, 0);
        assert_eq!(page, expected);
    }

    #[test]
    fn nothing_and_one_have_no_blocks() {
        assert_eq!(encode(std::iter::empty::<i64>()), [0x80, 0x01, 4, 0, 0]);
        assert_eq!(encode(std::iter::once(-1_i64)), [0x80, 0x01, 4, 1, 1]);
    }

    #[test]
    fn steps_wrap_around() {
        // From the least to the largest it is a step of -1, and back again one of 1.
        let page = encode([i64::MIN, i64::MAX, i64::MIN].into_iter());
        let (header, packed) = page.split_at(page.len() - 8);
        let (widths, least) = (header.last_chunk::<4>().unwrap(), header[header.len() - 5]);
        assert_eq!((least, widths), (1, &[2, 0, 0, 0]));
        assert_eq!(packed[0], 0b1000);
        let wide = encode([0_i64, i64::MAX, -1].into_iter());
        assert_eq!(wide.len(), 5 + 10 + 4 + 32 * 8);
    }

    /// What a reader makes of a page of 64-bit numbers, written from the specification.
    fn decode(page: &[u8]) -> Vec<i64> {
        fn varint(page: &mut &[u8]) -> u64 {
            let length = page.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
            let (bytes, rest) = page.split_at(length);
            *page = rest;
            bytes.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
        }
        fn signed(page: &mut &[u8]) -> i64 {
            let told = varint(page);
            (told >> 1).cast_signed() ^ -(told & 1).cast_signed()
        }
        let mut page = page;
        let (block, miniblocks, count) = (varint(&mut page), varint(&mut page), varint(&mut page) as usize);
        let mut numbers = vec![signed(&mut page)];
        while numbers.len() < count {
            let least = signed(&mut page);
            let (widths, rest) = page.split_at(miniblocks as usize);
            page = rest;
            for width in widths {
                if numbers.len() >= count {
                    assert_eq!(*width, 0);
                    continue;
                }
                let values = (block / miniblocks) as usize;
                let (packed, rest) = page.split_at(values * usize::from(*width) / 8);
                page = rest;
                let bit = |at: usize| u64::from(packed[at / 8] >> (at % 8) & 1);
                for value in 0..values.min(count - numbers.len()) {
                    let begin = value * usize::from(*width);
                    let beyond = (0..usize::from(*width)).fold(0, |bits, at| bits | bit(begin + at) << at);
                    let before = *numbers.last().unwrap();
                    numbers.push(before.wrapping_add(least).wrapping_add(beyond.cast_signed()));
                }
            }
        }
        assert!(page.is_empty());
        numbers.truncate(count);
        numbers
    }

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(
            numbers in prop_oneof![
                proptest::collection::vec(any::<i64>(), 0..400),
                proptest::collection::vec(-3_i64..9, 0..400),
                proptest::collection::vec(0_i64..1 << 41, 0..400),
            ],
        ) {
            prop_assert_eq!(decode(&encode(numbers.iter().copied())), numbers.clone());
            let narrow: Vec<i32> = numbers.iter().map(|number| *number as i32).collect();
            let widened: Vec<i32> =
                decode(&encode(narrow.iter().copied())).into_iter().map(|number| number as i32).collect();
            prop_assert_eq!(widened, narrow);
        }
    }
}
