//! What is kept of the message that is being put together, and of its memory.

use std::ops::Range;

use crate::error::Reason;
use crate::rpc::record::{Fragment, KEPT_LIMIT, RecordReader};
use crate::rpc::search::Peer;

/// Buffers that are kept for the next messages of any connection.
const SPARE_LIMIT: usize = 16;

/// What is kept of a message whose connection takes part in using up the memory for all of them.
pub const SHORTENED: usize = 512;

/// Fragments of such a message whose places are kept.
const SHORTENED_FRAGMENTS: usize = 8;

/// What it takes at most from then on, until more of it comes.
pub const SHORTENED_MEMORY: usize = SHORTENED + SHORTENED_FRAGMENTS * size_of::<Fragment>();

/// What must be missing of a message then, for that to be worth while.
const LONG_REST: usize = 8 << 10;

impl RecordReader {
    /// Memory taken by the message that is being put together.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity() + self.fragments.capacity() * size_of::<Fragment>()
    }

    /// Takes a buffer for the next message from those that others left, unless it has one.
    #[inline]
    pub fn take_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.buffer.capacity() == 0
            && let Some(buffer) = spare.pop()
        {
            self.buffer = buffer;
        }
    }

    /// Leaves its buffer for others, unless a message is being put together.
    #[inline]
    pub fn leave_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.lent || self.length == 0 {
            self.take_back();
            if self.buffer.capacity() > 0 {
                let buffer = std::mem::take(&mut self.buffer);
                if spare.len() < SPARE_LIMIT {
                    spare.push(buffer);
                }
            }
        }
    }

    /// Gives back the memory that is kept for the next message, if there is none.
    pub fn release(&mut self) {
        if self.lent || self.length == 0 {
            self.take_back();
            self.buffer.shrink_to_fit();
            self.fragments.shrink_to_fit();
        }
    }

    /// Keeps less of the message that is being put together, because too much memory is in use.
    pub fn shorten(&mut self) {
        if self.buffer.len() > SHORTENED {
            // What lies behind a part that was left out does not follow on what lies before it.
            let begun = if self.unread.is_empty() { SHORTENED } else { self.unread.start.min(SHORTENED) };
            self.buffer.truncate(begun);
            self.hole = Some(Reason::RecordLimit);
            self.unread = 0..0;
        }
        self.buffer.shrink_to_fit();
        self.fragments.truncate(SHORTENED_FRAGMENTS);
        self.fragments.shrink_to_fit();
    }

    /// Keeps the captured part of `taken` bytes, unless there is a hole before them, or nobody reads them.
    pub(super) fn keep(&mut self, captured: &[u8], taken: usize) {
        if self.hole.is_some() {
            return;
        }
        let read = captured.get(self.unread.end.saturating_sub(self.length)..).unwrap_or_default();
        let room = KEPT_LIMIT.saturating_sub(self.buffer.len());
        self.buffer.extend_from_slice(read.get(..room).unwrap_or(read));
        if read.len() > room {
            self.hole = Some(Reason::RecordLimit);
        } else if captured.len() < taken && self.is_read(taken) {
            self.hole = Some(Reason::Truncated);
        }
    }

    /// Whether somebody reads some of the next bytes of the message.
    pub(super) fn is_read(&self, length: usize) -> bool {
        self.length < self.unread.start || self.length.saturating_add(length) > self.unread.end
    }

    /// Asks what of the message that was begun, of which `rest` bytes are missing, nobody will read.
    #[cold]
    pub(super) fn leave_out_unread(&mut self, rest: usize, last: bool, peer: &dyn Peer) {
        self.asked = true;
        let whole = last && self.fragments.is_empty() && !self.tentative();
        if !whole || rest < LONG_REST {
            return;
        }
        let unread = peer.unread(&self.buffer, self.length.saturating_add(rest));
        let missed = |part: &Range<usize>| part.start <= self.buffer.len() && part.end > self.length;
        if let Some(unread) = unread.filter(missed) {
            self.buffer.truncate(unread.start);
            // What is missing so far is missing behind the buffer, and so in this part.
            self.hole = None;
            self.unread = unread;
        }
    }
}
