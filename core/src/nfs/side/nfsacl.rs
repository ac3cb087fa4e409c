//! NFSACL versions 2 and 3: access control lists, on the port of NFS (Solaris' `nfs_acl.x`; no RFC).
//!
//! The lists themselves are read to their end and not kept.

use super::Result;
use crate::cursor::{Cursor, Kind};
use crate::nfs::attributes::post_op_attributes;
use crate::nfs::facts::Facts;
use crate::nfs::{types, v2};

/// Bytes of an entry of a list: type, id, permissions.
const ENTRY: usize = 12;

/// `GETACL2args`: handle, and which lists are asked for.
pub fn getacl_arguments_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    v2::object_arguments(c, f)?;
    c.u32().map(|_mask| ())
}

/// `GETACL2resok`.
pub fn getacl_results_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.attributes = Some(v2::fattr(c)?);
    getacl_lists(c)
}

/// `SETACL2args`.
pub fn setacl_arguments_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    v2::object_arguments(c, f)?;
    secattr(c).map(|_entries| ())
}

/// `ACCESS2args`.
pub fn access_arguments_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    v2::object_arguments(c, f)?;
    f.access_requested = Some(c.u32()?);
    Ok(())
}

/// `ACCESS2resok`.
pub fn access_results_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.attributes = Some(v2::fattr(c)?);
    f.access_granted = Some(c.u32()?);
    Ok(())
}

/// `GETXATTRDIR2args`: handle, and whether the directory of attributes is to be made.
pub fn getxattrdir_arguments_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    v2::object_arguments(c, f)?;
    c.bool().map(|_create| ())
}

/// `GETACL3args`.
pub fn getacl_arguments_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.handle = Some(types::handle(c)?);
    c.u32().map(|_mask| ())
}

/// `GETACL3resok`.
pub fn getacl_results_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    post_op_attributes(c, &mut f.attributes)?;
    getacl_lists(c)
}

/// `SETACL3args`.
pub fn setacl_arguments_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.handle = Some(types::handle(c)?);
    secattr(c).map(|_entries| ())
}

/// `GETXATTRDIR3args`.
pub fn getxattrdir_arguments_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.handle = Some(types::handle(c)?);
    c.bool().map(|_create| ())
}

/// `GETXATTRDIR3resok`. The directory is no child of the object: its handle is not learnt.
pub fn getxattrdir_results_v3<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    types::handle(c)?;
    post_op_attributes(c, &mut f.attributes)
}

/// `GETXATTRDIR2resok`.
pub fn getxattrdir_results_v2<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    v2::handle(c)?;
    f.attributes = Some(v2::fattr(c)?);
    Ok(())
}

/// `secattr`: which lists there are, then both lists, each with a count of its own before it. Gives how many
/// entries they have.
fn secattr(c: &mut Cursor<'_>) -> Result<usize> {
    c.u32()?; // mask
    let mut all = 0_usize;
    for _ in ["aclent", "dfaclent"] {
        c.u32()?; // aclcnt, dfaclcnt: repeated where an array is asked for and not sent
        let entries = c.count(ENTRY)?;
        c.take_as(Kind::AccessEntries, entries.saturating_mul(ENTRY))?;
        all = all.saturating_add(entries);
    }
    Ok(all)
}

/// The lists of a reply to GETACL. Behind empty ones Linux servers before 5.13 send the room of four
/// entries, with whatever was in memory.
fn getacl_lists(c: &mut Cursor<'_>) -> Result<()> {
    const ROOM: usize = 4 * ENTRY;
    if secattr(c)? == 0 && c.remaining() == ROOM {
        c.take_as(Kind::AccessEntries, ROOM)?;
    }
    Ok(())
}
