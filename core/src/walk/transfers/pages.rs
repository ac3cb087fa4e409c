//! Pages of files, and what a client writes of one again.

use std::num::NonZeroU64;

/// The pages of a file, of so many bytes.
#[derive(Clone, Copy)]
pub(super) struct Page(pub(super) NonZeroU64);

impl Page {
    /// How far a place lies in its page.
    pub(super) fn within(self, place: u128) -> u128 {
        place % u128::from(self.0.get())
    }

    /// Whether the second of two WRITEs has the page again in which the first ended, and more behind it.
    ///
    /// A client that appends to a page it has sends what it has of it.
    pub(super) fn has_more(self, first: (u128, u128), second: (u128, u128)) -> bool {
        let ((start, stop), (next, end)) = (first, second);
        let page = stop - self.within(stop);
        next < stop && end > stop && next >= start.max(page)
    }
}
