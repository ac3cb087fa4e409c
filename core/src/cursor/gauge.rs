//! Where a parser leaves the beginning of a message that is all there is of it so far.
//!
//! Takes the beginning; says what of it the parser needs of a message with more behind. It knows less than a
//! [`super::Recorder`], and costs the reads nothing: only what finds too little comes here.

use std::cell::Cell;
use std::ops::Range;

use super::padding;

/// Bytes that pad a value at most.
const LONGEST_PADDING: usize = padding(1);

/// Notes where cursors leave what is there of a message.
#[derive(Debug)]
pub struct Gauge<'a> {
    beginning: &'a [u8],
    /// Where the first skip began that led beyond the end.
    left: Cell<Option<usize>>,
    /// Reads that found too little. A parser stops at one of them at most: others it put up with.
    failed: Cell<u32>,
}

impl<'a> Gauge<'a> {
    /// A gauge of the beginning of a message, of which nothing was read yet.
    pub fn new(beginning: &'a [u8]) -> Self {
        Self { beginning, left: Cell::new(None), failed: Cell::new(0) }
    }

    /// The part that was passed over from within what is there, but for what may be padding of a value at
    /// its end, where the parser came to `reached` in all of the message. `stopped`: because a read found
    /// too little there.
    pub fn unread_before(&self, reached: usize, stopped: bool) -> Range<usize> {
        // Attributes that end early are put up with, and what follows them is read: with more of the
        // message there, the parser would read more.
        let left = self.left.get().filter(|_| self.failed.get() <= u32::from(stopped));
        // Padding is passed over by itself, and a cursor cannot begin in a hole.
        let end = reached.saturating_sub(LONGEST_PADDING);
        left.map_or(0..0, |left| left..end.max(left))
    }

    pub(super) fn beginning(&self) -> &'a [u8] {
        self.beginning
    }

    #[cold]
    pub(super) fn fail(&self) {
        self.failed.set(self.failed.get().saturating_add(1));
    }

    /// A cursor with this left passes over the end.
    #[cold]
    pub(super) fn leave(&self, rest: &[u8]) {
        let place = rest.as_ptr().addr().saturating_sub(self.beginning.as_ptr().addr());
        self.left.set(self.left.get().or(Some(place)));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use crate::cursor::{Cursor, Gauge};
    use crate::error::{Layer, Reason};

    /// A word, data, and a word, as far as they are there.
    fn unread(there: usize) -> Range<usize> {
        let message = [&[0, 0, 0, 7, 0, 0, 0, 9][..], &[1; 9], &[0; 3], &[0, 0, 0, 9]].concat();
        let gauge = Gauge::new(&message[..there]);
        let mut c = Cursor::gauging(&gauge, message.len(), Reason::Truncated, Layer::Call);
        let mut read = || {
            c.u32()?;
            c.opaque_skipped()?;
            c.u32()
        };
        let stop = read().err();
        gauge.unread_before(stop.map_or(message.len(), |stop| stop.offset), stop.is_some())
    }

    #[test]
    fn what_is_passed_over_at_the_end_is_unread() {
        for there in 8..17 {
            assert_eq!(unread(there), 8..17, "{there} bytes");
        }
        assert_eq!([0, 4, 7, 20, 24].map(unread), [const { 0..0 }; 5]);
    }

    #[test]
    fn what_is_in_a_part_is_passed_over_by_who_reads_that() {
        let message = [0, 0, 0, 7, 0, 0, 0, 9];
        let gauge = Gauge::new(&message);
        let mut c = Cursor::gauging(&gauge, 40, Reason::Truncated, Layer::Call);
        let mut inner = c.sub(36).unwrap();
        assert_eq!((gauge.unread_before(36, false), inner.u32()), (0..0, Ok(7)));
        inner.skip(20).unwrap();
        assert_eq!(gauge.unread_before(24, false), 4..21);
        assert!(inner.u32().is_err());
        assert_eq!((gauge.unread_before(24, false), gauge.unread_before(24, true)), (0..0, 4..21));
        assert!(c.u32().is_err());
        assert_eq!(gauge.unread_before(36, true), 0..0, "the first failure was put up with");
    }
}
