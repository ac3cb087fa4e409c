//! Arguments and results of NFSv2 (RFC 1094 section 2.2), in the order of the RFC.
//!
//! Version 2 knows no level of stability: all of its procedures are synchronous (section 2.2), so
//! that a WRITE that succeeded is on stable storage, and is whole. Sizes and offsets have 32 bits,
//! handles are 32 bytes without a length, and times count microseconds.

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::attributes::Settable;
use crate::nfs::facts::{Attributes, Entry, Facts};
use crate::nfs::types::{FileType, TEXT_LIMIT, name};

type Result = std::result::Result<(), DecodeError>;

/// `FHSIZE`, section 2.3.3.
const HANDLE_SIZE: usize = 32;

/// What `sattr` has in place of a value that is not to be set, section 2.3.6.
const DO_NOT_SET: u32 = u32::MAX;

/// Smallest `entry`: follows, fileid, name length, cookie. Bounds what a listing can hold.
const SMALLEST_ENTRY: usize = 16;

/// Entries kept of one listing: more than a record can hold.
const ENTRIES_LIMIT: usize = 1 << 17;

/// `fhandle`, section 2.3.3.
pub fn handle<'a>(c: &mut Cursor<'a>) -> std::result::Result<&'a [u8], DecodeError> {
    c.take_as(Kind::Handle, HANDLE_SIZE)
}

/// A status and nothing else: REMOVE, RENAME, LINK, SYMLINK, RMDIR.
pub fn status_alone<'a>(_: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    Ok(())
}

/// `fhandle`: GETATTR, READLINK, STATFS.
pub fn object_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    Ok(())
}

/// `diropargs`, section 2.3.10: LOOKUP, REMOVE, RMDIR.
pub fn name_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.name = Some(name(c)?);
    Ok(())
}

/// `attrstat`, section 2.3.9: GETATTR, SETATTR.
pub fn attributes_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.attributes = Some(fattr(c)?);
    Ok(())
}

/// `diropok`, section 2.3.10: LOOKUP, CREATE, MKDIR.
pub fn object_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.new_handle = Some(handle(c)?);
    attributes_results(c, f)
}

/// `sattrargs`, section 2.2.3.
pub fn setattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    sattr(c, f)
}

/// READLINK, section 2.2.6.
pub fn readlink_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?);
    Ok(())
}

/// `readargs`, section 2.2.7.
pub fn read_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.offset = Some(u64::from(c.u32()?));
    f.count_requested = Some(u64::from(c.u32()?));
    c.u32()?; // totalcount is not used
    Ok(())
}

/// READ, section 2.2.7. The end of the file is not told.
pub fn read_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.attributes = Some(fattr(c)?);
    f.count = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `writeargs`, section 2.2.9. `beginoffset` and `totalcount` are not used.
pub fn write_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    c.u32()?; // beginoffset
    f.offset = Some(u64::from(c.u32()?));
    c.u32()?; // totalcount
    f.count_requested = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// WRITE, section 2.2.9: a success wrote all that was asked for, so the reply does not count.
pub fn write_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.count = f.count_requested;
    attributes_results(c, f)
}

/// `createargs`, section 2.2.10. Whether the file existed before is up to the server, and not told.
pub fn create_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create_type = Some(FileType::REG);
    sattr(c, f)
}

/// `createargs` of MKDIR, section 2.2.15.
pub fn mkdir_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    f.create_type = Some(FileType::DIR);
    sattr(c, f)
}

/// `renameargs`, section 2.2.12.
pub fn rename_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.rare_mut().other_directory = Some(handle(c)?);
    f.rare_mut().new_name = Some(name(c)?);
    Ok(())
}

/// `linkargs`, section 2.2.13.
pub fn link_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.rare_mut().other_directory = Some(handle(c)?);
    f.name = Some(name(c)?);
    Ok(())
}

/// `symlinkargs`, section 2.2.14. The attributes come behind the path, other than in version 3.
pub fn symlink_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    f.create_type = Some(FileType::LNK);
    f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?);
    sattr(c, f)
}

/// `readdirargs`, section 2.2.17.
pub fn readdir_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.cookie = Some(u64::from(c.u32()?));
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// READDIR, section 2.2.17: a linked list of entries, then the end mark.
pub fn readdir_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let entries = &mut f.rare_mut().entries;
    entries.reserve((c.rest().len() / SMALLEST_ENTRY).min(64));
    while c.bool()? {
        let fileid = Some(u64::from(c.u32()?));
        let name = name(c)?;
        let cookie = u64::from(c.u32()?);
        if entries.len() < ENTRIES_LIMIT {
            entries.push(Entry { name, fileid, cookie, handle: None, attributes: None });
        }
    }
    f.eof = Some(c.bool()?);
    Ok(())
}

/// STATFS, section 2.2.18: transfer size, block size, blocks, free blocks, available blocks.
pub fn statfs_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.take(5 * 4).map(|_sizes| ())
}

/// `fattr`, section 2.3.5.
pub fn fattr<'a>(c: &mut Cursor<'_>) -> std::result::Result<Attributes<'a>, DecodeError> {
    let file_type = file_type(c.u32()?);
    let mode = c.u32()?;
    let links = c.u32()?;
    c.take_as(Kind::UserAndGroup, 2 * 4)?; // uid, gid
    let size = c.u32()?;
    c.take(3 * 4)?; // blocksize, rdev, blocks
    let fsid = c.u32()?;
    let fileid = c.u32()?;
    timeval(c)?; // atime
    let mtime_ns = timeval(c)?;
    let ctime_ns = timeval(c)?;
    Ok(Attributes {
        file_type: Some(file_type),
        mode: Some(mode),
        links: Some(links),
        size: Some(u64::from(size)),
        fsid: Some((u64::from(fsid), 0)),
        fileid: Some(u64::from(fileid)),
        mtime_ns: Some(mtime_ns),
        ctime_ns: Some(ctime_ns),
        ..Attributes::default()
    })
}

/// `ftype`, section 2.3.2, which is `ftype3` but for what implementations added to it: 8 is a FIFO.
fn file_type(word: u32) -> FileType {
    match word {
        8 => FileType::FIFO,
        7 => FileType(u32::MAX), // NFBAD: no type of version 3
        _ => FileType(word),
    }
}

/// `timeval`, section 2.3.4, in nanoseconds since 1970.
fn timeval(c: &mut Cursor<'_>) -> std::result::Result<i64, DecodeError> {
    let (seconds, microseconds) = (i64::from(c.u32()?), i64::from(c.u32()?));
    Ok(seconds * 1_000_000_000 + microseconds * 1000)
}

/// `sattr`, section 2.3.6: mode, owner, group, size and two times. Of the values only the size is kept.
fn sattr(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result {
    let mode = c.u32()?;
    let (owner, group) = c.take_as(Kind::UserAndGroup, 2 * 4)?.split_at(4);
    let size = c.u32()?;
    f.set_size = (size != DO_NOT_SET).then_some(u64::from(size));
    let (time_access, time_modify) = c.take(2 * 8)?.split_at(8);
    // Of a time both halves say so: seconds and microseconds.
    let set = |value: &[u8]| !value.starts_with(&DO_NOT_SET.to_be_bytes());
    f.attribute_mask = Some(Settable::mask([
        (Settable::Size, size != DO_NOT_SET),
        (Settable::Mode, mode != DO_NOT_SET),
        (Settable::Owner, set(owner)),
        (Settable::OwnerGroup, set(group)),
        (Settable::TimeAccessSet, set(time_access)),
        (Settable::TimeModifySet, set(time_modify)),
    ]));
    Ok(())
}
