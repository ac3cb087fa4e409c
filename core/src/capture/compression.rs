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

use super::packed::{Packed, Trailing};
use super::window::{Fault, Window};
use super::{bzip2, gzip, lz4, xz, zstd};
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

/// What a file, and each of its members, begins with: the least and the greatest that each byte may be.
const BEGINS: &[(Compression, &[(u8, u8)])] = &[
    (Compression::Gzip, &[only(0x1f), only(0x8b)]),
    (Compression::Zstd, &[only(0x28), only(0xb5), only(0x2f), only(0xfd)]),
    (Compression::Zstd, SKIPPABLE),
    (Compression::Lz4, &[only(0x04), only(0x22), only(0x4d), only(0x18)]),
    (Compression::Lz4, &[only(0x02), only(0x21), only(0x4c), only(0x18)]),
    (Compression::Lz4, SKIPPABLE),
    (Compression::Xz, &[only(0xfd), only(b'7'), only(b'z'), only(b'X'), only(b'Z'), only(0)]),
    (Compression::Bzip2, &[only(b'B'), only(b'Z'), only(b'h'), (b'1', b'9'), only(0x31), only(0x41)]),
    // An empty file has no block, only the end.
    (Compression::Bzip2, &[only(b'B'), only(b'Z'), only(b'h'), (b'1', b'9'), only(0x17), only(0x72)]),
];

/// What a skippable frame begins with, which may stand between the frames of zstd (RFC 8878 section 3.1.2;
/// pzstd writes one first) and of lz4, and is the same in both. The length of what it holds follows.
const SKIPPABLE: &[(u8, u8)] = &[(0x50, 0x5f), only(0x2a), only(0x4d), only(0x18)];

/// Bytes of skippable frames, at most, behind which it is seen whether zstd or lz4 follows. Beyond, it is zstd.
const SKIPPED: usize = 1 << 20;

const fn only(byte: u8) -> (u8, u8) {
    (byte, byte)
}

impl Compression {
    /// Bytes at the start of a file that tell how it is compressed.
    pub(super) const MAGIC_LENGTH: usize = 6;

    fn of_magic(start: &[u8]) -> Self {
        let found = BEGINS.iter().find(|(_, begin)| start.len() >= begin.len() && agree(start, begin));
        found.map_or(Self::None, |(compression, _)| *compression)
    }

    /// Whether a compressed file begins so that breaks off before these bytes are told from others.
    pub(super) fn breaks_off(start: &[u8]) -> bool {
        BEGINS.iter().any(|(_, begin)| start.len() < begin.len() && agree(start, begin))
    }

    /// Whether a member begins so, which may break off before these bytes are told from others.
    pub(super) fn begins(self, start: &[u8]) -> bool {
        BEGINS.iter().any(|(compression, begin)| *compression == self && agree(start, begin))
    }
}

/// Bytes of the skippable frame that bytes begin with, if they do: its header, and what it holds.
pub(super) fn skippable(start: &[u8]) -> Option<u64> {
    let (magic, rest) = start.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    agree(magic, SKIPPABLE).then(|| 8 + u64::from(length))
}

/// Bytes of skippable frames at the start of a window behind which a frame of lz4 begins, if one does.
fn before_lz4(window: &mut Window) -> Result<Option<usize>, Fault> {
    let mut passed = 0;
    loop {
        window.ensure(passed + 8)?;
        let ahead = window.ahead().get(passed..).unwrap_or_default();
        let Some(length) = skippable(ahead) else {
            let lz4 = !ahead.is_empty() && !agree(ahead, SKIPPABLE) && Compression::Lz4.begins(ahead);
            return Ok(lz4.then_some(passed));
        };
        passed = passed.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        if passed > SKIPPED {
            return Ok(None);
        }
    }
}

/// Whether bytes are such, as far as there are any.
fn agree(start: &[u8], begin: &[(u8, u8)]) -> bool {
    start.iter().zip(begin).all(|(byte, (least, greatest))| (least..=greatest).contains(&byte))
}

/// Most memory, as a power of two, that a stream may ask for: what `zstd --long` makes, twice what
/// `xz -9` does. Beyond it the stream counts as damaged, since the decompressor would have to
/// allocate it. By their formats, gzip and lz4 need less than 20 MB, and bzip2 some 50 MB.
const MEMORY_LOG: u32 = 27;

/// The same in KiB, with what xz needs beside its dictionary.
const XZ_MEMORY_KIB: u32 = (1 << (MEMORY_LOG - 10)) + 1024;

/// What to say of filters that the decompressor does not take.
const XZ_FILTERS: &str = "an xz file with several filters before LZMA2; decompress it first: unxz FILE";

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

    /// A window over the file's contents, unpacked if the first bytes say that it is compressed, and what
    /// will stand behind the compressed data.
    pub(super) fn decompressed(self) -> Result<(Window, Compression, Trailing), Fault> {
        let mut plain = Window::plain(self.bytes);
        plain.ensure(Compression::MAGIC_LENGTH)?;
        let mut compression = Compression::of_magic(plain.ahead());
        if compression == Compression::Zstd
            && let Some(skipped) = before_lz4(&mut plain)?
        {
            compression = Compression::Lz4;
            plain.advance(skipped);
        }
        let trailing = Trailing::default();
        if compression == Compression::None {
            return Ok((plain, compression, trailing));
        }
        if compression == Compression::Xz {
            plain.ensure(xz::HEAD)?;
            if !xz::takes(plain.ahead()) {
                return Err(Fault::Format(XZ_FILTERS.to_owned()));
            }
        }
        let (first, rest) = plain.into_parts();
        let packed = Packed::new(compression, Cursor::new(first).chain(rest), trailing.clone());
        let unpacked: Box<dyn Read + Send> = match compression {
            Compression::Gzip => Box::new(gzip::Members::new(packed)),
            Compression::Lz4 => Box::new(lz4::Frames::new(packed)),
            Compression::Xz => Box::new(xz::Streams::new(packed, XZ_MEMORY_KIB)),
            Compression::Bzip2 => Box::new(bzip2::Streams::new(packed)),
            Compression::Zstd | Compression::None => Box::new(zstd::Frames::new(packed, MEMORY_LOG)?),
        };
        Ok((Window::unpacked(unpacked), compression, trailing))
    }
}
