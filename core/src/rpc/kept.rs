//! Messages that wait, in memory of their own → records as they were carried.
//!
//! What nobody reads of a message is left out. Where little room is left, only its beginning is kept.

use std::hint::black_box;
use std::ops::Range;

use crate::cursor::Behind;
use crate::error::Reason;
use crate::rpc::record::Record;
use crate::stream::assembler::Stamp;

/// A message that had to be kept.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    /// The part of the message that nobody reads, and that was left out.
    left_out: Range<usize>,
    length: usize,
    open: bool,
    limit: Option<Reason>,
    /// The frame with its first byte.
    pub first: Stamp,
    /// The frame that completed it.
    pub last: Stamp,
}

/// What is kept of a message that is only to be told from others, and that little is read of.
const BEGINNING: usize = 2 << 10;

impl Kept {
    /// The beginning of a message.
    pub fn beginning(record: &Record<'_>) -> Self {
        let mut kept = Self::default();
        kept.fill(record, None, BEGINNING);
        kept
    }

    /// Keeps a message but for its `unread` part, or if that is more than there is room for, its
    /// beginning: whether it had to be shortened so.
    pub(super) fn fill(&mut self, record: &Record<'_>, unread: Option<Range<usize>>, room: usize) -> bool {
        (self.length, self.open) = (record.length, record.open);
        (self.first, self.last) = (record.first, record.last);
        if record.behind.is_some() || unread.is_some() || record.bytes.len() > room {
            return self.fill_in_part(record, unread, room);
        }
        self.limit = Some(record.limit);
        self.put(record.bytes, &[], 0);
        false
    }

    #[inline(never)]
    fn fill_in_part(&mut self, record: &Record<'_>, unread: Option<Range<usize>>, room: usize) -> bool {
        let known = record.behind.map(|behind| (record.bytes, behind.bytes, behind.passed));
        let parts = known.or_else(|| {
            let hole = unread?;
            let (head, tail) = (record.bytes.get(..hole.start)?, record.bytes.get(hole.end..)?);
            Some((head, tail, hole.len()))
        });
        let (mut head, mut tail, mut passed) = parts.unwrap_or((record.bytes, &[], 0));
        let shortened = head.len() + tail.len() > room;
        if shortened {
            (head, tail, passed) = (record.bytes.get(..room).unwrap_or(record.bytes), &[], 0);
        }
        self.limit = Some(if shortened { Reason::PendingLimit } else { record.limit });
        self.put(head, tail, passed);
        shortened
    }

    /// Takes the bytes before and behind a part of this length that is left out.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most have nothing behind")]
    fn put(&mut self, head: &[u8], tail: &[u8], passed: usize) {
        self.bytes.clear();
        let needed = head.len() + tail.len();
        if self.bytes.capacity() < needed {
            // To grow would move what was here before.
            self.bytes = Vec::with_capacity(needed);
        }
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(tail);
        self.left_out = head.len()..head.len() + passed;
    }

    /// Memory that its bytes take.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// How many bytes of it there are.
    pub(super) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Lets go of the memory that they take.
    pub(super) fn release(&mut self) {
        self.bytes = Vec::new();
    }

    /// Reads from its beginning, which is all of most.
    #[inline]
    pub(super) fn fetch(&self) {
        const LINE: usize = 64;
        let byte = |line: usize| self.bytes.get(line * LINE).copied();
        black_box([byte(0), byte(1), byte(2), byte(3)]);
    }

    /// The message as it was carried.
    pub fn record(&self) -> Record<'_> {
        let (bytes, behind) = Behind::split(&self.bytes, &self.left_out);
        Record {
            bytes,
            behind,
            length: self.length,
            open: self.open,
            limit: self.limit.unwrap_or(Reason::Truncated),
            first: self.first,
            last: self.last,
            place: &[],
        }
    }
}
