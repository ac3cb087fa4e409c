//! The table of all attributes of `fattr4`, and how each value is read.

use super::Result;
use super::v4::{bitmap4, nfstime4};
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::Attributes;
use crate::nfs::types::{FileType, TEXT_LIMIT, handle, name};

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
        pub(super) fn read_attribute<'a>(attribute: u32, c: &mut Cursor<'a>, a: &mut Attributes<'a>) -> Result<bool> {
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
fn access_list(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
    for _ in 0..c.count(16)? {
        ace(c, a)?;
    }
    Ok(())
}

/// `nfsace4`: type, flags, access mask, who.
pub(in crate::nfs) fn ace(c: &mut Cursor<'_>, a: &mut Attributes<'_>) -> Result<()> {
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
