//! Where the bytes come from: a file or standard input, unpacked where it is compressed.
//!
//! gzip (RFC 1952), zstd (RFC 8878), lz4, xz and bzip2 are unpacked on the way, also where several
//! members, frames or streams follow one another. A small file that unpacks to a huge one is
//! harmless: what is unpacked is looked at and forgotten, and a decompressor's own memory stays
//! within [`MEMORY_LOG`]. What other packers made is left to [`super::sniff`] to name.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::bufread::MultiBzDecoder;

use super::window::{Fault, Window};
use super::{gzip, lz4, xz};
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
    /// lz4 frames, also in the legacy format.
    Lz4,
    /// xz, of several streams.
    Xz,
    /// bzip2.
    Bzip2,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        })
    }
}

impl Compression {
    /// Bytes at the start of a file that tell how it is compressed.
    const MAGIC_LENGTH: usize = 6;

    fn of_magic(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // A skippable frame (RFC 8878 section 3.1.2) may stand first: pzstd writes one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Self::Lz4,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..]
            // An empty file has no block, only the end.
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, ..] => Self::Bzip2,
            _ => Self::None,
        }
    }
}

/// Most memory, as a power of two, that a stream may ask for: what `zstd --long` makes, twice what
/// `xz -9` does. Beyond it the stream counts as damaged, since the decompressor would have to
/// allocate it. gzip, lz4 and bzip2 need less than 20 MB by their formats.
const MEMORY_LOG: u32 = 27;

/// The same in KiB, with what xz needs beside its dictionary.
const XZ_MEMORY_KIB: u32 = (1 << (MEMORY_LOG - 10)) + 1024;

/// What to say of filters that the decompressor does not take.
const XZ_FILTERS: &str = "an xz file with several filters before LZMA2; decompress it first: unxz FILE";

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

    /// A window over the file's contents, unpacked if the first bytes say that it is compressed.
    pub(super) fn decompressed(self) -> Result<(Window, Compression), Fault> {
        let mut plain = Window::plain(self.bytes);
        plain.ensure(Compression::MAGIC_LENGTH)?;
        let compression = Compression::of_magic(plain.ahead());
        if compression == Compression::None {
            return Ok((plain, compression));
        }
        if compression == Compression::Xz {
            plain.ensure(xz::HEAD)?;
            if !xz::takes(plain.ahead()) {
                return Err(Fault::Format(XZ_FILTERS.to_owned()));
            }
        }
        let (first, rest) = plain.into_parts();
        let packed = io::BufReader::with_capacity(PACKED_READ, Cursor::new(first).chain(rest));
        let unpacked: Box<dyn Read + Send> = match compression {
            Compression::Gzip => Box::new(gzip::Members::new(packed)),
            Compression::Lz4 => Box::new(lz4::Frames::new(packed)),
            Compression::Xz => Box::new(xz::Streams::new(packed, XZ_MEMORY_KIB)),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Compression::Zstd | Compression::None => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(MEMORY_LOG)?;
                Box::new(decoder)
            }
        };
        Ok((Window::unpacked(unpacked), compression))
    }
}
