//! The bytes of a compressed file, and where what is compressed ends.
//!
//! Takes a file as it is stored; lends its bytes to a decompressor. Members, frames or streams may follow one
//! another, with zeros in between: padding, as tapes and block devices leave it. Behind the last one other
//! bytes may stand, as an editor or a download leaves them. They are no damage of what was compressed: gzip,
//! bzip2 and lz4 pass them over with a warning, and so it is here for all compressions.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Compression;
use super::compression::skippable;

/// Bytes read at once from a compressed file.
const READ: usize = 64 << 10;

/// Bytes behind the last member, unless they are zeros: known once the file was read to its end.
#[derive(Clone, Default)]
pub(super) struct Trailing(Arc<AtomicU64>);

impl Trailing {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(super) struct Packed {
    compression: Compression,
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What was read and not yet taken.
    start: usize,
    end: usize,
    trailing: Trailing,
}

impl Packed {
    pub(super) fn new(
        compression: Compression,
        source: impl Read + Send + 'static,
        trailing: Trailing,
    ) -> Self {
        Self { compression, source: Box::new(source), buffer: vec![0; READ], start: 0, end: 0, trailing }
    }

    /// To be asked behind a member: whether another one follows. If not, the file was read to its end.
    pub(super) fn goes_on(&mut self) -> io::Result<bool> {
        let mut passed = 0;
        loop {
            let ahead = self.fill_buf()?;
            if ahead.is_empty() {
                return Ok(false);
            }
            let zeros = ahead.iter().take_while(|byte| **byte == 0).count();
            let more = zeros < ahead.len();
            passed += zeros as u64;
            self.consume(zeros);
            if more {
                break;
            }
        }
        if self.compression.begins(self.ahead(Compression::MAGIC_LENGTH)?) {
            return Ok(true);
        }
        loop {
            let length = self.fill_buf()?.len();
            if length == 0 {
                self.trailing.0.store(passed, Ordering::Relaxed);
                return Ok(false);
            }
            passed += length as u64;
            self.consume(length);
        }
    }

    /// To be asked at the start of a frame of lz4: whether a skippable one stood there, which is passed over.
    pub(super) fn skips(&mut self) -> io::Result<bool> {
        let Some(mut left) = skippable(self.ahead(8)?) else { return Ok(false) };
        while left > 0 {
            let there = self.fill_buf()?.len();
            if there == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let passed = usize::try_from(left).unwrap_or(usize::MAX).min(there);
            self.consume(passed);
            left -= passed as u64;
        }
        Ok(true)
    }

    /// So many bytes, or all that are left.
    fn ahead(&mut self, length: usize) -> io::Result<&[u8]> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < length && self.read_on()? {}
        let all = self.buffer.get(..self.end).unwrap_or_default();
        Ok(all.get(..length).unwrap_or(all))
    }

    /// Reads behind what is there; false at the end.
    fn read_on(&mut self) -> io::Result<bool> {
        loop {
            match self.source.read(self.buffer.get_mut(self.end..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end = self.end.saturating_add(read).min(self.buffer.len());
                    return Ok(read > 0);
                }
            }
        }
    }
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Packed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.read_on()?;
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    fn consume(&mut self, length: usize) {
        self.start = self.start.saturating_add(length).min(self.end);
    }
}
