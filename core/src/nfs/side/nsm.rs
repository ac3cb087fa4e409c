//! The Network Status Monitor, version 1 (X/Open C702 chapter 11): who lost its locks by a restart.

use super::Result;
use crate::cursor::{Cursor, Kind};
use crate::nfs::facts::Facts;

/// Longest name of a host, `SM_MAXSTRLEN`.
const NAME_LIMIT: usize = 1024;

/// Bytes that MON hands over to be given back with the notice.
const PRIVATE: usize = 16;

/// `sm_name`: STAT.
pub fn name_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(c.opaque_as(Kind::Host, NAME_LIMIT)?);
    Ok(())
}

/// `mon`: the host to watch, whom to call, and what to tell it.
pub fn mon_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    unmon_arguments(c, f)?;
    c.take_as(Kind::Token, PRIVATE).map(|_private| ())
}

/// `mon_id`: UNMON.
pub fn unmon_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    name_arguments(c, f)?;
    my_id(c).map(|_name| ())
}

/// `my_id`: UNMON_ALL.
pub fn unmon_all_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    f.text = Some(my_id(c)?);
    Ok(())
}

/// `stat_chge`: NOTIFY, the host that was restarted, and its new state.
pub fn notify_arguments<'a>(c: &mut Cursor<'a>, f: &mut Facts<'a>) -> Result<()> {
    name_arguments(c, f)?;
    state(c, f)
}

/// The state number: all of `sm_stat`, and what follows the status in `sm_stat_res`.
pub fn state<'a>(c: &mut Cursor<'a>, _: &mut Facts<'a>) -> Result<()> {
    c.u32().map(|_state| ())
}

fn my_id<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let name = c.opaque_as(Kind::Host, NAME_LIMIT)?;
    c.take(3 * 4)?; // program, version, procedure
    Ok(name)
}
