//! How the WRITEs of a file lie on pages.

use std::collections::BTreeMap;

use super::pages::Page;
use super::spared::Spared;
use super::{Key, Transfer, What};

/// The WRITEs of one mount that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// All of them.
    pub writes: u64,
    /// Files that those were to that lie across pages.
    pub files: u64,
    /// What those brought, bytes.
    pub bytes: u64,
    /// Those that begin within a page, or end within one before the file's end, or have the page again
    /// in which the one before ended, and more behind it.
    pub unaligned: Spared,
    /// Those of them that begin where the file ended, or in its last page.
    pub appended: u64,
    /// READs, right before such a WRITE, of the page that it begins or ends in.
    pub read_first: Spared,
}

/// Sorts the WRITEs of files.
pub(super) struct Shapes {
    page: Page,
    /// From a READ's reply to the WRITE that it was for, less than this, ns.
    soon: i64,
    found: BTreeMap<u32, Written>,
}

/// A transfer with the bytes that it moved.
struct Moved<'a> {
    transfer: &'a Transfer,
    start: u128,
    stop: u128,
}

impl Shapes {
    pub(super) fn new(page: Page, soon: i64) -> Self {
        Self { page, soon, found: BTreeMap::new() }
    }

    /// By mount; those without WRITEs are not among them.
    pub(super) fn found(&self) -> &BTreeMap<u32, Written> {
        &self.found
    }

    /// Looks at the transfers of a file, in order.
    pub(super) fn visit(&mut self, key: Key, transfers: &[Transfer]) {
        if !transfers.iter().any(|transfer| transfer.what == What::Write) {
            return;
        }
        let moved: Vec<_> = transfers.iter().filter_map(Moved::of).collect();
        let writes = || moved.iter().filter(|moved| moved.is_write());
        if writes().next().is_none() {
            return;
        }
        let found = self.found.entry(key.0).or_default();
        // The file's end where no reply tells it.
        let end = moved.iter().map(|moved| moved.stop).max().unwrap_or_default();
        let mut reached = None;
        let mut last: Option<&Moved<'_>> = None;
        let before = found.unaligned.calls;
        for write in writes() {
            let has_more = last.is_some_and(|last| self.page.has_more(last.bytes(), write.bytes()));
            let grown = has_more && last.is_some_and(|last| reached == Some(last.stop));
            found.writes += 1;
            if write.lies_across(self.page, end) || has_more {
                found.bytes = found.bytes.saturating_add(write.transfer.count);
                found.unaligned.add(write.transfer);
            }
            if self.page.within(write.start) != 0 && reached == Some(write.start) || grown {
                found.appended += 1;
            }
            reached = reached.max(Some(write.stop));
            last = Some(write);
        }
        found.files += u64::from(found.unaligned.calls > before);
        for (read, write) in moved.iter().zip(moved.iter().skip(1)) {
            let soon = write.transfer.call_time.saturating_sub(read.transfer.reply_time) < self.soon;
            if !read.is_write() && write.is_write() && soon && read.is_of_page_of(write, self.page) {
                found.read_first.add(read.transfer);
            }
        }
    }
}

impl<'a> Moved<'a> {
    /// The bytes of a READ or WRITE that succeeded; None when it moved none.
    fn of(transfer: &'a Transfer) -> Option<Self> {
        let usable = transfer.what != What::Commit && transfer.is.done && transfer.count > 0;
        let start = u128::from(transfer.start.filter(|_| usable)?);
        Some(Self { transfer, start, stop: start + u128::from(transfer.count) })
    }

    fn bytes(&self) -> (u128, u128) {
        (self.start, self.stop)
    }

    fn is_write(&self) -> bool {
        self.transfer.what == What::Write
    }

    /// It begins within a page, or ends within one before the file's end.
    fn lies_across(&self, page: Page, end: u128) -> bool {
        let end = self.transfer.size.map_or(end, u128::from);
        page.within(self.start) != 0 || page.within(self.stop) != 0 && self.stop < end
    }

    /// It has the part that a WRITE leaves alone of the page in which that begins or ends.
    fn is_of_page_of(&self, write: &Moved<'_>, page: Page) -> bool {
        let (head, tail) = (page.within(write.start), page.within(write.stop));
        head != 0 && self.start <= write.start && self.stop > write.start - head
            || tail != 0 && self.start < write.stop && self.stop >= write.stop
    }
}
