//! The programs beside NFS: they say where NFS is, mount it, lock its files and watch its hosts.
//!
//! One file per program, in the order of its RFC or `.x` file; [`operations`] has their rows of the
//! table. Every message is read to its end, so that bytes left over are told.

pub mod mount;

pub mod nfsacl;

pub mod nlm;

pub mod nsm;

pub mod operations;

pub mod portmap;

pub mod rquota;

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::nfs::types::TEXT_LIMIT;

type Result<T> = std::result::Result<T, DecodeError>;

/// A linked list of XDR: a boolean before each element says that it follows.
///
/// Nothing is kept of it here, so that a long one costs no memory.
fn list<'a>(c: &mut Cursor<'a>, mut element: impl FnMut(&mut Cursor<'a>) -> Result<()>) -> Result<()> {
    while c.bool()? {
        element(c)?;
    }
    Ok(())
}

/// A string: a path, a host, a network's name.
fn string<'a>(c: &mut Cursor<'a>, kind: Kind) -> Result<&'a [u8]> {
    c.opaque_as(kind, TEXT_LIMIT)
}
