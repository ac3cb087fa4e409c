//! Where the bytes come from: a file or standard input, unpacked where it is compressed.
//!
//! gzip (RFC 1952, several members one after the other) and zstd (RFC 8878, several frames) are
//! unpacked on the way. What other packers made is left to [`super::sniff`] to name.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::window::{Fault, Window};
use crate::error::ReadError;

/// How a capture file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, RFC 1952.
    Gzip,
    /// zstd, RFC 8878.
    Zstd,
}

/// Largest window, as a power of two, that a zstd stream may ask for: what `zstd --long` makes.
/// Beyond it the stream counts as damaged, since the decompressor would have to allocate it.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Bytes read at once from a compressed file.
const PACKED_READ: usize = 64 << 10;

/// Bytes that were read from a file so far.
#[derive(Clone)]
pub(super) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    inner: R,
    counter: Counter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.counter.0.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// An open file, before its first byte was looked at.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    counter: Counter,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        if path.as_os_str() == "-" {
            return Ok(Self::of(io::stdin()));
        }
        let failed = |source| ReadError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            let what = "a directory; name the capture files in it".to_owned();
            return Err(ReadError::Format { path: path.to_owned(), what });
        }
        Ok(Self::of(file))
    }

    /// Any source of bytes.
    pub(super) fn of(inner: impl Read + Send + 'static) -> Self {
        let counter = Counter(Arc::new(AtomicU64::new(0)));
        Self { bytes: Box::new(Counted { inner, counter: counter.clone() }), counter }
    }

    /// Counts what is read from here on.
    pub(super) fn counter(&self) -> Counter {
        self.counter.clone()
    }

    /// A window over the file's contents, unpacked if the first bytes are those of gzip or zstd.
    pub(super) fn decompressed(self) -> Result<(Window, Compression), Fault> {
        let mut plain = Window::plain(self.bytes);
        plain.ensure(4)?;
        let compression = match plain.ahead() {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // A skippable frame (RFC 8878 section 3.1.2) may stand first: pzstd writes one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
            _ => return Ok((plain, Compression::None)),
        };
        let (first, rest) = plain.into_parts();
        let packed = io::BufReader::with_capacity(PACKED_READ, Cursor::new(first).chain(rest));
        let unpacked: Box<dyn Read + Send> = if compression == Compression::Gzip {
            Box::new(MultiGzDecoder::new(packed))
        } else {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        };
        Ok((Window::unpacked(unpacked), compression))
    }
}
