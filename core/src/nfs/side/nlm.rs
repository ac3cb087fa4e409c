//! The Network Lock Manager, versions 1 to 3 (X/Open C702 chapter 10) and 4 (RFC 1813 appendix II).
//!
//! Version 4 differs in the width of offsets and lengths ([`Width`]) and in more statuses. A result
//! begins with a cookie; its status comes behind it. The asynchronous forms (`*_MSG`, `*_RES`) carry
//! the same arguments and results, each as a call of its own whose reply is void.
//!
//! A lock is a lock of the file whose NFS handle it carries; its type is told as NFSv4 tells it.

use super::Result;
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::{Facts, LockOwner};
use crate::nfs::types::handle;

/// Longest `netobj` accepted, where it is a cookie or an owner (X/Open: 1024 bytes).
const OBJECT_LIMIT: usize = 1024;

/// Longest name of a host, `LM_MAXSTRLEN`.
const CALLER_LIMIT: usize = 1024;

/// The status that says who holds the lock.
const DENIED: u32 = 1;

/// How wide offsets and lengths are.
pub trait Width {
    /// Reads an offset or a length.
    fn read(c: &mut Cursor<'_>) -> Result<u64>;
}

/// 32 bits: versions 1 to 3.
#[derive(Debug)]
pub struct Short;

/// 64 bits: version 4.
#[derive(Debug)]
pub struct Long;

impl Width for Short {
    fn read(c: &mut Cursor<'_>) -> Result<u64> {
        c.u32().map(u64::from)
    }
}

impl Width for Long {
    fn read(c: &mut Cursor<'_>) -> Result<u64> {
        c.u64()
    }
}

/// `nlm4_testargs`, section 6.1.4: TEST and GRANTED.
pub fn test_arguments<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cookie(c)?;
    let exclusive = c.bool()?;
    f.rare_mut().lock_type = Some(lock_type(exclusive, false));
    lock::<W>(c, f)
}

/// `nlm4_lockargs`, section 6.1.4: LOCK and NM_LOCK.
pub fn lock_arguments<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cancel_arguments::<W>(c, f)?;
    c.bool()?; // reclaim
    c.u32().map(|_state| ())
}

/// `nlm4_cancargs`, section 6.1.4, with which `nlm4_lockargs` begins.
pub fn cancel_arguments<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cookie(c)?;
    let (block, exclusive) = (c.bool()?, c.bool()?);
    f.rare_mut().lock_type = Some(lock_type(exclusive, block));
    lock::<W>(c, f)
}

/// `nlm4_unlockargs`, section 6.1.4. A length of 0 reaches to the end of the file.
pub fn unlock_arguments<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cookie(c)?;
    lock::<W>(c, f)
}

/// `nlm4_testres`, section 6.1.4: a denial names the lock that is in the way, which is not kept.
pub fn test_results<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    results(c, f)?;
    if f.status == Some(DENIED) {
        c.bool()?; // exclusive
        c.u32()?; // svid
        c.opaque_as(Kind::Token, OBJECT_LIMIT)?; // oh
        W::read(c)?;
        W::read(c)?;
    }
    Ok(())
}

/// `nlm4_res`, section 6.1.4.
pub fn results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cookie(c)?;
    f.status = Some(c.u32()?);
    Ok(())
}

/// `nlm4_shareargs`, section 6.1.4: SHARE and UNSHARE, for clients with DOS' kind of opening.
pub fn share_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    cookie(c)?;
    f.text = Some(c.opaque_as(Kind::Host, CALLER_LIMIT)?);
    f.handle = Some(handle(c)?);
    c.opaque_as(Kind::Token, OBJECT_LIMIT)?; // oh
    c.u32()?; // mode: what is denied to others
    f.share_access = Some(c.u32()?);
    c.bool().map(|_reclaim| ())
}

/// `nlm4_shareres`, section 6.1.4.
pub fn share_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    results(c, f)?;
    c.u32().map(|_sequence| ())
}

/// `nlm4_notify`, section 6.1.4: FREE_ALL, a client that lost its locks.
pub fn free_all_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(c.opaque_as(Kind::Host, CALLER_LIMIT)?);
    c.u32().map(|_state| ())
}

/// `netobj cookie`, with which all arguments and results begin but those of FREE_ALL: what tells an
/// asynchronous answer's call.
pub fn cookie<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8]> {
    c.opaque_as(Kind::Token, OBJECT_LIMIT)
}

/// `nlm4_lock`, section 6.1.3.
fn lock<'a, W: Width>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(c.opaque_as(Kind::Host, CALLER_LIMIT)?);
    f.handle = Some(handle(c)?);
    let name = c.opaque_as(Kind::Token, OBJECT_LIMIT)?; // oh
    let number = c.u32()?.into(); // svid
    f.rare_mut().lock_owner = Some(LockOwner { number, name });
    f.offset = Some(W::read(c)?);
    f.count_requested = Some(W::read(c)?);
    Ok(())
}

/// `nfs_lock_type4` (RFC 7530 section 16.10) of the lock: READ_LT 1, WRITE_LT 2, READW_LT 3,
/// WRITEW_LT 4.
fn lock_type(exclusive: bool, block: bool) -> u32 {
    1 + u32::from(exclusive) + 2 * u32::from(block)
}
