//! Operations on files and directories: their handles, names, attributes and contents.
//!
//! In alphabetical order, as in RFC 7530 section 16. SETATTR and WRITE name their state as well.

use super::{Result, opaque, stateid};
use crate::cursor::{Cursor, Kind};
use crate::nfs::attributes::{bitmap4, fattr4, plus_entry, plus_mask};
use crate::nfs::facts::{Attributes, Entry, Facts, Rare};
use crate::nfs::side::mount::FLAVORS_LIMIT;
use crate::nfs::status::NfsStat4;
use crate::nfs::types::{ChangeInfo, FileType, StableHow, TEXT_LIMIT, handle, name};

/// Smallest `entry4`: follows, cookie, name length, bitmap length, list length.
const SMALLEST_ENTRY: usize = 24;

/// Entries kept of one listing; servers send a few hundred. Those beyond are read and dropped.
const ENTRIES_LIMIT: usize = 1 << 16;

/// `ACCESS4args`, RFC 7530 section 16.1.
pub fn access_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.access_requested = Some(c.u32()?);
    Ok(())
}

/// `ACCESS4resok`, RFC 7530 section 16.1.
pub fn access_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u32()?; // supported
    f.access_granted = Some(c.u32()?);
    Ok(())
}

/// `COMMIT4args`, RFC 7530 section 16.3. A count of 0 means to the end of the file.
pub fn commit_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.offset = Some(c.u64()?);
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `COMMIT4resok`, RFC 7530 section 16.3.
pub fn commit_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.verifier = Some(c.u64()?);
    Ok(())
}

/// `CREATE4args`, RFC 7530 section 16.4: everything but regular files.
pub fn create_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.create = Some(true);
    let kind = FileType(c.u32()?);
    f.create_type = Some(kind);
    match kind {
        FileType::LNK => f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?),
        FileType::BLK | FileType::CHR => c.u64().map(|_specdata| ())?,
        _ => {}
    }
    f.name = Some(name(c)?);
    attributes_to_set(c, f)
}

/// `CREATE4resok`, RFC 7530 section 16.4.
pub fn create_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.change = Some(ChangeInfo::parse(c)?);
    bitmap4(c)?; // attrset
    Ok(())
}

/// `GETATTR4args`, RFC 7530 section 16.7.
pub fn getattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.attribute_mask = Some(bitmap4(c)?);
    Ok(())
}

/// `GETATTR4resok`, RFC 7530 section 16.7. The mask stays the one that was asked for.
pub fn getattr_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    fattr4(c, &mut None, &mut f.attributes)?
}

/// `GETFH4resok`, RFC 7530 section 16.8.
pub fn getfh_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.new_handle = Some(handle(c)?);
    Ok(())
}

/// `VERIFY4args` and `NVERIFY4args`, RFC 7530 sections 16.35 and 16.15.
pub fn verify_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let mut compared = None;
    let outcome = fattr4(c, &mut f.attribute_mask, &mut compared);
    f.rare_mut().compared = compared;
    outcome?
}

/// `VERIFY4res` of a success: the object has the attributes in the call.
pub fn verify_results<'a>(_: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.attributes = f.rare().compared;
    Ok(())
}

/// `NVERIFY4res` of a failure: `NFS4ERR_SAME` says that the object has the attributes in the call.
pub fn nverify_failure<'a>(_: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_SAME.0) {
        f.attributes = f.rare().compared;
    }
    Ok(())
}

/// `READ4args`, RFC 7530 section 16.23; READ_PLUS asks alike (RFC 7862 section 15.10).
pub fn read_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.offset = Some(c.u64()?);
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `READ4resok`, RFC 7530 section 16.23.
pub fn read_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.eof = Some(c.bool()?);
    f.count = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `READDIR4args`, RFC 7530 section 16.24.
pub fn readdir_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().chooses = true;
    f.cookie = Some(c.u64()?);
    c.u64()?; // cookieverf
    c.u32()?; // dircount limits the names alone
    f.count_requested = Some(u64::from(c.u32()?));
    let mask = bitmap4(c)?;
    f.attribute_mask = Some(mask);
    f.rare_mut().plus = Some(plus_mask(mask));
    Ok(())
}

/// `READDIR4resok`, RFC 7530 section 16.24.
///
/// An entry whose attributes are damaged does not end the listing; its error is given at the end.
pub fn readdir_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u64()?; // cookieverf
    let Rare { entries, chooses, plus, .. } = f.rare_mut();
    *chooses = true;
    entries.reserve((c.rest().len() / SMALLEST_ENTRY).min(64));
    let mut damage = Ok(());
    while c.bool()? {
        let cookie = c.u64()?;
        let name = name(c)?;
        let (mut mask, mut attributes) = (None, None);
        let outcome = fattr4(c, &mut mask, &mut attributes);
        if plus.is_none() {
            *plus = mask.and_then(plus_entry);
        }
        if entries.len() < ENTRIES_LIMIT {
            entries.push(entry(cookie, name, attributes));
        }
        damage = damage.and(outcome?);
    }
    f.eof = Some(c.bool()?);
    damage
}

fn entry<'a>(cookie: u64, name: &'a [u8], attributes: Option<Attributes<'a>>) -> Entry<'a> {
    let of_attributes = attributes.unwrap_or_default();
    Entry { name, cookie, fileid: of_attributes.fileid, handle: of_attributes.handle, attributes }
}

/// `READLINK4resok`, RFC 7530 section 16.25.
pub fn readlink_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.text = Some(c.opaque_as(Kind::Path, TEXT_LIMIT)?);
    Ok(())
}

/// `RENAME4args`, RFC 7530 section 16.27.
pub fn rename_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.name = Some(name(c)?);
    f.rare_mut().new_name = Some(name(c)?);
    Ok(())
}

/// `RENAME4resok`, RFC 7530 section 16.27.
pub fn rename_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.change = Some(ChangeInfo::parse(c)?);
    f.rare_mut().target_change = Some(ChangeInfo::parse(c)?);
    Ok(())
}

/// `SECINFO4resok`, RFC 7530 section 16.31; SECINFO_NO_NAME answers alike. Nothing is kept.
pub fn secinfo_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    const RPCSEC_GSS: u32 = 6;
    for place in 0..c.count(4)? {
        let kind = if place < FLAVORS_LIMIT { Kind::Number } else { Kind::Unknown };
        if c.u32_as(kind)? == RPCSEC_GSS {
            opaque(c)?; // oid
            c.u64()?; // qop, service
        }
    }
    Ok(())
}

/// `SETATTR4args`, RFC 7530 section 16.32.
pub fn setattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    attributes_to_set(c, f)
}

/// `SETATTR4res` after the status, RFC 7530 section 16.32: `attrsset`, also of a failure.
pub fn setattr_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    bitmap4(c).map(|_attrsset| ())
}

/// `WRITE4args`, RFC 7530 section 16.36.
pub fn write_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.offset = Some(c.u64()?);
    f.stable_requested = Some(StableHow(c.u32()?));
    f.count_requested = Some(u64::from(c.opaque_skipped()?));
    Ok(())
}

/// `WRITE4resok`, RFC 7530 section 16.36.
pub fn write_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.count = Some(u64::from(c.u32()?));
    f.committed = Some(StableHow(c.u32()?));
    f.verifier = Some(c.u64()?);
    Ok(())
}

/// `fattr4` of attributes to be set (SETATTR, CREATE, OPEN): their mask, and the size.
pub(super) fn attributes_to_set<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let mut attributes = None;
    let outcome = fattr4(c, &mut f.attribute_mask, &mut attributes);
    f.set_size = attributes.and_then(|a| a.size);
    outcome?
}
