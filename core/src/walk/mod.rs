//! Walks over what was done to each object, in order of time: what analyses ask that a row's
//! neighbours decide.
//!
//! Takes Arrow batches of narrow rows in any order (numbers and flags, columns found by name); gives
//! Arrow batches, or counts. Each walk groups the rows by a pair of numbers (a mount and an object),
//! sorts each group and looks at it once. A database does the same with window functions, at ten to
//! twenty times the price: it carries every column through its sorts, once for each order.
//!
//! Promises that the answer does not depend on the order in which rows come, and that memory is that
//! of the rows: who has more of them than fit hands over some of the objects at a time.

mod by_call;

mod groups;

mod ranges;

pub(crate) mod input;

pub mod follow_ups;

pub mod held;

pub mod learned;

pub mod one_by_one;

pub mod patterns;

pub mod steps;

pub mod told;

pub mod transfers;

pub mod turns;

pub use groups::Key;
