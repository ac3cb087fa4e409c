//! Operations and errors (RFC 8881 section 15 and 16.2.1, RFC 7862).

pub const OK: u32 = 0;

pub const ACCESS: u32 = 3;
pub const CLOSE: u32 = 4;
pub const COMMIT: u32 = 5;
pub const GETATTR: u32 = 9;
pub const GETFH: u32 = 10;
pub const LOOKUP: u32 = 15;
pub const OPEN: u32 = 18;
pub const PUTFH: u32 = 22;
pub const PUTROOTFH: u32 = 24;
pub const READ: u32 = 25;
pub const READDIR: u32 = 26;
pub const REMOVE: u32 = 28;
pub const SETATTR: u32 = 34;
pub const WRITE: u32 = 38;
pub const EXCHANGE_ID: u32 = 42;
pub const CREATE_SESSION: u32 = 43;
pub const SEQUENCE: u32 = 53;
pub const RECLAIM_COMPLETE: u32 = 58;
pub const ALLOCATE: u32 = 59;
pub const SEEK: u32 = 69;

pub const PERM: u32 = 1;
pub const NOENT: u32 = 2;
pub const IO: u32 = 5;
pub const NXIO: u32 = 6;
pub const ACCES: u32 = 13;
pub const NOSPC: u32 = 28;
pub const DELAY: u32 = 10008;
pub const STALE_STATEID: u32 = 10023;
pub const BAD_STATEID: u32 = 10025;
