//! Arguments and results of NFSv3 (RFC 1813).
//!
//! Parsers in the order of the RFC. Procedures of the same shape share one parser.

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::attributes::{Settable, fattr3, nfstime3, post_op_attributes, wcc};
use crate::nfs::facts::{Entry, Facts};
use crate::nfs::types::{FileType, StableHow, TEXT_LIMIT, handle, name};

type Result = std::result::Result<(), DecodeError>;

/// Smallest `entry3`: follows, fileid, name length, cookie. Bounds what a listing can hold.
const SMALLEST_ENTRY: usize = 24;

/// Entries kept of one listing; servers send a few hundred (the reply is at most 1 MiB ÷ 24 bytes).
const ENTRIES_LIMIT: usize = 1 << 16;

/// `nfs_fh3`: GETATTR, READLINK, FSSTAT, FSINFO, PATHCONF.
pub fn object_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    Ok(())
}

/// `diropargs3`: LOOKUP, REMOVE, RMDIR.
pub fn name_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.name = Some(name(c)?);
    Ok(())
}

/// `post_op_attr` of the object: what most failures carry.
pub fn object_attributes<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)
}

/// `post_op_attr` of the directory: a failed LOOKUP.
pub fn directory_attributes<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.directory_attributes)
}

/// `wcc_data` of the object: SETATTR; failed WRITE and COMMIT.
pub fn wcc_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    wcc(c, &mut f.before, &mut f.attributes)
}

/// `wcc_data` of the directory: REMOVE and RMDIR; failed CREATE, MKDIR, SYMLINK, MKNOD.
pub fn directory_wcc<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    wcc(c, &mut f.directory_before, &mut f.directory_attributes)
}

/// `GETATTR3resok`, section 3.3.1.
pub fn getattr_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    fattr3(c, &mut f.attributes)
}

/// `SETATTR3args`, section 3.3.2.
pub fn setattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    sattr3(c, f)?;
    if c.bool()? {
        nfstime3(c)?; // guard: the ctime that must still hold
    }
    Ok(())
}

/// `LOOKUP3resok`, section 3.3.3.
pub fn lookup_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.new_handle = Some(handle(c)?);
    post_op_attributes(c, &mut f.attributes)?;
    post_op_attributes(c, &mut f.directory_attributes)
}

/// `ACCESS3args`, section 3.3.4.
pub fn access_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.access_requested = Some(c.u32()?);
    Ok(())
}

/// `ACCESS3resok`, section 3.3.4.
pub fn access_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    f.access_granted = Some(c.u32()?);
    Ok(())
}

/// `READLINK3resok`, section 3.3.5.
pub fn readlink_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?);
    Ok(())
}

/// `READ3args`, section 3.3.6.
pub fn read_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.offset = Some(c.u64()?);
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `READ3resok`, section 3.3.6.
pub fn read_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    f.count = Some(u64::from(c.u32()?));
    f.eof = Some(c.bool()?);
    c.opaque_skipped()?;
    Ok(())
}

/// `WRITE3args`, section 3.3.7.
pub fn write_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.offset = Some(c.u64()?);
    f.count_requested = Some(u64::from(c.u32()?));
    f.stable_requested = Some(StableHow(c.u32()?));
    c.opaque_skipped()?;
    Ok(())
}

/// `WRITE3resok`, section 3.3.7.
pub fn write_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    wcc_results(c, f)?;
    f.count = Some(u64::from(c.u32()?));
    f.committed = Some(StableHow(c.u32()?));
    f.verifier = Some(c.u64()?);
    Ok(())
}

/// `CREATE3args`, section 3.3.8. EXCLUSIVE carries a verifier in place of attributes.
pub fn create_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    f.create_type = Some(FileType::REG);
    let before = c.clone();
    let mode = c.u32()?;
    f.create_mode = Some(mode);
    match mode {
        0 | 1 => sattr3(c, f),
        2 => c.u64_as(Kind::CreateVerifier).map(|_verifier| ()),
        _ => Err(before.malformed()),
    }
}

/// `CREATE3resok`, section 3.3.8; MKDIR, SYMLINK and MKNOD answer alike.
pub fn create_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if c.bool()? {
        f.new_handle = Some(handle(c)?);
    }
    post_op_attributes(c, &mut f.attributes)?;
    directory_wcc(c, f)
}

/// `MKDIR3args`, section 3.3.9.
pub fn mkdir_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    f.create_type = Some(FileType::DIR);
    sattr3(c, f)
}

/// `SYMLINK3args`, section 3.3.10.
pub fn symlink_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    f.create_type = Some(FileType::LNK);
    sattr3(c, f)?;
    f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?);
    Ok(())
}

/// `MKNOD3args`, section 3.3.11.
pub fn mknod_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.create = Some(true);
    let kind = FileType(c.u32()?);
    f.create_type = Some(kind);
    match kind {
        FileType::CHR | FileType::BLK => {
            sattr3(c, f)?;
            c.u64().map(|_specdata| ())
        }
        FileType::SOCK | FileType::FIFO => sattr3(c, f),
        _ => Ok(()),
    }
}

/// `RENAME3args`, section 3.3.14.
pub fn rename_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    name_arguments(c, f)?;
    f.rare_mut().other_directory = Some(handle(c)?);
    f.rare_mut().new_name = Some(name(c)?);
    Ok(())
}

/// `RENAME3resok` and `RENAME3resfail`, section 3.3.14.
pub fn rename_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    directory_wcc(c, f)?;
    let (mut before, mut after) = (None, None);
    let parsed = wcc(c, &mut before, &mut after);
    if before.is_some() || after.is_some() {
        let rare = f.rare_mut();
        (rare.target_before, rare.target_attributes) = (before, after);
    }
    parsed
}

/// `LINK3args`, section 3.3.15.
pub fn link_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.rare_mut().other_directory = Some(handle(c)?);
    f.name = Some(name(c)?);
    Ok(())
}

/// `LINK3resok` and `LINK3resfail`, section 3.3.15.
pub fn link_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    directory_wcc(c, f)
}

/// `READDIR3args`, section 3.3.16.
pub fn readdir_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.cookie = Some(c.u64()?);
    c.u64()?; // cookieverf
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `READDIR3resok`, section 3.3.16.
pub fn readdir_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    listing(c, f, |_, _| Ok(()))
}

/// `READDIRPLUS3args`, section 3.3.17.
pub fn readdirplus_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.cookie = Some(c.u64()?);
    c.u64()?; // cookieverf
    c.u32()?; // dircount limits the names alone
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `READDIRPLUS3resok`, section 3.3.17.
pub fn readdirplus_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    listing(c, f, |c, entry| {
        post_op_attributes(c, &mut entry.attributes)?;
        if c.bool()? {
            entry.handle = Some(handle(c)?);
        }
        Ok(())
    })
}

/// `FSSTAT3resok`, section 3.3.18: space and files, in all, free and available.
pub fn fsstat_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    c.take(6 * 8)?;
    c.u32().map(|_invarsec| ())
}

/// `FSINFO3resok`, section 3.3.19: the largest READ and WRITE that the server takes.
pub fn fsinfo_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    let rtmax = c.u32()?;
    c.u32()?; // rtpref
    c.u32()?; // rtmult
    let wtmax = c.u32()?;
    let attributes = f.attributes.get_or_insert_default();
    attributes.max_read = Some(u64::from(rtmax));
    attributes.max_write = Some(u64::from(wtmax));
    c.take(3 * 4)?; // wtpref, wtmult, dtpref
    c.u64()?; // maxfilesize
    nfstime3(c)?; // time_delta
    c.u32().map(|_properties| ())
}

/// `PATHCONF3resok`, section 3.3.20: linkmax, name_max and four booleans.
pub fn pathconf_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    c.take(6 * 4).map(|_limits| ())
}

/// `COMMIT3args`, section 3.3.21. A count of 0 means to the end of the file.
pub fn commit_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    read_arguments(c, f)
}

/// `COMMIT3resok`, section 3.3.21.
pub fn commit_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    wcc_results(c, f)?;
    f.verifier = Some(c.u64()?);
    Ok(())
}

/// `sattr3`, section 2.6: attributes to set. Of their values only the size is kept.
fn sattr3(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result {
    let mode = optional(c, Kind::Number)?;
    let owner = optional(c, Kind::User)?;
    let owner_group = optional(c, Kind::Group)?;
    let size = c.bool()?;
    if size {
        f.set_size = Some(c.u64()?);
    }
    let time_access = time_to_set(c)?;
    let time_modify = time_to_set(c)?;
    f.attribute_mask = Some(Settable::mask([
        (Settable::Size, size),
        (Settable::Mode, mode),
        (Settable::Owner, owner),
        (Settable::OwnerGroup, owner_group),
        (Settable::TimeAccessSet, time_access),
        (Settable::TimeModifySet, time_modify),
    ]));
    Ok(())
}

/// `set_mode3`, `set_uid3`, `set_gid3`: whether a value follows, and that.
fn optional(c: &mut Cursor<'_>, kind: Kind) -> std::result::Result<bool, DecodeError> {
    let set = c.bool()?;
    if set {
        c.u32_as(kind)?;
    }
    Ok(set)
}

/// `set_atime`, `set_mtime`: DONT_CHANGE, SET_TO_SERVER_TIME or SET_TO_CLIENT_TIME and the time.
fn time_to_set(c: &mut Cursor<'_>) -> std::result::Result<bool, DecodeError> {
    let before = c.clone();
    match c.u32()? {
        how @ (0 | 1) => Ok(how == 1),
        2 => nfstime3(c).map(|_| true),
        _ => Err(before.malformed()),
    }
}

/// What READDIR and READDIRPLUS share: attributes, verifier, a linked list of entries, the end mark.
fn listing<'a>(
    c: &mut Cursor<'a>,
    f: &mut Facts<'a>,
    plus: impl Fn(&mut Cursor<'a>, &mut Entry<'a>) -> Result,
) -> Result {
    post_op_attributes(c, &mut f.attributes)?;
    c.u64()?; // cookieverf
    let entries = &mut f.rare_mut().entries;
    entries.reserve((c.rest().len() / SMALLEST_ENTRY).min(64));
    while c.bool()? {
        let fileid = c.u64()?;
        let name = name(c)?;
        let cookie = c.u64()?;
        let mut entry = Entry { name, fileid: Some(fileid), cookie, handle: None, attributes: None };
        let more = plus(c, &mut entry);
        if entries.len() < ENTRIES_LIMIT {
            entries.push(entry);
        }
        more?;
    }
    f.eof = Some(c.bool()?);
    Ok(())
}
