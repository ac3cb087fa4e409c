//! Small types that several NFS operations share, named as in the RFCs.

use crate::cursor::{Cursor, Kind};
use crate::error::DecodeError;
use crate::wire_enum::wire_enum;

wire_enum! {
    /// `stable_how` (RFC 1813 section 3.3.7), `stable_how4` (RFC 7530 section 16.36).
    pub enum StableHow { UNSTABLE = 0, DATA_SYNC = 1, FILE_SYNC = 2, }
}

wire_enum! {
    /// `ftype3` (RFC 1813 section 2.5); `nfs_ftype4` (RFC 7530 section 2.1) continues it.
    pub enum FileType { REG = 1, DIR = 2, BLK = 3, CHR = 4, LNK = 5, SOCK = 6, FIFO = 7, ATTRDIR = 8, NAMEDATTR = 9, }
}

wire_enum! {
    /// `open_delegation_type4` (RFC 7530 section 16.16, RFC 8881 section 18.16).
    pub enum DelegationType { NONE = 0, READ = 1, WRITE = 2, NONE_EXT = 3, READ_ATTRS = 4, WRITE_ATTRS = 5, }
}

wire_enum! {
    /// `data_content4` (RFC 7862 section 11.1.2): what SEEK looks for, and what READ_PLUS brings.
    pub enum DataContent { DATA = 0, HOLE = 1, }
}

wire_enum! {
    /// Flavors as MOUNT and SECINFO tell them: of RPCSEC_GSS with its mechanism and service (RFC 2623
    /// section 4.2).
    pub enum PseudoFlavor {
        AUTH_NONE = 0,
        AUTH_SYS = 1,
        AUTH_SHORT = 2,
        AUTH_DH = 3,
        RPCSEC_GSS = 6,
        AUTH_TLS = 7,
        KRB5 = 390_003,
        KRB5I = 390_004,
        KRB5P = 390_005,
    }
}

/// Longest file handle of any version (NFSv4: 128 bytes, RFC 7530 section 2.2; NFSv3: 64).
pub const HANDLE_LIMIT: usize = 128;

/// Longest name accepted. Servers allow 255 bytes; a component of more is not a name but damage.
pub const NAME_LIMIT: usize = 4096;

/// Longest path or symbolic-link text accepted.
pub const TEXT_LIMIT: usize = 65_536;

/// A file handle.
#[inline]
pub fn handle<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    c.opaque_as(Kind::Handle, HANDLE_LIMIT)
}

/// A file name (one component).
#[inline]
pub fn name<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    c.opaque_as(Kind::Name, NAME_LIMIT)
}

/// `change_info4` (RFC 7530 section 2.2.8): a directory's change attribute around an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeInfo {
    /// Whether before and after were taken atomically with the operation.
    pub atomic: bool,
    /// Change attribute before the operation.
    pub before: u64,
    /// Change attribute after the operation.
    pub after: u64,
}

impl ChangeInfo {
    /// Parses `change_info4`.
    pub fn parse(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self { atomic: c.bool()?, before: c.u64()?, after: c.u64()? })
    }
}
