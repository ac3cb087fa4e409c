//! `fattr3` and weak cache consistency data (RFC 1813 section 2.6).

use super::{Result, nanoseconds};
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::{Attributes, WeakCacheAttributes};
use crate::nfs::types::FileType;

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
pub(super) fn fattr3_by_steps<'a>(c: &mut Cursor<'_>) -> Result<Attributes<'a>> {
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
    Ok(nanoseconds(i64::from(c.u32_as(Kind::Seconds)?), c.u32_as(Kind::Fraction)?))
}
