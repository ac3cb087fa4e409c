//! File attributes: `fattr3` and weak cache consistency data, and `fattr4` as a table of all attributes.
//!
//! What a fact sheet keeps goes into [`Attributes`]; the rest is passed over, but checked. An
//! attribute that the table does not know ends its `fattr4` only: the list's own length says where
//! the message goes on. Nothing here allocates.

mod usual;

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::facts::{Attributes, WeakCacheAttributes};
use crate::nfs::types::{FileType, TEXT_LIMIT, handle, name};

type Result<T> = std::result::Result<T, DecodeError>;

/// Words of a `bitmap4` that are kept: attributes 0 to 95. The RFCs define numbers up to 86.
const MASK_WORDS: usize = 3;

/// `fattr3` (RFC 1813 section 2.6), written in its place: it is large.
#[inline]
pub fn fattr3(c: &mut Cursor<'_>, attributes: &mut Option<Attributes<'_>>) -> Result<()> {
    // All of it is there, but in a message that was cut, or that is recorded.
    if let Some(words) = c.take_words() {
        *attributes = Some(fattr3_of(words));
    } else {
        *attributes = Some(fattr3_by_steps(c)?);
    }
    Ok(())
}

#[inline]
fn fattr3_of<'a>(words: &[[u8; 4]; 21]) -> Attributes<'a> {
    let word = u32::from_be_bytes;
    let hyper = |high, low| u64::from(word(high)) << 32 | u64::from(word(low));
    let time = |seconds, fraction| nanoseconds(i64::from(word(seconds)), word(fraction));
    #[rustfmt::skip]
    let &[
        file_type, mode, links, _uid, _gid, size, size_low, used, used_low, _rdev, _rdev_low,
        fsid, fsid_low, fileid, fileid_low, _atime, _atime_fraction,
        mtime, mtime_fraction, ctime, ctime_fraction,
    ] = words;
    Attributes {
        file_type: Some(FileType(word(file_type))),
        mode: Some(word(mode)),
        links: Some(word(links)),
        size: Some(hyper(size, size_low)),
        used: Some(hyper(used, used_low)),
        fsid: Some((hyper(fsid, fsid_low), 0)),
        fileid: Some(hyper(fileid, fileid_low)),
        mtime_ns: Some(time(mtime, mtime_fraction)),
        ctime_ns: Some(time(ctime, ctime_fraction)),
        ..Attributes::default()
    }
}

#[cold]
#[inline(never)]
fn fattr3_by_steps<'a>(c: &mut Cursor<'_>) -> Result<Attributes<'a>> {
    let file_type = FileType(c.u32()?);
    let mode = c.u32()?;
    let links = c.u32()?;
    c.take_as(Kind::UserAndGroup, 2 * 4)?; // uid, gid
    let size = c.u64()?;
    let used = c.u64()?;
    c.u64()?; // rdev
    let fsid = c.u64()?;
    let fileid = c.u64()?;
    nfstime3(c)?; // atime
    let mtime_ns = nfstime3(c)?;
    let ctime_ns = nfstime3(c)?;
    Ok(Attributes {
        file_type: Some(file_type),
        mode: Some(mode),
        links: Some(links),
        size: Some(size),
        used: Some(used),
        fsid: Some((fsid, 0)),
        fileid: Some(fileid),
        mtime_ns: Some(mtime_ns),
        ctime_ns: Some(ctime_ns),
        ..Attributes::default()
    })
}

/// `post_op_attr` (RFC 1813 section 2.6).
pub fn post_op_attributes(c: &mut Cursor<'_>, attributes: &mut Option<Attributes<'_>>) -> Result<()> {
    if c.bool()? {
        fattr3(c, attributes)?;
    }
    Ok(())
}

/// `pre_op_attr` (RFC 1813 section 2.6).
#[inline]
pub fn pre_op_attributes(c: &mut Cursor<'_>) -> Result<Option<WeakCacheAttributes>> {
    if !c.bool()? {
        return Ok(None);
    }
    Ok(Some(WeakCacheAttributes { size: c.u64()?, mtime_ns: nfstime3(c)?, ctime_ns: nfstime3(c)? }))
}

/// `wcc_data` (RFC 1813 section 2.6): the object before and after the operation.
pub fn wcc(
    c: &mut Cursor<'_>,
    before: &mut Option<WeakCacheAttributes>,
    after: &mut Option<Attributes<'_>>,
) -> Result<()> {
    let was = pre_op_attributes(c)?;
    post_op_attributes(c, after)?;
    *before = was;
    Ok(())
}

/// `nfstime3` (RFC 1813 section 2.5) in nanoseconds since 1970.
#[inline]
pub fn nfstime3(c: &mut Cursor<'_>) -> Result<i64> {
    Ok(nanoseconds(i64::from(c.u32()?), c.u32()?))
}

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
fn nfstime4_by_steps(c: &mut Cursor<'_>) -> Result<i64> {
    Ok(nanoseconds(c.i64()?, c.u32()?))
}

#[inline]
fn nanoseconds(seconds: i64, fraction: u32) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(fraction))
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
    c.take(words.saturating_sub(MASK_WORDS).saturating_mul(4))?;
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
fn attribute_list<'a>(
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

/// One attribute of `fattr4`.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// Number: the bit in the bitmap.
    pub number: u32,
    /// The RFC's name.
    pub name: &'static str,
    /// First minor version that has it.
    pub first_minor: u32,
    /// Its value goes into the fact sheet; else it is read and passed over.
    pub kept: bool,
}

macro_rules! attributes {
    (@kept kept) => { true };
    (@kept read) => { false };
    (@read $read:ident, $c:ident, $a:ident) => { $read($c, $a)? };
    (@read { |$cursor:ident, $attributes:ident| $read:expr }, $c:ident, $a:ident) => {{
        let ($cursor, $attributes) = ($c, $a);
        $read
    }};
    ($($number:literal $name:ident $minor:literal $kept:ident $read:tt;)+) => {
        /// Every attribute that an RFC defines; the index is the number.
        ///
        /// RFC 7530 section 5 (0 to 55), RFC 8881 section 5 (56 to 76), RFC 7862 section 12.2 (77 to 80),
        /// RFC 8275 (81), RFC 8276 (82), RFC 9754 (83 to 86).
        pub static ATTRIBUTES: &[Attribute] = &[$(Attribute {
            number: $number, name: stringify!($name), first_minor: $minor,
            kept: attributes!(@kept $kept),
        },)+];

        /// Reads the value of an attribute; `false`: it is not known, and nothing was read.
        ///
        /// The short ones are read right here: calls by pointers took longer than their values.
        #[inline]
        fn read_attribute<'a>(attribute: u32, c: &mut Cursor<'a>, a: &mut Attributes<'a>) -> Result<bool> {
            match attribute {
                $($number => attributes!(@read $read, c, a),)+
                _ => return Ok(false),
            }
            Ok(true)
        }
    };
}

#[rustfmt::skip]
attributes! {
//  no name        minor      value
     0 supported_attrs 0 read bitmap;
     1 type            0 kept { |c, a| a.file_type = Some(FileType(c.u32()?)) };
     2 fh_expire_type  0 read word;
     3 change          0 kept { |c, a| a.change = Some(c.u64()?) };
     4 size            0 kept { |c, a| a.size = Some(c.u64()?) };
     5 link_support    0 read word;
     6 symlink_support 0 read word;
     7 named_attr      0 read word;
     8 fsid            0 kept { |c, a| a.fsid = Some((c.u64()?, c.u64()?)) };
     9 unique_handles  0 read word;
    10 lease_time      0 kept { |c, a| a.lease_time_s = Some(c.u32()?) };
    11 rdattr_error    0 kept { |c, a| a.error = Some(c.u32()?) };
    12 acl             0 read access_list;
    13 aclsupport      0 read word;
    14 archive         0 read word;
    15 cansettime      0 read word;
    16 case_insensitive 0 read word;
    17 case_preserving 0 read word;
    18 chown_restricted 0 read word;
    19 filehandle      0 kept { |c, a| a.handle = Some(handle(c)?) };
    20 fileid          0 kept { |c, a| a.fileid = Some(c.u64()?) };
    21 files_avail     0 read hyper;
    22 files_free      0 read hyper;
    23 files_total     0 read hyper;
    24 fs_locations    0 read fs_locations;
    25 hidden          0 read word;
    26 homogeneous     0 read word;
    27 maxfilesize     0 read hyper;
    28 maxlink         0 read word;
    29 maxname         0 read word;
    30 maxread         0 kept { |c, a| a.max_read = Some(c.u64()?) };
    31 maxwrite        0 kept { |c, a| a.max_write = Some(c.u64()?) };
    32 mimetype        0 read text;
    33 mode            0 kept { |c, a| a.mode = Some(c.u32()?) };
    34 no_trunc        0 read word;
    35 numlinks        0 kept { |c, a| a.links = Some(c.u32()?) };
    36 owner           0 read principal;
    37 owner_group     0 read principal;
    38 quota_avail_hard 0 read hyper;
    39 quota_avail_soft 0 read hyper;
    40 quota_used      0 read hyper;
    41 rawdev          0 read two_words;
    42 space_avail     0 read hyper;
    43 space_free      0 read hyper;
    44 space_total     0 read hyper;
    45 space_used      0 kept { |c, a| a.used = Some(c.u64()?) };
    46 system          0 read word;
    47 time_access     0 read time;
    48 time_access_set 0 read time_to_set;
    49 time_backup     0 read time;
    50 time_create     0 read time;
    51 time_delta      0 read time;
    52 time_metadata   0 kept { |c, a| a.ctime_ns = Some(nfstime4(c)?) };
    53 time_modify     0 kept { |c, a| a.mtime_ns = Some(nfstime4(c)?) };
    54 time_modify_set 0 read time_to_set;
    55 mounted_on_fileid 0 kept { |c, a| a.mounted_on_fileid = Some(c.u64()?) };
    56 dir_notif_delay 1 read time;
    57 dirent_notif_delay 1 read time;
    58 dacl            1 read flagged_access_list;
    59 sacl            1 read flagged_access_list;
    60 change_policy   1 read two_hypers;
    61 fs_status       1 read fs_status;
    62 fs_layout_type  1 read words;
    63 layout_hint     1 read { |c, a| { word(c, a)?; opaque(c, a)? } };
    64 layout_type     1 read words;
    65 layout_blksize  1 read word;
    66 layout_alignment 1 read word;
    67 fs_locations_info 1 read fs_locations_info;
    68 mdsthreshold    1 read mdsthreshold;
    69 retention_get   1 read retention_get;
    70 retention_set   1 read retention_set;
    71 retentevt_get   1 read retention_get;
    72 retentevt_set   1 read retention_set;
    73 retention_hold  1 read hyper;
    74 mode_set_masked 1 read two_words;
    75 suppattr_exclcreat 1 read bitmap;
    76 fs_charset_cap  1 read word;
    77 clone_blksize   2 read word;
    78 space_freed     2 read hyper;
    79 change_attr_type 2 read word;
    80 sec_label       2 read { |c, a| { two_words(c, a)?; opaque(c, a)? } };
    81 mode_umask      2 read two_words;
    82 xattr_support   2 read word;
    83 offline         2 read word;
    84 time_deleg_access 2 read time;
    85 time_deleg_modify 2 read time;
    86 open_arguments  2 read open_arguments;
}

// Values that are passed over: each takes what the RFC says and keeps nothing.

#[inline]
fn word(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    c.u32().map(|_| ())
}

#[inline]
fn hyper(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    c.u64().map(|_| ())
}

#[inline]
fn two_words(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    hyper(c, a)
}

#[inline]
fn two_hypers(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    hyper(c, a)?;
    hyper(c, a)
}

fn words(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    let count = c.count(4)?;
    c.take(count.saturating_mul(4)).map(|_| ())
}

fn bitmap(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    bitmap4(c).map(|_| ())
}

fn text(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    c.opaque_as(Kind::Token, TEXT_LIMIT).map(|_| ())
}

#[inline]
fn principal(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    c.opaque_as(Kind::Principal, TEXT_LIMIT).map(|_| ())
}

fn host(c: &mut Cursor<'_>) -> Result<()> {
    c.opaque_as(Kind::Host, TEXT_LIMIT).map(|_| ())
}

fn opaque(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    c.opaque(usize::MAX).map(|_| ())
}

#[inline]
fn time(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    nfstime4(c).map(|_| ())
}

/// `settime4` (RFC 7530 section 2.2.4): a time follows only when the client sets it.
fn time_to_set(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    const SET_TO_CLIENT_TIME4: u32 = 1;
    if c.u32()? == SET_TO_CLIENT_TIME4 {
        time(c, a)?;
    }
    Ok(())
}

/// `nfsace4<>` (RFC 7530 section 6.2.1).
pub(super) fn access_list(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    for _ in 0..c.count(16)? {
        ace(c, a)?;
    }
    Ok(())
}

/// `nfsace4`: type, flags, access mask, who.
pub(super) fn ace(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    word(c, a)?;
    two_words(c, a)?;
    principal(c, a)
}

/// `nfsacl41` (RFC 8881 section 6.2.2): flags before the list.
fn flagged_access_list(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    word(c, a)?;
    access_list(c, a)
}

/// `pathname4` (RFC 7530 section 2.2.5).
fn path(c: &mut Cursor<'_>) -> Result<()> {
    for _ in 0..c.count(4)? {
        name(c)?;
    }
    Ok(())
}

/// `fs_locations4` (RFC 7530 section 2.2.7): the root's path, then servers and path of each location.
fn fs_locations(c: &mut Cursor<'_>, _: &mut Attributes<'_>) -> Result<()> {
    path(c)?; // fs_root
    for _ in 0..c.count(8)? {
        for _ in 0..c.count(4)? {
            host(c)?; // server
        }
        path(c)?; // rootpath
    }
    Ok(())
}

/// `fs4_status` (RFC 8881 section 11.18).
fn fs_status(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    two_words(c, a)?; // fss_absent, fss_type
    text(c, a)?; // fss_source
    text(c, a)?; // fss_current
    word(c, a)?; // fss_age
    time(c, a) // fss_version
}

/// `fs_locations_info4` (RFC 8881 section 11.17).
fn fs_locations_info(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    two_words(c, a)?; // fli_flags, fli_valid_for
    path(c)?; // fli_fs_root
    for _ in 0..c.count(8)? {
        for _ in 0..c.count(12)? {
            word(c, a)?; // fls_currency
            opaque(c, a)?; // fls_info
            host(c)?; // fls_server
        }
        path(c)?; // fli_rootpath
    }
    Ok(())
}

/// `mdsthreshold4` (RFC 8881 section 3.3.20).
fn mdsthreshold(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    for _ in 0..c.count(12)? {
        word(c, a)?; // thi_layout_type
        bitmap(c, a)?; // thi_hintset
        opaque(c, a)?; // thi_hintlist
    }
    Ok(())
}

/// `retention_get4` (RFC 8881 section 5.13): the begin time is a list of at most one.
fn retention_get(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    hyper(c, a)?;
    if c.bool()? { time(c, a) } else { Ok(()) }
}

/// `retention_set4` (RFC 8881 section 5.13): the duration is a list of at most one.
fn retention_set(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    word(c, a)?;
    if c.bool()? { hyper(c, a) } else { Ok(()) }
}

/// `open_arguments4` (RFC 9754 section 3): what the server takes in each part of an OPEN.
fn open_arguments(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    for _ in ["share_access", "share_deny", "share_access_want", "open_claim", "createmode"] {
        bitmap(c, a)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Layer, Reason};

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// `fattr4` with `values` for the attributes in `mask`.
    fn encoded(mask: [u32; 3], values: &[u32]) -> Vec<u8> {
        let mut words = vec![3, mask[0], mask[1], mask[2], values.len() as u32 * 4];
        words.extend(values);
        bytes(&words)
    }

    fn decoded(encoded: &[u8]) -> (Attributes<'_>, Result<()>, usize) {
        let mut cursor = Cursor::new(encoded, Layer::Reply);
        let (mut mask, mut attributes) = (None, None);
        let outcome = fattr4(&mut cursor, &mut mask, &mut attributes).unwrap();
        (attributes.unwrap(), outcome, cursor.remaining())
    }

    const ABCD: u32 = 0x6162_6364;

    /// A value of every attribute whose size is not fixed, or that is easily mistaken.
    fn value(number: u32) -> Vec<u32> {
        let ace = [0, 0, 0x1f, 3, ABCD & 0xffff_ff00];
        match number {
            0 | 75 => vec![2, 0xffff, 0xffff],
            3 | 4 | 20..=23 | 27 | 30 | 31 | 38..=40 | 42..=45 | 55 | 73 | 78 => vec![0, 7],
            8 | 60 => vec![0, 1, 0, 2],
            12 => [&[2], &ace[..], &ace[..]].concat(),
            58 | 59 => [&[0, 1], &ace[..]].concat(),
            19 | 32 | 36 | 37 => vec![4, ABCD],
            24 => vec![1, 4, ABCD, 1, 1, 4, ABCD, 2, 4, ABCD, 4, ABCD],
            41 | 74 | 81 => vec![1, 2],
            47 | 49..=53 | 56 | 57 | 84 | 85 => vec![0, 1, 500],
            48 => vec![1, 0, 1, 500],
            54 => vec![0],
            61 => vec![0, 1, 4, ABCD, 4, ABCD, 0, 0, 1, 500],
            62 | 64 => vec![2, 1, 4],
            63 => vec![4, 4, ABCD],
            67 => vec![0, 60, 1, 4, ABCD, 1, 1, 0, 4, ABCD, 4, ABCD, 1, 4, ABCD],
            68 => vec![1, 4, 1, 0xf, 4, ABCD],
            69 => vec![0, 9, 1, 0, 1, 500],
            71 => vec![0, 9, 0],
            70 => vec![1, 1, 0, 9],
            72 => vec![1, 0],
            80 => vec![0, 0, 4, ABCD],
            86 => vec![1, 3, 1, 3, 1, 0x1f, 1, 0x7f, 1, 0xf],
            _ => vec![1],
        }
    }

    #[test]
    fn the_table_holds_every_attribute_at_its_number() {
        assert_eq!(ATTRIBUTES.len(), 87);
        for (place, attribute) in ATTRIBUTES.iter().enumerate() {
            assert_eq!(attribute.number as usize, place, "{}", attribute.name);
        }
        let of_minor = |minor| ATTRIBUTES.iter().filter(|a| a.first_minor == minor).count();
        assert_eq!([of_minor(0), of_minor(1), of_minor(2)], [56, 21, 10]);
        let named = |number: usize| ATTRIBUTES[number].name;
        assert_eq!(
            [named(11), named(33), named(53), named(77)],
            ["rdattr_error", "mode", "time_modify", "clone_blksize"]
        );
    }

    #[test]
    fn each_attribute_takes_its_value_and_cut_short_it_is_malformed() {
        for attribute in ATTRIBUTES {
            let value = bytes(&value(attribute.number));
            let mut cursor = Cursor::new(&value, Layer::Reply);
            let outcome = read_attribute(attribute.number, &mut cursor, &mut Attributes::default());
            assert_eq!((outcome, cursor.remaining()), (Ok(true), 0), "{}", attribute.name);
            for end in 0..value.len() {
                let mut cursor = Cursor::new(&value[..end], Layer::Reply);
                let outcome = read_attribute(attribute.number, &mut cursor, &mut Attributes::default());
                assert!(outcome.is_err_and(|e| e.reason == Reason::Malformed), "{} at {end}", attribute.name);
            }
        }
    }

    #[test]
    fn all_attributes_at_once_give_what_is_kept() {
        let values: Vec<u32> = (0..87).flat_map(value).collect();
        let encoded = encoded([u32::MAX, u32::MAX, (1 << (87 - 64)) - 1], &values);
        let (attributes, outcome, left) = decoded(&encoded);
        assert_eq!((outcome, left), (Ok(()), 0));
        let expected = Attributes {
            file_type: Some(FileType::REG),
            mode: Some(1),
            links: Some(1),
            size: Some(7),
            used: Some(7),
            fsid: Some((1, 2)),
            fileid: Some(7),
            mounted_on_fileid: Some(7),
            change: Some(7),
            mtime_ns: Some(1_000_000_500),
            ctime_ns: Some(1_000_000_500),
            handle: Some(b"abcd"),
            error: Some(1),
            max_read: Some(7),
            max_write: Some(7),
            lease_time_s: Some(1),
        };
        assert_eq!(attributes, expected);
    }

    #[test]
    fn usual_attributes_are_read_as_the_table_reads_them() {
        const LINUX: [u32; 3] = [0x0010_011a, 0x00b0_a23a, 0];
        let numbers = (0..96).map(|number| 1_u128 << number).chain([0]);
        let masks = numbers.flat_map(|bit| [bit, bit | 1 << 53, bit | 1 << 1, bit | 0x00b0_a23a_0018_091a]);
        let masks = masks.map(|mask| [0, 32, 64].map(|first| (mask >> first) as u32)).chain([LINUX]);
        for mask in masks {
            let present = |number: &u32| mask[*number as usize / 32] & 1 << (number % 32) != 0;
            let list = bytes(&(0..96).filter(present).flat_map(value).collect::<Vec<_>>());
            let usual = [0x0018_091a, 0x00b0_a23a, 0];
            assert_eq!(usual::is_usual(mask), mask.iter().zip(usual).all(|(mask, usual)| mask & !usual == 0));
            if !usual::is_usual(mask) {
                continue;
            }
            // All there, and each way to break off; and lengths that lie.
            let cut = (0..=list.len()).map(|end| list[..end].to_vec());
            let long = (0..list.len()).map(|place| [&list[..place], &[0xff], &list[place + 1..]].concat());
            for list in cut.chain(long).chain([[&list[..], &[0; 8]].concat()]) {
                let (mut fast, mut slow) = (Attributes::default(), Attributes::default());
                let read = usual::read(&list, mask, &mut fast);
                let outcome = attribute_list(&mut Cursor::new(&list, Layer::Reply), mask, &mut slow);
                assert_eq!(read.is_some(), outcome.is_ok(), "{mask:x?} {list:x?}");
                assert!(read.is_none() || fast == slow, "{mask:x?} {list:x?}");
            }
        }
    }

    #[test]
    fn an_access_list_and_an_owner_before_a_time_do_not_disturb_it() {
        let mask = [1 << 12, 1 << (36 - 32) | 1 << (53 - 32), 0];
        let values = [
            1,
            0,
            0,
            0x1f,
            6,
            0x4f57_4e45,
            0x5240_0000, // acl: one entry of OWNER@
            4,
            ABCD, // owner
            0,
            10,
            7, // time_modify
        ];
        let encoded = encoded(mask, &values);
        let (attributes, outcome, _) = decoded(&encoded);
        assert_eq!((attributes.mtime_ns, outcome), (Some(10_000_000_007), Ok(())));
    }

    #[test]
    fn a_list_cut_by_the_snaplen_keeps_what_it_held_and_says_so() {
        let encoded = encoded([1 << 3 | 1 << 4, 0, 0], &[0, 77, 0, 4096]);
        let captured = &encoded[..encoded.len() - 4];
        let mut cursor = Cursor::of_prefix(captured, encoded.len(), Reason::Truncated, Layer::Reply);
        let (mut mask, mut attributes) = (None, None);
        let outcome = fattr4(&mut cursor, &mut mask, &mut attributes).unwrap();
        assert_eq!(outcome.unwrap_err().reason, Reason::Truncated);
        assert_eq!(attributes.map(|a| (a.change, a.size)), Some((Some(77), None)));
        assert_eq!((mask, cursor.remaining()), (Some([24, 0, 0]), 0));
    }

    #[test]
    fn a_bitmap_of_any_length_keeps_96_bits() {
        let read =
            |words: &[u32]| bitmap4(&mut Cursor::new(&bytes(words), Layer::Call)).map_err(|e| e.reason);
        assert_eq!(read(&[0]), Ok([0, 0, 0]));
        assert_eq!(read(&[1, 5]), Ok([5, 0, 0]));
        assert_eq!(read(&[2, 5, 6]), Ok([5, 6, 0]));
        assert_eq!(read(&[3, 5, 6, 7]), Ok([5, 6, 7]));
        assert_eq!(read(&[3, 5, 6]), Err(Reason::Malformed));
        assert_eq!(read(&[5, 1, 2, 3, 4, 5]), Ok([1, 2, 3]));
        assert_eq!(read(&[u32::MAX, 1, 2, 3]), Err(Reason::Malformed));
    }

    #[test]
    fn a_listing_is_plus_when_it_asks_for_more_than_file_numbers_and_types() {
        let plain = [1 << 1 | 1 << 11 | 1 << 20, 1 << 23, 0];
        assert!(!plus_mask([0; 3]) && !plus_mask(plain));
        assert!(!plus_mask([0x0802, 0x0080_0000, 0]), "Linux, mounted with nordirplus");
        assert!(plus_mask([0x0018_091a, 0x00b0_a23a, 0]), "Linux by default");
        assert!(plus_mask([plain[0] | 1 << 19, plain[1], 0]), "filehandle");
        assert!(plus_mask([plain[0], plain[1] | 1 << 1, 0]), "mode");
        assert!(plus_mask([plain[0], plain[1], 1 << 16]), "a security label");
    }

    #[test]
    fn fattr3_is_read_in_the_order_of_the_rfc() {
        #[rustfmt::skip]
        let words = [
            2, 0o755, 3, // type, mode, nlink
            1000, 100, // uid, gid
            0, 4096, 0, 8192, // size, used
            0, 0, // rdev
            0, 77, 0, 501, // fsid, fileid
            1, 0, 2, 5, 3, 6, // atime, mtime, ctime
        ];
        let wire = bytes(&words);
        assert_eq!(wire.len(), 84);
        let expected = Attributes {
            file_type: Some(FileType::DIR),
            mode: Some(0o755),
            links: Some(3),
            size: Some(4096),
            used: Some(8192),
            fsid: Some((77, 0)),
            fileid: Some(501),
            mtime_ns: Some(2_000_000_005),
            ctime_ns: Some(3_000_000_006),
            ..Attributes::default()
        };
        assert_eq!(fattr3_by_steps(&mut Cursor::new(&wire, Layer::Reply)), Ok(expected));
        let mut attributes = None;
        fattr3(&mut Cursor::new(&wire, Layer::Reply), &mut attributes).unwrap();
        assert_eq!(attributes.take(), Some(expected));
        let mut cut = Cursor::of_prefix(&wire[..50], 84, Reason::Truncated, Layer::Reply);
        let stop = fattr3(&mut cut, &mut attributes).unwrap_err();
        assert_eq!((attributes, stop.offset, stop.needed), (None, 44, 8));
        let present = [bytes(&[1]), wire].concat();
        post_op_attributes(&mut Cursor::new(&present, Layer::Reply), &mut attributes).unwrap();
        assert_eq!(attributes, Some(expected));
    }

    #[test]
    fn weak_cache_consistency_data_may_lack_either_half() {
        let before = WeakCacheAttributes { size: 9, mtime_ns: 1_000_000_002, ctime_ns: 3_000_000_004 };
        let wire = bytes(&[1, 0, 9, 1, 2, 3, 4, 0]);
        let read = |wire: &[u8]| {
            let (mut before, mut after) = (None, None);
            wcc(&mut Cursor::new(wire, Layer::Reply), &mut before, &mut after).map(|()| (before, after))
        };
        assert_eq!(read(&wire), Ok((Some(before), None)));
        assert_eq!(read(&bytes(&[0, 0])), Ok((None, None)));
    }

    #[test]
    fn what_is_said_to_be_kept_is_kept() {
        let ones = bytes(&[1; 64]);
        for attribute in ATTRIBUTES {
            let mut found = Attributes::default();
            let outcome = read_attribute(attribute.number, &mut Cursor::new(&ones, Layer::Reply), &mut found);
            assert_eq!(found != Attributes::default(), attribute.kept, "{}: {outcome:?}", attribute.name);
        }
    }

    #[test]
    fn times_outside_of_64_bits_of_nanoseconds_saturate() {
        let time = |seconds: i64| {
            let wire = [&seconds.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
            let by_steps = nfstime4_by_steps(&mut Cursor::new(&wire, Layer::Reply));
            assert_eq!(nfstime4(&mut Cursor::new(&wire, Layer::Reply)), by_steps);
            by_steps.unwrap()
        };
        assert_eq!((time(i64::MAX), time(i64::MIN)), (i64::MAX, i64::MIN + i64::from(u32::MAX)));
        let before_1970 = bytes(&[u32::MAX, u32::MAX, 5]);
        assert_eq!(nfstime4(&mut Cursor::new(&before_1970, Layer::Reply)), Ok(-999_999_995));
    }
}
