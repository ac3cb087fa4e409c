//! Arguments and results of every NFSv4 operation: minor versions 0 (RFC 7530), 1 (RFC 8881) and
//! 2 (RFC 7862), extended attributes (RFC 8276), delegation extensions (RFC 9754), and callbacks.
//!
//! Each parser reads one operation's arguments or results from a cursor that stands after the
//! operation number (results: after the status) into the fact sheet, fields in wire order.
//! Operations of the same shape share one parser. No parser needs the minor version: the wire
//! format of an operation number never changed, it was only added to.

mod callback;
mod files;
mod layout;
mod pnfs;
mod session;
mod state;
mod v42;

#[cfg(test)]
mod tests;

pub use callback::*;
pub use files::*;
pub use layout::*;
pub use session::*;
pub use state::*;
pub use v42::*;

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::facts::{Facts, LockOwner, StateId};
use crate::nfs::types::{ChangeInfo, StableHow, TEXT_LIMIT, handle, name};

type Result<T = ()> = std::result::Result<T, DecodeError>;

/// `NFS4_OPAQUE_LIMIT`: longest owner of a state or a client (RFC 7530 section 3.1).
const OPAQUE_LIMIT: usize = 1024;

/// `component4`: LOOKUP, REMOVE, SECINFO; LINK, whose name is the new one.
pub fn name_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.name = Some(name(c)?);
    Ok(())
}

/// `nfs_fh4`: arguments of PUTFH.
pub fn handle_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.handle = Some(handle(c)?);
    Ok(())
}

/// `stateid4` alone: arguments of DELEGRETURN, FREE_STATEID, OFFLOAD_CANCEL and OFFLOAD_STATUS;
/// results of OPEN_CONFIRM, OPEN_DOWNGRADE, CLOSE, LOCK and LOCKU.
pub fn stateid_alone<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    Ok(())
}

/// `clientid4` alone: arguments of RENEW, DELEGPURGE and DESTROY_CLIENTID.
pub fn client_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.client_id = Some(c.u64()?);
    Ok(())
}

/// `change_info4` alone: results of REMOVE and LINK (of the directory), SETXATTR and REMOVEXATTR
/// (of the object).
pub fn change_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.change = Some(ChangeInfo::parse(c)?);
    Ok(())
}

/// `stateid4`, offset and length: arguments of ALLOCATE and DEALLOCATE; IO_ADVISE begins with it.
pub fn range_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    range(c, f)
}

/// `stateid4` (RFC 7530 section 2.2.9).
fn stateid(c: &mut Cursor<'_>) -> Result<StateId> {
    Ok(StateId { sequence: c.u32()?, other: c.array()? })
}

/// An offset and a length.
fn range(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result {
    f.offset = Some(c.u64()?);
    f.count_requested = Some(c.u64()?);
    Ok(())
}

/// `open_owner4`, `state_owner4` (RFC 7530 section 2.2.10 and on): gives the client id.
fn state_owner(c: &mut Cursor<'_>) -> Result<u64> {
    let client_id = c.u64()?;
    c.opaque_as(Kind::Token, OPAQUE_LIMIT)?;
    Ok(client_id)
}

/// `lock_owner4`, which is one of them, where it says whose lock the operation is about.
fn lock_owner<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let number = c.u64()?;
    let name = c.opaque_as(Kind::Token, OPAQUE_LIMIT)?;
    f.client_id = Some(number);
    f.rare_mut().lock_owner = Some(LockOwner { number, name });
    Ok(())
}

/// `netaddr4` (RFC 7530 section 2.2.10): network identifier and universal address.
fn netaddr(c: &mut Cursor<'_>) -> Result {
    c.opaque_as(Kind::Network, TEXT_LIMIT)?;
    c.opaque_as(Kind::UniversalAddress, TEXT_LIMIT)?;
    Ok(())
}

/// Opaque data of any length whose bytes are not needed.
fn opaque(c: &mut Cursor<'_>) -> Result {
    c.opaque(usize::MAX).map(|_| ())
}

/// `write_response4` (RFC 7862 section 4.8.1): COPY, WRITE_SAME and CB_OFFLOAD.
fn write_response(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result {
    for _ in 0..at_most_one(c)? {
        f.rare_mut().offload = Some(stateid(c)?); // wr_callback_id
    }
    f.count = Some(c.u64()?);
    f.committed = Some(StableHow(c.u32()?));
    f.verifier = Some(c.u64()?);
    Ok(())
}

/// The count of a list of at most one element, as XDR writes an optional value here.
fn at_most_one(c: &mut Cursor<'_>) -> Result<u32> {
    c.bool().map(u32::from)
}
