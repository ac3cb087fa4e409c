//! The attributes that clients ask for again and again, of a list that is there at once.
//!
//! Nearly all lists hold what a stat needs. Such a list is read from a plain slice, one attribute behind
//! the other, without asking a table for each. A list that is anything else is for the table.

use super::nanoseconds;
use crate::cursor::padding;
use crate::nfs::facts::Attributes;
use crate::nfs::types::{FileType, HANDLE_LIMIT, TEXT_LIMIT};

/// By their numbers.
const USUAL: u64 = 1 << 1 // type
    | 1 << 3 // change
    | 1 << 4 // size
    | 1 << 8 // fsid
    | 1 << 11 // rdattr_error
    | 1 << 19 // filehandle
    | 1 << 20 // fileid
    | 1 << 33 // mode
    | 1 << 35 // numlinks
    | 1 << 36 // owner
    | 1 << 37 // owner_group
    | 1 << 41 // rawdev
    | 1 << 45 // space_used
    | 1 << 47 // time_access
    | 1 << 52 // time_metadata
    | 1 << 53 // time_modify
    | 1 << 55; // mounted_on_fileid

/// Whether a list holds nothing else.
#[inline]
pub(super) fn is_usual([first, second, third]: [u32; 3]) -> bool {
    third == 0 && together(first, second) & !USUAL == 0
}

fn together(first: u32, second: u32) -> u64 {
    u64::from(second) << 32 | u64::from(first)
}

/// Reads such a list; `None`: a value is damaged or ends early.
pub(super) fn read<'a>(
    mut list: &'a [u8],
    [first, second, _]: [u32; 3],
    attributes: &mut Attributes<'a>,
) -> Option<()> {
    let present = together(first, second);
    let has = |number: u32| present & 1 << number != 0;
    let list = &mut list;
    if has(1) {
        attributes.file_type = Some(FileType(word(list)?));
    }
    if has(3) {
        attributes.change = Some(hyper(list)?);
    }
    if has(4) {
        attributes.size = Some(hyper(list)?);
    }
    if has(8) {
        attributes.fsid = Some((hyper(list)?, hyper(list)?));
    }
    if has(11) {
        attributes.error = Some(word(list)?);
    }
    if has(19) {
        attributes.handle = Some(opaque(list, HANDLE_LIMIT)?);
    }
    if has(20) {
        attributes.fileid = Some(hyper(list)?);
    }
    if has(33) {
        attributes.mode = Some(word(list)?);
    }
    if has(35) {
        attributes.links = Some(word(list)?);
    }
    for _ in [has(36), has(37)].into_iter().filter(|has| *has) {
        opaque(list, TEXT_LIMIT)?;
    }
    if has(41) {
        hyper(list)?;
    }
    if has(45) {
        attributes.used = Some(hyper(list)?);
    }
    if has(47) {
        time(list)?;
    }
    if has(52) {
        attributes.ctime_ns = Some(time(list)?);
    }
    if has(53) {
        attributes.mtime_ns = Some(time(list)?);
    }
    if has(55) {
        attributes.mounted_on_fileid = Some(hyper(list)?);
    }
    Some(())
}

#[inline]
fn array<const N: usize>(list: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = list.split_first_chunk()?;
    *list = tail;
    Some(*head)
}

#[inline]
fn word(list: &mut &[u8]) -> Option<u32> {
    array(list).map(u32::from_be_bytes)
}

#[inline]
fn hyper(list: &mut &[u8]) -> Option<u64> {
    array(list).map(u64::from_be_bytes)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "what is lent to a call does not stay in registers")]
fn time(list: &mut &[u8]) -> Option<i64> {
    let (seconds, fraction) = (hyper(list)?, word(list)?);
    Some(nanoseconds(seconds.cast_signed(), fraction))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "what is lent to a call does not stay in registers")]
fn opaque<'a>(list: &mut &'a [u8], limit: usize) -> Option<&'a [u8]> {
    let length = word(list)? as usize;
    if length > limit {
        return None;
    }
    let (data, tail) = list.split_at_checked(length)?;
    *list = tail.get(padding(length)..)?;
    Some(data)
}
