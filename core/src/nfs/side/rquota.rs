//! Remote quotas, versions 1 and 2 (`rquota.x`): how much a user, or in version 2 also a group, may use.
//!
//! The limits themselves are read and not kept.

use super::{Result, string};
use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::facts::Facts;
use crate::nfs::status::QuotaStatus;

/// Words of `sq_dqblk`: hard limit, soft limit and use of blocks and of files, and two times.
const LIMITS: usize = 8;

/// `RQUOTA_GRPQUOTA`: the number is that of a group.
const GROUP: u32 = 1;

/// `getquota_args`; `TYPED`: version 2, whose `ext_getquota_args` says what the number identifies.
pub fn get_arguments<'a, const TYPED: bool>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(string(c, Kind::Path)?);
    let of_group = TYPED && c.u32()? == GROUP; // gqa_type
    c.u32_as(if of_group { Kind::Group } else { Kind::User }).map(|_id| ())
}

/// `setquota_args`; `TYPED` as in [`get_arguments`].
pub fn set_arguments<'a, const TYPED: bool>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    c.u32()?; // sqa_qcmd
    get_arguments::<TYPED>(c, f)?;
    c.take(4 * LIMITS).map(|_limits| ())
}

/// `getquota_rslt`, `setquota_rslt`. Success is 1 on the wire; the fact sheet has 0 for it, as for
/// every other program, so that a status other than 0 is always a failure.
pub fn results<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> std::result::Result<(), DecodeError> {
    let before = c.clone();
    match QuotaStatus(c.u32()?) {
        QuotaStatus::Q_OK => return Err(before.malformed()),
        QuotaStatus(1) => {
            f.status = Some(QuotaStatus::Q_OK.0);
            c.u32()?; // rq_bsize
            c.bool()?; // rq_active
            c.take(4 * LIMITS)?;
        }
        QuotaStatus(failure) => f.status = Some(failure),
    }
    Ok(())
}
