//! A buffer that slides over a file: the only place of `capture` that reads.
//!
//! Takes any source of bytes; gives the bytes at the reading position as one slice. Memory is
//! [`WINDOW`] bytes, or as many as the caller insists on: callers check lengths against their
//! limits before they ask. It grows only as bytes arrive, so a length alone allocates nothing.

use std::io::{self, Read};
use std::path::Path;

use super::ahead::Ahead;
use crate::error::ReadError;

/// Size of the buffer at first: small enough for the processor's second-level cache.
const WINDOW: usize = 256 << 10;

/// Why a file cannot be read further; a [`ReadError`] that does not know its file yet.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    Format(String),
    /// There is nothing in it.
    Empty(String),
    /// It contradicts itself.
    Damaged(Place),
    /// It breaks off.
    Ended(Place),
}

/// What is wrong with a file, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    what: &'static str,
    offset: u64,
    unpacked: bool,
}

impl Fault {
    /// The error for this fault in the file at `path`, after its first `packets` packets.
    pub(super) fn at(self, path: &Path, packets: u64) -> ReadError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => ReadError::Io { path, source },
            Self::Format(what) => ReadError::Format { path, what },
            Self::Empty(what) => ReadError::Empty { path, what },
            Self::Damaged(place) | Self::Ended(place) => {
                let Place { what, offset, unpacked } = place;
                ReadError::Damaged { path, what, offset, unpacked, packet: packets, resumed: None }
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

/// Where bytes come from.
enum Source {
    /// The file, as it is stored.
    Stored(Box<dyn Read + Send>),
    /// A decompressor.
    Unpacked(Ahead),
}

impl Source {
    fn unpacks(&self) -> bool {
        matches!(self, Self::Unpacked(_))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(file) => file.read(buffer),
            Self::Unpacked(ahead) => ahead.read(buffer),
        }
    }
}

pub(super) struct Window {
    source: Source,
    data: Vec<u8>,
    /// The reading position in `data`, and the end of what was read.
    start: usize,
    end: usize,
    /// Where the reading position was when the buffer was filled last.
    filled_at: usize,
    /// Offset in the (decompressed) file of `data[0]`; all sums with it wrap, since that may lie before
    /// the file's begin.
    base: u64,
    ending: Option<Ending>,
}

impl Window {
    /// A window at the start of a file's bytes as they are stored.
    pub(super) fn plain(source: Box<dyn Read + Send>) -> Self {
        Self::new(Source::Stored(source))
    }

    /// A window at the start of what a decompressor unpacks: its failures are damage of the file.
    pub(super) fn unpacked(source: Box<dyn Read + Send>) -> Self {
        Self::new(Source::Unpacked(Ahead::new(source)))
    }

    fn new(source: Source) -> Self {
        let data = vec![0; WINDOW];
        Self { source, data, start: 0, end: 0, filled_at: 0, base: 0, ending: None }
    }

    /// The bytes already read and not yet passed, and the source of those after them.
    pub(super) fn into_parts(self) -> (Vec<u8>, Box<dyn Read + Send>) {
        (self.ahead().to_vec(), Box::new(self.source))
    }

    /// Makes `length` bytes available at the reading position; false where the file ends before.
    #[inline]
    pub(super) fn ensure(&mut self, length: usize) -> Result<bool, Fault> {
        if self.end - self.start >= length { Ok(true) } else { self.fill(length) }
    }

    /// The same as [`Window::ensure`], but keeps what [`Window::position`] gave before, which has passed:
    /// where that is now. As many bytes are available as there are.
    pub(super) fn ensure_behind(&mut self, held: usize, length: usize) -> Result<usize, Fault> {
        let passed = self.start.saturating_sub(held);
        self.start -= passed;
        let ensured = self.ensure(passed.saturating_add(length));
        let held = self.start;
        self.advance(passed);
        ensured.map(|_whether| held)
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

    /// Bytes before the reading position that are still there, from where it was when some were read last.
    pub(super) fn passed(&self) -> &[u8] {
        self.data.get(self.filled_at..self.start).unwrap_or_default()
    }

    /// The same from an offset in the (decompressed) file on, if they are still there.
    pub(super) fn passed_from(&self, offset: u64) -> &[u8] {
        let passed = self.passed();
        let length = usize::try_from(self.offset().wrapping_sub(offset)).unwrap_or(usize::MAX);
        passed.get(passed.len().saturating_sub(length)..).unwrap_or_default()
    }

    /// The reading position is that of the first packet or block.
    pub(super) fn begin(&mut self) {
        self.filled_at = self.start;
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
        self.base.wrapping_add(self.start as u64)
    }

    /// What to say after `ensure` found the file too short: `what` tells where a whole file ended.
    /// The end exactly at the reading position is no fault (`None`), if the decompressor was content.
    pub(super) fn ended(&self, what: &'static str) -> Option<Fault> {
        self.broken().or_else(|| (self.start < self.end).then(|| self.cut(what)))
    }

    /// What the decompressor said if it could not go on.
    pub(super) fn broken(&self) -> Option<Fault> {
        match self.ending? {
            Ending::Broken(what) => Some(Fault::Ended(self.place(what, self.end))),
            Ending::File => None,
        }
    }

    /// The fault of something impossible at the reading position.
    pub(super) fn damaged(&self, what: &'static str) -> Fault {
        Fault::Damaged(self.place(what, self.start))
    }

    /// The fault of the file's end where it should go on.
    pub(super) fn cut(&self, what: &'static str) -> Fault {
        Fault::Ended(self.place(what, self.start))
    }

    fn place(&self, what: &'static str, at: usize) -> Place {
        Place { what, offset: self.base.wrapping_add(at as u64), unpacked: self.source.unpacks() }
    }

    #[cold]
    fn fill(&mut self, length: usize) -> Result<bool, Fault> {
        self.exchange()?;
        if self.end - self.start < length && self.ending.is_none() {
            self.append(length)?;
        }
        self.filled_at = self.start;
        Ok(self.end - self.start >= length)
    }

    /// Goes on in the buffer that was read ahead, if there is one: what is unpacked is not copied.
    fn exchange(&mut self) -> Result<(), Fault> {
        let (Source::Unpacked(ahead), None) = (&mut self.source, self.ending) else {
            return Ok(());
        };
        match ahead.exchange(&mut self.data, self.start..self.end) {
            Ok(None) => {}
            Ok(Some(within)) => {
                // The place in the file stays as it is; that of the buffer's first byte may lie before it.
                self.base = self.base.wrapping_add(self.start as u64).wrapping_sub(within.start as u64);
                (self.start, self.end) = (within.start, within.end);
            }
            Err(error) => self.fail(error)?,
        }
        Ok(())
    }

    /// Reads into the same buffer until so many bytes are there, or the source ends.
    fn append(&mut self, length: usize) -> Result<(), Fault> {
        self.data.copy_within(self.start..self.end, 0);
        self.base = self.base.wrapping_add(self.start as u64);
        self.end -= self.start;
        self.start = 0;
        while self.end < length && self.ending.is_none() {
            if self.end == self.data.len() {
                let grown = self.data.len().saturating_mul(2).min(length.next_power_of_two());
                self.data.resize(grown, 0);
            }
            match self.source.read(self.data.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => self.ending = Some(Ending::File),
                Ok(read) => self.end = self.end.saturating_add(read).min(self.data.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(error)?,
            }
        }
        Ok(())
    }

    /// The source failed: a decompressor's failure is the end of what it unpacks.
    fn fail(&mut self, error: io::Error) -> Result<(), Fault> {
        if !self.source.unpacks() || error.raw_os_error().is_some() {
            return Err(Fault::Io(error));
        }
        let broken_off = error.kind() == io::ErrorKind::UnexpectedEof;
        self.ending = Some(Ending::Broken(if broken_off {
            "the compressed file breaks off"
        } else {
            "the compressed data is damaged"
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most so many bytes at a time, then fails if it is to.
    struct Steps {
        bytes: io::Cursor<Vec<u8>>,
        step: usize,
        fails: bool,
    }

    impl Read for Steps {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.step);
            match self.bytes.read(buffer.get_mut(..length).unwrap_or_default())? {
                0 if self.fails => Err(io::ErrorKind::UnexpectedEof.into()),
                read => Ok(read),
            }
        }
    }

    /// Goes through a window by lengths of all sizes, of which some are longer than what is kept when
    /// buffers are exchanged, and holds each against the source.
    fn go_through(step: usize, fails: bool) {
        let bytes: Vec<u8> =
            (0..5 << 20_usize).map(|at: usize| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let steps = Steps { bytes: io::Cursor::new(bytes.clone()), step, fails };
        let mut window = Window::unpacked(Box::new(steps));
        let (mut at, mut random) = (0_usize, 1_u64);
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let length = (random >> 33) as usize % if random >> 60 == 0 { 700_000 } else { 3_000 } + 1;
            let there = window.ensure(length).unwrap();
            assert_eq!(window.offset(), at as u64);
            assert!(bytes.get(at..).unwrap().starts_with(window.ahead()), "at {at}");
            if !there {
                break;
            }
            let passed = length / 3 + 1;
            window.advance(passed);
            at += passed;
        }
        assert_eq!(at + window.ahead().len(), bytes.len());
        assert_eq!(window.broken().is_some(), fails);
        assert!(!window.ensure(bytes.len()).unwrap());
    }

    #[test]
    fn what_is_unpacked_comes_in_order_and_in_its_place() {
        for step in [1_000, 70_001, usize::MAX] {
            go_through(step, false);
        }
    }

    #[test]
    fn a_failure_comes_after_what_was_unpacked() {
        for step in [1_000, usize::MAX] {
            go_through(step, true);
        }
    }
}
