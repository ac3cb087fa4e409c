//! fattr4 and GETATTR, always of the same attributes.

use super::HANDLE_LENGTH;
use super::numbers::{GETATTR, OK};
use crate::rpc::{Subject, handle};
use crate::xdr::Xdr;

const REGULAR: u32 = 1;
const DIRECTORY: u32 = 2;

/// type, change, size, fsid, fileid.
pub const FIRST_WORD: u32 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 8 | 1 << 20;
/// rdattr_error and filehandle, which listings have in addition.
pub const LISTED_WITH: u32 = 1 << 11 | 1 << 19;
/// mode, numlinks, owner, owner_group, space_used, time_access, time_metadata, time_modify.
pub const SECOND_WORD: u32 =
    1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 13 | 1 << 15 | 1 << 20 | 1 << 21;
/// The bit of `mode` in the second word.
pub const MODE: u32 = 1 << 1;
pub fn write_getattr(arguments: &mut Xdr) {
    arguments.words(&[GETATTR, 2, FIRST_WORD, SECOND_WORD]);
}

/// fattr4.
pub struct Attributes {
    pub file: u64,
    pub directory: bool,
    pub size: u64,
    pub time: u32,
}

impl Attributes {
    pub fn of(subject: &Subject) -> Attributes {
        Attributes { file: subject.file, directory: false, size: subject.size, time: subject.time }
    }

    pub fn write_getattr_result(&self, results: &mut Xdr) {
        results.words(&[GETATTR, OK]);
        self.write(results, false);
    }

    pub fn write(&self, xdr: &mut Xdr, listed: bool) {
        let first_word = FIRST_WORD | if listed { LISTED_WITH } else { 0 };
        let time = u64::from(self.time);
        let mut values = Xdr::new();
        values
            .u32(if self.directory { DIRECTORY } else { REGULAR })
            .u64(time)
            .u64(self.size)
            .u64(0xFD)
            .u64(0);
        if listed {
            values.u32(OK).opaque(&handle(self.file, HANDLE_LENGTH));
        }
        values
            .u64(self.file)
            .words(&[0o644, 1])
            .string("user@example.org")
            .string("group@example.org")
            .u64(self.size.next_multiple_of(4096));
        for nanoseconds in 1..=3 {
            values.u64(time).u32(nanoseconds);
        }
        xdr.words(&[2, first_word, SECOND_WORD]).opaque(&values.0);
    }
}
