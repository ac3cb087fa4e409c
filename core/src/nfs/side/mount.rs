//! MOUNT versions 1 and 2 (RFC 1094 appendix A) and 3 (RFC 1813 appendix I).
//!
//! MNT teaches the path of a handle, the others are read to their end. DUMP and EXPORT list what is
//! mounted and what is exported, of which nothing is kept.

use super::{Result, list, string};
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::Facts;
use crate::nfs::types::PseudoFlavor;
use crate::nfs::{types, v2};

/// Flavors of an export that are told; there are not so many.
pub const FLAVORS_LIMIT: usize = 16;

/// `dirpath`: MNT, UMNT, PATHCONF.
pub fn path_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(string(c, Kind::Path)?);
    Ok(())
}

/// `fhstatus` of a success, RFC 1094 A.5: the handle of the mounted directory.
pub fn mnt_results_v1<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.new_handle = Some(v2::handle(c)?);
    Ok(())
}

/// `mountres3_ok`, RFC 1813 section 5.2.1: the handle, and the flavors with which it may be used.
pub fn mnt_results_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.new_handle = Some(types::handle(c)?);
    let count = c.count(4)?;
    let mut flavors = Vec::new();
    for _ in 0..count.min(FLAVORS_LIMIT) {
        flavors.push(PseudoFlavor(c.u32()?));
    }
    c.take_as(Kind::Unknown, count.saturating_sub(FLAVORS_LIMIT).saturating_mul(4))?;
    // Of a list that was cut off, nobody knows which flavors are missing.
    f.rare_mut().flavors = flavors;
    Ok(())
}

/// `mountlist`, RFC 1813 section 5.2.2: who mounted what.
pub fn dump_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    list(c, |c| {
        string(c, Kind::Host)?; // ml_hostname
        string(c, Kind::Path)?; // ml_directory
        Ok(())
    })
}

/// `exports`, RFC 1813 section 5.2.5: what is exported, and to whom.
pub fn export_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    list(c, |c| {
        string(c, Kind::Path)?; // ex_dir
        list(c, |c| string(c, Kind::Host).map(|_group| ()))
    })
}

/// `ppathcnf` of version 2 (`mount.x`): limits of the file system for POSIX pathconf(). Each of its
/// ten numbers takes four bytes, however short it is declared.
pub fn pathconf_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    c.take(10 * 4).map(|_limits| ())
}
