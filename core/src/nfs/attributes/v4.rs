//! `fattr4`: a bitmap, and the values of the attributes that it names.

use super::values::read_attribute;
use super::{MASK_WORDS, Result, nanoseconds, usual};
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::Attributes;

/// `nfstime4` (RFC 7530 section 2.2.1) in nanoseconds since 1970.
///
/// Times that do not fit (before 1677, after 2262) saturate: they say "never" anyway.
#[inline]
pub fn nfstime4(c: &mut Cursor<'_>) -> Result<i64> {
    if let Some(&[high, low, fraction]) = c.take_words() {
        let seconds = u64::from(u32::from_be_bytes(high)) << 32 | u64::from(u32::from_be_bytes(low));
        return Ok(nanoseconds(seconds.cast_signed(), u32::from_be_bytes(fraction)));
    }
    nfstime4_by_steps(c)
}

#[cold]
#[inline(never)]
pub(super) fn nfstime4_by_steps(c: &mut Cursor<'_>) -> Result<i64> {
    Ok(nanoseconds(c.u64_as(Kind::Seconds)?.cast_signed(), c.u32_as(Kind::Fraction)?))
}

/// `bitmap4` (RFC 7530 section 2.2.2): any number of words, of which the first 96 bits are kept.
#[inline]
pub fn bitmap4(c: &mut Cursor<'_>) -> Result<[u32; MASK_WORDS]> {
    let word = u32::from_be_bytes;
    let read = match c.words() {
        Some([2]) => c.take_words().map(|&[_, first, second]| [word(first), word(second), 0]),
        Some([3]) => c.take_words().map(|&[_, first, second, third]| [first, second, third].map(word)),
        _ => None,
    };
    read.map_or_else(|| other_bitmap4(c), Ok)
}

/// One that is short or long, is not all there, or is to be recorded.
#[inline(never)]
fn other_bitmap4(c: &mut Cursor<'_>) -> Result<[u32; MASK_WORDS]> {
    let words = c.count(4)?;
    let mut mask = [0; MASK_WORDS];
    for word in mask.iter_mut().take(words) {
        *word = c.u32()?;
    }
    // No attribute has a number beyond 96: what stands there tells nothing.
    c.take_as(Kind::Unknown, words.saturating_sub(MASK_WORDS).saturating_mul(4))?;
    Ok(mask)
}

/// `fattr4` (RFC 7530 section 3.3.7): a bitmap, and the list of the values that it names.
///
/// `mask` and `attributes` hold what was read, also when the outcome is an error. Two errors are
/// told apart: the outer one says that the message cannot be read beyond this `fattr4`; the inner
/// one that a value in the list was damaged or not captured, while `c` stands after the list.
pub fn fattr4<'a>(
    c: &mut Cursor<'a>,
    mask: &mut Option<[u32; MASK_WORDS]>,
    attributes: &mut Option<Attributes<'a>>,
) -> Result<Result<()>> {
    let present = *mask.insert(bitmap4(c)?);
    let read = attributes.insert(Attributes::default());
    if usual::is_usual(present)
        && let Some(list) = c.opaque_ahead()
        && usual::read(list, present, read).is_some()
    {
        c.take(4 + list.len())?;
        return Ok(Ok(()));
    }
    *attributes = None;
    let length = c.count(1)?;
    let mut list = c.sub(length)?;
    Ok(attribute_list(&mut list, present, attributes.insert(Attributes::default())))
}

/// `attrlist4`: the values of the attributes in `present`, in ascending order of their numbers.
pub(super) fn attribute_list<'a>(
    c: &mut Cursor<'a>,
    present: [u32; MASK_WORDS],
    attributes: &mut Attributes<'a>,
) -> Result<()> {
    for (word, first) in present.into_iter().zip([0, 32, 64]) {
        let mut left = word;
        while left != 0 {
            let known = read_attribute(first + left.trailing_zeros(), c, attributes)?;
            if !known {
                return Ok(());
            }
            left &= left - 1;
        }
    }
    Ok(())
}

/// Whether a READDIR that asks for these attributes is a *plus* listing: it brings what a stat of
/// the entries needs (change, size, mode, times, handle …).
///
/// A plain listing asks at most for what readdir(3) itself gives, file number and type: `type`,
/// `rdattr_error`, `fileid` and `mounted_on_fileid`. (Linux asks for the type in plain listings too.)
pub const fn plus_mask(mask: [u32; MASK_WORDS]) -> bool {
    const PLAIN: [u32; MASK_WORDS] = [1 << 1 | 1 << 11 | 1 << 20, 1 << (55 - 32), 0];
    let [first, second, third] = mask;
    first & !PLAIN[0] != 0 || second & !PLAIN[1] != 0 || third & !PLAIN[2] != 0
}

/// The same by the attributes that an entry of the reply has: no others than those asked for.
///
/// `None` where they do not tell: an entry whose attributes the server could not get has an error in
/// their place (`rdattr_error`, RFC 8881 section 5.8.1.12).
pub const fn plus_entry(mask: [u32; MASK_WORDS]) -> Option<bool> {
    const TYPE_OR_FILEID: u32 = 1 << 1 | 1 << 20;
    let [first, ..] = mask;
    match plus_mask(mask) {
        false if first & TYPE_OR_FILEID == 0 => None,
        plus => Some(plus),
    }
}
