//! A buffer that slides over a file: the only place of `capture` that reads.
//!
//! Takes any source of bytes; gives the bytes at the reading position as one slice. Memory is
//! [`WINDOW`] bytes, or as many as the caller insists on: callers check lengths against their
//! limits before they ask. It grows only as bytes arrive, so a length alone allocates nothing.

use std::io::{self, Read};
use std::path::Path;

use crate::error::ReadError;

/// Size of the buffer at first: small enough for the processor's second-level cache.
const WINDOW: usize = 256 << 10;

/// Largest single read from a decompressor. When it fails, what it had unpacked in that read is
/// lost, so reads are short.
const UNPACKED_READ: usize = 32 << 10;

/// Why a file cannot be read further; a [`ReadError`] that does not know its file yet.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    Format(String),
    Damaged { what: &'static str, offset: u64, unpacked: bool },
}

impl Fault {
    /// The error for this fault in the file at `path`, after its first `packets` packets.
    pub(super) fn at(self, path: &Path, packets: u64) -> ReadError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => ReadError::Io { path, source },
            Self::Format(what) => ReadError::Format { path, what },
            Self::Damaged { what, offset, unpacked } => {
                ReadError::Damaged { path, what, offset, unpacked, packet: packets }
            }
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// How the source came to its end.
#[derive(Clone, Copy)]
enum Ending {
    File,
    /// The decompressor could not go on; the words say why.
    Broken(&'static str),
}

pub(super) struct Window {
    source: Box<dyn Read + Send>,
    data: Vec<u8>,
    /// The reading position in `data`, and the end of what was read.
    start: usize,
    end: usize,
    /// Offset in the (decompressed) file of `data[0]`.
    base: u64,
    largest_read: usize,
    unpacks: bool,
    ending: Option<Ending>,
}

impl Window {
    /// A window at the start of a file's bytes as they are stored.
    pub(super) fn plain(source: Box<dyn Read + Send>) -> Self {
        Self::new(source, usize::MAX, false)
    }

    /// A window at the start of what a decompressor unpacks: its failures are damage of the file.
    pub(super) fn unpacked(source: Box<dyn Read + Send>) -> Self {
        Self::new(source, UNPACKED_READ, true)
    }

    fn new(source: Box<dyn Read + Send>, largest_read: usize, unpacks: bool) -> Self {
        let data = vec![0; WINDOW];
        Self { source, data, start: 0, end: 0, base: 0, largest_read, unpacks, ending: None }
    }

    /// The bytes already read and not yet passed, and the source of those after them.
    pub(super) fn into_parts(self) -> (Vec<u8>, Box<dyn Read + Send>) {
        (self.ahead().to_vec(), self.source)
    }

    /// Makes `length` bytes available at the reading position; false where the file ends before.
    #[inline]
    pub(super) fn ensure(&mut self, length: usize) -> Result<bool, Fault> {
        if self.end - self.start >= length { Ok(true) } else { self.fill(length) }
    }

    /// All bytes that are available at the reading position.
    #[inline]
    pub(super) fn ahead(&self) -> &[u8] {
        self.data.get(self.start..self.end).unwrap_or_default()
    }

    /// The same, where none are an exception.
    #[inline]
    pub(super) fn at_hand(&self) -> Option<&[u8]> {
        self.data.get(self.start..self.end)
    }

    /// The bytes at a position that [`Window::position`] gave, until the next call of `ensure`.
    #[inline]
    pub(super) fn held(&self, start: usize, length: usize) -> &[u8] {
        self.data.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    /// Where in the window the reading position is.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// Moves the reading position over bytes that `ensure` made available.
    #[inline]
    pub(super) fn advance(&mut self, length: usize) {
        self.start = self.start.saturating_add(length).min(self.end);
    }

    /// Moves the reading position over `length` bytes, available or not; false where the file ends before.
    pub(super) fn skip(&mut self, mut length: u64) -> Result<bool, Fault> {
        while length > 0 {
            if !self.ensure(1)? {
                return Ok(false);
            }
            let step = usize::try_from(length).unwrap_or(usize::MAX).min(self.end - self.start);
            self.advance(step);
            length -= step as u64;
        }
        Ok(true)
    }

    /// Offset of the reading position in the (decompressed) file.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// What to say after `ensure` found the file too short: `what` tells where a whole file ended.
    /// The end exactly at the reading position is no fault (`None`), if the decompressor was content.
    pub(super) fn ended(&self, what: &'static str) -> Option<Fault> {
        self.broken().or_else(|| (self.start < self.end).then(|| self.damaged(what)))
    }

    /// What the decompressor said if it could not go on.
    pub(super) fn broken(&self) -> Option<Fault> {
        match self.ending? {
            Ending::Broken(what) => Some(self.damaged_at(what, self.base + self.end as u64)),
            Ending::File => None,
        }
    }

    /// The fault of something impossible at the reading position.
    pub(super) fn damaged(&self, what: &'static str) -> Fault {
        self.damaged_at(what, self.offset())
    }

    fn damaged_at(&self, what: &'static str, offset: u64) -> Fault {
        Fault::Damaged { what, offset, unpacked: self.unpacks }
    }

    #[cold]
    fn fill(&mut self, length: usize) -> Result<bool, Fault> {
        self.data.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < length && self.ending.is_none() {
            if self.end == self.data.len() {
                let grown = self.data.len().saturating_mul(2).min(length.next_power_of_two());
                self.data.resize(grown, 0);
            }
            let limit = self.end.saturating_add(self.largest_read).min(self.data.len());
            match self.source.read(self.data.get_mut(self.end..limit).unwrap_or_default()) {
                Ok(0) => self.ending = Some(Ending::File),
                Ok(read) => self.end = self.end.saturating_add(read).min(limit),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.unpacks && error.raw_os_error().is_none() => {
                    let broken_off = error.kind() == io::ErrorKind::UnexpectedEof;
                    self.ending = Some(Ending::Broken(if broken_off {
                        "the compressed file breaks off"
                    } else {
                        "the compressed data is damaged"
                    }));
                }
                Err(error) => return Err(Fault::Io(error)),
            }
        }
        Ok(self.end >= length)
    }
}
