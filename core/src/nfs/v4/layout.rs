//! Layouts and devices of pNFS (RFC 8881 sections 12 and 18; RFC 7862 section 15).
//!
//! The bodies of layouts and device addresses belong to the layout type ([`super::pnfs`]); those of
//! updates and errors are passed over.

use super::pnfs::{device_address, layout_content};
use super::{Result, opaque, range, stateid};
use crate::cursor::Cursor;
use crate::nfs::attributes::{bitmap4, nfstime4};
use crate::nfs::facts::{Attributes, Facts, Pnfs};
use crate::nfs::status::NfsStat4;

/// `NFS4_DEVICEID4_SIZE`.
const DEVICE_ID: usize = 16;

/// `GETDEVICEINFO4args`, RFC 8881 section 18.40.
pub fn getdeviceinfo_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let device = Some(c.array()?);
    f.rare_mut().pnfs = Some(Pnfs { device, ..Pnfs::default() });
    c.u32()?; // gdia_layout_type
    f.count_requested = Some(u64::from(c.u32()?));
    bitmap4(c)?; // gdia_notify_types
    Ok(())
}

/// `GETDEVICEINFO4resok`, RFC 8881 section 18.40.
pub fn getdeviceinfo_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    device_address(c, f.rare_mut().pnfs.get_or_insert_default())?; // gdir_device_addr
    bitmap4(c)?; // gdir_notification
    Ok(())
}

/// Failed GETDEVICEINFO: with `NFS4ERR_TOOSMALL` the count that would do.
pub fn getdeviceinfo_failure<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_TOOSMALL.0) {
        c.u32()?; // gdir_mincount
    }
    Ok(())
}

/// `GETDEVICELIST4args`, RFC 8881 section 18.41.
pub fn getdevicelist_arguments<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u32()?; // gdla_layout_type
    c.u32()?; // gdla_maxdevices
    c.u64()?; // gdla_cookie
    c.u64()?; // gdla_cookieverf
    Ok(())
}

/// `GETDEVICELIST4resok`, RFC 8881 section 18.41.
pub fn getdevicelist_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u64()?; // gdlr_cookie
    c.u64()?; // gdlr_cookieverf
    let devices = c.count(DEVICE_ID)?;
    c.take(devices.saturating_mul(DEVICE_ID))?;
    c.bool()?; // gdlr_eof
    Ok(())
}

/// `LAYOUTCOMMIT4args`, RFC 8881 section 18.42.
pub fn layoutcommit_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    range(c, f)?;
    c.bool()?; // loca_reclaim
    f.stateid = Some(stateid(c)?);
    if c.bool()? {
        c.u64()?; // no_offset: the last byte written
    }
    if c.bool()? {
        nfstime4(c)?; // nt_time
    }
    typed_opaque(c) // loca_layoutupdate
}

/// `LAYOUTCOMMIT4resok`, RFC 8881 section 18.42: the file's size, if it changed.
pub fn layoutcommit_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if c.bool()? {
        let size = Some(c.u64()?);
        f.attributes = Some(Attributes { size, ..Attributes::default() });
    }
    Ok(())
}

/// `LAYOUTGET4args`, RFC 8881 section 18.43.
pub fn layoutget_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.bool()?; // loga_signal_layout_avail
    c.u64()?; // loga_layout_type, loga_iomode
    range(c, f)?;
    c.u64()?; // loga_minlength
    f.stateid = Some(stateid(c)?);
    c.u32()?; // loga_maxcount
    Ok(())
}

/// `LAYOUTGET4resok`, RFC 8881 section 18.43.
pub fn layoutget_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.bool()?; // logr_return_on_close
    f.stateid = Some(stateid(c)?);
    for _ in 0..c.count(28)? {
        c.u64()?; // lo_offset
        c.u64()?; // lo_length
        c.u32()?; // lo_iomode
        layout_content(c, f.rare_mut().pnfs.get_or_insert_default())?; // lo_content
    }
    Ok(())
}

/// Failed LAYOUTGET: with `NFS4ERR_LAYOUTTRYLATER` whether the server will call.
pub fn layoutget_failure<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_LAYOUTTRYLATER.0) {
        c.bool()?; // logr_will_signal_layout_avail
    }
    Ok(())
}

/// `LAYOUTRETURN4args`, RFC 8881 section 18.44: of a range of the file, of its file system, or all.
pub fn layoutreturn_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    const LAYOUTRETURN4_FILE: u32 = 1;
    c.bool()?; // lora_reclaim
    c.u64()?; // lora_layout_type, lora_iomode
    if c.u32()? == LAYOUTRETURN4_FILE {
        range(c, f)?;
        f.stateid = Some(stateid(c)?);
        opaque(c)?; // lrf_body
    }
    Ok(())
}

/// `layoutreturn_stateid`, RFC 8881 section 18.44: absent when no layout is left.
pub fn layoutreturn_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if c.bool()? {
        f.stateid = Some(stateid(c)?);
    }
    Ok(())
}

/// `LAYOUTERROR4args`, RFC 7862 section 15.6.
pub fn layouterror_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    range(c, f)?;
    f.stateid = Some(stateid(c)?);
    for _ in 0..c.count(DEVICE_ID + 8)? {
        c.take(DEVICE_ID)?;
        c.u64()?; // de_status, de_opnum
    }
    Ok(())
}

/// `LAYOUTSTATS4args`, RFC 7862 section 15.7.
pub fn layoutstats_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    range(c, f)?;
    f.stateid = Some(stateid(c)?);
    for _ in ["lsa_read", "lsa_write"] {
        c.u64()?; // ii_count
        c.u64()?; // ii_bytes
    }
    c.take(DEVICE_ID)?;
    typed_opaque(c) // lsa_layoutupdate
}

/// `layoutupdate4`: a layout type and its opaque body.
fn typed_opaque(c: &mut Cursor<'_>) -> Result {
    c.u32()?;
    opaque(c)
}
