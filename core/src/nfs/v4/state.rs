//! Operations on the state that a client holds: opens, locks, delegations; and, in minor version 0,
//! the client itself.

use super::files::attributes_to_set;
use super::{OPAQUE_LIMIT, Result, lock_owner, netaddr, state_owner, stateid};
use crate::cursor::{Cursor, Kind};
use crate::nfs::attributes::{ace, bitmap4};
use crate::nfs::facts::{Attributes, Facts, StateId};
use crate::nfs::status::NfsStat4;
use crate::nfs::types::{ChangeInfo, DelegationType, name};

/// `OPEN4_SHARE_ACCESS_BOTH`: the bits of `share_access` that are access. From minor version 1 on
/// the others say which delegation is wanted.
const SHARE_ACCESS: u32 = 3;

/// `CLOSE4args`, RFC 7530 section 16.2.
pub fn close_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u32()?; // seqid
    f.stateid = Some(stateid(c)?);
    Ok(())
}

/// `LOCK4args`, RFC 7530 section 16.10.
pub fn lock_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().lock_type = Some(c.u32()?);
    c.bool()?; // reclaim
    super::range(c, f)?;
    if c.bool()? {
        // open_to_lock_owner4
        c.u32()?; // open_seqid
        f.stateid = Some(stateid(c)?);
        c.u32()?; // lock_seqid
        lock_owner(c, f)?;
    } else {
        // exist_lock_owner4
        f.stateid = Some(stateid(c)?);
        c.u32()?; // lock_seqid
    }
    Ok(())
}

/// Failed LOCK and LOCKT: `LOCK4denied` names the lock in the way, whose values are not this operation's.
pub fn lock_failure<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_DENIED.0) {
        c.u64()?; // offset
        c.u64()?; // length
        c.u32()?; // locktype
        state_owner(c)?;
    }
    Ok(())
}

/// `LOCKT4args`, RFC 7530 section 16.11.
pub fn lockt_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().lock_type = Some(c.u32()?);
    super::range(c, f)?;
    lock_owner(c, f)
}

/// `LOCKU4args`, RFC 7530 section 16.12.
pub fn locku_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().lock_type = Some(c.u32()?);
    c.u32()?; // seqid
    f.stateid = Some(stateid(c)?);
    super::range(c, f)
}

/// `OPEN4args`, RFC 7530 section 16.16 and RFC 8881 section 18.16.
pub fn open_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    c.u32()?; // seqid
    f.share_access = Some(c.u32()? & SHARE_ACCESS);
    c.u32()?; // share_deny
    f.client_id = Some(state_owner(c)?);
    openflag(c, f)?;
    open_claim(c, f)
}

/// `openflag4`: whether and how to create.
fn openflag<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let create = c.bool()?; // opentype4: OPEN4_NOCREATE 0, OPEN4_CREATE 1
    f.create = Some(create);
    if !create {
        return Ok(());
    }
    let before = c.clone();
    let mode = c.u32()?;
    f.create_mode = Some(mode);
    match mode {
        0 | 1 => attributes_to_set(c, f), // UNCHECKED4, GUARDED4
        2 => c.u64_as(Kind::CreateVerifier).map(|_verifier| ()), // EXCLUSIVE4
        3 => {
            // EXCLUSIVE4_1
            c.u64_as(Kind::CreateVerifier)?; // cva_verf
            attributes_to_set(c, f)
        }
        _ => Err(before.malformed()),
    }
}

/// `open_claim4`: by name in the directory of the current handle, or by that handle itself.
fn open_claim<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    let before = c.clone();
    let claim = c.u32()?;
    f.by_handle = matches!(claim, 1 | 4 | 5 | 6);
    match claim {
        0 | 3 => f.name = Some(name(c)?),       // CLAIM_NULL, CLAIM_DELEGATE_PREV
        1 => c.u32().map(|_delegate_type| ())?, // CLAIM_PREVIOUS
        2 => {
            // CLAIM_DELEGATE_CUR
            f.stateid = Some(stateid(c)?);
            f.name = Some(name(c)?);
        }
        4 | 6 => {}                         // CLAIM_FH, CLAIM_DELEG_PREV_FH
        5 => f.stateid = Some(stateid(c)?), // CLAIM_DELEG_CUR_FH
        _ => return Err(before.malformed()),
    }
    Ok(())
}

/// `OPEN4_RESULT_MAY_NOTIFY_LOCK`, RFC 8881 section 18.16.2. NFSv4.0 has no such flag, nor the callback.
const MAY_NOTIFY_LOCK: u32 = 0x20;

/// `OPEN4resok`, RFC 7530 section 16.16 and RFC 8881 section 18.16.
pub fn open_results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    f.change = Some(ChangeInfo::parse(c)?);
    f.may_notify_lock = Some(c.u32()? & MAY_NOTIFY_LOCK != 0); // rflags
    f.attributes_set = Some(bitmap4(c)?.iter().any(|word| *word != 0));
    if let Some(granted) = open_delegation(c, f)? {
        f.rare_mut().delegation_stateid = Some(granted);
    }
    Ok(())
}

/// `open_delegation4` (RFC 8881 section 18.16.2, RFC 9754 section 5): its type into the fact sheet;
/// gives the delegation's stateid if one was granted.
pub(super) fn open_delegation(c: &mut Cursor<'_>, f: &mut Facts<'_>) -> Result<Option<StateId>> {
    let before = c.clone();
    let kind = DelegationType(c.u32()?);
    let (read, write) = match kind {
        DelegationType::NONE => (false, false),
        DelegationType::READ | DelegationType::READ_ATTRS => (true, false),
        DelegationType::WRITE | DelegationType::WRITE_ATTRS => (false, true),
        DelegationType::NONE_EXT => {
            f.delegation = Some(kind);
            return why_no_delegation(c).map(|()| None);
        }
        _ => return Err(before.malformed()),
    };
    f.delegation = Some(kind);
    if !read && !write {
        return Ok(None);
    }
    let granted = stateid(c)?;
    c.bool()?; // recall
    if write {
        space_limit(c)?;
    }
    ace(c, &mut Attributes::default())?; // permissions
    Ok(Some(granted))
}

/// `open_none_delegation4` (RFC 8881 section 18.16.2): two of the reasons carry a promise.
fn why_no_delegation(c: &mut Cursor<'_>) -> Result {
    const WND4_CONTENTION: u32 = 1;
    const WND4_RESOURCE: u32 = 2;
    if matches!(c.u32()?, WND4_CONTENTION | WND4_RESOURCE) {
        c.bool()?;
    }
    Ok(())
}

/// `nfs_space_limit4`: a file size, or a number of blocks and their size: eight bytes either way.
fn space_limit(c: &mut Cursor<'_>) -> Result {
    let before = c.clone();
    match c.u32()? {
        1 | 2 => c.u64().map(|_| ()),
        _ => Err(before.malformed()),
    }
}

/// `OPENATTR4args`, RFC 7530 section 16.17.
pub fn openattr_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.create = Some(c.bool()?);
    Ok(())
}

/// `OPEN_CONFIRM4args`, RFC 7530 section 16.18.
pub fn open_confirm_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    c.u32()?; // seqid
    Ok(())
}

/// `OPEN_DOWNGRADE4args`, RFC 7530 section 16.19.
pub fn open_downgrade_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.stateid = Some(stateid(c)?);
    c.u32()?; // seqid
    f.share_access = Some(c.u32()? & SHARE_ACCESS);
    c.u32()?; // share_deny
    Ok(())
}

/// `RELEASE_LOCKOWNER4args`, RFC 7530 section 16.37.
pub fn release_lockowner_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    lock_owner(c, f)
}

/// `SETCLIENTID4args`, RFC 7530 section 16.33.
pub fn setclientid_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.rare_mut().client_verifier = Some(c.u64_as(Kind::ClientVerifier)?); // client verifier
    f.rare_mut().client_owner = Some(c.opaque_as(Kind::Token, OPAQUE_LIMIT)?); // client id string
    f.rare_mut().callback_program = Some(c.u32()?); // cb_program
    netaddr(c)?; // cb_location
    c.u32()?; // callback_ident
    Ok(())
}

/// `SETCLIENTID4resok`, RFC 7530 section 16.33; SETCLIENTID_CONFIRM asks with the same values.
pub fn client_and_verifier<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    f.client_id = Some(c.u64()?);
    c.u64()?; // setclientid_confirm
    Ok(())
}

/// Failed SETCLIENTID: with `NFS4ERR_CLID_INUSE` the address of the client that uses the id.
pub fn setclientid_failure<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result {
    if f.status == Some(NfsStat4::NFS4ERR_CLID_INUSE.0) {
        netaddr(c)?;
    }
    Ok(())
}
