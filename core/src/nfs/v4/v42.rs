//! Operations of minor version 2 (RFC 7862 section 15), and extended attributes (RFC 8276 section 8.4).
//!
//! COPY and CLONE speak of two files: the fact sheet holds the target, whose handle is the current one.

use super::{Result, at_most_one, netaddr, range_arguments, stateid, write_response};
use crate::cursor::{Cursor, Kind};
use crate::nfs::attributes::{bitmap4, nfstime4};
use crate::nfs::facts::{Facts, Sparse};
use crate::nfs::status::NfsStat4;
use crate::nfs::types::{DataContent, StableHow, TEXT_LIMIT, name};

/// `CLONE4args`, RFC 7862 section 15.13; COPY begins alike. A count of 0 means to the end of the source.
pub fn clone_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    stateid(c)?; // src_stateid
    f.stateid = Some(stateid(c)?);
    c.u64()?; // src_offset
    f.offset = Some(c.u64()?);
    f.count_requested = Some(c.u64()?);
    Ok(())
}

/// `COPY4args`, RFC 7862 section 15.2.
pub fn copy_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    clone_arguments(c, f)?;
    copy_requirements(c)?; // ca_consecutive, ca_synchronous
    locations(c) // ca_source_server
}

/// `COPY4resok`, RFC 7862 section 15.2.
pub fn copy_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    write_response(c, f)?;
    copy_requirements(c)
}

/// Failed COPY: with `NFS4ERR_OFFLOAD_NO_REQS` what the server could do.
pub fn copy_failure<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_OFFLOAD_NO_REQS.0) {
        copy_requirements(c)?;
    }
    Ok(())
}

/// `copy_requirements4`: consecutive, synchronous.
fn copy_requirements(c: &mut Cursor<'_>) -> Result {
    c.bool()?;
    c.bool()?;
    Ok(())
}

/// `COPY_NOTIFY4args`, RFC 7862 section 15.3.
pub fn copy_notify_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    location(c) // cna_destination_server
}

/// `COPY_NOTIFY4resok`, RFC 7862 section 15.3.
pub fn copy_notify_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    nfstime4(c)?; // cnr_lease_time
    f.stateid = Some(stateid(c)?);
    locations(c) // cnr_source_server
}

/// `netloc4<>`.
fn locations(c: &mut Cursor<'_>) -> Result {
    for _ in 0..c.count(8)? {
        location(c)?;
    }
    Ok(())
}

/// `netloc4` (RFC 7862 section 4.8.1): a name, a URL, or an address.
fn location(c: &mut Cursor<'_>) -> Result {
    let before = c.clone();
    match c.u32()? {
        1 => c.opaque_as(Kind::Host, TEXT_LIMIT).map(|_| ()), // NL4_NAME
        2 => c.opaque_as(Kind::Token, TEXT_LIMIT).map(|_| ()), // NL4_URL
        3 => netaddr(c),                                      // NL4_NETADDR
        _ => Err(before.malformed()),
    }
}

/// `IO_ADVISE4args`, RFC 7862 section 15.5.
pub fn io_advise_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    range_arguments(c, f)?;
    io_advise_results(c, f)
}

/// `IO_ADVISE4resok`, RFC 7862 section 15.5: a bitmap of hints.
pub fn io_advise_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    bitmap4(c).map(|_hints| ())
}

/// `OFFLOAD_STATUS4resok`, RFC 7862 section 15.9.
pub fn offload_status_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.count = Some(c.u64()?);
    for _ in 0..at_most_one(c)? {
        c.u32()?; // osr_complete: the status at the end
    }
    Ok(())
}

/// `READ_PLUS4resok`, RFC 7862 section 15.10: data and holes in turn.
///
/// Both count as read, as the zeros of a hole would in READ's reply. A hole may reach beyond what
/// was asked for (section 15.10.3), so the count ends there.
pub fn read_plus_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.eof = Some(c.bool()?);
    let limit = f.count_requested.unwrap_or(u64::MAX);
    let contents = c.count(16)?;
    let (mut count, mut hole_bytes) = (0_u64, 0);
    for _ in 0..contents {
        let before = c.clone();
        let content = DataContent(c.u32()?);
        let length = match content {
            DataContent::DATA => {
                c.u64()?; // d_offset
                u64::from(c.opaque_skipped()?)
            }
            DataContent::HOLE => {
                c.u64()?; // di_offset
                c.u64()? // di_length
            }
            _ => return Err(before.malformed()),
        };
        let wanted = length.min(limit - count);
        count += wanted;
        hole_bytes += if content == DataContent::HOLE { wanted } else { 0 };
    }
    // Not before the last of them: a part of the sum would look like the whole.
    f.count = Some(count);
    let sparse = f.rare_mut().sparse.get_or_insert_default();
    (sparse.segments, sparse.hole_bytes) = (Some(contents as u32), Some(hole_bytes));
    Ok(())
}

/// `SEEK4args`, RFC 7862 section 15.11.
pub fn seek_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.offset = Some(c.u64()?);
    let what = DataContent(c.u32()?);
    f.rare_mut().sparse = Some(Sparse { content: Some(what), ..Sparse::default() });
    Ok(())
}

/// `SEEK4resok`, RFC 7862 section 15.11. The offset stays the one in the call.
pub fn seek_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.eof = Some(c.bool()?);
    let found = c.u64()?;
    f.rare_mut().sparse.get_or_insert_default().found = Some(found);
    Ok(())
}

/// `WRITE_SAME4args`, RFC 7862 section 15.12: a pattern written to a number of blocks.
pub fn write_same_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.stable_requested = Some(StableHow(c.u32()?));
    f.offset = Some(c.u64()?);
    let block_size = c.u64()?;
    let block_count = c.u64()?;
    f.count_requested = Some(block_size.saturating_mul(block_count));
    c.u64()?; // adb_reloff_blocknum
    c.u32()?; // adb_block_num
    c.u64()?; // adb_reloff_pattern
    c.opaque_skipped()?; // adb_pattern
    Ok(())
}

/// `WRITE_SAME4resok`, RFC 7862 section 15.12.
pub fn write_same_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    write_response(c, f)
}

/// `xattrkey4`: arguments of GETXATTR and REMOVEXATTR, RFC 8276 sections 8.4.1 and 8.4.4.
pub fn xattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.text = Some(name(c)?);
    Ok(())
}

/// `GETXATTR4resok`, RFC 8276 section 8.4.1: the value, data of the user.
pub fn getxattr_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.opaque_skipped().map(|_length| ())
}

/// `SETXATTR4args`, RFC 8276 section 8.4.2.
pub fn setxattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u32()?; // sxa_option
    f.text = Some(name(c)?);
    c.opaque_skipped()?; // sxa_value
    Ok(())
}

/// `LISTXATTRS4args`, RFC 8276 section 8.4.3.
pub fn listxattrs_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u64()?; // lxa_cookie
    f.count_requested = Some(u64::from(c.u32()?));
    Ok(())
}

/// `LISTXATTRS4resok`, RFC 8276 section 8.4.3. The names are not kept, nor is what tells of a listing of
/// entries: there are none.
pub fn listxattrs_results<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result {
    c.u64()?; // lxr_cookie
    for _ in 0..c.count(4)? {
        name(c)?;
    }
    c.bool()?; // lxr_eof
    Ok(())
}
