//! Operations that the server asks of the client: CB_COMPOUND (RFC 8881 section 20, RFC 7862 section 16).
//!
//! Where the arguments hold a handle it goes into the fact sheet: callbacks have no current handle.

use super::session::sequence;
use super::state::open_delegation;
use super::{Result, lock_owner, opaque, range, stateid, write_response};
use crate::cursor::Cursor;
use crate::nfs::attributes::bitmap4;
use crate::nfs::facts::Facts;
use crate::nfs::status::NfsStat4;
use crate::nfs::types::handle;

/// `CB_GETATTR4args`, RFC 8881 section 20.1. Its results are those of GETATTR.
pub fn cb_getattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.attribute_mask = Some(bitmap4(c)?);
    Ok(())
}

/// `CB_RECALL4args`, RFC 8881 section 20.2.
pub fn cb_recall_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    c.bool()?; // truncate
    f.handle = Some(handle(c)?);
    Ok(())
}

/// `CB_LAYOUTRECALL4args`, RFC 8881 section 20.3: of a file, of a file system, or all.
pub fn cb_layoutrecall_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u64()?; // clora_type, clora_iomode
    c.bool()?; // clora_changed
    let before = c.clone();
    match c.u32()? {
        1 => {
            // LAYOUTRECALL4_FILE
            f.handle = Some(handle(c)?);
            range(c, f)?;
            f.stateid = Some(stateid(c)?);
        }
        2 => c.take(16).map(|_fsid| ())?, // LAYOUTRECALL4_FSID
        3 => {}                           // LAYOUTRECALL4_ALL
        _ => return Err(before.malformed()),
    }
    Ok(())
}

/// `CB_NOTIFY4args`, RFC 8881 section 20.4.
pub fn cb_notify_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.handle = Some(handle(c)?);
    cb_notify_deviceid_arguments(c, f)
}

/// `CB_PUSH_DELEG4args`, RFC 8881 section 20.5.
pub fn cb_push_deleg_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.stateid = open_delegation(c, f)?;
    Ok(())
}

/// `CB_RECALL_ANY4args`, RFC 8881 section 20.6; CB_RECALLABLE_OBJ_AVAIL (section 20.7) is the same.
pub fn cb_recall_any_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u32()?; // craa_objects_to_keep
    bitmap4(c)?; // craa_type_mask
    Ok(())
}

/// `CB_RECALL_SLOT4args`, RFC 8881 section 20.8.
pub fn cb_recall_slot_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.target_highest_slot = Some(c.u32()?);
    Ok(())
}

/// `CB_SEQUENCE4args`, RFC 8881 section 20.9.
pub fn cb_sequence_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    sequence(c, f)?;
    f.highest_slot = Some(c.u32()?);
    c.bool()?; // csa_cachethis
    for _ in 0..c.count(20)? {
        c.take(16)?; // rcl_sessionid
        let calls = c.count(8)?;
        c.take(calls.saturating_mul(8))?; // rcl_referring_calls: sequence and slot
    }
    Ok(())
}

/// `CB_WANTS_CANCELLED4args`, RFC 8881 section 20.10.
pub fn cb_wants_cancelled_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.bool()?; // cwca_contended_wants_cancelled
    c.bool()?; // cwca_resourced_wants_cancelled
    Ok(())
}

/// `CB_NOTIFY_LOCK4args`, RFC 8881 section 20.11.
pub fn cb_notify_lock_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    lock_owner(c, f)
}

/// `CB_NOTIFY_DEVICEID4args`, RFC 8881 section 20.12: `notify4<>`. CB_NOTIFY ends alike.
pub fn cb_notify_deviceid_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    for _ in 0..c.count(8)? {
        bitmap4(c)?; // notify_mask
        opaque(c)?; // notify_vals
    }
    Ok(())
}

/// `CB_OFFLOAD4args`, RFC 7862 section 16.1: how a COPY in the background ended.
pub fn cb_offload_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    f.stateid = Some(stateid(c)?);
    f.rare_mut().offload = f.stateid;
    if c.u32()? == NfsStat4::NFS4_OK.0 {
        write_response(c, f)
    } else {
        f.count = Some(c.u64()?); // coa_bytes_copied
        Ok(())
    }
}
