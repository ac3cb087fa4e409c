//! File attributes: `fattr3` and weak cache consistency data, and `fattr4` as a table of all attributes.
//!
//! What a fact sheet keeps goes into [`Attributes`](crate::nfs::facts::Attributes); the rest is passed over,
//! but checked. An attribute that the table does not know ends its `fattr4` only: the list's own length says
//! where the message goes on. Nothing here allocates.

mod settable;

mod usual;

mod v3;

mod v4;

mod values;

use crate::error::DecodeError;

pub use self::settable::Settable;
pub use self::v3::{fattr3, nfstime3, post_op_attributes, pre_op_attributes, wcc};
pub use self::v4::{bitmap4, fattr4, nfstime4, plus_entry, plus_mask};
pub(in crate::nfs) use self::values::ace;
pub use self::values::{ATTRIBUTES, Attribute};

type Result<T> = std::result::Result<T, DecodeError>;

/// Words of a `bitmap4` that are kept: attributes 0 to 95. The RFCs define numbers up to 86.
const MASK_WORDS: usize = 3;

/// Seconds and nanoseconds as one number.
#[inline]
fn nanoseconds(seconds: i64, fraction: u32) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(fraction))
}

#[cfg(test)]
mod tests;
